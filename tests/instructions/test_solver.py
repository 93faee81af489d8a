"""What the solver knows by itself: no document's names, any layout, and how far it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from instructions.calculator import HOLE, Table, tables
from instructions.card import Card
from layoutprobe import arch, instructions
from layoutprobe.arch import matrix
from layoutprobe.arch.fragments import Fragment
from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.errors import ProbeError
from layoutprobe.instructions import Variant
from layoutprobe.instructions.solving import solved_by
from layoutprobe.machine.observer import Observer

Words = NDArray[np.uint32]


def variant_of(name: str, target: str = "gfx1200", wave: int = 32) -> Variant:
    return Variant(arch.find(target).matrix_form(name), target, wave)


def shuffled(table: Table, seed: int) -> Table:
    order = np.random.default_rng(seed).permutation(table.row.size)
    return Table(
        table.row.ravel()[order].reshape(table.row.shape), table.col.ravel()[order].reshape(table.col.shape)
    )


def alike(one: NDArray[np.integer], other: NDArray[np.integer]) -> bool:
    """Whether two labellings are the same but for names."""
    pairs = np.unique(np.stack([one.ravel(), other.ravel()]), axis=1)
    return all(np.unique(side).size == pairs.shape[1] for side in pairs)


def joined(*tables: NDArray[np.integer]) -> NDArray[np.integer]:
    return np.concatenate([t.ravel() for t in tables])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "wave"),
    [
        ("v_wmma_f32_16x16x16_f16", 32),
        ("v_wmma_i32_16x16x16_iu8", 64),
        ("v_wmma_f16_16x16x16_f16", 64),
        ("v_swmmac_i32_16x16x32_iu8", 64),
        ("v_swmmac_f32_16x16x32_bf8_fp8", 32),
    ],
)
def test_any_layout_is_found_up_to_names(name: str, wave: int, seed: int) -> None:
    """Every operand's slots in random order: rows of A and D, columns of B and D, k of A and B."""
    variant = variant_of(name, wave=wave)
    good = tables(variant)
    d = shuffled(good["D"], seed)
    random = good | {"A": shuffled(good["A"], seed + 10), "B": shuffled(good["B"], seed + 20), "C": d, "D": d}
    found = solved_by(variant, Card(variant, random).execute).needed
    assert alike(joined(found["A"].row, found["D"].row), joined(random["A"].row, d.row))
    assert alike(joined(found["B"].col, found["D"].col), joined(random["B"].col, d.col))
    if not variant.form.sparse:
        assert alike(joined(found["A"].col, found["B"].row), joined(random["A"].col, random["B"].row))
        return
    # Groups have no names; which of the two kept, and which of the four, have.
    assert alike(
        joined(found["A"].col // 2, found["B"].row // 4), joined(random["A"].col // 2, random["B"].row // 4)
    )
    assert np.array_equal(found["A"].col % 2, random["A"].col[None] % 2)
    assert np.array_equal(found["B"].row % 4, random["B"].row[None] % 4)
    kept, index = found["A"].col, found["index"].col
    assert alike(joined(kept, index), joined(random["A"].col, random["index"].col))


@pytest.mark.parametrize("wave", [32, 64])
def test_the_gauge_of_a_dense_instruction(wave: int) -> None:
    """RDNA4: rows, columns and k permute freely. RDNA3: columns and k once for each set of copies."""
    groups = wave // 16
    new = solved_by(v := variant_of("v_wmma_f32_16x16x16_f16", wave=wave), Card(v, tables(v)).execute).gauge
    assert [(new[a].units, new[a].unit, new[a].copies) for a in "MNK"] == [(16, 1, 1)] * 3
    assert (new.blocks, new.stacked) == (1, "")
    v = variant_of("v_wmma_f32_16x16x16_f16", "gfx1151", wave)
    old = solved_by(v, Card(v, tables(v)).execute).gauge
    assert [(old[a].units, old[a].unit, old[a].copies) for a in "MNK"] == [
        (16, 1, 1),
        (16, 1, groups),
        (16, 1, groups),
    ]
    assert (old.blocks, old.stacked) == (groups, "rows")
    one_copy = solved_by(v, Card(v, tables(v), own_copies=False).execute).gauge
    assert [one_copy[a].copies for a in "MNK"] == [1, 1, 1]
    assert one_copy["K"].units == 16


class Miswired(EmulatorBackend):
    """The emulator with the half-waves of A exchanged in its own tables, while it runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.monkeypatch = monkeypatch

    def run(self, launch: Launch, observers: Sequence[Observer] = ()) -> RunResult:
        true = matrix._fragments

        def wrong(form: matrix.MatrixForm, wave: int, opsel: int) -> Mapping[str, Fragment]:
            found = dict(true(form, wave, opsel))
            a = found["A"]
            return found | {"A": Fragment(a.lane ^ 16, a.bit, a.vgprs, a.bits)}

        with self.monkeypatch.context() as patch:
            patch.setattr(matrix, "_fragments", wrong)
            return super().run(launch, observers)


@pytest.mark.parametrize(
    "name", ["v_wmma_f32_16x16x16_f16", "v_wmma_i32_16x16x32_iu4", "v_swmmac_f32_16x16x32_f16"]
)
def test_a_wrong_emulator_is_found_out_on_real_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables that the emulator executes are not those that the result rests on."""
    right = instructions.solve(name, "gfx1200")
    wrong = instructions.solve(name, "gfx1200", backend=Miswired(monkeypatch))
    # A names k; so what differs is B, and A's own slots where k has names of its own.
    assert any(right.operands[m] != wrong.operands[m] for m in right.operands)
    assert instructions.solve(name, "gfx1200").operands["B"] == right.operands["B"]


def _broken(variant: Variant, spoil: str) -> Card:
    class Broken(Card):
        def execute(self, given: Mapping[str, Words]) -> Words:
            d = super().execute(given)
            if spoil == "adds a constant":
                numbers = d.view(np.float32)
                return (numbers + np.float32(1)).view(np.uint32)
            if spoil == "squares":
                numbers = d.view(np.float32)
                return (numbers * numbers).view(np.uint32)
            both = {**given, "a": given["a"][:, :, ::-1].copy()}  # sums two rows
            other = super().execute({**both, "c": np.zeros_like(given["c"])})
            return (d.view(np.float32) + other.view(np.float32)).view(np.uint32)

    return Broken(variant, tables(variant))


@pytest.mark.parametrize("spoil", ["adds a constant", "squares", "sums two rows"])
def test_what_is_no_matrix_product_is_refuted(spoil: str) -> None:
    variant = variant_of("v_wmma_f32_16x16x16_f16")
    with pytest.raises(ProbeError) as error:
        solved_by(variant, _broken(variant, spoil).execute)
    assert error.value.what


def test_holes_stay_holes() -> None:
    """4-bit K16 in wave64 fills 32 lanes; the others are dead, and the result says so."""
    result = instructions.solve("v_wmma_i32_16x16x16_iu4", "gfx1200", 64)
    for name in "AB":
        assert result.live[name][0, :32].all()
        assert not result.live[name][0, 32:].any()
        assert (result.operands[name].row[0, 32:] == HOLE).all()
        assert (result.readers[name][0, 32:] == 0).all()
