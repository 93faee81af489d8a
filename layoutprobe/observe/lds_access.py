"""What the observers of LDS share: which accesses are to LDS, how fine, and what a store brings."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.registers import Array
from layoutprobe.machine.stored import stored_dwords

_WIDTH = re.compile(r"_(?:[biuf](\d+)|[us]?(byte|short))")
"""In the name of an access; those of GFX9 spell it out."""
_SHIFTS = {"8": 0, "byte": 0, "16": 1, "short": 1}


def granule_shift(insts: Iterable[Inst], encodings: tuple[str, ...] = ("DS", "FLAT")) -> int:
    """log2 of the largest power of two, up to 4 bytes, that divides every access of these encodings
    (by default those that reach LDS).

    Nothing is lost at that granularity as long as the addresses are as aligned as the widths are;
    `straddles` tells those that are not.
    """
    shift = 2
    for inst in insts:
        if inst.encoding in encodings and (width := _WIDTH.search(inst.name)):
            shift = min(shift, _SHIFTS.get(width[1] or width[2], 2))
    return shift


def straddles(place: Addresses, shift: int) -> bool:
    """Some lane's access begins within a granule: the hardware allows it, and granules cannot tell it."""
    return bool(place.low_bits & (1 << shift) - 1)


class Store(Struct, frozen=True, eq=False):
    """A store that is about to happen; its values are fetched only when two of them meet."""

    c: Cohort
    inst: Inst
    place: Addresses
    size: int

    @property
    def _unknown(self) -> bool:
        """What it brings is in no register: memory has a part in it. Then it is taken for another value."""
        return Kind.ATOMIC in self.inst.kind or self.inst.to_lds

    def changes(self, width: int) -> Array:
        """Which granules will hold another value than now: bool [lane, granule]."""
        if self._unknown:
            return np.ones((int(self.place.mask.sum()), width), np.bool_)
        new = stored_dwords(self.c, self.inst, self.place, self.size)[self.place.mask]
        place = self.place
        now = place.memory.data.gather(place.offsets, self.size, place.low_bits)[place.mask]
        return _per_granule(new != now, width)

    def granules(self, width: int) -> Array:
        """What each granule gets: [lane, granule]. Granules of one dword share it."""
        words = stored_dwords(self.c, self.inst, self.place, self.size)
        mine = np.broadcast_to(words, (*self.place.offsets.shape, words.shape[-1]))[self.place.mask]
        return np.asarray(mine[:, _columns(mine.shape[-1], width)])

    def unlike(self, wave: Array, lane: Array) -> Array:
        """Which granules get another value than the given wave and lane of this store bring."""
        if self._unknown:
            return np.ones(wave.shape, np.bool_)
        words = stored_dwords(self.c, self.inst, self.place, self.size)
        position = np.zeros(int(self.c.waves.max()) + 1, np.int64)
        position[self.c.waves] = np.arange(len(self.c.waves))
        width = wave.shape[-1]
        mine = words[self.place.mask]
        columns = _columns(mine.shape[-1], width)
        return mine[:, columns] != words[position[wave], lane, columns]


def _columns(dwords: int, width: int) -> NDArray[np.int64]:
    """Which dword each granule of an access lies in."""
    return np.arange(width) * dwords // width


def _per_granule(dwords: Array, width: int) -> Array:
    """bool [lane, dword] -> [lane, granule]."""
    return dwords[:, _columns(dwords.shape[-1], width)]
