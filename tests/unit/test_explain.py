"""Closed forms: the right words for known layouts, and nothing where a form would be wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from layoutprobe.layouts.explain import explain, explain_lds
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.patterns.expression import evaluate, parse

WAVE, LANE, VGPR, FIELD = np.ogrid[:4, :32, :8, :2]
WORD = FIELD[..., :1]


def layout(matrix: str, row: object, col: object, bits: int = 16, held: object = True) -> Layout:
    axes = (4, 32, 8, 32 // bits)
    where = np.broadcast_to(np.asarray(held), axes)
    row, col = (
        np.where(where, np.broadcast_to(np.asarray(x), axes), HOLE).astype(np.int32) for x in (row, col)
    )
    return Layout(matrix, (64, 64), row, col, bits)


FORMS = [
    ("A[16*wave + lane % 16][2*vgpr + half]", layout("A", 16 * WAVE + LANE % 16, 2 * VGPR + FIELD)),
    ("B[2*vgpr + half][lane % 16]", layout("B", 2 * VGPR + FIELD, LANE % 16)),
    ("D[2*vgpr + lane / 16][lane % 16]", layout("D", 2 * VGPR + LANE // 16, LANE % 16 + WORD, 32)),
    ("D[8*(lane / 16) + vgpr][lane % 16]", layout("D", VGPR + 8 * (LANE // 16), LANE % 16 + WORD, 32)),
    (
        "A[lane % 16][(2*vgpr + half) ^ 8*(lane % 2)]",
        layout("A", LANE % 16, (2 * VGPR + FIELD) ^ 8 * (LANE % 2)),
    ),
    ("A[lane % 16][2*vgpr - half + 1]", layout("A", LANE % 16, 2 * VGPR + 1 - FIELD)),
    ("A[lane % 16][(2*vgpr + half) ^ 8]", layout("A", LANE % 16, (2 * VGPR + FIELD) ^ 8)),
    ("A[2*vgpr + half + 3][5]", layout("A", 2 * VGPR + FIELD + 3, 5)),
    (
        "A[16*(wave / 2) + lane % 16][16*(wave % 2) + 2*vgpr + half]",
        layout("A", 16 * (WAVE // 2) + LANE % 16, 16 * (WAVE % 2) + 2 * VGPR + FIELD),
    ),
    (
        "A[lane % 16][2*vgpr + half] where lane / 16 = 0",
        layout("A", LANE % 16, 2 * VGPR + FIELD, held=LANE < 16),
    ),
    (
        "A[lane % 16][2*vgpr + half] where lane % 2 = lane / 16",
        layout("A", LANE % 16, 2 * VGPR + FIELD, held=LANE // 16 == LANE % 2),
    ),
    (
        "A[lane % 16][2*vgpr + half] where lane % 2 != lane / 16",
        layout("A", LANE % 16, 2 * VGPR + FIELD, held=LANE // 16 != LANE % 2),
    ),
]


@pytest.mark.parametrize(("form", "table"), FORMS, ids=[form for form, _ in FORMS])
def test_known_forms(form: str, table: Layout) -> None:
    assert explain(table) == form
    assert replay(form, table) == table


def replay(form: str, like: Layout) -> Layout:
    """The layout that a printed form describes, computed from its text alone."""
    match = re.fullmatch(r"(\w)\[([^]]*)\]\[([^]]*)\](?: where (.*))?", form)
    assert match is not None
    axes = np.indices(like.row.shape).astype(np.int64)
    names = {name: axes[number] for number, name in enumerate(("wave", "lane", "vgpr", "half"))}
    held = np.ones(like.row.shape, np.bool_)
    for condition in (match[4] or "").split(" and ") if match[4] else []:
        left, equal, right = re.split(r" (!?=) ", condition)
        same = arithmetic(left, names) == arithmetic(right, names)
        held &= same if equal == "=" else ~same
    row, col = (np.where(held, arithmetic(match[n], names), HOLE).astype(np.int32) for n in (2, 3))
    return Layout(match[1], like.shape, row, col, like.field_bits)


def arithmetic(text: str, names: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """The pattern language reads the same arithmetic; it is tested against Python elsewhere."""
    return evaluate(parse(text, tuple(names)), names)


def test_a_single_wrong_slot_takes_the_form_away() -> None:
    for _, table in FORMS:
        row = table.row.copy()
        slot = tuple(np.argwhere(row != HOLE)[37])
        row[slot] += 1
        assert explain(Layout(table.matrix, table.shape, row, table.col, table.field_bits)) == ""


def test_forms_that_do_not_exist() -> None:
    assert explain(layout("A", LANE % 16, 2 * VGPR + FIELD, held=LANE < 12)) == ""
    assert explain(layout("A", LANE % 12, 2 * VGPR + FIELD)) == ""
    assert explain(layout("A", LANE, VGPR, held=False)) == ""
    shuffled = np.random.default_rng(1).permutation(64)[LANE]
    assert explain(layout("A", shuffled, 2 * VGPR + FIELD)) == ""


@given(st.permutations(range(9)), st.integers(0, 511), st.booleans())
def test_every_bit_permutation_is_explained(order: list[int], flip: int, linear: bool) -> None:
    """Lane, VGPR and half bits in any order, with any bits inverted: always found, always exact."""
    lane, vgpr, half = np.indices((32, 8, 2))
    number = lane | vgpr << 5 | half << 8
    code = sum((number >> source & 1) << target for target, source in enumerate(order))
    code = code if linear else code ^ flip
    table = Layout("A", (32, 16), (code // 16)[None].astype(np.int32), (code % 16)[None].astype(np.int32), 16)
    form = explain(table)
    assert replay(form, table) == table


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("shape", [(64, 16), (32, 64)])
def test_lds_schemes_are_recognised(name: str, shape: tuple[int, int]) -> None:
    scheme = SCHEMES[name]
    row, col = (axis.astype(np.int32) for axis in scheme.inverse(np.arange(scheme.size(shape)), shape))
    found = explain_lds(row, col, shape)
    assert found is not None
    if name == "xor-vector" and shape == (32, 64):
        assert found.text.startswith("xor-vector")
    else:
        assert found.text.split(":")[0] == name
    row[[0, 5]], col[[0, 5]] = row[[5, 0]], col[[5, 0]]
    assert explain_lds(row, col, shape) is None


def test_lds_strides_without_a_scheme() -> None:
    place = np.arange(32 * 20)
    held = place % 20 < 16
    row, col = (np.where(held, axis, HOLE).astype(np.int32) for axis in np.divmod(place, 20))
    found = explain_lds(row, col, (32, 16))
    assert found is not None
    assert (found.text, found.steps) == ("index = 20*row + col", (20, 1))
