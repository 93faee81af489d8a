"""The interaction solver against instructions it knows nothing of, cell by cell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.fake_instructions import (
    FAKES,
    MFMA_16,
    MFMA_32,
    RDNA3,
    RDNA3_BF16,
    RDNA3_IU8,
    RDNA3_LOW,
    RDNA4,
    Fake,
)

from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.layouts.layout import HOLE
from layoutprobe.solver.experiment import FORMATS, interaction_experiment
from layoutprobe.solver.interaction import BOTH_HALVES, NO_READER, Interaction, solve_interaction


def capture_of(fake: Fake) -> Capture:
    fed = interaction_experiment(fake.a_slots, fake.b_slots, fake.d_slots, fake.dtype)
    return Capture(
        "interaction",
        "fake",
        Evidence("emulated", fake.name),
        {"a": fed.a, "b": fed.b, "c": fed.c},
        {"d": fake(fed.a, fed.b, fed.c)},
        parameters={"dtype": fake.dtype, "shape": fake.shape},
    )


def solve(fake: Fake) -> Interaction:
    return solve_interaction(capture_of(fake))


def by_formula(fake: Fake) -> dict[str, NDArray[np.int64]]:
    """(row, col) of every slot, straight from the fake's formulas: [slot, 2], HOLE where unread."""
    m, n, k = fake.shape
    at_a, at_b, at_d = fake.tables()
    index = np.indices((m, n, k))
    tables = {
        name: np.full((int(np.prod(slots)), 2), HOLE, np.int64)
        for name, slots in (("A", fake.a_slots), ("B", fake.b_slots), ("D", fake.d_slots))
    }
    tables["A"][at_a] = np.moveaxis(index[[0, 2]], 0, -1)
    tables["B"][at_b] = np.moveaxis(index[[2, 1]], 0, -1)
    tables["D"][at_d] = np.moveaxis(index[:2, :, :, 0], 0, -1)
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
    "fake", [RDNA3, RDNA3_LOW, MFMA_16, MFMA_32, RDNA3_BF16, RDNA3_IU8], ids=lambda fake: fake.name
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
    assert (interaction.blocks, interaction.stacked) == (2, "rows")
    lane = np.broadcast_to(np.arange(32)[None, :, None, None], (1, 32, 8, 2))
    own = lane % 2 == lane // 16  # row 0 is read in lane 0 and not in lane 16; row 1 the other way
    assert np.array_equal(interaction.live["A"], own)
    assert np.array_equal(interaction.readers["A"], np.where(own, lane // 16, NO_READER))
    assert interaction.live["B"].all()
    assert np.array_equal(interaction.readers["B"], lane // 16)
    assert "separately for each of 2 groups" in interaction.ambiguity


def test_an_emulator_that_reads_the_lower_lanes_looks_different() -> None:
    interaction = solve(RDNA3_LOW)
    lane = np.broadcast_to(np.arange(32)[None, :, None, None], (1, 32, 8, 2))
    assert interaction.blocks == 1
    assert np.array_equal(interaction.live["A"], lane < 16)
    assert np.array_equal(interaction.readers["B"], np.where(lane < 16, BOTH_HALVES, NO_READER))


MUTANTS = {
    "D rows of RDNA4": replace(RDNA3, d=RDNA4.d, a=lambda i, k, out: (i, k // 2, k % 2)),
    "k reversed in B": replace(RDNA3, b=lambda k, j, out: RDNA3.b(15 - k, j, out)),
    "halves of A swapped": replace(RDNA3, a=lambda i, k, out: RDNA3.a(i, k ^ 1, out)),
    "A transposed": replace(RDNA3_LOW, a=lambda i, k, out: RDNA3_LOW.a(k, i, out)),
    "B columns rotated": replace(RDNA3, b=lambda k, j, out: RDNA3.b(k, (j + 1) % 16, out)),
    "two rows of D exchanged": replace(RDNA3, d=lambda i, j: RDNA3.d({3: 5, 5: 3}.get(i, i), j)),
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
    capture = capture_of(RDNA3_LOW)
    a, b = (_adds_both_copies(np.asarray(capture.inputs[name])) for name in "ab")
    wrong = replace(capture, outputs={"d": RDNA3_LOW(a, b, np.asarray(capture.inputs["c"]))})
    with pytest.raises(ProbeError, match=r"contradict|not one of the numbers fed"):
        solve_interaction(wrong)


def test_what_is_no_product_is_refused() -> None:
    broken = replace(RDNA3, b=lambda k, j, out: RDNA3.b(max(k, 1), j, out))
    with pytest.raises(ProbeError, match="not one of the numbers fed"):
        solve(broken)
    short = replace(RDNA3, shape=(16, 16, 15))
    with pytest.raises(ProbeError, match="no matrix product"):
        solve_interaction(replace(capture_of(short), parameters={"dtype": "f16", "shape": (16, 16, 16)}))
    with pytest.raises(ProbeError, match="no matrix product"):
        solve_interaction(replace(capture_of(RDNA3), parameters={"dtype": "f16", "shape": (16, 32, 8)}))
    silent = capture_of(RDNA3)
    silent = replace(silent, outputs={"d": np.zeros_like(silent.outputs["d"])})
    with pytest.raises(ProbeError, match="no matrix product"):
        solve_interaction(silent)
    noisy = replace(silent, outputs={"d": np.full_like(silent.outputs["d"], 0x7FC00000)})
    with pytest.raises(ProbeError):
        solve_interaction(noisy)


def test_foreign_captures_are_refused() -> None:
    capture = capture_of(MFMA_16)
    a = np.asarray(capture.inputs["a"]).copy()
    a[0, 0, 0] ^= 1
    with pytest.raises(UsageError, match="not fed with"):
        solve_interaction(replace(capture, inputs={**capture.inputs, "a": a}))
    with pytest.raises(UsageError, match="Not an interaction capture"):
        solve_interaction(replace(capture, inputs={}))
    with pytest.raises(ProbeError, match="undefined"):
        solve_interaction(replace(capture, undefined={"d": np.ones_like(capture.outputs["d"])}))


@pytest.mark.parametrize("dtype", FORMATS)
def test_codes_are_exact_and_distinct(dtype: str) -> None:
    """Every coded slot differs from every other over the digits, in the element's own bits."""
    bits = FORMATS[dtype].bits
    slots = (32, 512 // 32 * bits // 32, 32 // bits)
    fed = interaction_experiment(slots, slots, (32, 8, 1), dtype)
    digits = (fed.waves - 2) // 2 // 512
    coded = fed.b[: digits * 512 : 512]
    seen = np.stack(
        [coded.transpose(0, 2, 1)[..., None] >> s & ((1 << bits) - 1) for s in range(0, 32, bits)], -1
    )
    assert len({tuple(code) for code in seen.reshape(digits, -1).T.tolist()}) == 512
    assert (seen != 0).all()
    assert digits == {"f16": 1, "bf16": 2, "iu8": 2, "iu4": 3}[dtype]
