"""The gfx targets that layoutprobe knows. No other room names one.

`ARCHES` are those whose kernels can be executed; `RESOURCES` has more, for what a code object alone
tells.
"""

from __future__ import annotations

from layoutprobe.arch.base import Arch, MatrixInstruction
from layoutprobe.arch.gfx11 import GFX11, GFX1151
from layoutprobe.arch.gfx12 import GFX1200, GFX1201
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.nvidia import SM_80, SM_89, SM_90
from layoutprobe.arch.registers import RESOURCES, Resources, resources
from layoutprobe.arch.waves import Occupancy, RegisterBudget, occupancy, register_budget
from layoutprobe.errors import UsageError

ARCHES = {arch.name: arch for arch in (*GFX11, GFX1200, GFX1201, SM_80, SM_89, SM_90)}
DEFAULT = GFX1151.name


def find(name: str) -> Arch:
    """The target of that name.

    Raises:
        UsageError: unknown; lists those known.
    """
    if name in ARCHES:
        return ARCHES[name]
    # A name close by is another chip, and no typing error: gfx1100 is none of gfx1151.
    meant = "gfx" + name.strip().lower().removeprefix("gfx")
    raise UsageError(
        f"unknown arch {name[:40]!r}",
        expected="one of: " + ", ".join(ARCHES),
        hint=f"did you mean {meant}?" if meant in ARCHES else None,
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
