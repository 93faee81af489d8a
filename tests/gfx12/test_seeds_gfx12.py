"""The GEMM kernels that are shipped, compiled for RDNA4: right at ragged sizes; the column load is red."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from layoutprobe.assets import asset_dir
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks import operand_provenance
from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest
from layoutprobe.probing.run import run_probe
from layoutprobe.probing.spec import load_spec

SEEDS = asset_dir("probes") / "gemm" / "seeds"
RIGHT = read_manifest(SEEDS / "layoutprobe.toml").kernels
BUGGY = read_manifest(SEEDS / "buggy.toml").kernels


def at(case: KernelCase, m: int, n: int, k: int) -> KernelCase:
    return replace(case, sizes=({"M": m, "N": n, "K": k},))


@pytest.mark.all_in_ci
@pytest.mark.few(1)
@pytest.mark.parametrize("case", RIGHT, ids=[case.name for case in RIGHT])
def test_a_right_kernel_is_green(case: KernelCase) -> None:
    verdict = check_kernel(at(case, 200, 136, 80), "gfx1200", CHECKS)
    assert not verdict.error
    skipped = {"bank-conflicts"}
    if case.name == "zerocopy":
        skipped |= {"swizzle", "lds-safety", "races"}
    found = {result.check: result.status for result in verdict.results}
    assert found == {check.name: "skipped" if check.name in skipped else "holds" for check in CHECKS}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", BUGGY, ids=[case.name for case in BUGGY])
def test_the_column_load_is_red(case: KernelCase) -> None:
    verdict = check_kernel(at(case, 128, 64, 32), "gfx1200", (operand_provenance.CHECK,))
    assert not verdict.error
    (result,) = verdict.results
    assert result.status == "finding"
    assert any("A is loaded transposed" in finding.what for finding in result.findings)


@pytest.mark.parametrize("target", ["gfx1200", "gfx1201"])
@pytest.mark.parametrize(("name", "size"), [("standard", (130, 200, 43)), ("column_load", (64, 128, 48))])
def test_the_gemm_probes(name: str, size: tuple[int, int, int], target: str) -> None:
    m, n, k = size
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 9, (m, k)).astype(np.float16), rng.integers(0, 9, (k, n)).astype(np.float16)
    seen = run_probe(
        load_spec(f"gemm/{name}"), arch=target, inputs={"A": a, "B": b}, backend=EmulatorBackend()
    )
    assert not seen.undefined
    if name == "column_load":  # as on gfx11: every tile of A is transposed in place
        a = a.reshape(m // 16, 16, k // 16, 16).transpose(0, 3, 2, 1).reshape(m, k)
    assert np.array_equal(seen.outputs["C"], a.astype(np.float32) @ b.astype(np.float32))
