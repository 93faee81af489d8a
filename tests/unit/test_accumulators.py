"""Accumulators that carry numbers, for every way in which an instruction writes its D.

The kernel's part (what a matrix instruction leaves, moves between registers) is played by the test.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.arch import find
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.registers import RegisterFile
from layoutprobe.numbers import DigitCode
from layoutprobe.observe import results
from layoutprobe.observe.accumulators import (
    FROM_OTHER,
    FROM_ZERO,
    AccumulatorCoder,
    AccumulatorCoding,
)
from layoutprobe.observe.results import Result

WAVES, REGISTERS = 3, 80
_PLAIN = find("gfx1151").matrix_form("v_wmma_f32_16x16x16_f16")


def form(result: str, shape: tuple[int, int, int], blocks: int = 1) -> MatrixForm:
    return replace(_PLAIN, name=f"v_made_up_{result}", result=result, shape=shape, blocks=blocks)


FORMS = {
    "16x16 f32, 32 lanes": (form("f32", (16, 16, 16)), 8, 32, 0),
    "16x16 f32, 64 lanes": (form("f32", (16, 16, 16)), 4, 64, 0),
    "16x16 i32, 64 lanes": (form("i32", (16, 16, 16)), 4, 64, 0),
    "16x16 f16, lower halves": (form("f16", (16, 16, 16)), 8, 32, 0),
    "16x16 f16, upper halves": (form("f16", (16, 16, 16)), 8, 32, 4),
    "16x16 bf16, both halves": (form("bf16", (16, 16, 16)), 4, 32, 0),
    "32x32 f32, 64 lanes": (form("f32", (32, 32, 8)), 16, 64, 0),
    "16 blocks of 4x4 f32, 64 lanes": (form("f32", (4, 4, 4), blocks=16), 4, 64, 0),
    "16x16 f64, 64 lanes": (form("f64", (16, 16, 4)), 8, 64, 0),
}
"""Form, registers of D, lanes, op_sel."""


@pytest.fixture(params=FORMS)
def made_up(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[MatrixForm, int, int, int]:
    found = FORMS[request.param]
    monkeypatch.setattr(results, "matrix_form", lambda inst: found[0])
    return found


class Wave:
    """Registers of some waves, under a coder."""

    def __init__(self, regs: int, lanes: int, op_sel: int, slots: int, base: int = 200) -> None:
        self.regs, self.op_sel = regs, op_sel
        self.files = [RegisterFile.filled(REGISTERS, WAVES, lanes, fill) for fill in (0, 0xFFFFFFFF)]
        count = np.arange(WAVES)
        waves = SimpleNamespace(group_id=np.zeros((WAVES, 3), np.int64), index=count)
        machine = SimpleNamespace(waves=waves)
        regs_, shadow = self.files
        self.cohort = cast(
            Any, SimpleNamespace(machine=machine, waves=count, regs=regs_, shadow=shadow, size=lanes)
        )
        codes = DigitCode.of(slots * 64, base, scrambled=True)
        self.code = AccumulatorCoding(codes, slots)
        self.coder = cast(AccumulatorCoder, self.code())
        self.coder.batch(cast(Any, machine), cast(Any, None))

    @property
    def vgprs(self) -> NDArray[np.uint32]:
        return self.files[0].vgprs

    def execute(self, d: int, c: int | None) -> None:
        """D and C begin in these registers; None: C is an inline zero."""
        source = Operand("const", 128, 1, 32) if c is None else Operand("v", c, self.regs, 32 * self.regs)
        ab = Operand("v", 0, 1, 32)
        inst = Inst(
            0, 8, "v_made_up", "VOP3P", (Operand("v", d, self.regs, 32 * self.regs),), (ab, ab, source),
            {"opsel": self.op_sel},
        )  # fmt: skip
        self.coder.matrix(self.cohort, inst)
        self.coder.matrix_done(self.cohort, inst)

    def chains(self) -> list[list[int]]:
        """Chain of every wave, instruction by instruction."""
        return [link.chain.tolist() for link in self.coder.record().links]


def values(form: MatrixForm, regs: NDArray[np.uint32], op_sel: int) -> NDArray[np.float64]:
    """Elements of D, in the order of registers, halves and lanes: [register, half, wave, lane]."""
    if form.result == "f64":
        pairs = np.ascontiguousarray(regs.reshape(-1, 2, *regs.shape[1:]).transpose(0, 2, 3, 1))
        return pairs.view(np.float64)[:, None, :, :, 0]
    if form.result in ("f32", "i32"):
        return regs.view(np.float32 if form.result == "f32" else np.int32).astype(np.float64)[:, None]
    halves = np.stack([regs & np.uint32(0xFFFF), regs >> np.uint32(16)], axis=1)
    if form.result == "bf16":
        return (halves << np.uint32(16)).view(np.float32).astype(np.float64)
    return halves[:, op_sel // 4 : op_sel // 4 + 1].astype(np.uint16).view(np.float16).astype(np.float64)


def test_every_slot_gets_its_own_number(made_up: tuple[MatrixForm, int, int, int]) -> None:
    form, regs, lanes, op_sel = made_up
    count = form.shape[0] * form.shape[1] * form.blocks
    wave = Wave(regs, lanes, op_sel, count)
    result = Result.of(wave_inst(regs, op_sel), lanes)
    assert result.slots == count
    wave.execute(8, None)
    held = values(form, wave.vgprs[8 : 8 + regs], op_sel)
    places = held.transpose(2, 0, 1, 3).reshape(WAVES, -1)
    assert places.shape == (WAVES, count)
    code = wave.code.codes
    chains = np.array(wave.chains()[0])
    number = chains[:, None] * count + np.arange(count)
    assert np.array_equal(places, code.digit(number, 0))
    assert len({tuple(row) for row in places}) == WAVES, "each wave has an accumulator of its own"
    outside = np.delete(wave.vgprs, range(8, 8 + regs), axis=0)
    assert not outside.any()
    register = [result.register(slot) for slot in range(count)]
    assert register == [r for r in range(0, regs, result.words) for _ in range(count * result.words // regs)]


def wave_inst(regs: int, op_sel: int) -> Inst:
    ab = Operand("v", 0, 1, 32)
    return Inst(0, 8, "v_made_up", "VOP3P", (Operand("v", 0, regs, 32 * regs),), (ab,), {"opsel": op_sel})


def test_what_is_accumulated_is_one_chain_wherever_it_is_moved(
    made_up: tuple[MatrixForm, int, int, int],
) -> None:
    form, regs, lanes, op_sel = made_up
    wave = Wave(regs, lanes, op_sel, form.shape[0] * form.shape[1] * form.blocks)
    wave.execute(8, None)
    first = wave.vgprs[8 : 8 + regs].copy()
    wave.execute(8, 8)
    assert np.array_equal(wave.vgprs[8 : 8 + regs], first), "the same numbers again"
    wave.vgprs[40 : 40 + regs] = wave.vgprs[8 : 8 + regs]
    wave.execute(24, 40)
    saved = wave.vgprs[24 : 24 + regs].copy()
    wave.execute(8, None)  # another one
    wave.execute(24, None)
    wave.vgprs[40 : 40 + regs] = saved  # back from scratch, its registers were used by others
    wave.execute(40, 40)
    one, two, three, four, five, six = wave.chains()
    assert one == two == three == six == [0, 1, 2]
    assert [four, five] == [[3, 4, 5], [6, 7, 8]]
    chains = wave.coder.record()
    assert chains.start.tolist() == [FROM_ZERO] * 9


def test_one_wrong_element_begins_another_chain(made_up: tuple[MatrixForm, int, int, int]) -> None:
    form, regs, lanes, op_sel = made_up
    wave = Wave(regs, lanes, op_sel, form.shape[0] * form.shape[1] * form.blocks)
    wave.execute(8, None)
    upper = np.uint32(1 << 16 if op_sel else 1)
    wave.vgprs[8 + regs - 1, 1, lanes - 1] ^= upper
    wave.execute(8, 8)
    assert wave.chains() == [[0, 1, 2], [0, 3, 2]]
    chains = wave.coder.record()
    assert chains.start.tolist() == [FROM_ZERO] * 3 + [FROM_OTHER]
    assert chains.slots == form.shape[0] * form.shape[1] * form.blocks


def test_two_accumulators_share_the_halves_of_their_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = FORMS["16x16 f16, lower halves"][0]
    monkeypatch.setattr(results, "matrix_form", lambda inst: found)
    wave = Wave(8, 32, 0, 256)
    wave.execute(8, None)
    wave.op_sel = 4
    wave.execute(8, None)
    wave.op_sel = 0
    wave.execute(8, 8)
    wave.op_sel = 4
    wave.execute(8, 8)
    assert wave.chains() == [[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5]]
