"""One instruction at a time on the native engine, on the registers of an `oracle.harness.Image`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from oracle.harness import Image, idle_machine
from oracle.language import current

from layoutprobe import semantics
from layoutprobe.engine.native.bound import Bound, bind_native, steps_of
from layoutprobe.engine.native.interpreter import Interpreter, regions_of
from layoutprobe.engine.native.lower import Record
from layoutprobe.engine.native.state import WaveMemory
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Program

STEP = 64
"""Bytes of address from one instruction's block to the next."""


class Kernel(Struct, frozen=True):
    """What the engine asks of a kernel."""

    name: str = "alone"
    entry: int = 0


class SilentProgram(Program, frozen=True):
    """One that knows no source lines."""

    def located(self, error: ExecutionError, inst: Inst) -> ExecutionError:
        return error


class Noting(Interpreter):
    """Notes what numpy executes."""

    by_numpy: list[Inst]

    def _execute(self, which: Any, record: Record) -> None:
        assert record.inst is not None
        self.by_numpy.append(record.inst)
        super()._execute(which, record)


class Alone:
    """Many instructions, compiled together, each a program of its own.

    Attributes:
        insts: the instructions, at addresses of their own.
        bound: what the engine made of them.
        by_numpy: the instructions that numpy has executed for C.
    """

    def __init__(self, insts: Sequence[Inst]) -> None:
        self.by_numpy: list[Inst] = []
        self.insts = [replace(inst, pc=STEP * n) for n, inst in enumerate(insts)]
        end = Inst(0, 4, "s_endpgm", "SOPP")
        blocks = {}
        for inst in self.insts:
            executor = semantics.bind(inst)
            assert executor is not None, inst.name
            blocks[inst.pc] = Block((executor,), (inst,), replace(end, pc=inst.pc + 8), inst.pc + STEP, 2)
        program = SilentProgram(cast(Any, None), cast(Any, Kernel()), blocks)
        self.bound: Bound = bind_native(steps_of(program, current().lanes))

    @cached_property
    def _heads(self) -> dict[int, int]:
        return {r.pc: n for n, r in enumerate(self.bound.records) if r.symbol == "F_block"}

    def is_native(self, n: int) -> bool:
        """C executes instruction n, and not numpy."""
        return self._record(n).symbol != "F_slow"

    def moves_undefined_bits(self, n: int) -> bool:
        """C moves those that instruction n stores or loads."""
        return self._record(n).undefined != 0

    def _record(self, n: int) -> Record:
        first = self._heads[self.insts[n].pc] + 1
        return next(r for r in self.bound.records[first : first + 2] if r.inst is not None)

    def run(
        self, n: int, image: Image, shadow: Image | None = None, machine: Machine | None = None
    ) -> tuple[Image, Image]:
        """Registers and their undefined bits after instruction n, which numpy finishes where C gives up."""
        machine = machine or idle_machine(image.waves)
        shadow = shadow or Image.zeros(image.waves)
        waves = WaveMemory(image.waves, len(image.v), image.lanes, self.bound.offsets)
        waves.reset(self.bound.runtime, image.waves, 0, 1 << 40)
        waves.load(image.v, image.s[..., None], shadow.v, shadow.s[..., None])
        waves.at[:] = self._heads[self.insts[n].pc]
        with np.errstate(all="ignore"):
            interpreter = Noting(self.bound, machine, waves, 1 << 40)
            interpreter.by_numpy = self.by_numpy
            interpreter.see(machine.arena, regions_of(machine.arena, look=True)).run()
        undefined = Image(waves.shadow.vgprs.copy(), waves.shadow.sgprs[..., 0].copy())
        self._undef_is_sound(waves, undefined)
        return Image(waves.regs.vgprs.copy(), waves.regs.sgprs[..., 0].copy()), undefined

    @staticmethod
    def _undef_is_sound(waves: WaveMemory, shadow: Image) -> None:
        """Where a wave's bit of `undef` is clear, its shadow is all zero."""
        for first, dirty in ((0, shadow.s != 0), (256, shadow.v.any(axis=2))):
            for n, wave in np.argwhere(dirty):
                register = first + int(n)
                assert int(waves.undef[wave, register >> 6]) >> (register & 63) & 1, f"register {register}"
