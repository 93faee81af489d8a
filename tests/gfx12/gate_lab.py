"""GEMM kernels of this folder, with planted faults, through manifest and gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from checks.gemm_lab import Edit, edited

from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult

KERNELS = Path(__file__).parent / "kernels"
Results = Mapping[str, CheckResult]
TYPES = {0: ("f16", "f32"), 1: ("bf16", "f32"), 2: ("f16", "f16"), 3: ("bf16", "bf16"), 4: ("u8", "i32"),
         5: ("u8", "f32")}  # fmt: skip
"""FORM of gemm_forms.hip -> types of A and B, and of C."""


def gate(
    folder: Path,
    source: str,
    target: str,
    wave: int,
    *,
    types: tuple[str, str],
    grid: str,
    waves: int,
    defines: Mapping[str, int] | None = None,
    sizes: str = "M = 48, N = 128, K = 80",
    limits: str = "",
    checks: Sequence[Check] = CHECKS,
) -> Results:
    """What the checks say of a kernel `gemm` that takes A, B, C, M, N and K.

    Args:
        folder: where to write it.
        source: text.
        target: to compile for.
        wave: lanes of a wave.
        types: of A and B, and of C.
        grid: as in a manifest.
        waves: of a workgroup.
        defines: for the compiler; WAVE64 where it applies.
        sizes: of the one launch.
        limits: of the manifest.
        checks: to apply.
    """
    (folder / "kernel.hip").write_text(source)
    given = dict(defines or {}) | ({"WAVE64": 1} if wave == 64 else {})
    text = ", ".join(f"{name} = {value}" for name, value in given.items())
    (folder / "layoutprobe.toml").write_text(
        f"""
[[kernel]]
name = "gemm"
source = "kernel.hip"
arch = ["{target}"]
flags = [{'"-mwavefrontsize64"' if wave == 64 else ""}]
defines = {{ {text} }}
grid = [{grid}]
block = [{waves * wave}]
sizes = [{{ {sizes} }}]
limits = {{ {limits} }}
contract = {{ kind = "gemm" }}
argument = [
    {{ name = "A", role = "in", dtype = "{types[0]}", shape = ["M", "K"], matrix = "A" }},
    {{ name = "B", role = "in", dtype = "{types[0]}", shape = ["K", "N"], matrix = "B" }},
    {{ name = "C", role = "out", dtype = "{types[1]}", shape = ["M", "N"], matrix = "C" }},
    {{ name = "M", role = "scalar", dtype = "u32", value = "M" }},
    {{ name = "N", role = "scalar", dtype = "u32", value = "N" }},
    {{ name = "K", role = "scalar", dtype = "u32", value = "K" }},
]
"""
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    verdict = check_kernel(case, target, checks)
    assert not verdict.error, verdict.error
    assert verdict.target == target
    return {result.check: result for result in verdict.results}


def through_lds(
    folder: Path,
    target: str,
    wave: int,
    *edits: Edit,
    limits: str = "",
    checks: Sequence[Check] = CHECKS,
) -> Results:
    """The GEMM through LDS with edits (old text, new text), each of which fits exactly once."""
    source = edited((KERNELS / "gemm.hip").read_text(), edits)
    return gate(
        folder, source, target, wave, types=("f16", "f32"), grid='"N // 64", "M // 16"', waves=4,
        limits=limits, checks=checks,
    )  # fmt: skip


def direct(
    folder: Path,
    target: str,
    wave: int,
    form: int,
    *edits: Edit,
    opsel: int = 0,
    checks: Sequence[Check] = CHECKS,
) -> Results:
    """The GEMM without LDS, of any types."""
    source = edited((KERNELS / "gemm_forms.hip").read_text(), edits)
    return gate(
        folder, source, target, wave, types=TYPES[form], grid='"N // 16", "M // 16"', waves=1,
        defines={"FORM": form, "OPSEL": opsel}, checks=checks,
    )  # fmt: skip


def statuses(results: Results) -> dict[str, str]:
    """Check -> status."""
    return {name: result.status for name, result in results.items()}


def finding_of(results: Results, check: str) -> Finding:
    """The one finding of a check."""
    result = results[check]
    assert result.status == "finding", (result.status, result.reason, statuses(results))
    assert len(result.findings) == 1, [finding.what for finding in result.findings]
    return result.findings[0]
