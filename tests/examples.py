"""What is tried, and how much: little at a desk, everything in CI and with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hypothesis import settings

from layoutprobe.assets import asset_dir

THOROUGH = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1
"""Factor of the numbers that the tests name."""
WHOLE = THOROUGH > 1 or bool(os.environ.get("CI"))
"""Every member of a large family of like cases; otherwise one of each class."""


Case = TypeVar("Case")


def one_of_each(cases: Iterable[Case], class_of: Callable[[Case], object]) -> list[Case]:
    """All cases in CI and when thorough; else the first of each class."""
    listed = list(cases)
    return listed if WHOLE else list({class_of(case): case for case in reversed(listed)}.values())[::-1]


def covering(cases: Iterable[Case], *axes: Callable[[Any], object]) -> list[Case]:
    """All cases in CI and when thorough; else so many that each value of each axis occurs."""
    listed = list(cases)
    if WHOLE:
        return listed
    values = [frozenset((n, axis(case)) for n, axis in enumerate(axes)) for case in listed]
    missing, chosen = set[object]().union(*values), set[int]()
    while missing:
        best = max(range(len(listed)), key=lambda at: len(values[at] & missing))
        chosen.add(best)
        missing -= values[best]
    return [listed[at] for at in sorted(chosen)]


def examples(count: int) -> settings:
    """`@settings(max_examples=count)`, and twenty times as many with HYPOTHESIS_PROFILE=thorough."""
    return settings(max_examples=count * THOROUGH)


def probe_names() -> list[str]:
    """Names of all shipped probes in HIP, GEMMs included; a table of kernels is a manifest of the gate."""
    root = asset_dir("probes")
    beside = (path for path in root.rglob("*.toml") if path.with_suffix(".hip").is_file())
    specs = (path for path in beside if not isinstance(tomllib.loads(path.read_text()).get("kernel"), list))
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in specs)
