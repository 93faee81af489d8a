"""Loads of LDS that come late in form only: they are outstanding at a barrier, and nobody uses what they get."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.doubts import MOST, Doubted, Issued
from layoutprobe.observe.lds_stamps import LATE, SITE, SITE_LIMIT, Stamps, wave_of
from layoutprobe.observe.outstanding import Outstanding, Recent


class LateLoads:
    """Loads that are outstanding at a barrier, and those of them whose bytes another wave stores to after it."""

    def __init__(self) -> None:
        self._carried: dict[tuple[int, int], set[tuple[int, int]]] = {}  # site, wave -> queue, number there
        self._overtaken: dict[Issued, None] = {}

    def batch(self) -> None:
        """Other waves begin."""
        self._carried = {}

    def carry(self, access: Recent, waves: NDArray[np.int64]) -> None:
        """An access of these waves is outstanding at a barrier."""
        site = int(_site(access.stamps.reshape(-1)[:1])[0])
        which = np.isin(access.waves, waves)
        for wave, number in zip(access.waves[which].tolist(), access.numbers[which].tolist(), strict=True):
            self._carried.setdefault((site, wave), set()).add((access.queue, number))

    def overtake(self, loads: Stamps, batch: int) -> None:
        """What was loaded is stored to: stamps of the loads, of which some may have been outstanding."""
        late = loads[loads >> LATE & 1 == 1]
        for site, wave in {*zip(_site(late).tolist(), wave_of(late).tolist(), strict=True)}:
            for issued in self._carried.get((site, wave), ()):
                self._overtaken[batch, wave, *issued] = None

    @property
    def overtaken(self) -> tuple[Issued, ...]:
        """Those that a store may come before; none where they are too many."""
        return tuple(self._overtaken) if len(self._overtaken) <= MOST else ()


def _site(stamps: Stamps) -> Stamps:
    return stamps >> SITE & SITE_LIMIT - 1


class DoubtingIssued(Struct, frozen=True):
    """Makes observers that doubt what these loads of LDS get; equal ones make equal observers."""

    loads: tuple[Issued, ...]

    def __call__(self) -> Recorder:
        """An observer for one launch."""
        return IssuedDoubtObserver(self.loads)


class IssuedDoubtObserver(Recorder):
    """Makes undefined what some loads of LDS get. Unlike other observers, it changes the run."""

    def __init__(self, loads: tuple[Issued, ...]) -> None:
        self._loads = frozenset(loads)
        self._outstanding = Outstanding()
        self._batch = -1
        self._which: NDArray[np.bool_] = np.zeros(0, np.bool_)  # of the load that is executed: [wave]
        self._met = set[Issued]()  # an instruction may load from two places
        self._seen = self._doubted = 0

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.LDS_LOADS

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._outstanding.batch(machine, program)
        self._batch += 1

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self._outstanding.block(c, block)

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        self._which = np.zeros(len(c.waves), np.bool_)
        if place.memory is c.machine.lds and not store:
            queue, numbers = self._outstanding.queue(inst), self._outstanding.number(inst, c.waves)
            waves = zip(c.waves.tolist(), numbers.tolist(), strict=True)
            issued = [(self._batch, wave, queue, number) for wave, number in waves]
            self._which = np.array([one in self._loads for one in issued], np.bool_)
            self._met |= self._loads.intersection(issued)
            self._seen += int(self._which.sum())

    def doubt(self, c: Cohort, place: Addresses, size: int) -> NDArray[np.uint32] | None:
        """See Observer."""
        if not self._which.any():
            return None
        self._doubted += int(self._which.sum())
        lanes = self._which[:, None] & np.broadcast_to(place.mask, place.offsets.shape)
        bits = np.where(lanes, np.uint32(0xFFFFFFFF), np.uint32(0))
        return np.repeat(bits[..., None], -(-size // 4), axis=-1)

    def record(self) -> Doubted:
        """See Recorder."""
        return Doubted(self._doubted, self._doubted == self._seen and self._met == self._loads)
