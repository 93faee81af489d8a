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
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.program import Block, Program
from layoutprobe.machine.registers import Array
from layoutprobe.observe.barriers import BarrierWatch
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.clashes import Clash, ClashKind, LdsRecord, Touch
from layoutprobe.observe.counters import LONGEST
from layoutprobe.observe.lds_access import Store, granule_shift, straddles
from layoutprobe.observe.lds_flags import Flags, asks, polls_of
from layoutprobe.observe.lds_stamps import (
    ATOMIC,
    BETWEEN,
    INTERVAL,
    LANE_MASK,
    LATE,
    SITE,
    SITE_LIMIT,
    WAVE,
    WAVE_MASK,
    WHEN,
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
        self._writer = self._adder = np.zeros(0, np.int64)  # [granule]; see _write
        self._reader = self._other = np.zeros(0, np.int64)  # [granule]
        self._late = np.zeros((2, 0), np.int64)  # [which, granule]; readers that had not waited at a barrier
        self._recent: dict[tuple[int, int], deque[Recent]] = {}  # PC, first wave -> last accesses
        self._early: dict[tuple[object, ...], Clash] = {}
        self._numbers: Stamps | None = (
            None  # [which, granule] of the last direct load, and of the last reader
        )

    # The protocol.

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._outstanding.batch(machine, program)
        self._barriers.batch(machine)
        self._machine = machine
        insts = list(program.insts)
        self._split, self._ahead = any(inst.kind == Kind.ARRIVE for inst in insts), False
        self._shift = granule_shift(insts)
        groups = int(machine.waves.workgroup.max(initial=-1)) + 1
        self._interval = np.ones(groups, np.int64)
        granules = machine.lds.data.bytes.size >> self._shift
        self._writer, self._adder, self._reader, self._other = np.zeros((4, granules), np.int64)
        self._suspect = np.zeros(granules, np.int32)
        self._late, self._recent = np.zeros((2, granules), np.int64), {}
        self._polls = polls_of(insts)
        flags = self._polls or any(asks(inst) for inst in insts)
        self._flags = Flags(machine.waves.index, granules) if flags else None
        self._numbers = np.zeros((2, granules), np.int64) if any(inst.to_lds for inst in insts) else None

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
        stamps, cells = self._stamps(c, inst, store), place.offsets >> self._shift
        width = size >> self._shift
        if not (c.full and place.mask is c.exec):
            stamps, cells = stamps[place.mask], cells[place.mask]
        stamps, cells = stamps.reshape(-1, 1), cells.reshape(-1, 1)
        if width > 1:
            cells = cells + np.arange(width)
            stamps = np.broadcast_to(stamps, cells.shape)
        if self._flags is not None:
            self._meet_flags(c, inst, stamps, cells)
            if not store and inst.pc in self._polls:
                return
        self._keep(Recent(stamps, cells, self._outstanding.queue(inst), c.waves,
                           self._outstanding.number(inst, c.waves), store), inst)  # fmt: skip
        if self._numbers is not None:
            self._against_own(c, inst, stamps, cells, store)
        rows = (self._writer, self._adder, self._reader, self._other)
        kept = self._flags.keep(rows, cells) if self._flags is not None else None
        if store:
            self._write(Store(c, inst, place, size), stamps, cells)
        else:
            self._read(stamps, cells)
        if self._flags is not None and kept is not None:
            number = self._number(c, inst, stamps)
            self._flags.follow(kept, rows, cells, stamps, number)
            if store and Kind.ATOMIC not in inst.kind:
                self._flags.announce(wave_of(stamps), cells, number)

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

    def _read(self, me: Stamps, cells: Array) -> None:
        floor = self._floor(me)
        if self._overwrites:
            for number in np.unique(self._suspect[cells]):
                if number:
                    self._overwrites[number - 1].read = True
        for row, writer in enumerate((self._writer[cells], self._adder[cells])):
            if (writer >= floor).any():
                self._clash("RAW", (writer >= floor) & self._apart(row, writer, me, cells), writer, me, cells)
        before = self._reader[cells]
        other = self._other[cells] if self._ahead else before
        self._reader[cells] = me
        last = self._reader[cells]
        # Any reader of this interval whose wave is not that of `last` will do as the other one.
        waves = differ(last, me)
        if waves.any():
            self._other[cells[waves]] = me[waves]
        earlier = (before >= floor) & differ(last, before)
        if earlier.any():
            self._other[cells[earlier]] = before[earlier]
        if self._ahead:
            self._keep_ahead(before, other, me, cells)

    def _keep_ahead(self, before: Stamps, other: Stamps, me: Stamps, cells: Array) -> None:
        """Readers that count for the next interval stay, whoever reads in this one."""
        first, second = (later(stamps, me) for stamps in (before, other))
        one, two = first | second, first & second & differ(before, other)
        self._reader[cells[one]] = np.where(first, before, other)[one]
        self._other[cells[one]] = np.where(two, other, me)[one]

    def _write(self, store: Store, me: Stamps, cells: Array) -> None:
        floor = self._floor(me)
        if self._overwrites:
            self._suspect[cells] = 0
        reader, other, before = self._reader[cells], self._other[cells], self._writer[cells]
        atomic, adder = Kind.ATOMIC in store.inst.kind, self._adder[cells]
        for row, readers in enumerate((reader, other), 2):
            if (readers >= floor).any():
                self._clash(
                    "WAR", (readers >= floor) & self._apart(row, readers, me, cells), readers, me, cells
                )
        for late in (self._late[0][cells], self._late[1][cells]):
            if (late >= floor).any():
                self._clash("WAR", (late >= floor) & differ(late, me), late, me, cells)
        if (before >= floor).any():
            both = (before & me) >> ATOMIC & 1
            twice = (before >= floor) & self._apart(0, before, me, cells) & (both == 0)
            lost = (before >= floor) & ~differ(before, me) & (reader < floor) & lanes_differ(before, me)
            if (twice | lost).any():
                changes = store.changes(cells.shape[-1])
                self._harmless += int((twice & ~changes).sum())
                self._clash("WAW", (twice | lost) & changes, before, me, cells)
        if not atomic and (adder >= floor).any():
            self._clash("WAW", (adder >= floor) & self._apart(1, adder, me, cells), adder, me, cells)
        self._writer[cells] = me
        last = self._writer[cells]
        if atomic:
            self._keep_adder(before, me, last, cells)
        together = differ(last, me) | lanes_differ(last, me)
        if not atomic and together.any():
            changes = store.unlike(((last & WAVE_MASK) >> WAVE).astype(np.int64), (last & LANE_MASK))
            self._harmless += int((together & differ(last, me) & ~changes).sum())
            self._clash("WAW", together & changes, me, last, cells)
        if self._ahead and (ahead := later(before, me)).any():
            self._writer[cells[ahead]] = before[ahead]

    def _keep_adder(self, before: Stamps, me: Stamps, last: Stamps, cells: Array) -> None:
        """A read or plain store by the wave of the last atomic also races with those of other waves."""
        beside, earlier = differ(last, me), differ(last, before) & (before >> ATOMIC & 1 == 1)
        self._adder[cells[beside]] = me[beside]
        self._adder[cells[earlier]] = before[earlier]

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
        wave = (access.stamps & WAVE_MASK) >> WAVE
        mine = of_wave[wave]
        before, at = access.stamps[mine], access.cells[mine]
        next_one = self._interval[machine.waves.workgroup[wave[mine]]] + 1
        now = (before & ~WHEN) | next_one << INTERVAL | 1 << LATE
        for stamps in (self._writer, self._adder) if access.store else (self._reader, self._other):
            still = stamps[at] == before
            stamps[at[still]] = now[still]
        if not access.store:
            self._read_late(now, at)
        access.stamps = access.stamps.copy()
        access.stamps[mine] = now

    def _read_late(self, me: Stamps, cells: Array) -> None:
        """Readers of later intervals do not displace these; two waves are enough to clash with any writer."""
        first, second = self._late[0][cells], self._late[1][cells]
        apart = differ(first, me) & (first >= (second & WHEN))
        self._late[1][cells[apart]] = first[apart]
        self._late[0][cells] = me

    def _against_own(self, c: Cohort, inst: Inst, me: Stamps, cells: Array, store: bool) -> None:
        """An access, and a load of the same wave that goes directly to LDS."""
        assert self._numbers is not None
        landing, loading = self._numbers
        mine, done = np.zeros((2, self._outstanding.waves), np.int64)
        mine[c.waves] = self._outstanding.number(inst, c.waves)
        wave = wave_of(me)
        done[c.waves] = self._outstanding.done(inst, LDS if inst.to_lds else MEMORY, c.waves)
        last, number = (self._reader, loading) if inst.to_lds else (self._writer, landing)
        before = last[cells]
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

    def _clash(self, kind: ClashKind, which: Array, first: Stamps, second: Stamps, cells: Array) -> None:
        """Note the marked pairs, each pair of instructions once."""
        for key, found, at in self._pairs(kind, which, first, second, cells):
            known = self._clashes.setdefault(key, found)
            if known is not found:
                known.count += found.count
            elif kind == "WAW":
                self._overwrites.append(known)
            if kind == "WAW":
                self._suspect[at] = 1 + self._overwrites.index(known)

    def _pairs(
        self, kind: ClashKind, which: Array, first: Stamps, second: Stamps, cells: Array
    ) -> Iterator[tuple[tuple[object, ...], Clash, Array]]:
        """The marked pairs: by what they are one, one of them, and the granules of all."""
        if not which.any():
            return
        a, b, at = first[which], np.broadcast_to(second, cells.shape)[which], cells[which]
        pairs = (a >> SITE & SITE_LIMIT - 1) << 20 | (b >> SITE & SITE_LIMIT - 1) | (a >> LATE & 1) << 40
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
