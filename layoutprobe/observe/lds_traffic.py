"""Which bytes of LDS the waves of one workgroup touch, access by access, and between which barriers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Program
from layoutprobe.observe.base import Recorder

MOST = 1 << 16
"""Accesses of waves that are kept."""

Group = tuple[int, int, int]


class Passage(Struct, frozen=True, eq=False):
    """One access of one wave.

    Attributes:
        pc: of the instruction.
        wave: in the workgroup.
        interval: barriers that the workgroup has passed before.
        store: an atomic is one, too.
        size: bytes of a lane.
        byte: int64 [lane], where in the workgroup's LDS; -1 of lanes that do not access.
    """

    pc: int
    wave: int
    interval: int
    store: bool
    size: int
    byte: NDArray[np.int64]

    __repr__ = brief

    def lanes(self, byte: int) -> NDArray[np.int64]:
        """Lanes that access a byte."""
        return np.flatnonzero((self.byte >= 0) & (self.byte <= byte) & (byte < self.byte + self.size))

    def dwords(self, count: int) -> NDArray[np.int64]:
        """How many lanes access each of the first dwords: int64 [dword]."""
        first = self.byte[self.byte >= 0]
        last = (first + self.size - 1) // 4
        found = np.zeros(count + 1, np.int64)
        np.add.at(found, np.minimum(first // 4, count), 1)
        np.add.at(found, np.minimum(last + 1, count), -1)
        return np.cumsum(found)[:count]

    def bytes(self, size: int) -> NDArray[np.int64]:
        """How many lanes access each of the first bytes: int64 [byte]."""
        first = self.byte[self.byte >= 0]
        return np.bincount((first[:, None] + np.arange(self.size)).ravel(), minlength=size)[:size]


class Traffic(Struct, frozen=True, eq=False):
    """What happened to LDS of the workgroup, in the order in which the emulator executed it.

    Attributes:
        size: bytes of it.
        passages: as far as they are kept.
    """

    size: int
    passages: tuple[Passage, ...]

    __repr__ = brief

    def before(self, number: int) -> Iterator[Passage]:
        """Stores before an access."""
        return (one for one in self.passages[:number] if one.store)


class TrafficOf(Struct, frozen=True):
    """Makes recorders of a workgroup's traffic; equal ones make equal recorders."""

    group: Group

    def __call__(self) -> TrafficRecorder:
        """A recorder of one launch."""
        return TrafficRecorder(self.group)


class TrafficRecorder(Recorder):
    """Records one launch; see `TrafficOf`."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._size = self._interval = 0
        self._passages: list[Passage] = []
        self._number = -1

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.LDS

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        mine = (machine.waves.group_id == self._group).all(axis=1)
        self._number = int(machine.waves.workgroup[mine][0]) if mine.any() else -1
        self._size = machine.lds_size

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.lds:
            return
        offsets = np.broadcast_to(place.offsets - c.lds_base, place.mask.shape)
        for at in np.flatnonzero(c.machine.waves.workgroup[c.waves] == self._number):
            mask = place.mask[at]
            if mask.any() and len(self._passages) < MOST:
                wave = int(c.machine.waves.index[c.waves[at]])
                byte = np.where(mask, offsets[at], -1)
                self._passages.append(Passage(inst.pc, wave, self._interval, store, size, byte))

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """See Observer."""
        self._interval += int((groups == self._number).any())

    def record(self) -> Traffic:
        """See Recorder."""
        return Traffic(self._size, tuple(self._passages))
