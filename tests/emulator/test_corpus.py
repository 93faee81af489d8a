"""Kernels of the decoder's corpus: the same source runs on the emulator and, as C++, on this machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator.host import Parameter, run_on_host, signatures
from emulator.lab import BUILDS, Array, Build, compiled, outputs

SOURCES = (
    *(
        "control",
        "float_ops",
        "fused_forms",
        "global_widths",
        "int64_math",
        "int_div",
        "int_div64",
        "int_ops",
    ),
    *("salu", "salu_float", "scalar_loads", "scratch", "short_ops", "uniform_forms"),
)
EXCLUDED = {
    "trap_if": "ends on purpose",
    "ids": "needs a three-dimensional block",
    "uniform_packed": "its rounding towards zero has no C++ spelling",
    "offsets": "reads before its pointer",
    "shalf": "ctypes passes no f16",
    "uniform_half": "ctypes passes no f16",
    "spill_scalar": "its result depends on which lanes come last",
}
LENGTH = 8192
"""Elements of every buffer."""

SCALARS: dict[str, dict[str, list[Any]]] = {
    "early_return": {"n": [40]},
    "nested": {"n": [9]},
    "sloads": {"n": [3, 2]},
    "sload_bytes": {"n": [33]},
    "constant_table": {"n": [5, 36]},
    "spill": {"n": [3]},
    "sfloat": {"a": [1.5, -0.75], "b": [2.25, 7.0], "c": [-3.5, 0.1], "n": [4, 5], "m": [4000000000, 3]},
    "salu_branches": {"a": [100, 3, 4096], "b": [100, 9, -5], "c": [7, 8, 4000000000], "d": [3, 100000, 99]},
    "switch_uniform": {"x": list(range(9))},
    "f32_class": {"mask": [0x3FF, 0x1A5, 0]},
    "constants": {"a": [1000, 1234, 5], "b": [3000, 2000, 777], "c": [50000, 60001, 45000]},
}
"""Values of scalar parameters that decide about addresses, trip counts and branches."""

KERNELS = [
    pytest.param(source, kernel, id=f"{source}-{kernel}")
    for source in SOURCES
    for kernel in signatures(source)
    if kernel not in EXCLUDED
]


def values(parameter: Parameter, rng: np.random.Generator, kernel: str) -> Array:
    """Inputs in which small and large values, equal neighbours and zeros occur."""
    dtype = np.dtype(parameter.dtype)
    if dtype.kind == "f":
        out = rng.normal(scale=8, size=LENGTH).astype(dtype)
        out[rng.random(LENGTH) < 0.1] = 0
        out[rng.random(LENGTH) < 0.2] = np.float32(2.5)
        if kernel in ("f32_compare", "f32_class", "nan_min"):
            special = np.array([np.inf, -np.inf, np.nan, -0.0, 1e-40, -1e-42, 3.4e38], dtype)
            out[::3] = special[rng.integers(0, len(special), len(out[::3]))]
        return out
    bits = 8 * dtype.itemsize
    wide = rng.integers(0, 1 << 63, LENGTH, dtype=np.uint64) >> np.uint64(63 - bits) if bits < 64 else None
    if wide is None:
        wide = rng.integers(0, 1 << 64, LENGTH, dtype=np.uint64)
    wide = wide >> rng.integers(0, bits, LENGTH).astype(np.uint64)
    out = wide.astype(f"u{dtype.itemsize}").view(dtype)
    out[rng.random(LENGTH) < 0.3] *= dtype.type(-1 if dtype.kind == "i" else 1)
    same = rng.random(LENGTH) < 0.2
    out[1:][same[1:]] = out[:-1][same[1:]]
    return out


def arguments(source: str, kernel: str, turn: int) -> list[Array | np.generic]:
    rng = np.random.default_rng([turn, *kernel.encode()])
    given: list[Array | np.generic] = []
    for parameter in signatures(source)[kernel]:
        dtype = np.dtype(parameter.dtype)
        chosen = SCALARS.get(kernel, {}).get(parameter.name)
        if parameter.pointer:
            given.append(values(parameter, rng, kernel))
        elif chosen is not None:
            given.append(dtype.type(chosen[turn % len(chosen)]))
        elif dtype.kind == "f":
            given.append(dtype.type(rng.normal(scale=8)))
        else:
            given.append(values(parameter, rng, kernel)[turn])
    return given


def same(left: Array, right: Array) -> Array:
    """Equal, or both NaN where the words are floats."""
    equal: Array = left == right
    if left.dtype.kind == "f":
        equal = equal | (np.isnan(left) & np.isnan(right))
    return equal


BLOCKS = {"spill": 32, "spill_branch": 32, "nested": 60}
"""Kernels that are compiled for small workgroups, or whose work-items share cells beyond 64."""


def block_of(source: str, kernel: str, build: Build) -> int:
    """Work-items: two whole waves of 32 lanes, or a whole and a partial wave of 64."""
    uniform = not any(p.pointer for p in signatures(source)[kernel][1:])
    if uniform and kernel != "constant_table":
        return 1
    if build == Build():
        return 32 if "spill" in kernel else 64
    return BLOCKS.get(kernel, 100)


@pytest.mark.parametrize("build", BUILDS, indirect=True)
@pytest.mark.parametrize(("source", "kernel"), KERNELS)
def test_the_emulator_and_this_machine_agree(source: str, kernel: str, build: Build) -> None:
    code = compiled(f"corpus/{source}", "-ffp-contract=off")
    assert code.kernels[kernel].wavefront_size == build.wave
    turns = max([len(v) for v in SCALARS.get(kernel, {}).values()], default=2 if build == Build() else 1)
    block = block_of(source, kernel, build)
    changed = 0
    for turn in range(turns):
        args = arguments(source, kernel, turn)
        wanted = run_on_host(source, kernel, args, block)
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        got = outputs(code, given, kernel=kernel, block=(block,))
        for at, (left, right) in enumerate(zip(got, wanted, strict=True)):
            bad = np.flatnonzero(~same(left, right))
            assert not bad.size, (
                f"turn {turn}, buffer {at}, element {bad[0]}: {left[bad[0]]} for {right[bad[0]]}"
            )
        before = [a for a in args if isinstance(a, np.ndarray)]
        changed += sum(int((~same(a, b)).sum()) for a, b in zip(before, wanted, strict=True))
    assert changed > 0, "the kernel wrote nothing: the comparison cannot fail"


def test_enough_kernels_are_compared() -> None:
    assert len(KERNELS) > 55
