"""Explanations of wrong values that hold at every size at which the values are wrong.

What explains one size may be a coincidence there: few elements, or zeros. Where no explanation holds at all sizes,
none is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from layoutprobe.place import Size
from layoutprobe.report.finding import Finding
from layoutprobe.text import either

_SHOWN = 2
_UNKNOWN = "wrong-values"
"""Name of the rule about wrong values of which the cause is not known."""


def agreed(found: Sequence[tuple[Size, Finding]]) -> list[tuple[Size, Finding]]:
    """Findings of one check at all sizes, each with the explanation that holds everywhere, if any does."""
    return [(size, _settled(finding, _votes(finding, found))) for size, finding in found]


def _votes(finding: Finding, found: Sequence[tuple[Size, Finding]]) -> list[Finding]:
    """What is said of the same output, where that is an explanation, or that there is none."""
    about = _output(finding)
    every = [one for _, one in found if _output(one) == about]
    return [one for one in every if one.explained or one.name == _UNKNOWN]


def _output(finding: Finding) -> str:
    return finding.place.element.matrix if finding.place.element else ""


def _settled(finding: Finding, votes: Sequence[Finding]) -> Finding:
    if not finding.explained:
        return finding
    common = {
        says: one
        for says, one in finding.explained
        if says and all(says in (each for each, _ in vote.explained) for vote in votes)
    }
    if len(common) + 1 == len(finding.explained):
        return finding
    if not common:
        return finding.explained[-1][1]
    says, first = next(iter(common.items()))
    return replace(first, what=first.what.removesuffix(says) + either(islice(common, _SHOWN)))
