"""The gfx targets that layoutprobe knows. No other room names one.

`ARCHES` are those whose kernels can be executed; `RESOURCES` has more, for what a code object alone
tells.
"""

from __future__ import annotations

from difflib import get_close_matches

from layoutprobe.arch.base import Arch, MatrixInstruction
from layoutprobe.arch.gfx1151 import GFX1151
from layoutprobe.arch.gfx1200 import GFX1200, GFX1201
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.registers import RESOURCES, Resources, resources
from layoutprobe.arch.waves import Occupancy, RegisterBudget, occupancy, register_budget
from layoutprobe.errors import UsageError

ARCHES = {arch.name: arch for arch in (GFX1151, GFX1200, GFX1201)}
DEFAULT = GFX1151.name


def find(name: str) -> Arch:
    """The target of that name.

    Raises:
        UsageError: unknown; lists those known.
    """
    if name in ARCHES:
        return ARCHES[name]
    near = get_close_matches(name, ARCHES, n=1)
    raise UsageError(
        f"unknown arch {name!r}",
        expected="one of: " + ", ".join(ARCHES),
        hint=f"did you mean {near[0]}?" if near else None,
    )


__all__ = [
    "ARCHES",
    "DEFAULT",
    "RESOURCES",
    "Arch",
    "MatrixForm",
    "MatrixInstruction",
    "Occupancy",
    "RegisterBudget",
    "Resources",
    "find",
    "occupancy",
    "register_budget",
    "resources",
]
