"""Which expressions of a source may be to blame: those that go into all that is wrong, and into little that is right.

Each is given another value, which is no guess of what it should be: the elements that move are those that it goes
into. What leaves a wrong element where it is cannot mend it, whatever is written there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.gate.source_edits import SourceEdit

Moved = Sequence[NDArray[np.bool_]]
"""Output by output, whether an element has another value."""


class Suspect(Struct, frozen=True):
    """An expression.

    Attributes:
        file, start, end: where it stands.
        missed: the share of the wrong elements that it does not go into.
        besides: the share of the right ones that it goes into.
        partly: with some other value the run has ended early.
    """

    file: Path
    start: int
    end: int
    missed: float
    besides: float
    partly: bool


class Suspects:
    """Those of a kernel."""

    def __init__(self, found: Iterable[Suspect], known: float, texts: Mapping[Path, str]) -> None:
        """Args: found: expressions; known: how much right elements say, from 0 to 1; texts: of the files."""
        self._known = known
        self._of_place = dict[tuple[Path, int, int], float]()
        self._in = defaultdict[Path, list[Suspect]](list)
        for one in sorted(found, key=lambda one: one.start - one.end):  # what is around others comes first
            text, around = texts[one.file], _around(self._in[one.file], one.start, one.end)
            if around is not None and _LOSES.search(_beside(text, one, around)):
                one = replace(
                    one, missed=min(one.missed, around.missed), besides=max(one.besides, around.besides)
                )
            self._in[one.file].append(one)

    def later(self, edit: SourceEdit) -> float:
        """What is added to a change's rank; 0 where nothing is known of what it changes."""
        place = edit.file, edit.rewrite.start, edit.rewrite.end
        if place not in self._of_place:
            self._of_place[place] = self._at(*place)
        later = self._of_place[place]
        of_statements = ";" in edit.rewrite.text or "{" in edit.rewrite.text
        return min(later, 0.0) * _OF_STATEMENTS if of_statements else later

    def _at(self, file: Path, start: int, end: int) -> float:
        near = self._in[file]
        inside = [one for one in near if start <= one.start and one.end <= end]
        around = _around(near, start, end)
        about = inside or ([around] if around is not None else [])
        return min(map(self._later, about), default=0.0)

    def _later(self, one: Suspect) -> float:
        if one.missed > _may_miss(one):
            return _NEVER * min(1.0, _STEEP * one.missed) * (_PARTLY if one.partly else 1.0)
        return -_LIKELIER * self._known * (1.0 - one.besides) ** 2

    def worst(self, most: int) -> list[Suspect]:
        """Those that go into all that is wrong and the least besides, so many at most."""
        every = [one for of_file in self._in.values() for one in of_file if one.missed <= _may_miss(one)]
        return sorted(every, key=lambda one: (one.besides, one.end - one.start))[:most]


def _may_miss(one: Suspect) -> float:
    """Wrong elements that an expression of which all of them come may leave where they are."""
    return _MISSED_OF_ENDED if one.partly else _MISSED


def _around(found: Iterable[Suspect], start: int, end: int) -> Suspect | None:
    """The smallest one that a part of the text lies in."""
    around = (one for one in found if one.start <= start and end <= one.end)
    return min(around, key=lambda one: one.end - one.start, default=None)


def _beside(text: str, one: Suspect, around: Suspect) -> str:
    """What stands around an expression in a larger one."""
    return f"{text[around.start : one.start]} {text[one.end : around.end]}"


_LOSES = re.compile(r"[/%&<>?]|\b(?:\w*_)?(?:min|max|clamp|fminf|fmaxf)\(")
"""What many values give the same of: that another value of a part moves nothing there says little."""
_MISSED, _STEEP = 0.04, 2.0
"""Wrong elements that may stay where they are by chance, as what moves is rounded or cut; beyond that, what misses
half of them is as bad as what misses all."""
_MISSED_OF_ENDED = 0.3
"""The same where a run has ended early: what did not move may have been of the rest."""
_PARTLY = 0.3
"""How much less is known where a run has ended early: a larger value might move more."""
_OF_STATEMENTS = 0.6
"""How much of that is said of statements that are changed, or put elsewhere: what their expressions go into without
that change is not all that they go into with it."""
_NEVER, _LIKELIER = 3.0, 2.5
"""How much later a change comes that cannot mend all, and how much earlier one of what goes into nothing else."""


def suspects(
    moves: Iterable[tuple[SourceEdit, Moved | None]], wrong: Moved, texts: Mapping[Path, str]
) -> Suspects:
    """What other values have moved, beside what is wrong.

    Args:
        moves: expressions with other values, and what moved; None where nothing is known.
        wrong: which elements are.
        texts: of the files.
    """
    own = defaultdict[tuple[Path, int, int], list[Moved]](list)
    ended = set[tuple[Path, int, int]]()
    for edit, moved in moves:
        key = edit.file, edit.rewrite.start, edit.rewrite.end
        if moved is None:
            ended.add(key)
        else:
            own[key].append(moved)
    right = [~of_output for of_output in wrong]
    found = [_suspect(key, ways, wrong, right, partly=key in ended) for key, ways in own.items()]
    share = _count(right) / max(_count(right) + _count(wrong), 1)
    return Suspects(found, min(1.0, share / _TELLS), texts)


def _suspect(
    key: tuple[Path, int, int], ways: Sequence[Moved], wrong: Moved, right: Moved, *, partly: bool
) -> Suspect:
    """An expression by all that other values of it move: little besides what is wrong, where one of them does so."""
    some, rest = max(_count(wrong), 1), max(_count(right), 1)
    missed = [1 - _count(_both(wrong, way)) / some for way in ways]
    besides = [_count(_both(right, way)) / rest for way in ways]
    of_all = 1 - _count(_both(wrong, _any(ways))) / some
    least = min(one for one, away in zip(besides, missed, strict=True) if away <= max(min(missed), _NEARLY))
    return Suspect(*key, missed=of_all, besides=least, partly=partly)


_NEARLY = 0.2
"""Wrong elements that one of the values may leave where they are."""
_TELLS = 0.2
"""The share of right elements that tells all."""


def _any(ways: Sequence[Moved]) -> Moved:
    return [np.logical_or.reduce(of_output) for of_output in zip(*ways, strict=True)]


def _both(one: Moved, other: Moved) -> Moved:
    return [a & b for a, b in zip(one, other, strict=True)]


def _count(elements: Moved) -> int:
    return sum(int(of_output.sum()) for of_output in elements)


def by_suspicion(edits: Iterable[SourceEdit], found: Suspects) -> list[SourceEdit]:
    """Changes, the likeliest first."""
    return sorted(edits, key=lambda edit: edit.rank + found.later(edit))
