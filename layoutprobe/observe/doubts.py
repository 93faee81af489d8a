"""Loads that race in form only: nobody uses what they get.

What other waves store meanwhile is noted (`Stored`). In a run of its own what loads get of it is undefined
(`DoubtObserver`), and whether it matters shows as it does of any undefined bit: at a branch, an address, or a store.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Program
from layoutprobe.machine.registers import Array
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.granules import GLOBAL, Granules
from layoutprobe.observe.lds_access import granule_shift
from layoutprobe.observe.matrix import WaveCounter

MOST = 1 << 16
"""Granules of a launch that are noted."""
_SEVERAL = -1
_INTERVAL, _BATCH = 32, 16
"""Bits of a granule, and of an interval."""

Issued = tuple[int, int, int, int]
"""An access to LDS: its batch of workgroups, its wave in that, its queue (`outstanding`), and its number there."""
Cells = tuple[tuple[int, int], ...]
"""Granules, of LDS with the barrier interval (`lds_cells`), and the wave that stores to each, -1 for several."""


def lds_cells(cells: Array, batch: int, interval: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of granules of LDS: of a batch of workgroups, between two barriers of theirs."""
    return np.asarray(cells | (interval | batch << _BATCH) << _INTERVAL)


class Stored:
    """Granules that a wave stores to while nothing orders it against another one's load."""

    def __init__(self) -> None:
        self._of: dict[int, int] = {}

    def note(self, cells: Array, waves: NDArray[np.int64]) -> None:
        """Waves store there: both [access]. They are numbered over the launch, those of LDS in their batch."""
        for cell, wave in zip(cells.tolist(), waves.tolist(), strict=True):
            if len(self._of) <= MOST and self._of.setdefault(cell, wave) != wave:
                self._of[cell] = _SEVERAL

    @property
    def cells(self) -> Cells:
        """All that was noted; nothing where it was too much."""
        return tuple(sorted(self._of.items())) if len(self._of) <= MOST else ()


class Doubted(Struct, frozen=True):
    """What became of loads whose values were undefined.

    Attributes:
        loads: lanes that got some.
        complete: False where some got what they should not have: they went by a way that nobody doubts.
    """

    loads: int
    complete: bool


class Doubting(Struct, frozen=True):
    """Makes observers that doubt what loads get of these granules, of global memory or of LDS; equal ones make equal
    observers."""

    cells: Cells
    of_lds: bool = False

    def __call__(self) -> Recorder:
        """An observer for one launch."""
        return DoubtObserver(self.cells, of_lds=self.of_lds)


class DoubtObserver(WaveCounter):
    """Makes undefined what waves load from where another one stores. Unlike other observers, it changes the run."""

    def __init__(self, cells: Cells, *, of_lds: bool) -> None:
        super().__init__()
        self._of_lds = of_lds
        self._stored, self._by = np.array(cells, np.int64).reshape(-1, 2).T  # ascending
        self._granules = Granules((), 2)
        self._batch, self._shift = -1, 2
        self._interval = np.zeros(0, np.int64)  # [workgroup]
        self._seen = self._doubted = 0

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.LDS_LOADS if self._of_lds else Moves.LOADS

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        super().batch(machine, program)
        self._batch += 1
        self._interval = np.ones(int(machine.waves.workgroup.max(initial=-1)) + 1, np.int64)
        self._shift = granule_shift(program.accesses)
        if not self._batch:
            self._granules = Granules(machine.arena.regions, granule_shift(program.accesses, GLOBAL))

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """See Observer."""
        self._interval[groups] += 1

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if not store or Kind.ATOMIC in inst.kind:
            self._seen += int(self._bytes(c, place, size).any(axis=-1).sum())

    def doubt(self, c: Cohort, place: Addresses, size: int) -> NDArray[np.uint32] | None:
        """See Observer."""
        which = self._bytes(c, place, size)
        if not which.any():
            return None
        self._doubted += int(which.any(axis=-1).sum())
        bits = np.zeros((*which.shape[:-1], -(-size // 4) * 4), np.uint8)
        bits[..., :size] = np.where(which, 0xFF, 0)
        return bits.view(np.uint32)

    def record(self) -> Doubted:
        """See Recorder."""
        return Doubted(self._doubted, self._doubted == self._seen)

    def _bytes(self, c: Cohort, place: Addresses, size: int) -> NDArray[np.bool_]:
        """Which bytes of what lanes load another wave stores: [wave, lane, byte]."""
        machine = c.machine
        if place.memory is not (machine.lds if self._of_lds else machine.arena):
            return np.zeros((*place.offsets.shape, 1), np.bool_)
        at, wave = place.offsets[..., None] + np.arange(size), self.number(c)
        if self._of_lds:
            interval = self._interval[machine.waves.workgroup[c.waves]][:, None, None]
            cells, wave = lds_cells(at >> self._shift, self._batch, interval), c.waves
        else:
            cells = self._granules.of(at)
        found = np.minimum(np.searchsorted(self._stored, cells), self._stored.size - 1)
        others = (self._stored[found] == cells) & (self._by[found] != wave[:, None, None])
        return np.asarray(others & np.broadcast_to(place.mask, place.offsets.shape)[..., None])
