"""Granules of global memory, numbered without gaps, so that a table of them is as long as the allocations are.

The arena of a device that outlives launches is gigabytes of addresses of which a program uses a few.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from layoutprobe.machine.memory import Region
from layoutprobe.machine.registers import Array

GLOBAL = ("FLAT", "GLOBAL", "MUBUF")
"""Encodings whose accesses say how fine granules of global memory are."""
_ALIGNED = 16
"""Bytes: an allocation keeps its place within so many, so that accesses cover the granules that they did."""


class Granules:
    """The granules of some allocations.

    Attributes:
        shift: log2 of the bytes of a granule; at most 4.
        count: how many there are, and one more for the end of a misaligned access.
    """

    def __init__(self, regions: Sequence[Region], shift: int) -> None:
        self.shift = shift
        self._regions = sorted(regions, key=lambda region: region.start)
        self._starts = [region.start for region in self._regions]
        self._dense: list[int] = []  # byte that the start of each has among all of them
        end = 0
        for region in self._regions:
            self._dense.append(end + region.start % _ALIGNED)
            end = -(-(self._dense[-1] + region.end - region.start) // _ALIGNED) * _ALIGNED
        self._floors = [start // _ALIGNED * _ALIGNED for start in self._dense]
        self._moved = np.array(self._starts, np.int64) - np.array(self._dense, np.int64)
        self.count = (end >> shift) + 1

    def of(self, offsets: Array) -> Array:
        """The granule of each byte of the arena; all lie in allocations."""
        if not offsets.size:
            return offsets
        first = bisect_right(self._starts, int(offsets.min())) - 1
        last = bisect_right(self._starts, int(offsets.max())) - 1
        if first == last:
            return (offsets - self._moved[first]) >> self.shift
        which = np.searchsorted(self._starts, offsets, "right") - 1
        return (offsets - self._moved[which]) >> self.shift

    def allocation(self, granule: int) -> str:
        """The name of the allocation that a granule belongs to."""
        return self._regions[bisect_right(self._floors, granule << self.shift) - 1].name
