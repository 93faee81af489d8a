"""What each instruction does: one registered function per mnemonic.

A module is listed here if most kernels have instructions of it, else in `more`: a short command is half imports.
"""

from __future__ import annotations

from layoutprobe.semantics import (  # noqa: F401  (importing a module registers its instructions)
    compare_ops,
    control,
    float_ops,
    int_ops,
    lds_direct,
    memory_ops,
    packed_ops,
    salu,
    vopd,
    wmma,
)
from layoutprobe.semantics.alone import execute
from layoutprobe.semantics.registry import UnsupportedFormError, bind, builds_on_block, names

__all__ = ["UnsupportedFormError", "bind", "builds_on_block", "execute", "names"]
