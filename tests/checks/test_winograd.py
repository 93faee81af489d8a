"""docs/winograd-f63.md: every figure recomputed, by our law and by the compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutprobe.arch import occupancy, register_budget
from layoutprobe.toolchain.compile import compile_hip

PAGE = (Path(__file__).parents[2] / "docs" / "winograd-f63.md").read_text("utf-8")


def table(heading: str) -> list[list[str]]:
    """Rows of the table whose first column has this heading."""
    lines = PAGE[PAGE.index(f"\n| {heading} |") + 1 :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


DESIGNS = [
    *[(int(v), int(a), int(total), int(waves)) for v, a, total, _, waves in table("VGPRs")],
    *[(int(v), int(a), int(total), int(waves)) for _, v, a, total, waves, _ in table("design")],
]


def test_the_page_has_the_rows() -> None:
    assert len(DESIGNS) == 10
    assert (128, 128, 256, 2) in DESIGNS


def test_occupancy_of_each_row() -> None:
    for vgprs, agprs, registers, waves in DESIGNS:
        found = occupancy("gfx942", vgprs, agprs=agprs)
        assert (found.registers, found.waves) == (registers, waves)


def test_budget_of_each_row() -> None:
    rows = table("waves/SIMD")
    assert [int(row[0]) for row in rows] == list(range(8, 0, -1))
    for waves, registers, _ in rows:
        assert register_budget("gfx942", int(waves)).registers == int(registers)


def test_the_compiler_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYOUTPROBE_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "claims.hip"
    kernels = []
    for i, (vgprs, agprs, _, _) in enumerate(DESIGNS):
        claims = ", ".join(f'"{kind}{n - 1}"' for kind, n in (("v", vgprs), ("a", agprs)) if n)
        size = "__attribute__((global, amdgpu_flat_work_group_size(64, 64)))"
        kernels.append(f'extern "C" {size} void k{i}() {{ asm volatile("" ::: {claims}); }}\n')
    source.write_text("".join(kernels), "utf-8")
    assembly = compile_hip(source, target="gfx942").assembly
    assert [int(n) for n in re.findall(r"; Occupancy: (\d+)", assembly)] == [waves for *_, waves in DESIGNS]


def test_sizes_of_the_file_in_the_text() -> None:
    budget = register_budget("gfx942", 4)
    assert (budget.simd_bytes, budget.cu_bytes) == (512 * 64 * 4, 4 * 512 * 64 * 4)
    assert "**128 KiB per SIMD**" in PAGE
    assert "**512 KiB per CU**" in PAGE
    assert (budget.simd_bytes >> 10, budget.cu_bytes >> 10) == (128, 512)


def test_strategy_c_is_bound_by_lds_and_registers_alike() -> None:
    found = occupancy("gfx942", 128, lds=16 << 10, workgroup=256)
    assert (found.waves, found.workgroups) == (4, 4)
    assert occupancy("gfx942", 129, lds=16 << 10, workgroup=256).waves == 3


def test_margin_in_the_text() -> None:
    taken = -(-50 // 4) * 4 + 32
    assert f"128 - {taken} = {128 - taken} registers" in PAGE
    assert f"used to {round(100 * taken / 128)} %" in PAGE
