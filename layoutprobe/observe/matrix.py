"""Matrix instructions while they execute: what their operands hold.

`OperandRecorder` keeps the raw registers of A and B; with inputs whose elements carry numbers of
their own, they tell which element sits where.

Waves are numbered over the whole launch. A wave's matrix instructions are numbered in the order in
which it executes them, so that two runs of a kernel can be laid side by side.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Program
from layoutprobe.machine.registers import Array
from layoutprobe.observe.base import Recorder

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]

OPERAND_LIMIT = 64 << 20
"""Bytes of operands that are kept. Beyond, half of the workgroups are dropped, as often as needed. What is made of
them takes many times as much."""
_SCATTER = 2_654_435_761
"""2**32 by the golden ratio: multiples of it lie scattered (Knuth, The Art of Computer Programming, 6.4)."""


class WaveTable(Struct, frozen=True, eq=False):
    """The waves of a launch.

    Attributes:
        group: int64 [wave, 3], workgroup id in x, y, z.
        index: int64 [wave], position of the wave in its workgroup.
    """

    group: Ints
    index: Ints

    __repr__ = brief


class Execution(Struct, frozen=True, eq=False):
    """One instruction, executed by several waves together.

    Attributes:
        inst: the instruction.
        wave: int64 [wave], launch-wide numbers.
        turn: int64 [wave], which of the wave's matrix instructions this is.
        a, b: uint32 [vgpr, wave, lane], before it executes.
        a_undefined, b_undefined: set bits are undefined; None where there are none.
    """

    inst: Inst
    wave: Ints
    turn: Ints
    a: Words
    b: Words
    a_undefined: Words | None
    b_undefined: Words | None

    __repr__ = brief

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        parts = (self.a, self.b, self.a_undefined, self.b_undefined)
        return sum(part.nbytes for part in parts if part is not None)


class Operands(Struct, frozen=True, eq=False):
    """What the operands of every matrix instruction held.

    Attributes:
        waves: all waves of the launch.
        kept: bool [wave], waves whose operands were kept.
        executions: in the order of execution.
    """

    waves: WaveTable
    kept: NDArray[np.bool_]
    executions: tuple[Execution, ...]

    __repr__ = brief


class WaveCounter(Recorder):
    """Numbers waves over the whole launch, and their matrix instructions."""

    def __init__(self) -> None:
        self._groups: list[Ints] = []
        self._indices: list[Ints] = []
        self._first = 0
        self._turns = np.zeros(0, np.int64)

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._first = self._turns.size
        self._groups.append(machine.waves.group_id.astype(np.int64))
        self._indices.append(machine.waves.index.astype(np.int64))
        self._turns = np.concatenate([self._turns, np.zeros(machine.waves.index.size, np.int64)])

    def number(self, c: Band) -> Ints:
        """Launch-wide numbers of a cohort's waves."""
        return np.asarray(c.waves + self._first)

    def numbered(self, c: Cohort) -> tuple[Ints, Ints]:
        """The same, and which matrix instruction of each wave this is; counts it."""
        wave = self.number(c)
        turn = self._turns[wave]
        self._turns[wave] += 1
        return wave, turn

    def waves(self) -> WaveTable:
        """All waves seen so far."""
        if not self._groups:
            return WaveTable(np.zeros((0, 3), np.int64), np.zeros(0, np.int64))
        return WaveTable(np.concatenate(self._groups), np.concatenate(self._indices))


class OperandRecorder(WaveCounter):
    """Keeps the raw registers of A and B of every matrix instruction."""

    def __init__(self, limit: int = OPERAND_LIMIT) -> None:
        super().__init__()
        self._limit = limit
        self._size = 0
        self._every = 1  # one in so many workgroups is kept
        self._executions: list[Execution] = []

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        wave, turn = self.numbered(c)
        keep = self._kept(wave)
        if not keep.any():
            return
        a, b = inst.src[0], inst.src[1]
        execution = Execution(
            inst, wave[keep], turn[keep],
            _words(c, a, keep), _words(c, b, keep), _shadow(c, a, keep), _shadow(c, b, keep),
        )  # fmt: skip
        self._executions.append(execution)
        self._size += execution.size
        while self._size > self._limit and self._thin_out():
            pass

    def record(self) -> Operands:
        """See Recorder."""
        waves = self.waves()
        return Operands(waves, self._kept(np.arange(waves.index.size)), tuple(self._executions))

    def _kept(self, wave: Ints) -> NDArray[np.bool_]:
        if self._every == 1:
            return np.ones(wave.size, np.bool_)
        # A workgroup begins where its first wave does; all have the same number of waves.
        per_group = int(max(index.max(initial=0) for index in self._indices)) + 1
        # Neither in one row nor in one column of the grid; the first is always among them.
        return np.asarray((wave // per_group * _SCATTER & 0xFFFFFFFF) >> 8 & (self._every - 1) == 0)

    def _thin_out(self) -> bool:
        """Drop half of the workgroups that are kept; False when only one is left."""
        if len(np.unique(np.concatenate([e.wave for e in self._executions]))) <= 1:
            return False
        self._every *= 2
        self._executions = [e for e in map(self._thinned, self._executions) if e.wave.size]
        self._size = sum(execution.size for execution in self._executions)
        return self._every < 1 << 24

    def _thinned(self, e: Execution) -> Execution:
        keep = self._kept(e.wave)
        parts = (None if part is None else part[:, keep] for part in (e.a, e.b, e.a_undefined, e.b_undefined))
        return Execution(e.inst, e.wave[keep], e.turn[keep], *parts)  # type: ignore[arg-type]


def _words(c: Cohort, operand: Operand, keep: Array) -> Words:
    return np.asarray(c.regs.rows(operand.index, operand.regs)[:, keep])


def _shadow(c: Cohort, operand: Operand, keep: Array) -> Words | None:
    if not any(c.undef >> register & 1 for register in operand.registers()):
        return None
    bits = np.asarray(c.shadow.rows(operand.index, operand.regs)[:, keep])
    return bits if bits.any() else None
