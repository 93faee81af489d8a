"""The fused Winograd kernel: a convolution, the budget that docs/winograd-f63.md states, and wrong variants."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from checks.test_winograd import table
from examples import one_of_each
from msgspec.structs import replace

from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.registry import CHECKS, check_names
from layoutprobe.codeobj.elf import load
from layoutprobe.gate.session import check_kernel
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict
from layoutprobe.toolchain.compile import compile_hip

CDNA = asset_dir("probes") / "gemm" / "cdna"
FILTERS = np.array(
    [
        [1, 0, 0],
        [-2 / 9, -2 / 9, -2 / 9],
        [-2 / 9, 2 / 9, -2 / 9],
        [1 / 90, 1 / 45, 2 / 45],
        [1 / 90, -1 / 45, 2 / 45],
        [32 / 45, 16 / 45, 8 / 45],
        [32 / 45, -16 / 45, 8 / 45],
        [0, 0, 1],
    ]
)
"""G of F(6,3): Lavin and Gray, arXiv 1509.09308, points 0, 1, -1, 2, -2, 1/2, -1/2, infinity."""
SMALL = {"C": 18, "K": 5, "TY": 2, "TX": 1}


def case_of(folder: Path = CDNA) -> KernelCase:
    (case,) = read_manifest(folder / "winograd.toml", checks=check_names()).kernels
    return case


def verdict_of(case: KernelCase, target: str = "gfx942") -> KernelVerdict:
    return check_kernel(replace(case, sizes=(SMALL,)), target, CHECKS, allow_reference=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_with_transformed_filters_it_is_a_convolution(target: str) -> None:
    """Every output against the sum over channels and nine taps; numbers are rounded to f16 twice."""
    c, k, down, right = 19, 18, 2, 2
    random = np.random.default_rng(63)
    x = random.standard_normal((c, 6 * down + 2, 6 * right + 2)).astype(np.float16)
    g = random.standard_normal((k, c, 3, 3))
    u = np.einsum("pi,kcij,qj->pqkc", FILTERS, g, FILTERS).reshape(64, k, c).astype(np.float16)
    wide, (height, width) = x.astype(np.float64), (6 * down, 6 * right)
    expected = sum(
        np.einsum("kc,cyx->kyx", g[:, :, i, j], wide[:, i : i + height, j : j + width])
        for i in range(3)
        for j in range(3)
    )
    code = load(compile_hip(CDNA / "winograd.hip", target=target).data)
    args: list[Buffer | np.generic] = [
        Buffer(x),
        Buffer(u),
        Buffer(np.zeros((k, height, width), np.float32), undefined=True),
        *(np.int32(value) for value in (c, k, down, right)),
        np.float32(1),
    ]
    run = EmulatorBackend().run(Launch(code, "winograd_f63", (1, 2, 1), (256, 1, 1), args))
    found = run.buffers[2]
    assert found is not None
    error = np.abs(found - expected)
    assert error.max() < 0.05 * np.abs(expected).max()
    assert np.sqrt((error**2).mean()) < 0.01 * np.sqrt((expected**2).mean())


@pytest.mark.long
def test_the_budget_is_that_of_the_page() -> None:
    """docs/winograd-f63.md, last table: what the gate reads off the code object."""
    page = {row[0]: int(row[2]) for row in table("what")}
    verdict = verdict_of(case_of())
    (resources,) = [result for result in verdict.results if result.check == "resources"]
    metrics = resources.metrics
    assert abs(int(str(metrics["VGPRs"])) - page["VGPRs"]) <= 8, "another compiler may take a few more"
    assert metrics["LDS bytes"] == page["LDS, bytes"] == 64 * 16 * 16 * 2
    assert metrics["waves per SIMD"] == page["waves/SIMD"]
    assert verdict.findings == ()
    code = load(compile_hip(CDNA / "winograd.hip", target="gfx942").data)
    (kernel,) = code.kernels.values()
    insts = load_instructions(code, kernel).values()
    sums = {inst.dst[0].index for inst in insts if Kind.MATRIX in inst.kind}
    assert 4 * len(sums) == page["accumulators of a lane"]
    assert all(inst.dst[0].kind == "v" for inst in insts if Kind.MATRIX in inst.kind)
    assert page["AccVGPRs"] == 0


WRONG = {
    "a sign of the input transform": ("{0, -1, 1, 4.25f,", "{0, 1, 1, 4.25f,", "numerics"),
    "rows and columns of the output exchanged": (
        "row = tile / tiles_x * OUT + lane / GRID, col = tile % tiles_x * OUT + lane % GRID;\n      if",
        "row = tile / tiles_x * OUT + lane % GRID, col = tile % tiles_x * OUT + lane / GRID;\n      if",
        "numerics",
    ),
    "LDS swizzled for the stores only": (
        "*(const Operand*)&v[v_index(position, lane % STEP, channel)]",
        "*(const Operand*)&v[position * STEP * STEP + (channel / 4 * STEP + lane % STEP) * 4]",
        "numerics",
    ),
    "no barrier between the waves' products and the output transform": (
        "= sums[p][s];\n    __syncthreads();",
        "= sums[p][s];",
        "races",
    ),
    "channels that do not exist are loaded": (
        "if (out < K && c0 + channel + e < C)",
        "if (out < K)",
        "memory",
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", one_of_each(WRONG, lambda name: WRONG[str(name)][2]))
def test_wrong_variants_are_red(name: str, tmp_path: Path) -> None:
    old, new, check = WRONG[name]
    for file in ("winograd.hip", "winograd.py", "winograd.toml", "mfma_helpers.h"):
        shutil.copy(CDNA / file, tmp_path)
    source = tmp_path / "winograd.hip"
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    verdict = verdict_of(case_of(tmp_path))
    assert not verdict.error
    assert check in {finding.check for finding in verdict.findings}
