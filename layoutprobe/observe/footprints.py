"""What every instruction of some workgroups reads and leaves, lane by lane, as check sums.

Two runs whose inputs differ in one element, laid beside each other, show where that element goes: to the instructions
whose sums differ. That is what it does to values, and no reading of the code: a value that a mask takes away, or that
is multiplied by zero, goes no further.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import VGPR0, Inst, Operand
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Program
from layoutprobe.machine.registers import SGPRS
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.uses import ACCUMULATING

LIMIT = 96 << 20
"""Bytes that are kept; then it ends."""

_BITS = 32
_CHOICE = 2
"""Which source of a conditional move says, lane by lane, what is chosen."""

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]
Group = tuple[int, int, int]


class Trail(Struct, frozen=True, eq=False):
    """The steps of one wave.

    Attributes:
        insts: what it executed, in its order.
        clock: int64 [step], the order of steps of all waves.
        read, left: uint32 [step, lane], sums of the registers that each lane reads before, and of those that are
            written afterwards; 0 where the lane is off.
    """

    insts: tuple[Inst, ...]
    clock: Ints
    read: Words
    left: Words

    __repr__ = brief


class Footprints(Struct, frozen=True, eq=False):
    """Trails by workgroup and position of the wave in it; `complete` is False where there were too many steps."""

    trails: Mapping[tuple[Group, int], Trail]
    complete: bool

    __repr__ = brief


class WatchFootprints(Struct, frozen=True):
    """Makes observers of these workgroups; equal ones make equal observers."""

    groups: tuple[Group, ...]

    def __call__(self) -> Recorder:
        """An observer for one launch."""
        return FootprintRecorder(self.groups)


class _Step(Struct, frozen=True, eq=False):
    """An instruction, executed by several watched waves together: their numbers, and sums [wave, lane]."""

    inst: Inst
    waves: Ints
    read: Words
    left: Words


class FootprintRecorder(Recorder):
    """Keeps the footprints of one launch."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._groups = frozenset(groups)
        self._waves: list[tuple[Group, int]] = []
        self._steps: list[_Step] = []
        self._pending: tuple[Cohort, Inst, Ints, Ints, Words] | None = None
        self._picked: list[tuple[Ints, Inst]] = []
        self._size = 0

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._finish()
        ids = [(int(x), int(y), int(z)) for x, y, z in machine.waves.group_id]
        self._number = np.full(len(ids), -1, np.int64)
        for at, group in enumerate(ids):
            if group in self._groups:
                self._number[at] = len(self._waves)
                self._waves.append((group, int(machine.waves.index[at])))

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self._finish()

    def barrier(self, machine: Machine, groups: Ints) -> None:
        """See Observer."""
        self._finish()

    def ended(self, c: Band) -> None:
        """See Observer."""
        self._finish()

    def step(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        self._finish()
        number = self._number[c.waves]
        which = np.flatnonzero(number >= 0)
        if which.size and self._size <= LIMIT:
            self._pending = c, inst, which, number[which], _sums(c, which, _read_by(inst))

    def indexed(self, c: Cohort, inst: Inst, waves: Ints, done: Inst) -> None:
        """See Observer."""
        if self._pending is None or self._pending[1].pc != inst.pc:
            return
        _, _, which, _, read = self._pending
        at = np.flatnonzero(np.isin(c.waves[which], waves))
        read[at] = _sums(c, which[at], _read_by(done))
        self._picked.append((at, done))

    def _finish(self) -> None:
        if self._pending is None:
            return
        c, inst, which, waves, read = self._pending
        self._pending = None
        left = _sums(c, which, _written_by(inst))
        for at, done in self._picked:
            left[at] = _sums(c, which[at], _written_by(done))
        self._picked.clear()
        self._steps.append(_Step(inst, waves, read, left))
        self._size += read.nbytes + left.nbytes

    def record(self) -> Footprints:
        """See Recorder."""
        self._finish()
        rows: list[list[tuple[int, int]]] = [[] for _ in self._waves]
        for clock, step in enumerate(self._steps):
            for position, wave in enumerate(step.waves.tolist()):
                rows[wave].append((clock, position))
        trails = {who: self._trail(mine) for who, mine in zip(self._waves, rows, strict=True) if mine}
        return Footprints(trails, self._size <= LIMIT)

    def _trail(self, rows: list[tuple[int, int]]) -> Trail:
        steps = [self._steps[clock] for clock, _ in rows]
        read, left = (
            np.stack([getattr(step, part)[at] for step, (_, at) in zip(steps, rows, strict=True)])
            for part in ("read", "left")
        )
        return Trail(tuple(step.inst for step in steps), np.array([clock for clock, _ in rows]), read, left)


class _Word(Struct, frozen=True):
    """A register that counts, or 32 bits of a mask of which each lane has one: of lanes `first` and up."""

    register: int
    first: int = -1


def _sums(c: Cohort, which: Ints, words: Iterable[_Word]) -> Words:
    """A number for what each active lane has in some registers: uint32 [wave, lane]."""
    total = np.zeros((which.size, c.size), np.uint32)
    for place, word in enumerate(words):
        factor = np.uint32(2 * place + 1)
        if word.register >= VGPR0:
            total += factor * c.regs.vgprs[word.register - VGPR0, which]
        elif word.register < SGPRS and word.first < 0:
            total += factor * c.regs.sgprs[word.register, which, :1]
        elif word.register < SGPRS:
            lanes = np.arange(c.size - word.first)[:_BITS].astype(np.uint32)
            mask = c.regs.sgprs[word.register, which, :1] >> lanes & np.uint32(1)
            total[:, word.first : word.first + lanes.size] += factor * mask
    return np.where(c.exec[which], total, np.uint32(0))


def _read_by(inst: Inst) -> list[_Word]:
    found: list[_Word] = []
    for half in inst.pair or (inst,):
        changed = half.dst if half.name.startswith(ACCUMULATING) else ()
        for at, operand in enumerate((*half.src, *changed)):
            found += _words(operand, mask=at == _CHOICE and "cndmask" in half.name)
    return found


def _written_by(inst: Inst) -> list[_Word]:
    found: list[_Word] = []
    for half in inst.pair or (inst,):
        for operand in half.dst:
            found += _words(operand, mask=half.name.startswith("v_"))
    return found


def _words(operand: Operand, *, mask: bool) -> Iterable[_Word]:
    for at, register in enumerate(operand.registers()):
        yield _Word(register, _BITS * at if mask and operand.kind == "s" else -1)
