"""Which tests plain `pytest` runs at a desk: of every test some cases, chosen the same way each time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from math import ceil, sqrt
from typing import TypeVar
from zlib import crc32

import pytest

SAMPLE = "LAYOUTPROBE_TESTS_SAMPLED"
"""Set by conftest.py, for its workers too, where `pytest` was asked for no test in particular."""

Case = TypeVar("Case")


def one_in(count: int, cases: Sequence[Case]) -> Sequence[Case]:
    """Every so-manieth of what a single test goes through; all where no sample is taken."""
    return cases[::count] if os.environ.get(SAMPLE) else cases


def sampled(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Of a test with n cases some sqrt(n), with as many values of every parameter as fit; no test marked `long`.

    A test marked `few(count)` keeps so many: its cases take long, and each of them shows the same. One marked
    `every_case` keeps all: it has chosen them itself.
    """
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("long") is None:
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [item for family in families.values() for item in _some(family)]


def _some(family: list[pytest.Item]) -> list[pytest.Item]:
    """The cases that bring the most values which none before them had; of equal ones, any."""
    few = family[0].get_closest_marker("few")
    count = few.args[0] if few else max(2, ceil(sqrt(len(family))))
    if len(family) <= count or family[0].get_closest_marker("every_case") is not None:
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
