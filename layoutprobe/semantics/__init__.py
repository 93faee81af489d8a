"""What each instruction does: one registered function per mnemonic."""

from __future__ import annotations

from layoutprobe.semantics import (  # noqa: F401  (importing a module registers its instructions)
    atomics,
    compare_ops,
    control,
    cross_lane,
    division,
    float_ops,
    fp8_ops,
    hardware,
    indexed,
    int_ops,
    lds_direct,
    memory_ops,
    older_ops,
    packed_ops,
    renamed_ops,
    salu,
    salu_exec,
    salu_float,
    scaled_ops,
    transposing,
    vopd,
    wmma,
)
from layoutprobe.semantics.alone import execute
from layoutprobe.semantics.registry import UnsupportedFormError, bind, builds_on_block, names

__all__ = ["UnsupportedFormError", "bind", "builds_on_block", "execute", "names"]
