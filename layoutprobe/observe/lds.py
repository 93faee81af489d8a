"""LDS between barriers: races, cells that are stored twice, and barriers that waves meet apart.

**Race.** Two different waves of a workgroup touch a common byte within one barrier interval, at
least one of them writes, and not both are atomic. Only flags order waves, too (`lds_flags`): the law holds or
breaks whatever order the emulator happened to take: lock-step hides none. Per granule (4 bytes, or
less where the kernel has narrower accesses) the last writer and the last two readers of different
waves are kept, each with its interval. That suffices to see some race on a granule on which there
is one: if the last writer before an access is another wave, that is a race; if it is the same
wave, then the race with an earlier one was seen when that wave wrote. Only atomics may follow each
other: of them, too, the last of another wave is kept.

**Late.** An access that its wave had not waited for when it reached the barrier may take effect
as late as the wait (the ISA adds no memory wait to s_barrier). It counts for the next interval too.

**Early.** A load from memory that goes directly to LDS arrives when it is waited for. Until then its own
wave may neither load nor store there; nor may it be issued while an LDS load from there is outstanding.

**Collision.** Within one interval, two lanes store different values to one byte, nobody reads the
first, and somebody reads what came of it: one of the values is lost, so the map from elements to
addresses is not injective. A byte that nobody reads afterwards is a dump for lanes without work.

For signals and waits of barriers see `barriers`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.flow import flow_of
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Block, Program
from layoutprobe.machine.registers import Array
from layoutprobe.observe.barriers import BarrierWatch
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.clashes import Clash, ClashKind, LdsRecord, Touch
from layoutprobe.observe.counters import LONGEST
from layoutprobe.observe.doubts import Stored, lds_cells
from layoutprobe.observe.late_loads import LateLoads
from layoutprobe.observe.lds_access import Store, granule_shift, straddles
from layoutprobe.observe.lds_flags import Flags, asks, polls_of
from layoutprobe.observe.lds_stamps import (
    ADDER,
    ATOMIC,
    BETWEEN,
    INTERVAL,
    LANE_MASK,
    LATE,
    LATE_OTHER,
    LATE_READER,
    OTHER,
    READER,
    SITE,
    SITE_LIMIT,
    WAVE,
    WAVE_MASK,
    WHEN,
    WRITER,
    Granules,
    Kept,
    Stamps,
    differ,
    is_collision,
    lanes_differ,
    later,
    wave_of,
)
from layoutprobe.observe.outstanding import LDS, MEMORY, Outstanding, Recent
from layoutprobe.observe.who import who_is


class LdsObserver(Recorder):
    """Watches LDS accesses against the barriers."""

    def __init__(self) -> None:
        self._outstanding = Outstanding()
        self._barriers = BarrierWatch()
        self._sites: dict[int, int] = {}
        self._insts: list[Inst] = []
        self._clashes: dict[tuple[object, ...], Clash] = {}
        self._kinds = {"store": 0, "load": 0}
        self._harmless = 0
        self._overwrites: list[Clash] = []  # of kind WAW
        self._suspect: NDArray[np.int32] = np.zeros(0, np.int32)  # [granule] 1 + place in it
        self._complete = True
        self._split = self._ahead = False  # there are signals; accesses between them and their waits
        self._shift = 2
        self._machine: Machine | None = None
        self._interval: Stamps = np.zeros(0, np.int64)  # [workgroup]
        self._kept = Kept(0)
        self._recent: dict[tuple[int, int], deque[Recent]] = {}  # PC, first wave -> last accesses
        self._early: dict[tuple[object, ...], Clash] = {}
        self._raced, self._batch = Stored(), -1
        self._late = LateLoads()
        self._numbers: Stamps | None = (
            None  # [which, granule] of the last direct load, and of the last reader
        )

    # The protocol.

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.LDS

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._outstanding.batch(machine, program)
        self._barriers.batch(machine)
        self._batch += 1
        self._late.batch()
        self._machine = machine
        self._split, self._ahead = any(inst.kind == Kind.ARRIVE for inst in program.insts), False
        self._shift = granule_shift(program.accesses)
        groups = int(machine.waves.workgroup.max(initial=-1)) + 1
        self._interval = np.ones(groups, np.int64)
        granules = machine.lds.data.bytes.size >> self._shift
        self._kept, self._recent = Kept(granules), {}
        self._suspect = np.zeros(granules, np.int32)
        self._polls = polls_of(flow_of(program))
        flags = self._polls or any(map(asks, program.accesses))
        self._flags = Flags(machine.waves.index, granules) if flags else None
        self._numbers = (
            np.zeros((2, granules), np.int64) if any(inst.to_lds for inst in program.accesses) else None
        )

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self._outstanding.block(c, block)
        if block.last is not None and Kind.AWAIT in block.last.kind:
            self._barriers.arrived(c.waves, block.last)

    def ended(self, c: Band) -> None:
        """See Observer."""
        self._barriers.ended(c.waves)

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """See Observer."""
        released = self._barriers.released(groups)
        if self._outstanding.busy(released):
            self._carry_over(machine, released)
        elif len(groups) == len(self._interval):
            self._recent.clear()
        self._interval[groups] += 1

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.lds or not self._complete:
            return
        if straddles(place, self._shift):
            self._complete = False
            return
        stamps, first = self._stamps(c, inst, store), place.offsets >> self._shift
        if not (c.full and place.mask is c.exec):
            stamps, first = stamps[place.mask], first[place.mask]
        aligned = size in (2, 4, 8, 16) and not place.low_bits & size - 1
        at = Granules(first.reshape(-1), max(1, size >> self._shift), aligned=aligned)
        stamps = stamps.reshape(-1, 1)
        # What an atomic that waits for nothing is told by others, it is told too late for its own address.
        told_after = Kind.ATOMIC in inst.kind and inst.pc not in self._polls
        if self._flags is not None:
            stamps = np.broadcast_to(stamps, at.cells.shape)
            if not told_after:
                self._meet_flags(c, inst, stamps, at.cells)
            if not store and inst.pc in self._polls:
                return
        self._keep(Recent(stamps, at, self._outstanding.queue(inst), c.waves,
                           self._outstanding.number(inst, c.waves), store), inst)  # fmt: skip
        if self._numbers is not None:
            self._against_own(c, inst, stamps, at.cells, store)
        rows = list(self._kept.rows[: OTHER + 1])
        before = self._flags.keep(rows, at.cells) if self._flags is not None else None
        if store:
            self._write(Store(c, inst, place, size), stamps, at)
        else:
            self._read(stamps, at)
        if self._flags is not None and before is not None:
            number = self._number(c, inst, stamps)
            self._flags.follow(before, rows, at.cells, stamps, number)
            if told_after:
                self._meet_flags(c, inst, stamps, at.cells)
            elif store and Kind.ATOMIC not in inst.kind:
                self._flags.announce(wave_of(stamps), at.cells, number)

    def record(self) -> LdsRecord:
        """What happened so far."""
        matters = [c for c in self._clashes.values() if c.kind != "WAW" or c.read]
        unread = len(self._clashes) - len(matters)
        return LdsRecord(
            tuple(c for c in matters if not is_collision(c)),
            tuple(c for c in matters if is_collision(c)),
            self._harmless + unread,
            self._barriers.divergent(),
            self._barriers.passed_in_all,
            self._kinds["store"],
            self._kinds["load"],
            tuple(self._early.values()),
            self._complete,
            self._barriers.skipped(),
            self._raced.cells,
            self._late.overtaken,
        )

    # Accesses.

    def _meet_flags(self, c: Cohort, inst: Inst, me: Stamps, cells: Array) -> None:
        """What an access tells its wave, and what an atomic announces."""
        assert self._flags is not None
        poll, wave = inst.pc in self._polls, wave_of(me)
        if Kind.ATOMIC in inst.kind:
            number = self._number(c, inst, me)
            self._flags.take_turns(wave, cells, number, looks=bool(inst.dst), flag=poll)
        elif poll:
            self._flags.look(wave, cells, flag=True)

    def _number(self, c: Cohort, inst: Inst, me: Stamps) -> Stamps:
        """Number of the access in its queue: [lane, granule]; beyond all where it is not that of LDS."""
        if self._outstanding.queue(inst) != LDS:
            return np.full(me.shape, 1 << 60)
        number = np.zeros(self._outstanding.waves, np.int64)
        number[c.waves] = self._outstanding.number(inst, c.waves)
        return np.asarray(number[wave_of(me)])

    def _apart(self, row: int, before: Stamps, me: Stamps, cells: Array) -> Array:
        """Accesses of other waves, with no flag between; the row of stamps: writer, adder, reader, other."""
        apart = differ(before, me)
        if self._flags is not None and apart.any():
            apart &= ~self._flags.told(row, wave_of(before), wave_of(me), cells)
        return apart

    def _stamps(self, c: Cohort, inst: Inst, store: bool) -> Stamps:
        """int64 [wave, lane]: who, and when."""
        site = self._sites.get(inst.pc)
        if site is None:
            site = self._sites[inst.pc] = len(self._insts)
            self._insts.append(inst)
            self._kinds["store" if store else "load"] += 1
            self._complete = len(self._insts) < SITE_LIMIT
        atomic = int(Kind.ATOMIC in inst.kind)
        of_wave = self._interval[c.machine.waves.workgroup[c.waves]] << INTERVAL
        of_wave += (c.waves << WAVE) + (site << SITE | atomic << ATOMIC)
        if self._split and (between := c.machine.signalled[c.waves]).any():
            self._ahead = True
            of_wave += between * (1 << INTERVAL | 1 << BETWEEN)
        return of_wave[:, None] + np.arange(c.size)

    def _floor(self, me: Stamps) -> Stamps:
        """The first stamp that an access is not ordered against."""
        floor = me & WHEN
        return floor - ((me >> BETWEEN & 1) << INTERVAL) if self._ahead else floor

    def _read(self, me: Stamps, at: Granules) -> None:
        kept, floor = self._kept, self._floor(me)
        self._look(at.cells)
        for row in (WRITER, ADDER):
            if (writer := kept.since(row, at, floor)) is not None:
                apart = (writer >= floor) & self._apart(row, writer, me, at.cells)
                self._clash("RAW", apart, writer, me, at.cells)
        both = [at.held(kept.rows[row]) for row in (READER, OTHER)] if self._ahead else []
        before = kept.since(READER, at, floor)
        kept.note(READER, at, me)
        last = at.last(kept.rows[READER])
        # Any reader of this interval whose wave is not that of `last` will do as the other one.
        waves = differ(last, me)
        if waves.any():
            if waves.shape[1] == 1:
                kept.note(OTHER, at, me[waves[:, 0]], waves[:, 0])
            else:
                kept.change(OTHER, at.cells[waves], np.broadcast_to(me, waves.shape)[waves])
        if before is not None:
            earlier = (before >= floor) & differ(last, before)
            kept.change(OTHER, at.cells[earlier], before[earlier])
        if self._ahead:
            self._keep_ahead(both, me, at.cells)

    def _look(self, cells: Array) -> None:
        """What is there matters now, and with it whoever overwrote it."""
        if self._overwrites:
            for number in np.unique(self._suspect[cells]):
                if number:
                    self._overwrites[number - 1].read = True

    def _keep_ahead(self, both: list[Stamps], me: Stamps, cells: Array) -> None:
        """Readers that count for the next interval stay, whoever reads in this one."""
        before, other = both
        first, second = (later(stamps, me) for stamps in (before, other))
        one, two = first | second, first & second & differ(before, other)
        self._kept.change(READER, cells[one], np.where(first, before, other)[one])
        self._kept.change(OTHER, cells[one], np.where(two, other, me)[one])

    def _write(self, store: Store, me: Stamps, at: Granules) -> None:
        kept, floor, atomic = self._kept, self._floor(me), Kind.ATOMIC in store.inst.kind
        if self._overwrites and not atomic:
            self._suspect[at.cells] = 0
        for row in (READER, OTHER, LATE_READER, LATE_OTHER):
            if (reader := kept.since(row, at, floor)) is not None:
                late = row in (LATE_READER, LATE_OTHER)
                apart = differ(reader, me) if late else self._apart(row, reader, me, at.cells)
                self._clash("WAR", (reader >= floor) & apart, reader, me, at.cells)
        if (before := kept.since(WRITER, at, floor)) is not None:
            self._write_again(store, before, me, at)
        if atomic:
            self._look(at.cells)  # it adds to what is there
        if not atomic and (adder := kept.since(ADDER, at, floor)) is not None:
            apart = (adder >= floor) & self._apart(ADDER, adder, me, at.cells)
            self._clash("WAW", apart, adder, me, at.cells)
        was = at.held(kept.rows[WRITER]) if atomic or self._ahead else np.zeros((0, 0), np.int64)
        kept.note(WRITER, at, me)
        last = at.last(kept.rows[WRITER])
        if atomic:
            self._keep_adder(was, me, last, at.cells)
        elif (differ(last, me) | lanes_differ(last, me)).any():
            self._write_together(store, me, at)
        if self._ahead and (ahead := later(was, me)).any():
            kept.change(WRITER, at.cells[ahead], was[ahead])

    def _write_again(self, store: Store, before: Stamps, me: Stamps, at: Granules) -> None:
        """A store to where somebody stored before in this interval."""
        floor, reader = self._floor(me), at.held(self._kept.rows[READER])
        both = (before & me) >> ATOMIC & 1
        twice = (before >= floor) & self._apart(WRITER, before, me, at.cells) & (both == 0)
        lost = (before >= floor) & ~differ(before, me) & (reader < floor) & lanes_differ(before, me)
        lost &= (me >> ATOMIC & 1) == 0  # an atomic adds to what is there
        if (twice | lost).any():
            changes = store.changes(at.cells.shape[-1])
            self._harmless += int((twice & ~changes).sum())
            self._clash("WAW", (twice | lost) & changes, before, me, at.cells)

    def _write_together(self, store: Store, me: Stamps, at: Granules) -> None:
        """Lanes of one store that meet."""
        last = at.held(self._kept.rows[WRITER])
        together = differ(last, me) | lanes_differ(last, me)
        changes = store.unlike(((last & WAVE_MASK) >> WAVE).astype(np.int64), (last & LANE_MASK))
        self._harmless += int((together & differ(last, me) & ~changes).sum())
        self._clash("WAW", together & changes, me, last, at.cells, together=True)

    def _keep_adder(self, before: Stamps, me: Stamps, last: Stamps, cells: Array) -> None:
        """A read or plain store by the wave of the last atomic also races with those of other waves."""
        earlier = differ(last, before) & (before >> ATOMIC & 1 == 1)
        beside = np.broadcast_to(differ(last, me), cells.shape)
        self._kept.change(ADDER, cells[beside], np.broadcast_to(me, cells.shape)[beside])
        self._kept.change(ADDER, cells[earlier], before[earlier])

    # What a wave has not waited for.

    def _keep(self, access: Recent, inst: Inst) -> None:
        recent = self._recent.setdefault((inst.pc, int(access.waves[0])), deque(maxlen=LONGEST))
        while recent and self._outstanding.over(recent[0].queue, recent[0].waves, recent[0].numbers):
            recent.popleft()
        recent.append(access)

    def _carry_over(self, machine: Machine, released: NDArray[np.int64]) -> None:
        """Accesses that are outstanding at a barrier belong to the next interval too."""
        met = np.zeros(machine.waves.workgroup.size, np.bool_)
        met[released] = True
        for key, accesses in self._recent.items():
            left = []
            for access in accesses:
                late = self._outstanding.late(access.queue, access.waves, access.numbers)
                of_wave = np.zeros(met.size, np.bool_)
                of_wave[access.waves] = late & met[access.waves]
                if of_wave.any():
                    self._into_next(machine, access, of_wave)
                if not self._outstanding.over(access.queue, access.waves, access.numbers):
                    left.append(access)
            self._recent[key] = deque(left, LONGEST)

    def _into_next(self, machine: Machine, access: Recent, of_wave: NDArray[np.bool_]) -> None:
        cells = access.at.cells
        stamps = np.broadcast_to(access.stamps, cells.shape)
        wave = wave_of(stamps)
        mine = of_wave[wave]
        before, at = stamps[mine], cells[mine]
        next_one = self._interval[machine.waves.workgroup[wave[mine]]] + 1
        now = (before & ~WHEN) | next_one << INTERVAL | 1 << LATE
        for row in (WRITER, ADDER) if access.store else (READER, OTHER):
            still = self._kept.rows[row][at] == before
            self._kept.change(row, at[still], now[still])
        if not access.store:
            self._read_late(now, at)
            self._late.carry(access, wave[mine])
        access.stamps = stamps.copy()
        access.stamps[mine] = now

    def _read_late(self, me: Stamps, cells: Array) -> None:
        """Readers of later intervals do not displace these; two waves are enough to clash with any writer."""
        first, second = (self._kept.rows[row][cells] for row in (LATE_READER, LATE_OTHER))
        apart = differ(first, me) & (first >= (second & WHEN))
        self._kept.change(LATE_OTHER, cells[apart], first[apart])
        self._kept.change(LATE_READER, cells, me)

    def _against_own(self, c: Cohort, inst: Inst, me: Stamps, cells: Array, store: bool) -> None:
        """An access, and a load of the same wave that goes directly to LDS."""
        assert self._numbers is not None
        landing, loading = self._numbers
        mine, done = np.zeros((2, self._outstanding.waves), np.int64)
        mine[c.waves] = self._outstanding.number(inst, c.waves)
        wave = wave_of(me)
        done[c.waves] = self._outstanding.done(inst, LDS if inst.to_lds else MEMORY, c.waves)
        row, number = (READER, loading) if inst.to_lds else (WRITER, landing)
        before = self._kept.rows[row][cells]
        early = (before != 0) & ~differ(before, me) & (number[cells] > done[wave])
        kind: ClashKind = "WAR" if inst.to_lds else "WAW" if store else "RAW"
        for key, found, _ in self._pairs(kind, early, before, me, cells):
            known = self._early.setdefault(key, found)
            if known is not found:
                known.count += found.count
        if not store:
            loading[cells] = mine[wave]
        else:
            landing[cells] = mine[wave] if inst.to_lds else 0

    def _clash(
        self,
        kind: ClashKind,
        which: Array,
        first: Stamps,
        second: Stamps,
        cells: Array,
        *,
        together: bool = False,
    ) -> None:
        """Note the marked pairs, each pair of instructions once."""
        for pair, found, at in self._pairs(kind, which, first, second, cells):
            found.together, key = together, (*pair, together)
            known = self._clashes.setdefault(key, found)
            if known is not found:
                known.count += found.count
            elif kind == "WAW":
                self._overwrites.append(known)
            if kind == "WAW":
                self._suspect[at] = 1 + self._overwrites.index(known)
        if kind != "WAW" and which.any():
            a, b = (np.broadcast_to(stamps, cells.shape)[which] for stamps in (first, second))
            load, store = (b, a) if kind == "RAW" else (a, b)
            if kind == "WAR":
                self._late.overtake(load, self._batch)
            interval = (load >> INTERVAL) - (load >> BETWEEN & 1)
            self._raced.note(lds_cells(cells[which], self._batch, interval), wave_of(store))

    def _pairs(
        self, kind: ClashKind, which: Array, first: Stamps, second: Stamps, cells: Array
    ) -> Iterator[tuple[tuple[object, ...], Clash, Array]]:
        """The marked pairs: by what they are one, one of them, and the granules of all."""
        if not which.any():
            return
        a, b = (np.broadcast_to(stamps, cells.shape)[which] for stamps in (first, second))
        at = cells[which]
        pairs = (a >> SITE & SITE_LIMIT - 1) << 20 | (b >> SITE & SITE_LIMIT - 1) | (a >> LATE & 1) << 40
        pairs |= differ(a, b).astype(np.int64) << 41  # lanes of one wave that meet are no race, and hide none
        for pair, place, count in zip(*np.unique(pairs, return_index=True, return_counts=True), strict=True):
            one, other, cell = int(a[place]), int(b[place]), int(at[place])
            byte = (cell << self._shift) - self._base(one)
            late, between = bool(one >> LATE & 1), bool((one | other) >> BETWEEN & 1)
            found = Clash(kind, self._touch(one), self._touch(other), byte, late, int(count), between)
            yield (kind, int(pair), is_collision(found)), found, at[pairs == pair]

    def _base(self, stamp: int) -> int:
        assert self._machine is not None
        return int(self._machine.lds_base[(stamp & WAVE_MASK) >> WAVE, 0])

    def _touch(self, stamp: int) -> Touch:
        assert self._machine is not None
        who = who_is(self._machine, (stamp & WAVE_MASK) >> WAVE, stamp & LANE_MASK)
        return Touch(self._insts[stamp >> SITE & SITE_LIMIT - 1], who)
