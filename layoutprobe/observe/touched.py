"""Which allocations of global memory a kernel loads from and stores to, and how far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves, Observer
from layoutprobe.machine.program import Program


class Touched(Observer):
    """Allocations by where they start in the arena.

    Attributes:
        loaded, stored: those that a kernel loads from, and stores to; an atomic does both.
        ends: where the last byte behind those that it touched is.
    """

    def __init__(self, parts: Mapping[int, Sequence[int]] | None = None) -> None:
        """Args: parts: number of an allocation -> offsets in it; what begins there counts as one of its own."""
        self._parts = parts or {}
        self.loaded: set[int] = set()
        self.stored: set[int] = set()
        self.ends: dict[int, int] = {}

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.GLOBAL

    def order(self, count: int) -> list[int]:
        """Where the first allocations start, in their order."""
        return self._allocations[:count].tolist()

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._allocations = np.array([region.start for region in machine.arena.regions])
        more = [self._allocations[i] + offset for i, offsets in self._parts.items() for offset in offsets]
        self._starts = np.union1d(self._allocations, np.array(more, self._allocations.dtype))

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.arena:
            return
        offsets = place.offsets[place.mask]
        if not offsets.size:
            return
        index = np.searchsorted(self._starts, offsets, side="right") - 1
        whole = place.region if place.region and not self._parts else None
        starts = {whole.start} if whole else set(self._starts[np.unique(index[index >= 0])].tolist())
        for start in starts:
            inside = offsets if whole else offsets[(index >= 0) & (self._starts[index] == start)]
            self.ends[start] = max(self.ends.get(start, start), int(inside.max()) + size)
        if store:
            self.stored |= starts
        if not store or Kind.ATOMIC in inst.kind:
            self.loaded |= starts
