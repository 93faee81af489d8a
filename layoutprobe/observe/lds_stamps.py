"""Who touched a granule of LDS, and when, in one number."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from layoutprobe.machine.registers import Array
from layoutprobe.observe.clashes import Clash

Stamps = NDArray[np.int64]

# A stamp says who touched a granule and when. Fields from bit 0: lane, wave of the batch, site,
# late, atomic, between signal and wait, interval: the last that it counts for. A stamp of this
# interval is not less than `interval << INTERVAL`.
WAVE, SITE, LATE, ATOMIC, BETWEEN, INTERVAL = 6, 18, 36, 37, 38, 39
LANE_MASK = 63
WAVE_MASK = (1 << SITE) - (1 << WAVE)
SITE_LIMIT = 1 << LATE - SITE
WHEN = -1 << INTERVAL
_NEVER = np.iinfo(np.int64).max
_ALL = slice(None)


WRITER, ADDER, READER, OTHER, LATE_READER, LATE_OTHER = range(6)
"""Rows of `Kept`."""


class Granules:
    """The granules that lanes touch: `width` from each of `first` on, which is int64 [lane]; `aligned`: that is a
    multiple of the width."""

    def __init__(self, first: Stamps, width: int, *, aligned: bool) -> None:
        self.first = first[:, None]
        self._width = width
        self._runs = first // width if aligned and width > 1 else None

    @cached_property
    def cells(self) -> Stamps:
        """int64 [lane, granule]."""
        return self.first if self._width == 1 else self.first + np.arange(self._width)

    def held(self, row: Stamps) -> Stamps:
        """What a row keeps for them: [lane, granule]."""
        if self._runs is None:
            return np.asarray(row[self.cells])
        return row.reshape(-1, self._width).take(self._runs, axis=0)

    def keep(self, row: Stamps, stamps: Stamps, lanes: Array | slice = _ALL) -> None:
        """Have a row keep other stamps, [lane, 1 or granule], for these lanes; of those that touch one granule,
        the last one's stay."""
        if self._runs is None:
            row[self.cells[lanes]] = stamps
        else:
            row.reshape(-1, self._width)[self._runs[lanes]] = stamps

    def last(self, row: Stamps) -> Stamps:
        """What a row keeps of those who have just touched them all: [lane, 1 or granule].

        Where all are aligned, two lanes touch the same granules or have none in common.
        """
        return np.asarray(row[self.cells if self._runs is None else self.first])


class Kept:
    """For every granule the stamps that are kept: `rows` is int64 [row, granule]."""

    def __init__(self, granules: int) -> None:
        self.rows = np.zeros((6, granules), np.int64)
        self._latest = [0] * len(self.rows)

    def since(self, row: int, at: Granules, floor: Stamps) -> Stamps | None:
        """What a row keeps for some granules, [lane, granule]; None where nothing that is kept is as late as that."""
        if self._latest[row] < int(floor.min(initial=_NEVER)):
            return None
        held = at.held(self.rows[row])
        return held if (held >= floor).any() else None

    def note(self, row: int, at: Granules, stamps: Stamps, lanes: Array | slice = _ALL) -> None:
        """Keep stamps, [lane, 1 or granule]."""
        at.keep(self.rows[row], stamps, lanes)
        self._latest[row] = max(self._latest[row], int(stamps.max(initial=0)))

    def change(self, row: int, cells: Array, stamps: Stamps) -> None:
        """Keep stamps for granules one by one."""
        self.rows[row][cells] = stamps
        self._latest[row] = max(self._latest[row], int(stamps.max(initial=0)))


def wave_of(stamps: Stamps) -> Stamps:
    """Of the batch."""
    return np.asarray((stamps & WAVE_MASK) >> WAVE)


def differ(a: Stamps, b: Stamps) -> Array:
    """Different waves. Waves of different workgroups never share a granule."""
    return (a ^ b) & WAVE_MASK != 0


def later(a: Stamps, b: Stamps) -> Array:
    """Those of `a` that count for a later interval than `b`."""
    return a >> INTERVAL > b >> INTERVAL


def lanes_differ(a: Stamps, b: Stamps) -> Array:
    """Different lanes, perhaps of different waves."""
    return (a ^ b) & LANE_MASK != 0


def is_collision(clash: Clash) -> bool:
    """Not a matter of order between waves, but of addresses: no barrier would mend it."""
    same_wave = (clash.first.who.workgroup, clash.first.who.wave) == (
        clash.second.who.workgroup,
        clash.second.who.wave,
    )
    return clash.kind == "WAW" and (same_wave or clash.first.inst.pc == clash.second.inst.pc)
