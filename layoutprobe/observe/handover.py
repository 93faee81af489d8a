"""Global memory that waves hand each other within a launch: loads of bytes that another wave stored,
and elements that one wave stores and another one adds to.

What orders such accesses is more than the barriers of a workgroup: fences, counters that workgroups
spin on, scopes and caches. None of it is modelled, so nothing here is judged but one thing: what is
certain is that it was handed over, where, and whether a barrier of the workgroup lies between.

Per granule the last plain store and the last atomic are kept, over all batches of the launch. Loads
cost nothing until a store has hit their allocation. A load that the emulator runs before the other
wave's store is not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Place
from layoutprobe.machine.program import Program
from layoutprobe.machine.registers import Array
from layoutprobe.observe.lds_access import granule_shift
from layoutprobe.observe.matrix import WaveCounter
from layoutprobe.observe.who import Who

Stamps = NDArray[np.int64]
HandoverKind = Literal["load", "mix"]

# A stamp says who stored to a granule and when: 1 + wave of the launch, site, barriers passed.
_SITE, _INTERVAL = 24, 40
_WAVE_MASK = (1 << _SITE) - 1
_SITE_MASK = (1 << _INTERVAL - _SITE) - 1
_GLOBAL = ("FLAT", "GLOBAL", "MUBUF")


@dataclass(frozen=True)
class Handover:
    """Two waves that meet in global memory.

    Attributes:
        kind: "load": the second loads what the first stored; "mix": one stores, and the other's is
            an atomic.
        first, second: the instructions.
        giver, taker: the waves that executed them.
        ordered: a barrier of their workgroup lies between.
        count: how many lanes did this.
    """

    kind: HandoverKind
    first: Inst
    second: Inst
    giver: Who
    taker: Who
    ordered: bool
    count: int

    @property
    def within(self) -> bool:
        """Both waves are of one workgroup."""
        return self.giver.workgroup == self.taker.workgroup


@dataclass(frozen=True)
class Handovers:
    """What waves handed each other: one for each pair of instructions, kind, and order.

    Attributes:
        found: in the order in which they happened.
        signals: atomics that return what was there: counters and locks, by which waves may wait.
    """

    found: tuple[Handover, ...]
    signals: int


class HandoverObserver(WaveCounter):
    """Watches who stores to global memory, and who loads it afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self._plain = self._atomic = np.zeros(0, np.int64)  # [granule]
        self._stored: set[int] = set()  # first bytes of allocations
        self._group = self._passed = np.zeros(0, np.int64)  # [wave]: number of its group; [group]: barriers
        self._first_group = 0
        self._sites: dict[int, int] = {}
        self._insts: list[Inst] = []
        self._found: dict[tuple[object, ...], Handover] = {}
        self._signals: set[int] = set()
        self._shift = 2

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        super().batch(machine, program)
        if not self._plain.size:
            insts = program.insts
            self._shift = granule_shift(insts, _GLOBAL)
            self._plain, self._atomic = np.zeros(
                (2, (machine.arena.data.bytes.size >> self._shift) + 1), np.int64
            )
        self._first_group = self._passed.size
        groups = int(machine.waves.workgroup.max(initial=-1)) + 1
        self._group = np.concatenate([self._group, machine.waves.workgroup + self._first_group])
        self._passed = np.concatenate([self._passed, np.zeros(groups, np.int64)])

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """See Observer."""
        self._passed[groups + self._first_group] += 1

    def access(self, c: Cohort, inst: Inst, place: Place, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.arena or not (store or self._stored):
            return
        if not store and place.region is not None and place.region.start not in self._stored:
            return
        mask = np.broadcast_to(place.mask, place.offsets.shape)
        stamps = np.broadcast_to(self._stamps(c, inst)[:, None], place.offsets.shape)[mask][:, None]
        cells = (place.offsets[mask] >> self._shift)[:, None] + np.arange(max(1, size >> self._shift))
        stamps = np.broadcast_to(stamps, cells.shape)
        if not store:
            self._meet("load", self._plain, stamps, cells)
            self._meet("load", self._atomic, stamps, cells)
            return
        atomic = Kind.ATOMIC in inst.kind
        if atomic and inst.dst:
            self._signals.add(inst.pc)
        self._meet("mix", self._plain if atomic else self._atomic, stamps, cells)
        (self._atomic if atomic else self._plain)[cells] = stamps
        for offset in [place.region.start] if place.region is not None else np.unique(place.offsets[mask]):
            region = c.machine.arena.region_at(int(offset))
            if region is not None:
                self._stored.add(region.start)

    def record(self) -> Handovers:
        """See Recorder."""
        return Handovers(tuple(self._found.values()), len(self._signals))

    def _stamps(self, c: Cohort, inst: Inst) -> Stamps:
        """int64 [wave]."""
        site = self._sites.setdefault(inst.pc, len(self._insts))
        if site == len(self._insts):
            self._insts.append(inst)
        wave = self.number(c)
        return np.asarray(wave + 1 + (site << _SITE) + (self._passed[self._group[wave]] << _INTERVAL))

    def _meet(self, kind: HandoverKind, others: Stamps, me: Stamps, cells: Array) -> None:
        """Note accesses of granules that another wave stored to."""
        before = others[cells]
        differ = (before != 0) & ((before ^ me) & _WAVE_MASK != 0)
        if not differ.any():
            return
        a, b = before[differ], me[differ]
        givers, takers = (self._group[(x & _WAVE_MASK) - 1] for x in (a, b))
        open_ = (givers == takers) & (a >> _INTERVAL == b >> _INTERVAL)
        pairs = (a >> _SITE & _SITE_MASK) << 2 | (givers == takers) << 1 | open_
        for _, at, count in zip(*np.unique(pairs, return_index=True, return_counts=True), strict=True):
            within = bool(givers[at] == takers[at])
            first, second = (self._insts[int(x[at]) >> _SITE & _SITE_MASK] for x in (a, b))
            giver, taker = (self._who(int(x[at] & _WAVE_MASK) - 1) for x in (a, b))
            key = (kind, first.pc, second.pc, within, bool(open_[at]))
            new = Handover(kind, first, second, giver, taker, within and not open_[at], int(count))
            self._found.setdefault(key, new)

    def _who(self, wave: int) -> Who:
        table = self.waves()
        x, y, z = (int(i) for i in table.group[wave])
        return Who((x, y, z), int(table.index[wave]))
