"""Which tests plain `pytest` runs at a desk, and CI: of a test some cases, chosen the same way each time."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import ceil, sqrt
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pytest

SAMPLE = "LAYOUTPROBE_TESTS_SAMPLED"
"""Set by conftest.py, for its workers too, where `pytest` was asked for no test in particular."""
SECONDS = Path(__file__).with_name("seconds.csv")
"""What a case of each test takes on a processor, written by `timing.py`; those of no account are not listed."""
DESK = 0.4
"""Seconds that a case may take at a desk."""
CI = 10.0
"""Seconds that the cases of one test may take together in CI."""

Case = TypeVar("Case")


def one_in(count: int, cases: Sequence[Case]) -> Sequence[Case]:
    """Every so-manieth of what a single test goes through; all where no sample is taken."""
    return cases[::count] if os.environ.get(SAMPLE) else cases


@cache
def measured() -> Mapping[str, float]:
    """Test -> seconds of a case."""
    with SECONDS.open(newline="") as file:
        return {row["test"]: float(row["seconds of a case"]) for row in csv.DictReader(file)}


def family_of(nodeid: str) -> str:
    """The test that a case belongs to."""
    return nodeid.partition("[")[0]


def sampled(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Of a test with n cases some sqrt(n), with as many values of every parameter as fit.

    None of a test whose cases take longer than a desk has patience for, or marked `long`; but each file keeps a
    test, the shortest, unless all of it is marked. A test marked `few(count)` keeps so many: its cases take
    long, and each of them shows the same. One marked `every_case` keeps all, however long: it has chosen them
    itself.
    """
    files: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        if item.get_closest_marker("long") is None:
            family = family_of(item.nodeid)
            files.setdefault(family.partition("::")[0], {}).setdefault(family, []).append(item)
    return [item for families in files.values() for item in _of_file(families)]


def bounded(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """All tests, of those whose cases take long together so many cases as fit, and sqrt(n) at least.

    One marked `every_case`, or `all_in_ci`, keeps all: each case is a claim of its own.
    """
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        families.setdefault(family_of(item.nodeid), []).append(item)
    return [
        item for family, cases in families.items() for item in _that_fit(cases, measured().get(family, 0.0))
    ]


def _that_fit(cases: list[pytest.Item], seconds: float) -> list[pytest.Item]:
    if seconds * len(cases) <= CI or _chosen(cases) or cases[0].get_closest_marker("all_in_ci") is not None:
        return cases
    return _spread(cases, max(ceil(sqrt(len(cases))), int(CI / seconds)))


def _of_file(families: Mapping[str, list[pytest.Item]]) -> list[pytest.Item]:
    """The cases of the short tests of a file; of the shortest a single one where all are long."""
    seconds = {family: measured().get(family, 0.0) for family in families}
    short = [
        item
        for family, cases in families.items()
        if seconds[family] <= DESK or _chosen(cases)
        for item in _some(cases)
    ]
    return short or _some(families[min(seconds, key=seconds.__getitem__)])[:1]


def _chosen(family: Sequence[pytest.Item]) -> bool:
    return family[0].get_closest_marker("every_case") is not None


def _some(family: list[pytest.Item]) -> list[pytest.Item]:
    """What a desk runs of a test."""
    few = family[0].get_closest_marker("few")
    return (
        family
        if _chosen(family)
        else _spread(family, few.args[0] if few else max(2, ceil(sqrt(len(family)))))
    )


def _spread(family: list[pytest.Item], count: int) -> list[pytest.Item]:
    """The cases that bring the most values which none before them had; of equal ones, any."""
    if len(family) <= count:
        return family
    left = sorted(family, key=lambda item: crc32(item.nodeid.encode()))
    seen, chosen = set[tuple[str, int]](), set[pytest.Item]()
    for _ in range(count):
        best = max(left, key=lambda item: len(_values(item) - seen))
        left.remove(best)
        chosen.add(best)
        seen |= _values(best)
    return [item for item in family if item in chosen]


def _values(item: pytest.Item) -> set[tuple[str, int]]:
    """Which value each parameter of a case has."""
    callspec = getattr(item, "callspec", None)
    return set() if callspec is None else set(callspec.indices.items())
