"""What is tried, and how much: little at a desk, everything in CI and with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable
from typing import TypeVar

from hypothesis import HealthCheck, settings

from layoutprobe.arch import DEFAULT
from layoutprobe.assets import asset_dir

THOROUGH = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1
"""Factor of the numbers that the tests name."""
WHOLE = THOROUGH > 1 or bool(os.environ.get("CI"))
"""Every member of a large family of like cases; otherwise one of each class."""


Case = TypeVar("Case")


def one_of_each(cases: Iterable[Case], class_of: Callable[[Case], object], *, ci: bool = True) -> list[Case]:
    """All cases when thorough, and in CI too unless told otherwise; else the first of each class."""
    listed = list(cases)
    return (
        listed
        if THOROUGH > 1 or (WHOLE and ci)
        else list({class_of(case): case for case in reversed(listed)}.values())[::-1]
    )


def examples(count: int, quiet: Iterable[HealthCheck] = (), *, desk: int = 0) -> settings:
    """`@settings(max_examples=count)`: a quarter at a desk, twenty times as many when thorough.

    Args:
        count: of examples, in CI.
        quiet: health checks that the test is known to fail.
        desk: at a desk, where each takes long.
    """
    tried = count * THOROUGH if WHOLE else desk or -(-count // 4)
    return settings(max_examples=tried, suppress_health_check=list(quiet))


def probe_names() -> list[str]:
    """Names of all shipped probes in HIP, GEMMs included; a table of kernels is a manifest of the gate."""
    root = asset_dir("probes")
    beside = (path for path in root.rglob("*.toml") if path.with_suffix(".hip").is_file())
    specs = (path for path in beside if not isinstance(tomllib.loads(path.read_text()).get("kernel"), list))
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in specs)


def probe_target(name: str) -> str:
    """The processor that the tests build a shipped probe for: the default one, where it can execute the probe."""
    family = "gfx942" if name.startswith("cdna/") else DEFAULT
    return {"cdna/transposing": "gfx950", "transposing": "gfx1201"}.get(name, family)
