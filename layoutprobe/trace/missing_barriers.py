"""Races by the barrier that is missing: one cause, however many pairs of instructions show it."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from math import inf

from layoutprobe.isa.kind import Kind
from layoutprobe.observe.clashes import Clash, ClashKind
from layoutprobe.records import dataclass
from layoutprobe.trace.subject import Subject


def missing_barriers(subject: Subject, races: Iterable[Clash]) -> list[list[Clash]]:
    """Races in groups that share a missing barrier, in the order in which they happened.

    Two races belong together where their code lies in the same stretches between barriers:
    compilers mix the stores and loads that no barrier holds apart. They also do where they come
    from the same source lines: unrolled and specialised copies of one loop. Where a tile is read
    too early, it is overwritten too early as well; the barrier is the same. And races of one kind
    do that one more barrier would end, wherever it stands.
    """
    barriers = sorted(pc for pc, inst in subject.insts.items() if Kind.AWAIT in inst.kind)
    groups: list[_Group] = []
    for race in races:
        first, second = race.first.inst.pc, race.second.inst.pc
        lines = frozenset({subject.line(first) or first, subject.line(second) or second})
        stretches = frozenset({bisect(barriers, first), bisect(barriers, second)})
        new = _Group(
            [race],
            {(race.kind == "WAW", lines), (race.kind == "WAW", stretches)},
            {race.kind: _between(first, second)},
        )
        home = next((group for group in groups if group.shares(new)), None)
        if home is None:
            groups.append(new)
        else:
            home.take(new)
    merged: list[_Group] = []
    for group in groups:  # a later race may have joined two of them
        home = next((known for known in merged if known.shares(group)), None)
        if home is None:
            merged.append(group)
        else:
            home.take(group)
    return [group.clashes for group in merged]


Span = tuple[float, float]
"""Program counters behind the first and up to the second: where a barrier may stand."""


def _between(first: int, second: int) -> list[Span]:
    """Where a barrier ends a race: between the two, or around the back edge of the loop."""
    return [(first, second)] if first < second else [(first, inf), (-inf, second)]


def _common(one: Sequence[Span], other: Sequence[Span]) -> list[Span]:
    spans = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return [(low, high) for low, high in spans if low < high]


@dataclass
class _Group:
    """Races that share a missing barrier.

    Attributes:
        clashes: the races.
        keys: source lines and stretches of code that they lie in.
        cures: kind -> where one barrier ends all races of the kind; empty where none does.
    """

    clashes: list[Clash]
    keys: set[tuple[bool, frozenset[object]]]
    cures: dict[ClashKind, list[Span]]

    def shares(self, other: _Group) -> bool:
        """One of the reasons holds."""
        kinds = self.cures.keys() & other.cures.keys()
        return bool(self.keys & other.keys) or any(
            _common(self.cures[kind], other.cures[kind]) for kind in kinds
        )

    def take(self, other: _Group) -> None:
        """Add the races of another group."""
        self.clashes += other.clashes
        self.keys |= other.keys
        for kind, spans in other.cures.items():
            self.cures[kind] = _common(self.cures[kind], spans) if kind in self.cures else spans
