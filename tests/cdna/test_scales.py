"""Scaled f8f6f4: which byte of which lane scales which k, by execution and by arithmetic.

With data of 8 bits the scale of a lane is not that of the lane's data. An instruction that takes the lane's own
scale, as some emulators do, is refuted here: by the solver, and by any product with scales that differ.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from cdna.alone import Alone, Numbers
from cdna.inverse import LANES, Instruction, Slots
from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.errors import ProbeError
from layoutprobe.instructions.meetings import executed_alone
from layoutprobe.instructions.probe import Variant
from layoutprobe.instructions.solving import extents_of, interaction_by, solved_by
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.numbers import element_type
from layoutprobe.semantics.alone import execute
from layoutprobe.solver.bench import Execute

GFX950 = TARGETS["gfx950"].matrix
SCALED = [form for form in GFX950.values() if form.scaled]
IDS = [form.spelling.removeprefix("v_mfma_scale_f32_") for form in SCALED]
MIXED = "v_mfma_scale_f32_{}_f8f6f4 cbsz:0 blgp:4"
"""A of 8 bits, B of 4."""

Words = NDArray[np.uint32]


def scale_slots(form: MatrixForm, byte: int, lines: int) -> tuple[np.ndarray, np.ndarray]:
    """Line and block of k of every byte: int64 [lane, byte]; -1 for none (Triton's scale layout, inverted)."""
    line, block = np.full((LANES, 4), -1), np.full((LANES, 4), -1)
    lane = np.arange(LANES)
    line[:, byte], block[:, byte] = lane % lines, lane // lines
    return line, block


@pytest.mark.parametrize("form", SCALED, ids=IDS)
def test_every_cell_and_every_scale(form: MatrixForm) -> None:
    opsel = SCALED.index(form) % 16
    variant = Variant(form, "gfx950", 64, opsel)
    solved = interaction_by(variant, executed_alone(variant))
    instruction = Instruction(form.spelling)
    for name in "ABCD":
        layout, slots = solved.needed[name], instruction.operand(name)
        assert np.array_equal(layout.row.reshape(64, -1), slots.row), name
        assert np.array_equal(layout.col.reshape(64, -1), slots.col), name
    for name, byte in (("A", opsel % 4), ("B", opsel // 4)):
        layout = solved.needed[f"scale {name}"]
        line, block = scale_slots(form, byte, form.shape[0])
        row, col = (line, block) if name == "A" else (block, line)
        assert np.array_equal(layout.row.reshape(64, 4), row)
        assert np.array_equal(layout.col.reshape(64, 4), col)
    k = solved.gauge["K"]
    assert (k.units, k.unit, k.within) == (form.shape[2] // 32, 32, True)
    assert "and of the lines of a group" in str(k)


def scale_words(byte: int, lines: int, codes: np.ndarray, rng: np.random.Generator) -> Words:
    """Registers [1, lane] with codes [line, block] in one byte and garbage in the others."""
    words = rng.integers(0, 1 << 32, LANES, np.uint32)
    lane = np.arange(LANES)
    words &= np.uint32(~(0xFF << 8 * byte) & 0xFFFFFFFF)
    return (words | codes[lane % lines, lane // lines].astype(np.uint32) << np.uint32(8 * byte))[None]


def operands(form: MatrixForm, rng: np.random.Generator) -> tuple[Numbers, Numbers, Numbers]:
    m, n, k = form.shape
    halves = 0.5 * np.arange(-6, 7)
    values = [halves[np.abs(halves) <= 2] if t == "fp4" else halves for t in (form.a, form.b)]
    return (
        rng.choice(values[0], (m, k)),
        rng.choice(values[1], (k, n)),
        rng.integers(-9, 10, (m, n)).astype(float),
    )


@pytest.mark.parametrize("form", SCALED, ids=IDS)
def test_products_with_scales_of_their_own(form: MatrixForm) -> None:
    rng = np.random.default_rng(6)
    m, n, k = form.shape
    a, b, c = operands(form, rng)
    codes_a, codes_b = (rng.integers(124, 131, (lines, k // 32)) for lines in (m, n))
    wanted = (a * np.repeat(2.0 ** (codes_a - 127), 32, 1)) @ (
        b * np.repeat(2.0 ** (codes_b - 127), 32, 1).T
    ) + c
    for opsel in (0, 6, 9, 15):
        mods = {
            "abid": 1,
            "opsel": opsel & 1 | (opsel >> 2 & 1) << 1,
            "opsel_hi": opsel >> 1 & 1 | (opsel >> 3) << 1,
        }
        alone = Alone(form.spelling, mods=mods).give(a, b, c)
        alone.words["scale A"] = scale_words(opsel & 3, m, codes_a, rng)
        alone.words["scale B"] = scale_words(opsel >> 2, n, codes_b, rng)
        np.testing.assert_array_equal(alone.product(("scale A", "scale B")), wanted)
        alone.mods = {**mods, "abid": 0}
        np.testing.assert_array_equal(alone.product(("scale A", "scale B")), a @ b + c)


def test_a_scale_of_255_is_a_nan_and_scales_reach_both_ends() -> None:
    form = GFX950[MIXED.format("16x16x128")]
    alone = Alone(form.spelling, mods={"abid": 1})
    alone.give(np.ones((16, 128)), np.ones((128, 16)), np.zeros((16, 16)))
    codes = np.full((16, 4), 127)
    codes[3, 2], codes[5] = 255, 254
    rng = np.random.default_rng(1)
    alone.words["scale A"] = scale_words(0, 16, codes, rng)
    alone.words["scale B"] = scale_words(0, 16, np.full((16, 4), 1), rng)
    found = alone.product(("scale A", "scale B"))
    assert np.isnan(found[3]).all()
    assert (found[5] == 128 * 2.0 ** (127 - 126)).all()
    assert (found[0] == 128 * 2.0**-126).all()


def test_scales_may_be_inline_constants() -> None:
    """1.0 is 0x3f800000: byte 3 holds 63, byte 2 holds 128."""
    form = GFX950[MIXED.format("32x32x64")]
    words = {name: np.full((count, 1, 64), value, np.uint32)
             for name, count, value in (("A", 8, 0x38383838), ("B", 4, 0x22222222), ("C", 16, 0))}  # fmt: skip
    regs = np.concatenate(list(words.values()))
    constant = Operand("const", 242)
    sources = (Operand("v", 0, 8), Operand("v", 8, 4), Operand("v", 12, 16), constant, constant)
    mods = {"blgp": 4, "abid": 1, "opsel_hi": 3}
    inst = Inst(0, 16, form.name, "MAI", (Operand("v", 12, 16),), sources, mods)
    assert (execute(inst, regs)[12:].view(np.float32) == 64 * 2.0 * 2.0).all()


# The instruction with the scales of the lanes that hold the data


def elements(slots: Slots, words: Words, kind: str) -> Numbers:
    """Numbers [wave, lane, place] of registers [wave, vgpr, lane]."""
    found = np.zeros((len(words), *slots.row.shape), np.uint64)
    for place in range(slots.row.shape[1]):
        for bit in range(slots.bits):
            at = place * slots.bits + bit
            one = words[:, at // 32] >> np.uint32(at % 32) & np.uint32(1)
            found[:, :, place] |= one.astype(np.uint64) << np.uint64(bit)
    return element_type(kind).decode(found)


def with_own_scales(form: MatrixForm) -> Execute:
    """What executes the wrong instruction."""
    instruction = Instruction(form.spelling)
    m, n, k = form.shape

    def wrong(fed: Mapping[str, Words]) -> Words:
        def matrix(name: str, kind: str, shape: tuple[int, int]) -> Numbers:
            slots = instruction.operand(name)
            own = 2.0 ** ((fed[f"scale_{name.lower()}"][:, 0] & 255).astype(float) - 127)
            full = np.zeros((len(own), *shape))
            full[:, slots.row, slots.col] = elements(slots, fed[name.lower()], kind) * own[:, :, None]
            return full

        d, c = instruction.operand("D"), fed["c"].view(np.float32)
        product = matrix("A", form.a, (m, k)) @ matrix("B", form.b, (k, n))
        out = c.transpose(0, 2, 1) + product[:, d.row, d.col]
        return np.ascontiguousarray(out.transpose(0, 2, 1).astype(np.float32)).view(np.uint32)

    return wrong


@pytest.mark.few(2)
@pytest.mark.parametrize("cbsz", range(5))
@pytest.mark.parametrize("blgp", [0, 2, 4])
@pytest.mark.parametrize("shape", ["16x16x128", "32x32x64"])
def test_the_lanes_own_scale_is_refuted(shape: str, cbsz: int, blgp: int) -> None:
    """With 8 bits in A or B. With fewer in both a lane's data is one block: nothing to refute."""
    form = GFX950[f"v_mfma_scale_f32_{shape}_f8f6f4 cbsz:{cbsz} blgp:{blgp}"]
    variant = Variant(form, "gfx950", 64)
    wrong = with_own_scales(form)
    if (cbsz < 2) != (blgp < 2):
        with pytest.raises(ProbeError, match="scale"):
            interaction_by(variant, wrong)
        return
    right, found = (interaction_by(variant, x) for x in (executed_alone(variant), wrong))
    same = all(found.needed[name] == right.needed[name] for name in right.needed)
    assert same == (cbsz >= 2)


def test_extents_of_a_scaled_form() -> None:
    variant = Variant(SCALED[0], "gfx950", 64)
    assert extents_of(variant).scaled
    launches = solved_by(variant, executed_alone(variant)).launches
    assert launches["scales of A"] == launches["scales of B"] == 2 * 128
