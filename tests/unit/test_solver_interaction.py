"""The interaction solver against instructions it knows nothing of, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from unit.fake_instructions import (
    FAKES,
    MFMA_4,
    MFMA_16,
    MFMA_32,
    MFMA_F64,
    RDNA3,
    RDNA3_BF16,
    RDNA3_IU8,
    RDNA3_LOW,
    RDNA4,
    Fake,
)

from layoutprobe.errors import ProbeError
from layoutprobe.layouts.layout import HOLE
from layoutprobe.solver.bench import Execute, Extents
from layoutprobe.solver.interaction import (
    BOTH_HALVES,
    NO_READER,
    Interaction,
    rules_in_words,
    solve_instruction,
)

Words = NDArray[np.uint32]


def extents_of(fake: Fake) -> Extents:
    slots = {"A": fake.a_slots, "B": fake.b_slots, "D": fake.d_slots}
    return Extents(
        fake.a_slots[0],
        {name: vgprs for name, (_, vgprs, _) in slots.items()},
        {"A": fake.dtype, "B": fake.dtype, "D": fake.result},
    )


def executed_by(fake: Fake) -> Execute:
    return lambda fed: fake(fed["a"], fed["b"], fed["c"])


def solve(fake: Fake, execute: Execute | None = None) -> Interaction:
    return solve_instruction(extents_of(fake), fake.shape, execute or executed_by(fake), fake.products)


def by_formula(fake: Fake) -> dict[str, NDArray[np.int64]]:
    """(row, col) of every slot, straight from the fake's formulas: [slot, 2], HOLE where unread."""
    m, n, k = fake.shape
    at_a, at_b, at_d = fake.tables()
    index = np.indices((m, n, k))
    index = np.stack([index[:, None]] * fake.products, axis=1)[:, :, 0]
    index[:2] += np.array([m, n])[:, None, None, None, None] * np.arange(fake.products)[:, None, None, None]
    tables = {
        name: np.full((int(np.prod(slots)), 2), HOLE, np.int64)
        for name, slots in zip("ABD", fake.slots, strict=True)
    }
    tables["A"][at_a] = np.moveaxis(index[[0, 2]], 0, -1)
    tables["B"][at_b] = np.moveaxis(index[[2, 1]], 0, -1)
    tables["D"][at_d] = np.moveaxis(index[:2, ..., 0], 0, -1)
    tables["C"] = tables["D"]
    return tables


def found(interaction: Interaction, name: str) -> NDArray[np.int64]:
    layout = interaction.needed[name]
    return np.stack([layout.row.ravel(), layout.col.ravel()], axis=1).astype(np.int64)


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
def test_layouts_equal_the_formulas_modulo_k(fake: Fake) -> None:
    interaction, expected = solve(fake), by_formula(fake)
    k = fake.shape[2]
    live: NDArray[np.bool_] = expected["A"][:, 0] != HOLE
    order = np.full(k, -1)
    order[found(interaction, "A")[live, 1]] = expected["A"][live, 1]
    assert sorted(order.tolist()) == list(range(k)), "a permutation of k"
    order = np.append(order, HOLE)
    a, b = found(interaction, "A").copy(), found(interaction, "B").copy()
    a[:, 1], b[:, 0] = order[a[:, 1]], order[b[:, 0]]
    assert np.array_equal(a, expected["A"])
    assert np.array_equal(b, expected["B"])
    for name in "CD":
        assert np.array_equal(found(interaction, name), expected[name])


@pytest.mark.parametrize(
    "fake",
    [RDNA3, RDNA3_LOW, MFMA_4, MFMA_16, MFMA_32, MFMA_F64, RDNA3_BF16, RDNA3_IU8],
    ids=lambda fake: fake.name,
)
def test_the_convention_is_the_documented_order(fake: Fake) -> None:
    interaction, expected = solve(fake), by_formula(fake)
    for name in "ABCD":
        assert np.array_equal(found(interaction, name), expected[name])


