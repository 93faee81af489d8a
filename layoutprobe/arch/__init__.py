"""The targets that layoutprobe knows, one file per family. No other room names a target or a family.

A family's file ends in `TARGETS`. Its name stands in `registry.FAMILIES`, which imports it when a name asks for it.
"""

from __future__ import annotations

from layoutprobe.arch import rdna3
from layoutprobe.arch.base import Arch
from layoutprobe.arch.isa import Isa
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.registers import MAX_WORKGROUP, Resources
from layoutprobe.arch.registry import (
    ARCHES,
    TARGETS,
    find,
    is_matrix,
    isa_of,
    lds_model,
    matrix_form,
    matrix_forms,
    readable,
    register,
    resources,
)
from layoutprobe.arch.waves import Occupancy, RegisterBudget, occupancy, register_budget

DEFAULT = rdna3.TARGETS[0].name
"""What is meant where no target is named."""
OTHERS = ("gfx1201", "gfx942", "gfx950")
"""What may be meant instead, where a source names instructions that the default has not: of each generation one."""

__all__ = [
    "ARCHES",
    "DEFAULT",
    "MAX_WORKGROUP",
    "OTHERS",
    "TARGETS",
    "Arch",
    "Isa",
    "MatrixForm",
    "Occupancy",
    "RegisterBudget",
    "Resources",
    "find",
    "is_matrix",
    "isa_of",
    "lds_model",
    "matrix_form",
    "matrix_forms",
    "occupancy",
    "readable",
    "register",
    "register_budget",
    "resources",
]
