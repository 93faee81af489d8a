"""Races by the barrier that is missing, uses by the wait: one cause, however many pairs of instructions show it."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from math import inf
from typing import Generic, TypeVar

from msgspec import Struct

from layoutprobe.isa.kind import Kind
from layoutprobe.observe.clashes import Clash
from layoutprobe.observe.waits import Hazard
from layoutprobe.trace.subject import Subject


def missing_barriers(subject: Subject, races: Iterable[Clash]) -> list[list[Clash]]:
    """Races in groups that share a missing barrier, in the order in which they happened.

    Two races belong together where their code lies in the same stretches between barriers:
    compilers mix the stores and loads that no barrier holds apart. They also do where they come
    from the same source lines: unrolled and specialised copies of one loop. Where a tile is read
    too early, it is overwritten too early as well; the barrier is the same. And races of one kind
    do that one more barrier would end, wherever it stands.
    """
    found = list(races)
    if not found:
        return []
    barriers = sorted(pc for pc, inst in subject.insts.items() if Kind.AWAIT in inst.kind)

    def alone(race: Clash) -> _Group[Clash]:
        first, second = race.first.inst.pc, race.second.inst.pc
        lines = frozenset({subject.line(first) or first, subject.line(second) or second})
        stretches = frozenset({bisect(barriers, first), bisect(barriers, second)})
        return _Group(
            [race],
            {(race.kind == "WAW", lines), (race.kind == "WAW", stretches)},
            {race.kind: _between(first, second)},
        )

    return [group.faults for group in _merged(_merged(alone(race) for race in found))]


def missing_waits(subject: Subject, hazards: Iterable[Hazard]) -> list[list[Hazard]]:
    """Uses of registers in groups that share a missing wait: those of loads of one source line, of which the compiler
    made copies, and those that one more wait would guard, wherever it stands."""

    def alone(hazard: Hazard) -> _Group[Hazard]:
        load, use = hazard.pending[0].pc, hazard.inst.pc
        lines = frozenset({subject.line(load) or load})
        return _Group([hazard], {(hazard.counter, lines)}, {hazard.counter: _between(load, use)})

    return [group.faults for group in _merged(_merged(alone(hazard) for hazard in hazards))]


def _merged(groups: Iterable[_Group[Fault]]) -> list[_Group[Fault]]:
    """Every group taken into the first that it shares a reason with; done twice, as a later one may join two."""
    merged: list[_Group[Fault]] = []
    for group in groups:
        home = next((known for known in merged if known.shares(group)), None)
        if home is None:
            merged.append(group)
        else:
            home.take(group)
    return merged


Fault = TypeVar("Fault")
Span = tuple[float, float]
"""Program counters behind the first and up to the second: where a barrier may stand."""


def _between(first: int, second: int) -> list[Span]:
    """Where a barrier ends a race: between the two, or around the back edge of the loop."""
    return [(first, second)] if first < second else [(first, inf), (-inf, second)]


def _common(one: Sequence[Span], other: Sequence[Span]) -> list[Span]:
    spans = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return [(low, high) for low, high in spans if low < high]


class _Group(Struct, Generic[Fault]):
    """Races that share a missing barrier, or uses that share a missing wait.

    Attributes:
        faults: the races, or the uses.
        keys: source lines and stretches of code that they lie in.
        cures: kind of race, or counter -> where one barrier or wait ends all of them; empty where none does.
    """

    faults: list[Fault]
    keys: set[tuple[object, frozenset[object]]]
    cures: dict[str, list[Span]]

    def shares(self, other: _Group[Fault]) -> bool:
        """One of the reasons holds."""
        kinds = self.cures.keys() & other.cures.keys()
        return bool(self.keys & other.keys) or any(
            _common(self.cures[kind], other.cures[kind]) for kind in kinds
        )

    def take(self, other: _Group[Fault]) -> None:
        """Add those of another group."""
        self.faults += other.faults
        self.keys |= other.keys
        for kind, spans in other.cures.items():
            self.cures[kind] = _common(self.cures[kind], spans) if kind in self.cures else spans
