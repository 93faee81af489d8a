"""Closed forms: each dialect, parsed back from its text, gives every cell, or is not shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from claims.fakes import layout, rdna3
from layoutprobe.claims.statements import parse_statement
from layoutprobe.layouts.cute import fit_cute, parse_cute, table_of
from layoutprobe.layouts.dialects import DIALECTS, closed_forms
from layoutprobe.layouts.gf2 import Basis, fit_basis, parse_basis
from layoutprobe.layouts.layout import HOLE, Layout

SOLVED = [
    rdna3(wave=wave, bits=bits, narrow=narrow)
    for wave in (32, 64)
    for bits, narrow in ((16, None), (16, 0), (16, 1), (8, None), (4, None))
]
LAYOUTS = [found for solved in SOLVED for found in solved.operands.values()]


def reads_back(text: str, matrix: str, table: Layout) -> None:
    claimed = parse_statement(f"{matrix}: {text}").bind(table)
    assert claimed.problem == ""
    assert claimed.speaks.all()
    assert np.array_equal(claimed.row, table.row), text
    assert np.array_equal(claimed.col, table.col), text


@pytest.mark.parametrize("table", LAYOUTS, ids=repr)
def test_every_dialect_states_the_fragments_of_rdna3(table: Layout) -> None:
    forms = closed_forms(table)
    assert [form.dialect for form in forms] == list(DIALECTS)
    for form in forms:
        reads_back(form.text, table.matrix, table)
        reads_back(form.lines, table.matrix, table)


def test_the_forms_are_those_that_one_writes() -> None:
    a, d = SOLVED[0].operands["A"], SOLVED[0].operands["D"]
    assert [form.text for form in closed_forms(a)] == [
        "A[lane % 16][2*vgpr + half]",
        "half = [[0, 1]], vgpr = [[0, 2], [0, 4], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 0]]",
        "((16,2),16):((1,0),16)",
    ]
    assert [form.text for form in closed_forms(d)] == [
        "D[2*vgpr + lane / 16][lane % 16]",
        "vgpr = [[2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]]",
        "((16,2),8):((16,1),2)",
    ]


def test_cutlass_and_we_read_an_accumulator_of_16_by_8_alike() -> None:
    """Values from the PTX ISA, figure of the m16n8k16 accumulator: c0, c1 in row T/4, c2, c3 in row T/4+8."""
    row, col = table_of(parse_cute("((_4,_8),(_2,_2)):((_32,_1),(_16,_8))"), "D", (16, 8), 1)
    thread, value = np.indices((32, 4))
    assert np.array_equal(row[0, :, :, 0], thread // 4 + 8 * (value // 2))
    assert np.array_equal(col[0, :, :, 0], 2 * (thread % 4) + value % 2)


def test_b_is_n_by_k_for_cute() -> None:
    """CUTLASS states B as (N, K): a stride of 1 walks along n, that is along columns of K x N."""
    row, col = table_of(parse_cute("(16,16):(1,16)"), "B", (16, 16), 1)
    assert (row[0, 3, 5, 0], col[0, 3, 5, 0]) == (5, 3)


@st.composite
def bases(draw: st.DrawFn) -> Basis:
    """Bases over any bits; not every one is injective, and some slots may hold nothing."""
    field_bits = draw(st.sampled_from([32, 16, 8, 4]))
    field = {32: "field", 16: "half", 8: "byte", 4: "nibble"}[field_bits]
    vector = st.tuples(st.integers(0, 31), st.integers(0, 31))
    fields = (32 // field_bits).bit_length() - 1
    vectors = {
        "lane": tuple(draw(st.lists(vector, min_size=1, max_size=5))),
        "vgpr": tuple(draw(st.lists(vector, max_size=3))),
        field: tuple(draw(st.lists(vector, min_size=fields, max_size=fields))),
    }
    every = [(name, bit) for name, bits in vectors.items() for bit in range(len(bits))]
    chosen = draw(st.lists(st.sampled_from(every), unique=True, max_size=3))
    where = ((tuple(chosen), draw(st.integers(0, 1))),) if chosen else ()
    return Basis(vectors, field_bits, draw(vector), where)


def as_layout(row: NDArray[np.int64], col: NDArray[np.int64], bits: int) -> Layout:
    return Layout("A", (32, 32), row.astype(np.int32), col.astype(np.int32), bits)


@given(bases())
def test_a_linear_table_is_found_linear_and_read_back(basis: Basis) -> None:
    table = as_layout(*basis.table(), basis.field_bits)
    found = fit_basis(table)
    assert found is not None
    for text in (
        found.text,
        found.lines(table.shape),
        f"#ttg.linear<{{{found.text}}}>" if not found.where else found.text,
    ):
        row, col = parse_basis(text, basis.field_bits).table()
        assert np.array_equal(row, table.row)
        assert np.array_equal(col, table.col)


@pytest.mark.long
@given(bases(), st.data())
def test_no_dialect_is_shown_for_a_table_that_it_does_not_give(basis: Basis, data: st.DataObject) -> None:
    """One cell changed: whatever is still shown gives the changed cell, too."""
    row, col = basis.table()
    at = tuple(data.draw(st.integers(0, extent - 1)) for extent in row.shape)
    row[at], col[at] = data.draw(st.sampled_from([(HOLE, HOLE), (31, 30), (0, 0)]))
    table = as_layout(row, col, basis.field_bits)
    for form in closed_forms(table):
        reads_back(form.text, "A", table)


@given(
    st.lists(st.tuples(st.sampled_from([2, 3, 4, 5]), st.integers(0, 40)), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from([2, 4, 6]), st.integers(0, 40)), min_size=1, max_size=2),
)
def test_strided_tables_are_read_back(thread: list[tuple[int, int]], value: list[tuple[int, int]]) -> None:
    shape = tuple(tuple(part[at] for part in modes) for at in (0, 1) for modes in (thread, value))
    text = "(({},),({},)):(({},),({},))".format(*(",".join(map(str, part)) for part in shape)).replace(
        ",)", ")"
    )
    form = parse_cute(text)
    row, col = table_of(form, "A", (64, 1 << 12), 2)
    table = Layout("A", (64, 1 << 12), row.astype(np.int32), col.astype(np.int32), 16)
    found = fit_cute(table)
    if found is None:  # the longest run does not always divide the extent
        return
    again = table_of(parse_cute(found.text()), "A", table.shape, 2)
    assert np.array_equal(again[0], table.row)
    assert np.array_equal(again[1], table.col)


def test_offsets_and_swizzles_are_not_strided() -> None:
    shifted = layout("A", (32, 16), 32, 8, 16, lambda lane, v, f: (lane % 16 + 1, 2 * v + f))
    swizzled = layout("A", (16, 16), 32, 8, 16, lambda lane, v, f: (lane % 16, (2 * v + f) ^ (lane % 2 * 8)))
    assert fit_cute(shifted) is None
    assert fit_cute(swizzled) is None
    basis = fit_basis(swizzled)
    assert basis is not None
    assert basis.vectors["lane"][0] == (1, 8)


def test_what_is_not_linear_has_no_basis() -> None:
    table = layout("A", (64, 16), 32, 8, 16, lambda lane, v, f: (lane % 16 * 3, 2 * v + f))
    assert fit_basis(table) is None
    assert fit_cute(table) is not None


def test_weights_that_share_bits_are_not_multiplied_under_xor() -> None:
    """13 ^ 26 is 23 and not 39: 13*lane would name another column in lane 3."""
    table = layout(
        "A", (8, 32), 4, 8, 16, lambda lane, v, f: (v, 13 * (lane % 2) ^ 26 * (lane // 2) ^ 16 * f)
    )
    for form in closed_forms(table):
        reads_back(form.text, "A", table)
    assert "13*lane" not in closed_forms(table, ("formula",))[0].text
