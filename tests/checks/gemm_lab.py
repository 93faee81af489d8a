"""GEMM kernels of this folder, with planted faults, through manifest and gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from layoutprobe.checks import epilogue, numerics, operand_provenance
from layoutprobe.checks.base import Check
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult

KERNELS = Path(__file__).parent / "kernels"
CHECKS = (operand_provenance.CHECK, epilogue.CHECK, numerics.CHECK)
INTERIOR, RAGGED = "M = 64, N = 64, K = 64", "M = 40, N = 57, K = 35"
Results = Mapping[str, CheckResult]
Edit = tuple[str, str]
"""Old text, new text."""

SIZES = """
    { name = "M", role = "scalar", dtype = "i32", value = "M" },
    { name = "N", role = "scalar", dtype = "i32", value = "N" },
    { name = "K", role = "scalar", dtype = "i32", value = "K" },"""
FACTORS = """
    { name = "alpha", role = "scalar", dtype = "f32", value = "alpha" },
    { name = "beta", role = "scalar", dtype = "f32", value = "beta" },"""


def edited(source: str, edits: Iterable[Edit]) -> str:
    """The source with edits, each of which fits exactly once."""
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times"
        source = source.replace(old, new)
    return source


def line(folder: Path, text: str) -> str:
    """ "kernel.hip:12": the one line of the kernel in `folder` with that text in it."""
    (found,) = (i for i, at in enumerate((folder / "kernel.hip").read_text().split("\n"), 1) if text in at)
    return f"kernel.hip:{found}"


def checked(
    folder: Path,
    source: str,
    arguments: str,
    *,
    grid: str,
    block: int,
    sizes: Sequence[str] = (INTERIOR, RAGGED),
    contract: str = 'kind = "gemm"',
    defines: str = "",
    checks: Sequence[Check] = CHECKS,
    arch: str = "gfx1151",
) -> Results:
    """What the checks say of a kernel, by name."""
    (folder / "kernel.hip").write_text(source)
    listed = ", ".join(f"{{ {size} }}" for size in sizes)
    (folder / "layoutprobe.toml").write_text(
        f"""
[[kernel]]
name = "gemm"
source = "kernel.hip"
grid = {grid}
block = [{block}]
sizes = [{listed}]
defines = {{ {defines} }}
contract = {{ {contract} }}
argument = [{arguments}
]
"""
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    verdict = check_kernel(case, arch, checks)
    assert not verdict.error, verdict.error
    return {result.check: result for result in verdict.results}


def buffers(a: str = "f16", b: str = "f16", c: str = "f32", *, c_role: str = "inout") -> str:
    """The three matrices, row-major and dense."""
    return f"""
    {{ name = "A", role = "in", dtype = "{a}", shape = ["M", "K"], matrix = "A" }},
    {{ name = "B", role = "in", dtype = "{b}", shape = ["K", "N"], matrix = "B" }},
    {{ name = "C", role = "{c_role}", dtype = "{c}", shape = ["M", "N"], matrix = "C" }},"""


def tiled(
    folder: Path,
    *edits: Edit,
    sizes: Sequence[str] = (INTERIOR, RAGGED),
    checks: Sequence[Check] = CHECKS,
) -> Results:
    """The tiled GEMM with edits (old text, new text), each of which fits exactly once."""
    return checked(
        folder,
        edited((KERNELS / "gemm_tiled.hip").read_text(), edits),
        buffers() + SIZES + FACTORS,
        grid='["(N + 31) // 32", "(M + 31) // 32"]',
        block=128,
        sizes=sizes,
        contract='kind = "gemm", alpha = 2.0, beta = 3.0',
        checks=checks,
    )


def direct(
    folder: Path,
    *,
    form: int = 0,
    types: tuple[str, str] = ("f16", "f32"),
    orders: tuple[str, str] = ("row", "row"),
    padding: int = 0,
    transposed: bool = False,
    edits: Sequence[Edit] = (),
    sizes: Sequence[str] = (INTERIOR, RAGGED),
    checks: Sequence[Check] = CHECKS,
    contract: str = 'kind = "gemm"',
) -> Results:
    """The GEMM without LDS.

    Args:
        folder: where to write it.
        form: see the kernel.
        types: of A and B, and of C.
        orders: of A and B.
        padding: elements behind each row (or column).
        transposed: it computes C transposed.
        edits: as for `tiled`.
        sizes: to run.
        checks: to apply.
        contract: its keys.
    """
    leads = {"row": ("K", "N"), "col": ("M", "K")}
    matrices, strides = "", []
    for i, (name, shape) in enumerate((("A", '["M", "K"]'), ("B", '["K", "N"]'))):
        order, lead = orders[i], f"{leads[orders[i]][i]} + {padding}"
        matrices += f"""
    {{ name = "{name}", role = "in", dtype = "{types[0]}", shape = {shape}, matrix = "{name}", \
order = "{order}", ld = "{lead}" }},"""
        strides += [lead, "1"] if order == "row" else ["1", lead]
    lead = f"N + {padding}"
    matrices += f"""
    {{ name = "C", role = "out", dtype = "{types[1]}", shape = ["M", "N"], matrix = "C", ld = "{lead}" }},"""
    scalars = "".join(
        f"""
    {{ name = "s{i}", role = "scalar", dtype = "i32", value = "{stride}" }},"""
        for i, stride in enumerate([*strides, lead])
    )
    return checked(
        folder,
        edited((KERNELS / "gemm_direct.hip").read_text(), edits),
        matrices + SIZES + scalars,
        grid='["(N + 15) // 16", "(M + 15) // 16"]',
        block=32,
        sizes=sizes,
        defines=f"FORM = {form}" + (", TRANSPOSED = 1" if transposed else ""),
        checks=checks,
        contract=contract,
    )


def plain(
    folder: Path,
    name: str,
    define: str = "",
    *,
    block: int = 32,
    initial: str = "",
    checks: Sequence[Check] = CHECKS,
) -> Results:
    """A kernel for multiples of its tile, that takes A, B, C, M, N, K."""
    matrices = (
        buffers(c_role="out") if not initial else buffers().replace('"C" }', f'"C", initial = "{initial}" }}')
    )
    return checked(
        folder,
        (KERNELS / f"{name}.hip").read_text(),
        matrices + SIZES,
        grid='["N // 16", "M // 16"]',
        block=block,
        sizes=("M = 32, N = 48, K = 128",),
        defines=f"{define} = 1" if define else "",
        checks=checks,
    )


def only(result: CheckResult) -> Finding:
    """The one finding of a check."""
    assert result.status == "finding", (result.status, result.reason)
    assert len(result.findings) == 1, [finding.what for finding in result.findings]
    return result.findings[0]
