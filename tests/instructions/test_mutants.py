"""Wrong layouts of every instruction: each must come out different, or be refuted.

A layout that differs by a joint permutation alone is no mutant: it must come out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from instructions.calculator import HOLE, Table, tables
from instructions.card import Card
from layoutprobe import instructions
from layoutprobe.errors import ProbeError
from layoutprobe.instructions import InstructionLayout, Prober, Variant

Tables = dict[str, Table]

VARIANTS = [
    v
    for target in ("gfx1151", "gfx1200")
    for v in instructions.variants(target)
    if v.opsel == 0 or v.arch == "gfx1151" or (v.form.name.endswith("iu8") and v.opsel == 1)
]


def solve(card: Card) -> InstructionLayout:
    return instructions.result_of(Prober(card.variant, card))


def same(one: InstructionLayout, other: InstructionLayout) -> bool:
    return (
        all(one.operands[name] == other.operands[name] for name in one.operands)
        and all(np.array_equal(one.live[name], other.live[name]) for name in one.live)
        and np.array_equal(one.kept, other.kept)
    )


@cache
def right(variant: Variant) -> InstructionLayout:
    return solve(Card(variant, tables(variant)))


def transposed(table: Table) -> Table:
    return Table(table.col, table.row)


def moved(table: Table, axis: int, order: list[int] | np.ndarray) -> Table:
    """Slots permuted along lanes (0), VGPRs (1) or fields (2)."""
    return Table(np.take(table.row, order, axis=axis), np.take(table.col, order, axis=axis))


def other_generation(variant: Variant, table: Table) -> Table:
    """D with the rows of the other family: alternating between groups, or contiguous."""
    row = table.row
    if variant.arch.startswith("gfx11"):
        lane, vgpr, _ = np.indices(row.shape)
        new = (256 // variant.wave) * (lane // 16) + vgpr
    else:
        lane, vgpr, field = np.indices(row.shape)
        new = variant.wave // 16 * (vgpr * row.shape[2] + field) + lane // 16
    return Table(np.where(row == HOLE, HOLE, new), table.col)


def mutants(variant: Variant) -> Iterator[tuple[str, Card]]:
    """Name and card of each wrong instruction."""
    form, wave, good = variant.form, variant.wave, tables(variant)

    def card(**changed: Table) -> Card:
        return Card(variant, good | changed)

    lanes, old = np.arange(wave), form.copies_every(wave) > 0
    a_rows, a_cols = form.shape[0], form.shape[2] // (2 if form.sparse else 1)
    if a_rows == a_cols and not form.sparse:
        yield "A transposed", card(A=transposed(good["A"]))
        yield "B transposed", card(B=transposed(good["B"]))
    yield "D transposed", card(D=transposed(good["D"]))
    yield "C transposed", card(C=transposed(good["C"]))
    yield (
        "rows of D of the other generation",
        card(C=other_generation(variant, good["C"]), D=other_generation(variant, good["D"])),
    )
    fields = good["A"].row.shape[2]
    reverse = np.arange(fields)[::-1]
    yield "order within A's registers", card(A=moved(good["A"], 2, reverse))
    yield "order within B's registers", card(B=moved(good["B"], 2, reverse))
    if not old:
        yield "half-waves of A swapped", card(A=moved(good["A"], 0, lanes ^ 16))
        yield "half-waves of B swapped", card(B=moved(good["B"], 0, lanes ^ 16))
    yield "half-waves of D swapped", card(D=moved(good["D"], 0, lanes ^ 16))
    yield "lanes of B turned by one", card(B=moved(good["B"], 0, (lanes + 1) % wave))
    if old:
        yield "copies in the upper lanes not read", Card(variant, good, own_copies=False)
    if variant.opsel == 4 or good["D"].row.shape[2] == 2:
        yield "halves of D swapped", card(D=moved(good["D"], 2, [1, 0]), C=moved(good["C"], 2, [1, 0]))
    if form.sparse:
        yield "index pairs swapped", Card(variant, good, swapped_index=True)
        yield "half-waves of the index swapped", card(index=moved(good["index"], 0, lanes ^ 16))
        pairs = np.arange(16).reshape(8, 2)
        yield "index pairs in reverse", card(index=moved(good["index"], 2, pairs[::-1].ravel()))
        yield "index pairs turned by one", card(index=moved(good["index"], 2, np.roll(pairs, 1, 0).ravel()))


CASES = [(v, name) for v in VARIANTS for name, _ in mutants(v)]


@pytest.mark.all_in_ci
@pytest.mark.few(4)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.arch}-{v.kernel}-w{v.wave}")
def test_every_wrong_layout_is_seen(variant: Variant) -> None:
    survivors = []
    for name, card in mutants(variant):
        try:
            if same(solve(card), right(variant)):
                survivors.append(name)
        except ProbeError:
            continue
    assert not survivors


def test_each_kind_of_mutant_meets_every_instruction() -> None:
    kinds = {name for _, name in CASES}
    assert len(kinds) == 17
    for variant in VARIANTS:
        assert sum(v is variant for v, _ in CASES) >= 6


JOINT: list[tuple[str, str, Callable[[Table], Table]]] = [
    ("fields reversed in A and B", "AB", lambda t: moved(t, 2, np.arange(t.row.shape[2])[::-1])),
    ("registers reversed in A and B", "AB", lambda t: moved(t, 1, np.arange(t.row.shape[1])[::-1])),
]


@pytest.mark.parametrize(("what", "operands", "change"), JOINT, ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if not v.form.sparse], ids=lambda v: f"{v.kernel}-w{v.wave}"
)
def test_a_joint_permutation_of_k_is_the_same_layout(
    variant: Variant, what: str, operands: str, change: Callable[[Table], Table]
) -> None:
    good = tables(variant)
    wrong_names = {name: change(good[name]) for name in operands}
    assert same(solve(Card(variant, good | wrong_names)), right(variant))
    assert right(variant).gauge["K"].free


@pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if v.form.sparse], ids=lambda v: f"{v.kernel}-w{v.wave}"
)
def test_the_k_of_a_sparse_group_has_names_that_can_be_seen(variant: Variant) -> None:
    """Two k of one group exchanged in B alone: index values name them, so this is no gauge."""
    good = tables(variant)
    b = good["B"]
    swapped = np.where(b.row == HOLE, HOLE, b.row ^ 1)
    result = solve(Card(variant, good | {"B": Table(swapped, b.col)}))
    assert not same(result, right(variant))
    assert np.array_equal(result.operands["B"].row[0], swapped)
    k = right(variant).gauge["K"]
    assert (k.units, k.unit, k.lines) == (variant.form.shape[2] // 4, 4, variant.form.shape[2])
