"""What loads from LDS find in one workgroup, and who put it there: of each wave the first execution of each load."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses
from layoutprobe.observe.matrix import WaveCounter

Words = NDArray[np.uint32]
Ints = NDArray[np.int64]
WAVE_BIT, LANE_BIT, STORE_BIT = 16, 8, 32
"""Where in the number of a stored byte wave and lane begin, and the PC of the store; its place in what the lane
stores has the bits below."""
_READ = Kind.LDS | Kind.LOAD
_ADDRESS_AND_DATA = 2
"""Operands of a store to one address."""


class Fetch(Struct, frozen=True, eq=False):
    """What the lanes of a wave found where their addresses point.

    Attributes:
        inst: the load.
        words: uint32 [dword, lane]; of a load from two addresses, what the first names.
        undefined: the same; set bits are undefined, as all are of lanes that are off.
        stored: int64 [lane, byte], who stored it last; -1 for nobody, or for many.
    """

    inst: Inst
    words: Words
    undefined: Words
    stored: Ints

    __repr__ = brief


class Fetches(Struct, frozen=True):
    """(PC, number of the wave in the launch) -> its first execution."""

    first: Mapping[tuple[int, int], Fetch]

    __repr__ = brief


class WatchFetches(Struct, frozen=True):
    """Makes observers of one workgroup; equal ones are one run."""

    group: tuple[int, int, int]

    def __call__(self) -> FetchObserver:
        """A fresh one."""
        return FetchObserver(self.group)


class FetchObserver(WaveCounter):
    """Keeps what loads from LDS fetch, and numbers the bytes that are stored."""

    def __init__(self, group: tuple[int, int, int]) -> None:
        super().__init__()
        self._group = np.asarray(group)
        self._fetched: dict[tuple[int, int], Fetch] = {}
        self._stored = np.zeros(0, np.int64)
        self._second: dict[tuple[int, bytes], bool] = {}  # the next access is that of the second address

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.lds:
            return
        here = np.flatnonzero((c.machine.waves.group_id[c.waves] == self._group).all(axis=1))
        if not here.size:
            return
        if not self._stored.size:
            self._stored = np.full(c.machine.lds_size, -1, np.int64)
        bytes_at = (place.offsets - c.lds_base)[here][..., None] + np.arange(size)
        if store:
            self._store(c, inst, place.mask[here], bytes_at, c.machine.waves.index[c.waves[here]])
        elif inst.kind & _READ == _READ and size >= 4:
            self._load(c, inst, place, bytes_at, here)

    def _store(self, c: Cohort, inst: Inst, mask: NDArray[np.bool_], at: Ints, wave: Ints) -> None:
        lane, byte = np.arange(at.shape[1])[:, None], np.arange(at.shape[2])
        if len(inst.src) > _ADDRESS_AND_DATA:
            which = inst.pc, wave.tobytes()
            second = self._second[which] = not self._second.get(which, True)
            byte = byte + second * at.shape[2]
        number = (
            inst.pc << STORE_BIT | wave.astype(np.int64)[:, None, None] << WAVE_BIT | lane << LANE_BIT | byte
        )
        self._stored[at[mask]] = -1 if Kind.ATOMIC in inst.kind else np.broadcast_to(number, at.shape)[mask]

    def _load(self, c: Cohort, inst: Inst, place: Addresses, bytes_at: Ints, here: Ints) -> None:
        waves = self.number(c)
        if all((inst.pc, int(waves[at])) in self._fetched for at in here):
            return
        size = bytes_at.shape[2]
        words = place.memory.data.gather(place.offsets, size, place.low_bits)
        undefined = place.memory.undefined(place.offsets, size, place.low_bits)
        for at, named in zip(here, bytes_at, strict=True):
            bits = np.zeros_like(words[at]) if undefined is None else undefined[at].copy()
            bits[~place.mask[at]] = 0xFFFFFFFF
            stored = np.where(place.mask[at][:, None], self._stored[named], -1)
            found = Fetch(inst, words[at].T.copy(), bits.T.copy(), stored)
            self._fetched.setdefault((inst.pc, int(waves[at])), found)

    def record(self) -> Fetches:
        """See Recorder."""
        return Fetches(dict(self._fetched))
