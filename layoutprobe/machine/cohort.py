"""A cohort: waves that stand at the same PC, and everything that they own.

One numpy operation executes an instruction for the whole cohort.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, SCC
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.registers import Array, RegisterFile

_FULL = 0xFFFF_FFFF


class Band(Protocol):
    """Waves that stand at one place, and which of their lanes are active: what most observers need of a cohort.

    Attributes as in `Cohort`.
    """

    @property
    def machine(self) -> Machine: ...  # noqa: D102
    @property
    def pc(self) -> int: ...  # noqa: D102
    @property
    def waves(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102
    @property
    def full(self) -> bool: ...  # noqa: D102
    @property
    def exec(self) -> Array: ...  # noqa: D102


class Cohort:
    """Waves at one PC.

    Attributes:
        machine: what all cohorts of the batch share.
        pc: address of the next instruction.
        waves: indices of the waves within the batch that runs, ascending.
        regs: register values; `u`, `i`, `f`, `su`... of it are at hand on the cohort itself.
        shadow: set bits are undefined bits of `regs`.
        undef: bit r is set when register r (isa.inst numbering) may have undefined bits; where
            it is clear, the shadow of r is all zero. This is what makes tracking cheap.
        exec: bool [wave, lane], active lanes.
        lanes: uint32 [wave, lane], all ones in active lanes (for masked writes).
        size: lanes of a wave, 32 or 64.
        full: all lanes of all waves are active.
        fragments: matrix operands that a matrix instruction has expanded, for the next ones of the
            same basic block; the binder knows which are still good.
        lds_base: int64 [wave, 1], where the wave's workgroup has its LDS.
    """

    __slots__ = (
        "exec", "f", "fragments", "full", "i", "lanes", "lds_base", "machine", "pc", "regs", "sf", "shadow",
        "si", "size", "su", "u", "undef", "waves",
    )  # fmt: skip

    def __init__(
        self,
        machine: Machine,
        pc: int,
        waves: NDArray[np.int64],
        regs: RegisterFile,
        shadow: RegisterFile,
        undef: int,
    ) -> None:
        self.machine = machine
        self.pc = pc
        self.waves = waves
        self.regs = regs
        self.shadow = shadow
        self.undef = undef
        self.size: int = regs.lanes
        self.u, self.i, self.f = regs.u, regs.i, regs.f
        self.su, self.si, self.sf = regs.su, regs.si, regs.sf
        self.lds_base = machine.lds_base[waves]
        self.fragments: dict[object, Any] = {}
        self.refresh_exec()

    def refresh_exec(self) -> None:
        """Derive the lane masks after the EXEC register was written."""
        words = mask_words(self.regs, EXEC_LO, self.size // 32)
        self.full = bool((words == 0xFFFFFFFF).all())
        self.exec = unpack_mask(words)
        self.lanes = np.where(self.exec, np.uint32(0xFFFFFFFF), np.uint32(0))

    @contextmanager
    def restricted(self, lanes: Array) -> Iterator[None]:
        """Run with only some of the active lanes."""
        saved = self.exec, self.lanes, self.full
        self.exec, self.full = lanes, False
        self.lanes = np.where(lanes, np.uint32(0xFFFFFFFF), np.uint32(0))
        try:
            yield
        finally:
            self.exec, self.lanes, self.full = saved

    def write(self, register: int, value: Array) -> None:
        """Write uint32 values to a VGPR in the active lanes."""
        target = self.u[register]
        if self.full:
            target[...] = value
        else:
            change = np.bitwise_xor(target, value)
            change &= self.lanes
            target ^= change

    def write_scalar(self, register: int, value: Array | int) -> None:
        """Write uint32 values to a scalar register, EXEC included."""
        self.su[register][...] = value
        if register in (EXEC_LO, EXEC_HI):
            self.refresh_exec()

    def scc(self) -> Array:
        """SCC as bool [wave, 1]."""
        return self.su[SCC] != 0

    def select(self, which: Array) -> Cohort:
        """A new cohort with some of the waves (positions or bool mask)."""
        if which.dtype == np.bool_:
            which = np.flatnonzero(which)
        return Cohort(
            self.machine,
            self.pc,
            self.waves[which],
            self.regs.select(which),
            self.shadow.select(which),
            self.undef,
        )

    @staticmethod
    def join(cohorts: list[Cohort]) -> Cohort:
        """One cohort of all the waves, in ascending order; all stand at the same PC."""
        undef = 0
        for cohort in cohorts:
            undef |= cohort.undef
        waves = np.sort(np.concatenate([c.waves for c in cohorts]))
        places = [np.searchsorted(waves, c.waves) for c in cohorts]
        return Cohort(
            cohorts[0].machine,
            cohorts[0].pc,
            waves,
            RegisterFile.join([c.regs for c in cohorts], places),
            RegisterFile.join([c.shadow for c in cohorts], places),
            undef,
        )


def mask_words(registers: RegisterFile, register: int, count: int) -> Array:
    """A lane mask in scalar registers, of one register in wave32 and two in wave64: uint32 [wave, count]."""
    if count == 1:
        return np.ascontiguousarray(registers.su[register])
    return np.concatenate([registers.su[register + n] for n in range(count)], axis=1)


def unpack_mask(words: Array) -> NDArray[np.bool_]:
    """uint32 [wave, 1 or 2] -> bool [wave, 32 or 64], lane 0 in bit 0 of the first word."""
    if words.size and words.min() == _FULL:  # as nearly always
        return np.ones((words.shape[0], 32 * words.shape[1]), np.bool_)
    raw = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(raw, axis=1, bitorder="little").view(np.bool_)


def pack_mask(lanes: Array) -> NDArray[np.uint32]:
    """bool [wave, 32 or 64] -> uint32 [wave, 1 or 2]."""
    return np.packbits(lanes, axis=1, bitorder="little").view(np.uint32)