def test_the_rule_of_k_names_only_what_orders_k() -> None:
    """Row 0 is read in lane 0 and row 1 in lane 17, yet no k depends on the half-wave on gfx11."""
    assert solve(RDNA3).rules["K"] == "k ascends with VGPR, then field"
    assert solve(RDNA4).rules["K"] == "k ascends with lane / 16, then VGPR, then field"
    assert solve(RDNA3).convention(["K"]).endswith("; k as this kernel orders it in A and B alike")


def test_rdna4_differs_from_its_document_by_k_alone() -> None:
    """The convention orders k by lane group first; AMD's calculator puts k bit 2 there."""
    assert not np.array_equal(found(solve(RDNA4), "A"), by_formula(RDNA4)["A"])


def test_live_copies_and_their_readers() -> None:
    interaction = solve(RDNA3)
    assert (interaction.gauge.blocks, interaction.gauge.stacked) == (2, "rows")
    lane = np.broadcast_to(np.arange(32)[None, :, None, None], (1, 32, 8, 2))
    own = lane % 2 == lane // 16  # row 0 is read in lane 0 and not in lane 16; row 1 the other way
    assert np.array_equal(interaction.live["A"], own)
    assert np.array_equal(interaction.half_waves("A"), np.where(own, lane // 16, NO_READER))
    assert interaction.live["B"].all()
    assert np.array_equal(interaction.half_waves("B"), lane // 16)
    assert "separately for each of 2 groups" in interaction.ambiguity


def test_an_emulator_that_reads_the_lower_lanes_looks_different() -> None:
    interaction = solve(RDNA3_LOW)
    lane = np.broadcast_to(np.arange(32)[None, :, None, None], (1, 32, 8, 2))
    assert interaction.gauge.blocks == 1
    assert np.array_equal(interaction.live["A"], lane < 16)
    assert np.array_equal(interaction.half_waves("B"), np.where(lane < 16, BOTH_HALVES, NO_READER))


MUTANTS = {
    "D rows of RDNA4": replace(RDNA3, d=RDNA4.d, a=lambda i, k, out: (i, k // 2, k % 2)),
    "k reversed in B": replace(RDNA3, b=lambda k, j, out: RDNA3.b(15 - k, j, out)),
    "halves of A swapped": replace(RDNA3, a=lambda i, k, out: RDNA3.a(i, k ^ 1, out)),
    "A transposed": replace(RDNA3_LOW, a=lambda i, k, out: RDNA3_LOW.a(k, i, out)),
    "B columns rotated": replace(RDNA3, b=lambda k, j, out: RDNA3.b(k, (j + 1) % 16, out)),
    "two rows of D exchanged": replace(RDNA3, d=lambda i, j: RDNA3.d(8 - i if i in (3, 5) else i, j)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_gives_another_layout(name: str) -> None:
    right, wrong = solve(RDNA3), solve(MUTANTS[name])
    assert any(right.needed[operand] != wrong.needed[operand] for operand in "ABD")
    met = [
        {*zip(x.meetings.a.tolist(), x.meetings.b.tolist(), x.meetings.d.tolist(), strict=True)}
        for x in (right, wrong)
    ]
    assert met[0] != met[1], "the meetings themselves differ, not just their names"


def _adds_both_copies(fed: NDArray[np.uint32]) -> NDArray[np.uint32]:
    halves = fed.transpose(0, 2, 1).copy().view(np.float16)
    halves[:, :16] += halves[:, 16:]
    return np.ascontiguousarray(halves.view(np.uint32).transpose(0, 2, 1))


def test_sums_of_copies_are_not_taken_for_one_slot() -> None:
    def execute(fed: Mapping[str, Words]) -> Words:
        return RDNA3_LOW(_adds_both_copies(fed["a"]), _adds_both_copies(fed["b"]), fed["c"])

    with pytest.raises(ProbeError, match="counts one slot several times"):
        solve(RDNA3_LOW, execute)


def test_what_is_no_product_is_refused() -> None:
    broken = replace(RDNA3, b=lambda k, j, out: RDNA3.b(max(k, 1), j, out))
    with pytest.raises(ProbeError, match="counts one slot several times"):
        solve(broken)
    short = replace(RDNA3, shape=(16, 16, 15))
    with pytest.raises(ProbeError, match="no matrix product"):
        solve(RDNA3, executed_by(short))
    with pytest.raises(ProbeError, match="no matrix product"):
        solve(replace(RDNA3, shape=(16, 32, 8)), executed_by(RDNA3))
    with pytest.raises(ProbeError, match="No output of the instruction depends on A and B"):
        solve(RDNA3, lambda fed: np.zeros_like(fed["c"]))
    with pytest.raises(ProbeError, match="does not count slots"):
        solve(RDNA3, lambda fed: np.full_like(fed["c"], 0x7FC00000))


def test_a_product_that_also_adds_something_unseen_is_refused() -> None:
    """Where one thing at a time is fed, all is well; random operands show it."""

    def execute(fed: Mapping[str, Words]) -> Words:
        d = RDNA3(fed["a"], fed["b"], fed["c"]).view(np.float32)
        full = (fed["a"] != 0).any(axis=(1, 2)) & (fed["c"] != 0).any(axis=(1, 2))
        return (d + full[:, None, None]).astype(np.float32).view(np.uint32)

    with pytest.raises(ProbeError, match="With random operands"):
        solve(RDNA3, execute)


def test_independent_products_are_named_as_the_diagonal_of_one() -> None:
    """4x4x4 in 16 blocks: every product has its rows of A and its columns of B, and shares no slot."""
    found_, expected = solve(MFMA_4), by_formula(MFMA_4)
    assert found_.needed["D"].shape == (64, 64)
    assert np.array_equal(found(found_, "D"), expected["D"])
    assert (found_.gauge.blocks, found_.gauge.stacked) == (16, "products")
    assert [(a.lines, a.units, a.copies) for a in map(found_.gauge.__getitem__, "MNK")] == [(4, 4, 16)] * 3
    assert "16 products" in found_.ambiguity
    with pytest.raises(ProbeError, match="no matrix product") as caught:
        solve(replace(MFMA_4, products=8), executed_by(MFMA_4))
    assert caught.value.expected == "M x N x K = 4 x 4 x 4, 8 products"
    with pytest.raises(ProbeError, match="no matrix product"):
        solve(replace(MFMA_4, products=1), executed_by(MFMA_4))


@pytest.mark.parametrize("fake", [MFMA_F64, MFMA_32], ids=lambda fake: fake.name)
def test_any_order_of_slots_is_found_up_to_names(fake: Fake) -> None:
    """Slots of A, B and D in random order, in registers as wide and as many as the instruction has."""
    random = np.random.default_rng(7)
    orders = {n: random.permutation(int(np.prod(s))) for n, s in zip("abd", fake.slots, strict=True)}

    def execute(fed: Mapping[str, Words]) -> Words:
        given = {name: fake.moved(fed[name], orders["d" if name == "c" else name], name) for name in "abc"}
        return fake.moved(fake(**given), np.argsort(orders["d"]), "c")

    mixed, straight = solve(fake, execute), solve(fake)
    for name, order in (("A", orders["a"]), ("B", orders["b"]), ("D", orders["d"])):
        table = np.empty_like(found(mixed, name))
        table[:] = found(mixed, name)[order]
        for axis in (0, 1):
            pairs = np.unique(np.stack([table[:, axis], found(straight, name)[:, axis]]), axis=1)
            assert all(np.unique(side).size == pairs.shape[1] for side in pairs), (name, axis)
    assert mixed.needed["A"].field_bits == {"f64": 64, "f16": 16}[fake.dtype]


def test_one_rule_for_all_names_is_said_once() -> None:
    rules = {"M": "rows as in a book", "N": "columns as in a book", "K": "k as in a book"}
    assert rules_in_words(rules) == "rows, columns and k as in a book"
    assert rules_in_words(rules | {"K": "k by slot"}) == "rows as in a book; columns as in a book; k by slot"
