"""Processors that the native engine is compiled for, and which of them this one is."""

from __future__ import annotations

import platform
from functools import cache as remembered
from pathlib import Path

from msgspec import Struct

from layoutprobe.errors import ProbeError


class UnavailableError(ProbeError):
    """The native engine cannot be had here; the text says why."""


class Level(Struct, frozen=True):
    """Instruction sets of a processor.

    Attributes:
        name: as compilers call it.
        machine: as the system calls it, and wheels.
        needed: flags in /proc/cpuinfo that a processor must have.
        flags: of the compiler.
    """

    name: str
    machine: str
    needed: frozenset[str]
    flags: tuple[str, ...]


_X86, _ARM = ("-target", "x86_64-linux-gnu"), ("-target", "aarch64-linux-gnu")
LEVELS = (
    Level(
        "x86-64-v4", "x86_64", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "f16c"}),
        (*_X86, "-march=x86-64-v4", "-mprefer-vector-width=512", "-mno-vzeroupper"),
    ),
    Level(
        "x86-64-v3", "x86_64", frozenset({"avx2", "fma", "f16c", "bmi2", "movbe"}),
        (*_X86, "-march=x86-64-v3", "-mno-vzeroupper"),
    ),
    Level(
        "x86-64-v2", "x86_64", frozenset({"sse4_1", "sse4_2", "ssse3", "popcnt"}),
        (*_X86, "-march=x86-64-v2"),
    ),
    Level("armv8-a", "aarch64", frozenset(), (*_ARM, "-march=armv8-a")),
)  # fmt: skip
"""Of each machine the best first."""
_NAMES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


@remembered
def host() -> Level:
    """The best level of this machine.

    Raises:
        UnavailableError: the engine has not been brought to this machine.
    """
    machine, system = platform.machine().lower(), platform.system()
    mine = [level for level in LEVELS if level.machine == _NAMES.get(machine)]
    if system != "Linux" or not mine:
        raise UnavailableError(f"the native engine does not run on {system} {machine} yet")
    present = _processor_flags()
    for level in mine:
        if level.needed <= present:
            return level
    raise UnavailableError(f"the native engine needs a processor with {', '.join(sorted(mine[-1].needed))}")


def _processor_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())
