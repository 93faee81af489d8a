"""Which work of a program's streams is ordered, and which memory two use that are not.

Every stream, and the host, has a vector clock: how much of each stream's work has ended before what comes next. All
threads of the host count as one. Programs that make no stream are not watched.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.extras.hiphost.heap import Allocation
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses, Region
from layoutprobe.machine.observer import Moves, Observer
from layoutprobe.machine.program import Program
from layoutprobe.place import Place

NULL = 0
_MOST_BYTES = 64 << 20
"""Of an allocation that is followed byte by byte; in larger ones the lowest and highest byte count."""
_MOST_USES = 256
"""Of an allocation, by work that nobody has waited for; older ones are forgotten."""

Clock = dict[int, int]


class Ordered(enum.IntEnum):
    """What a program does to order work."""

    CREATE = 0  # stream, whether the null stream does not wait for it
    WAIT_STREAM = 1  # stream; the host waits
    WAIT_ALL = 2  # the host waits
    RECORD = 3  # stream, event
    WAIT_EVENT = 4  # event; the host waits
    STREAM_EVENT = 5  # stream, event; the stream waits


class Used(Struct, frozen=True, eq=False):
    """Bytes of an allocation that a piece of work loads or stores.

    Attributes:
        store: it stores them.
        low, high: the first byte, and the one behind the last: offsets in the arena.
        bytes: which of them; None for all.
        inst: the first instruction that does; None for a copy or fill.
        place: where that is, as far as somebody has said.
    """

    store: bool
    low: int
    high: int
    bytes: NDArray[np.bool_] | None = None
    inst: Inst | None = None
    place: Place = field(default_factory=Place)

    def meets(self, other: Used) -> bool:
        """Both use a byte, and one of them stores."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low >= high or not (self.store or other.store):
            return False
        both = [u.bytes[low - u.low : high - u.low] for u in (self, other) if u.bytes is not None]
        return not both or bool(np.logical_and.reduce(both).any())


class Work(Struct, frozen=True, eq=False):
    """A launch, copy or fill.

    Attributes:
        name: "kernel add", "a copy".
        stream: on which it is.
        time: its number on that stream.
        before: what has ended when it begins.
    """

    name: str
    stream: int
    time: int
    before: Clock

    def follows(self, other: Work) -> bool:
        """The other has ended when this one begins."""
        return self.before.get(other.stream, 0) >= other.time


class StreamOrder:
    """The clocks of one program, and the uses of memory that somebody may still meet."""

    def __init__(self) -> None:
        self._host: Clock = {}
        self._streams: dict[int, Clock] = {NULL: {}}
        self._alone: set[int] = set()  # streams that do not wait for the null stream
        self._events: dict[int, Clock] = {}
        self._uses: dict[int, list[tuple[Work, Used]]] = {}  # start of an allocation -> ...

    @property
    def watched(self) -> bool:
        """There is more than one stream."""
        return len(self._streams) > 1

    def told(self, what: Ordered, one: int, other: int) -> None:
        """The program orders work; for the numbers see `Ordered`."""
        if what is Ordered.CREATE:
            self._streams[one] = dict(self._host)
            if other:
                self._alone.add(one)
        elif what is Ordered.WAIT_STREAM:
            _join(self._host, self._streams.get(one, {}))
        elif what is Ordered.WAIT_ALL:
            for clock in self._streams.values():
                _join(self._host, clock)
        elif what is Ordered.RECORD:
            self._events[other] = dict(self._begun(one))
        elif what is Ordered.WAIT_EVENT:
            _join(self._host, self._events.get(one, {}))
        else:
            _join(self._streams.setdefault(one, {}), self._events.get(other, {}))

    def work(self, name: str, stream: int, *, waits: bool) -> Work:
        """A piece of work is put on a stream; the host may wait for its end."""
        clock = self._begun(stream)
        before = dict(clock)
        clock[stream] = clock.get(stream, 0) + 1
        if waits:
            _join(self._host, clock)
        return Work(name, stream, clock[stream], before)

    def use(self, allocation: Allocation, work: Work, used: Used) -> tuple[Work, Used] | None:
        """Work uses memory; other work that does so in no order, and what it uses, if there is any."""
        uses = self._uses.setdefault(allocation.start, [])
        met = next(
            ((old, by) for old, by in uses if old is not work and not work.follows(old) and used.meets(by)),
            None,
        )
        open_ones = [(old, by) for old, by in uses if self._host.get(old.stream, 0) < old.time]
        self._uses[allocation.start] = [*open_ones[-_MOST_USES:], (work, used)]
        return met

    def forget(self, allocation: Allocation) -> None:
        """It is freed."""
        self._uses.pop(allocation.start, None)

    def _begun(self, stream: int) -> Clock:
        """The clock of a stream on which something begins: behind what the host knows, and the null stream's rule."""
        clock = self._streams.setdefault(stream, {})
        _join(clock, self._host)
        if stream == NULL:
            for other in self._streams.keys() - self._alone:
                _join(clock, self._streams[other])
        elif stream not in self._alone:
            _join(clock, self._streams[NULL])
        return clock


def _join(clock: Clock, other: Clock) -> None:
    for stream, time in other.items():
        clock[stream] = max(clock.get(stream, 0), time)


class BytesUsed(Observer):
    """Which bytes of which allocations a kernel loads and stores."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, bool], tuple[Region, NDArray[np.bool_] | None, list[int], Inst]] = {}

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.GLOBAL

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._regions = machine.arena.regions
        self._starts = np.array([region.start for region in self._regions])

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.arena or not place.mask.any():
            return
        offsets = place.offsets[place.mask]
        index = np.searchsorted(self._starts, offsets, side="right") - 1
        for number in np.unique(index[index >= 0]).tolist():
            mine = offsets[index == number]
            self._note(self._regions[number], inst, mine, size, store)
            if store and Kind.ATOMIC in inst.kind:
                self._note(self._regions[number], inst, mine, size, False)

    def used(self) -> Iterable[tuple[Region, Used]]:
        """What was seen."""
        for (_, store), (region, marks, (low, high), inst) in self._found.items():
            marked = None if marks is None else marks[low - region.start : high - region.start]
            yield region, Used(store, low, high, marked, inst)

    def _note(self, region: Region, inst: Inst, offsets: NDArray[np.int64], size: int, store: bool) -> None:
        known = self._found.get((region.start, store))
        if known is None:
            room = region.end - region.start
            marks = np.zeros(room, np.bool_) if room <= _MOST_BYTES else None
            known = self._found[region.start, store] = region, marks, [region.end, region.start], inst
        _, marks, reach, _ = known
        reach[0] = min(reach[0], int(offsets.min()))
        reach[1] = min(max(reach[1], int(offsets.max()) + size), region.end)
        if marks is not None:
            at = (offsets - region.start)[:, None] + np.arange(size)
            marks[np.minimum(at, marks.size - 1)] = True
