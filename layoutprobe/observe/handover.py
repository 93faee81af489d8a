"""Global memory in which waves meet within a launch: one loads or overwrites what another one stored or
loaded, and elements that one wave stores and another one adds to.

Two accesses of one granule, one of them a store, must be ordered (`happens_before`), whatever order the
emulator happened to take. Stores of values that are there already harm nobody. Atomics, and loads that
bypass the caches, are signals: they may meet anything but plain stores and loads. Of these loads only those
whose value is compared (`looks`): others fetch data.

Per granule the last plain store, the last atomics, and the last readers are kept, over all batches of
the launch. Of atomics and readers there are four: the last, two of other waves, and one of another
workgroup, as far as nothing orders these before the last.
Loads of memory that nobody stores to cost next to nothing: they are laid aside, and looked at only when
somebody does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.flow import flow_of
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses, Region
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Block, Program
from layoutprobe.machine.registers import Array
from layoutprobe.numbers.distinct import distinct
from layoutprobe.observe.clashes import WITH_LOAD, Handover, HandoverKind, Handovers, Ordering
from layoutprobe.observe.doubts import Stored
from layoutprobe.observe.granules import GLOBAL, Granules
from layoutprobe.observe.happens_before import KNOWN, SEEN, Order, coherent, effects
from layoutprobe.observe.lds_access import Store, granule_shift
from layoutprobe.observe.lds_flags import polls_of
from layoutprobe.observe.looks import data_loads
from layoutprobe.observe.matrix import WaveCounter
from layoutprobe.observe.who import Who

Stamps = NDArray[np.int64]

# A stamp says who touched a granule and when: 1 + wave of the launch, site, time of the wave.
_SITE, _TIME = 24, 38
_WAVE_MASK = (1 << _SITE) - 1
_SITE_MASK = (1 << _TIME - _SITE) - 1
_MEMORY = Kind.GLOBAL | Kind.BUFFER | Kind.FLAT | Kind.SMEM
_KEPT = 4
MAX_ASIDE = 64 << 20
"""Bytes of loads that are laid aside."""


class HandoverObserver(WaveCounter):
    """Watches who stores to global memory, and who loads or stores it afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self._order: Order | None = None
        self._plain = np.zeros(0, np.int64)  # [granule]
        self._adders = self._readers = np.zeros((_KEPT, 0), np.int64)  # [which, granule]: see _remember
        # [granule] number of a clock: what a store announced there, and atomics since then.
        self._published = np.zeros(0, np.int32)
        self._handed = np.zeros(0, np.int32)
        self._asked = np.zeros(0, np.bool_)  # [granule] somebody has looked there for a signal
        self._atomics = self._read = self._signals = (
            False  # there were atomics; readers; there may be signals
        )
        self._several = False  # some granule has more than one of them
        self._stored: set[int] = set()  # first bytes of allocations
        self._aside: dict[int, list[tuple[Array, Stamps, Array | None, int]]] = {}
        self._aside_bytes = 0
        self._first_group = self._harmless = 0
        self._sites: dict[int, int] = {}
        self._insts: list[Inst] = []
        self._found: dict[tuple[object, ...], Handover] = {}
        self._effects: dict[Block, tuple[Inst, ...]] = {}
        self._waves_now: NDArray[np.int64] = np.zeros(0, np.int64)
        self._coming: tuple[Inst, ...] = ()  # waits and fences of the block that runs
        self._granules = Granules((), 2)
        self._raced = Stored()
        self._data: frozenset[int] = frozenset()  # loads from behind the caches that are no signals
        self._waiting: frozenset[int] = frozenset()  # atomics that take a lock, or wait for a signal

    # The protocol.

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.GLOBAL

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._catch_up()
        super().batch(machine, program)
        if self._order is None:
            isa = isa_of(program.code, program.kernel)
            self._counting = isa.counting
            two_caches = program.kernel.descriptor.wgp_mode and isa.counting.loads != isa.counting.stores
            self._order = Order(isa.counting, one_cache=not two_caches)
            self._granules = Granules(machine.arena.regions, granule_shift(program.accesses, GLOBAL))
            self._signals = any(map(_acquires, program.accesses))
            self._data = data_loads(program) if self._signals else frozenset()
            granules = self._granules.count
            self._plain = np.zeros(granules, np.int64)
            self._adders, self._readers = np.zeros((2, _KEPT, granules), np.int64)
            self._published = np.zeros(granules, np.int32)
            self._handed = np.zeros(granules, np.int32)
            self._waiting = polls_of(flow_of(program), _MEMORY) if self._signals else frozenset()
            self._asked = np.zeros(granules, np.bool_)
        self._order.batch(machine.waves.workgroup + self._first_group, machine.waves.index)
        self._group_base, self._first_group = self._first_group, int(self._order.group.max(initial=-1)) + 1

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self._catch_up()
        if block not in self._effects:
            found = (inst for inst in block.listing if effects(inst, self._counting))
            self._effects[block] = tuple(found)
        self._coming = self._effects[block]
        if self._coming:
            self._waves_now = self.number(c)

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """See Observer."""
        self._catch_up()
        assert self._order is not None
        self._order.barrier(groups + self._group_base)

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.arena:
            return
        if self._coming:
            self._catch_up(inst.pc)
        if store:
            self._stores(c, inst, place, size)
        elif self._signals and coherent(inst) and inst.pc not in self._data:
            self._polls(c, place, size)
        else:
            self._loads(c, inst, place, size)

    def record(self) -> Handovers:
        """See Recorder."""
        complete = self._order is None or self._order.complete
        return Handovers(tuple(self._found.values()), self._harmless, complete, self._raced.cells)

    def _catch_up(self, pc: int | None = None) -> None:
        """The waits and fences that the running block has executed: all of them, or those before an address."""
        assert self._order is not None or not self._coming
        while self._coming and (pc is None or self._coming[0].pc < pc):
            self._order.apply(self._waves_now, self._coming[0])  # type: ignore[union-attr]
            self._coming = self._coming[1:]

    # Accesses.

    def _loads(self, c: Cohort, inst: Inst, place: Addresses, size: int) -> None:
        assert self._order is not None
        wave = self.number(c)
        stamps = self._stamps(wave, self._order.load(wave), inst)
        for region, mask in _parts(c.machine, place):
            if region.writable:
                self._load(region, place.offsets, stamps, mask, size, SEEN if coherent(inst) else KNOWN)

    def _load(
        self, region: Region, offsets: Array, stamps: Stamps, mask: Array | None, size: int, level: int
    ) -> None:
        """Lanes load from one allocation; `mask`: which, None for all; `level`: how far what others did must have
        come."""
        if region.start not in self._stored:
            self._aside.setdefault(region.start, []).append((offsets, stamps, mask, size))
            self._aside_bytes += offsets.nbytes
            if self._aside_bytes > MAX_ASIDE:
                for start in list(self._aside):
                    self._fetch(start)
            return
        mine, cells = self._cells(offsets, stamps, mask, size)
        self._meet("load", self._plain, mine, cells, level)
        for adders in self._all(self._adders) if self._atomics else ():
            self._meet("load", adders, mine, cells, level)
        self._note_readers(mine, cells)

    def _stores(self, c: Cohort, inst: Inst, place: Addresses, size: int) -> None:
        assert self._order is not None
        mask = np.broadcast_to(place.mask, place.offsets.shape)
        starts = [place.region.start] if place.region else self._regions(c.machine, place.offsets[mask])
        for start in starts:
            self._stored.add(start)
            self._fetch(start)
        atomic, wave = Kind.ATOMIC in inst.kind, self.number(c)
        times = self._order.store(wave, returns=atomic and bool(inst.dst))
        stamps = self._stamps(wave, times, inst)
        mine, cells = self._cells(place.offsets, stamps, None if mask.all() else mask, size)
        late = (
            atomic and inst.pc not in self._waiting
        )  # what others announced is no order for its own address
        if self._signals and not late:
            self._signal(wave, mine, cells, inst)
        if atomic:
            self._atomics = True
            self._meet("mix", self._plain, mine, cells, SEEN, taken=inst.pc in self._waiting)
            if self._read and "cmpswap" not in inst.name:
                self._overwrites_loads(mine, cells)
            self._remember(self._adders, mine, cells)
            if self._signals and late:
                self._signal(wave, mine, cells, inst)
            return
        for adders in self._all(self._adders) if self._atomics else ():
            self._meet("mix", adders, mine, cells, SEEN)
        self._overwrites(Store(c, inst, place, size), mine, cells)

    def _overwrites(self, store: Store, mine: Stamps, cells: Array) -> None:
        """A plain store among plain stores and loads."""
        others = [self._plain, *(self._all(self._readers) if self._read else ())]
        if any(_foreign(other[cells], mine).any() for other in others):
            changes = store.changes(cells.shape[-1])
            self._harmless += int((_foreign(self._plain[cells], mine) & ~changes).sum())
            self._meet("overwrites a store", self._plain, mine, cells, SEEN, changes)
            if self._read:
                self._overwrites_loads(mine, cells, changes)
        self._lanes_meet(store, mine, cells)
        self._plain[cells] = mine
        last = self._plain[cells]
        if (together := _foreign(last, mine)).any():
            words = store.granules(cells.shape[-1])
            value = dict(zip(cells[last == mine].tolist(), words[last == mine].tolist(), strict=True))
            unlike = np.zeros(cells.shape, np.bool_)
            unlike[together] = words[together] != [value[cell] for cell in cells[together].tolist()]
            self._harmless += int((together & ~unlike).sum())
            self._note("overwrites a store", last, mine, cells, unlike, SEEN)

    def _lanes_meet(self, store: Store, mine: Stamps, cells: Array) -> None:
        """Lanes of a wave that store different values to one granule: which of them stays, nobody says."""
        flat, waves = cells.ravel(), np.broadcast_to(mine, cells.shape).ravel()
        if ((flat[1:] > flat[:-1]) | (waves[1:] != waves[:-1])).all():
            return  # as most stores go
        order = np.lexsort((flat, waves))
        flat, waves = flat[order], waves[order]
        same = (flat[1:] == flat[:-1]) & (waves[1:] == waves[:-1])
        if not same.any():
            return
        words = store.granules(cells.shape[-1]).ravel()[order]
        lost = np.flatnonzero(same & (words[1:] != words[:-1]))
        if lost.size:
            self._note("lanes", waves[lost], waves[lost], flat[lost], np.ones(lost.shape, np.bool_), SEEN)

    def _overwrites_loads(self, mine: Stamps, cells: Array, which: Array | bool = True) -> None:
        for readers in self._all(self._readers):
            self._meet("overwrites a load", readers, mine, cells, SEEN, which)

    def _all(self, kept: Stamps) -> Stamps:
        """Of the rows that are kept, those in which there is something."""
        return kept if self._several else kept[:1]

    def _signal(self, wave: Stamps, mine: Stamps, cells: Array, inst: Inst) -> None:
        """What a store announces stays at its address; atomics take turns, and those that return acquire what others
        announced there; what a store did only where they wait for it."""
        order = self._order
        assert order is not None
        of_lane = (mine & _WAVE_MASK) - 1
        for one in wave.tolist():
            at = cells[of_lane == one]
            if not at.size:
                continue
            self._asked[at] |= Kind.ATOMIC in inst.kind and bool(inst.dst)
            if Kind.ATOMIC not in inst.kind:
                self._published[at], self._handed[at] = order.publish(one), 0
                continue
            there = np.unique(self._handed[at])
            stored = np.unique(self._published[at]) if inst.pc in self._waiting else there[:0]
            given = order.publish(one)
            before = self._handed[at]
            for number in there.tolist():
                self._handed[at[before == number]] = order.join(number, given)
            for number in (*there.tolist(), *stored.tolist()) if inst.dst else ():
                order.acquire(one, number)

    def _polls(self, c: Cohort, place: Addresses, size: int) -> None:
        """A load from behind the caches acquires what was announced there."""
        assert self._order is not None
        mask = np.broadcast_to(place.mask, place.offsets.shape)
        waves, cells = self._cells(place.offsets, self.number(c), mask, size)
        self._asked[cells] = True
        for told in (self._published, self._handed):
            numbers = told[cells]
            for wave in np.unique(waves[numbers > 0]).tolist():
                for number in np.unique(numbers[waves == wave]).tolist():
                    self._order.acquire(wave, number)

    # Stamps.

    def _stamps(self, wave: Stamps, times: Stamps, inst: Inst) -> Stamps:
        """int64 [wave]."""
        site = self._sites.setdefault(inst.pc, len(self._insts))
        if site == len(self._insts):
            self._insts.append(inst)
        return np.asarray(wave + 1 + (site << _SITE) + (times << _TIME))

    def _cells(self, offsets: Array, stamps: Stamps, mask: Array | None, size: int) -> tuple[Stamps, Array]:
        """Stamps and granules: [lane, granule]."""
        of_lane = np.broadcast_to(stamps[:, None], offsets.shape)
        at, of_lane = (x.ravel() if mask is None else x[mask] for x in (offsets, of_lane))
        cells = self._granules.of(at)[:, None] + np.arange(max(1, size >> self._granules.shift))
        return np.broadcast_to(of_lane[:, None], cells.shape), cells

    def _regions(self, machine: Machine, offsets: Array) -> set[int]:
        found = (machine.arena.region_at(int(offset)) for offset in np.unique(offsets))
        return {region.start for region in found if region is not None}

    def _fetch(self, start: int) -> None:
        """Look at the loads of an allocation that were laid aside."""
        for offsets, stamps, mask, size in self._aside.pop(start, ()):
            self._aside_bytes -= offsets.nbytes
            self._note_readers(*self._cells(offsets, stamps, mask, size))

    def _note_readers(self, mine: Stamps, cells: Array) -> None:
        self._read = True
        self._remember(self._readers, mine, cells)

    def _remember(self, kept: Stamps, mine: Stamps, cells: Array) -> None:
        """The last access of a granule, and those of others that nothing orders before it."""
        assert self._order is not None
        last, other, third, far = kept
        before = last[cells]
        last[cells] = mine
        now = last[cells]
        group = self._order.group
        for stamps in (before, mine):
            if not stamps.any() or np.array_equal(stamps, now):
                continue  # nobody was here before; nobody else is here now
            apart = _foreign(stamps, now)
            if not apart.any():
                continue
            self._several = True
            a, b, at = stamps[apart], now[apart], cells[apart]
            givers, takers = (a & _WAVE_MASK) - 1, (b & _WAVE_MASK) - 1
            free = ~self._order.ordered(givers, a >> _TIME, takers, SEEN)
            a, at, distant = a[free], at[free], (group[givers] != group[takers])[free]
            older = other[at]
            displaced = _foreign(older, a)
            third[at[displaced]] = older[displaced]
            other[at] = a
            far[at[distant]] = a[distant]

    # Meetings.

    def _meet(
        self,
        kind: HandoverKind,
        others: Stamps,
        me: Stamps,
        cells: Array,
        level: int,
        which: Array | bool = True,
        *,
        taken: bool = True,
    ) -> None:
        """Note accesses of granules that another wave touched before; `taken`: see `_note`."""
        before = others[cells]
        self._note(kind, before, me, cells, _foreign(before, me) & which, level, taken=taken)

    def _note(
        self,
        kind: HandoverKind,
        before: Stamps,
        me: Stamps,
        cells: Array,
        which: Array,
        level: int,
        *,
        taken: bool = True,
    ) -> None:
        """Note pairs of accesses; `taken`: who comes second may have got a signal from that address, and whoever has
        may give the next one there, whatever else is done."""
        if not which.any():
            return
        order = self._order
        assert order is not None
        a, b, at = before[which], me[which], cells[which]
        if kind == "load" and (swaps := [i for i, inst in enumerate(self._insts) if "cmpswap" in inst.name]):
            guess = ~np.isin(
                a >> _SITE & _SITE_MASK, swaps
            )  # what a compare-and-swap looks at first may be old
            a, b, at = a[guess], b[guess], at[guess]
        if taken and kind in ("overwrites a store", "mix") and (asked := self._asked[at]).any():
            told = [
                order.heard((one & _WAVE_MASK) - 1, (other & _WAVE_MASK) - 1)
                for one, other in zip(a[asked].tolist(), b[asked].tolist(), strict=True)
            ]
            asked[asked] = told
            a, b, at = a[~asked], b[~asked], at[~asked]
        givers, takers = ((x & _WAVE_MASK) - 1 for x in (a, b))
        seen = order.ordered(givers, a >> _TIME, takers, SEEN) & (kind != "lanes")
        fine = order.ordered(givers, a >> _TIME, takers, level) if level != SEEN else seen
        if kind in WITH_LOAD and not fine.all():
            self._raced.note(at[~fine], (givers if kind == "load" else takers)[~fine])
        pairs = (a >> _SITE & _SITE_MASK) << 2 | seen << 1 | fine
        for _, i, count in zip(*np.unique(pairs, return_index=True, return_counts=True), strict=True):
            giver, taker = int(givers[i]), int(takers[i])
            early = "too early" if order.heard(giver, taker) else "unordered"
            how: Ordering = "ordered" if fine[i] else "stale" if seen[i] else early  # type: ignore[assignment]
            first, second = (self._insts[int(x[i]) >> _SITE & _SITE_MASK] for x in (a, b))
            new = Handover(
                kind, first, second, self._who(giver), self._who(taker), how, int(count),
                self._granules.allocation(int(at[i])),
            )  # fmt: skip
            key = (kind, first.pc, second.pc, new.within, how)
            known = self._found.get(key)
            self._found[key] = replace(known, count=known.count + new.count) if known else new

    def _who(self, wave: int) -> Who:
        table = self.waves()
        x, y, z = (int(i) for i in table.group[wave])
        return Who((x, y, z), int(table.index[wave]))


def _parts(machine: Machine, place: Addresses) -> Iterator[tuple[Region, Array | None]]:
    """The allocations that lanes hit, and which lanes hit each; None: all."""
    mask = np.broadcast_to(place.mask, place.offsets.shape)
    if place.region is not None:
        yield place.region, None if mask.all() else mask.copy()
        return
    regions = machine.arena.regions
    which = np.searchsorted([region.start for region in regions], place.offsets, side="right") - 1
    for number in distinct(which[mask]).tolist():
        if number >= 0:
            yield regions[number], mask & (which == number)


def _foreign(before: Stamps, me: Stamps) -> Array:
    """Accesses of another wave."""
    apart = before ^ me
    apart &= _WAVE_MASK
    found = np.asarray(apart != 0)
    found &= before != 0
    return found


def _acquires(inst: Inst) -> bool:
    """It may tell a wave what others have done: an atomic that returns, or a load from behind the caches."""
    if not inst.kind & _MEMORY:
        return False
    return bool(inst.dst) if Kind.ATOMIC in inst.kind else Kind.LOAD in inst.kind and coherent(inst)
