"""Instructions that few kernels have: the registry imports this when it is asked for one that it does not know."""

from __future__ import annotations

from layoutprobe.semantics import (  # noqa: F401  (importing a module registers its instructions)
    atomics,
    cross_lane,
    division,
    fp8_ops,
    hardware,
    indexed,
    older_ops,
    renamed_ops,
    salu_exec,
    salu_float,
    scaled_ops,
    transposing,
)
