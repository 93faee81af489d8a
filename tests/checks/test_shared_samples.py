"""Samples that share LDS between waves: right as they are, and red at the barrier that is left out."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from checks.gemm_lab import KERNELS
from checks.watched import TARGET, verdict

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.checks import lds_safety, races, swizzle, waits
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.toolchain.compile import compile_hip

SOURCE = KERNELS / "shared_samples.hip"
Given = tuple[list[Any], tuple[int, int, int], tuple[int, int, int], int]
"""What a kernel takes, its grid and block, and its dynamic LDS."""
MISSED = {
    # Barrier: kernel, rule, text of the culprit's line.
    1: ("layer_norm", "races/read-after-write", "float t = threadIdx.x < blockDim.x / 32"),
    2: ("layer_norm", "races/read-after-write", "return s[0];"),
    3: ("layer_norm", "races/write-after-read", "s[w] = v;"),
    4: ("scan", "races/read-after-write", "const int v = i >= o"),
    5: ("scan", "races/write-after-read", "t[i] += v;"),
    6: ("scan", "races/read-after-write", "const int v = i >= o"),
    7: ("transpose", "races/read-after-write", "= t[threadIdx.x][r];"),
    8: ("hist", "races/write-after-write", "atomicAdd(&b[x[i]], 1);"),
    9: ("hist", "races/read-after-write", "h[i] = b[i];"),
    11: ("bitonic", "races/read-after-write", "const int z = s[i];"),
    12: ("stencil", "races/read-after-write", "y[i] = s[threadIdx.x]"),
}  # fmt: skip


def _given(kernel: str) -> Given:
    rng = np.random.default_rng(len(kernel))
    floats, line = rng.standard_normal(4096).astype(np.float32), (128, 1, 1)
    numbers = rng.integers(0, 100, 128).astype(np.int32)
    cases: dict[str, Given] = {
        "layer_norm": ([floats, np.zeros_like(floats), np.int32(200)], (2, 1, 1), line, 0),
        "scan": ([numbers, np.zeros_like(numbers), np.int32(128)], (1, 1, 1), line, 512),
        "transpose": ([floats, np.zeros_like(floats), np.int32(64)], (2, 2, 1), (32, 8, 1), 0),
        "hist": (
            [rng.integers(0, 256, 1000).astype(np.uint8), np.zeros(256, np.int32), np.int32(1000)],
            (1, 1, 1), line, 0,
        ),
        "bitonic": ([numbers], (1, 1, 1), line, 0),
        "stencil": ([floats, np.zeros_like(floats), np.int32(256)], (2, 1, 1), line, 0),
    }  # fmt: skip
    return cases[kernel]


@cache
def _code(missing: int) -> CodeObject:
    return load(compile_hip(SOURCE, target=TARGET, defines={"MISS": str(missing)}).data)


def _launch(kernel: str, missing: int) -> Launch:
    given, grid, block, lds = _given(kernel)
    arguments = [Buffer(a) if isinstance(a, np.ndarray) else a for a in given]
    return Launch(_code(missing), kernel, grid, block, arguments, lds)


@pytest.mark.parametrize("kernel", sorted({kernel for kernel, _, _ in MISSED.values()}))
def test_right_samples_hold(kernel: str) -> None:
    """Lanes that add to one granule lose nothing."""
    for check in (races.CHECK, lds_safety.CHECK, waits.CHECK):
        assert verdict(check, _launch(kernel, 0)).status == "holds", check.name
    assert not verdict(swizzle.CHECK, _launch(kernel, 0)).findings


@pytest.mark.parametrize("missing", MISSED)
def test_a_barrier_that_is_left_out_is_named(missing: int) -> None:
    kernel, rule, text = MISSED[missing]
    findings = verdict(races.CHECK, _launch(kernel, missing)).findings
    assert {finding.rule.id for finding in findings} >= {rule}
    (line,) = (i for i, one in enumerate(SOURCE.read_text().split("\n"), 1) if text in one)
    first = next(finding for finding in findings if finding.rule.id == rule)
    assert first.place.line == f"shared_samples.hip:{line}"
