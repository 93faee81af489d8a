"""Occupancy against the compiler, which prints "; Occupancy: N" for each kernel it compiles.

For every target of the table and every wave size: register counts on both sides of each step, and
LDS with workgroups of many sizes, in WGP and in CU mode.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import Struct

from layoutprobe.arch import TARGETS, occupancy
from layoutprobe.errors import ToolchainError, UsageError
from layoutprobe.toolchain.compile import compile_hip

pytestmark = pytest.mark.usefixtures("compiles_aside")

RESOURCES = {name: target.resources for name, target in TARGETS.items() if target.resources}
WAVES = [(name, wave) for name, known in RESOURCES.items() for wave in known.vgprs]
UNIFIED = [name for name, known in RESOURCES.items() if known.unified]


class Asked(Struct, frozen=True):
    """One kernel that takes exactly this."""

    vgprs: int = 0
    agprs: int = 0
    sgprs: int = 0
    lds: int = 0
    workgroup: int = 256

    def source(self, name: str) -> str:
        """A kernel that does nothing but claim what is asked."""
        last = [("v", self.vgprs), ("a", self.agprs), ("s", self.sgprs)]
        claims = ", ".join(f'"{kind}{count - 1}"' for kind, count in last if count)
        body = f'asm volatile("" ::: {claims});' if claims else ""
        if self.lds:
            body += f' __attribute__((shared)) static char lds[{self.lds}]; asm volatile("" :: "v"(&lds[0]));'
        size = f"__attribute__((amdgpu_flat_work_group_size({self.workgroup}, {self.workgroup})))"
        return f'extern "C" __attribute__((global)) {size} void {name}() {{ {body} }}\n'


def compiled(folder: Path, target: str, wave: int, asked: list[Asked], *flags: str) -> list[tuple[int, int]]:
    """(occupancy, SGPRs in all) that the compiler prints for each kernel."""
    source = folder / "claims.hip"
    source.write_text("".join(kernel.source(f"k{i}") for i, kernel in enumerate(asked)), "utf-8")
    wide = ("-mwavefrontsize64",) if wave == 64 and 32 in RESOURCES[target].vgprs else ()
    assembly = compile_hip(source, target=target, flags=("-O1", "-g0", *wide, *flags)).assembly
    waves = [int(n) for n in re.findall(r"^; Occupancy: (\d+)$", assembly, re.MULTILINE)]
    sgprs = [int(n) for n in re.findall(r"^; TotalNumSgprs: (\d+)$", assembly, re.MULTILINE)]
    assert len(waves) == len(sgprs) == len(asked), "the compiler prints both for each kernel"
    return list(zip(waves, sgprs, strict=True))


@pytest.mark.parametrize(("target", "wave"), WAVES)
def test_vgprs(target: str, wave: int, tmp_path: Path) -> None:
    file = RESOURCES[target].vgprs[wave]
    counts = {1, 256} | {n + d for n in range(file.granule, 256, file.granule) for d in (0, 1)}
    asked = [Asked(vgprs=count, workgroup=wave) for count in sorted(counts)]
    found = [waves for waves, _ in compiled(tmp_path, target, wave, asked)]
    assert found == [occupancy(target, a.vgprs, workgroup=wave, wave=wave).waves for a in asked]
    assert len(set(found)) > 3


@pytest.mark.parametrize("target", UNIFIED)
def test_accvgprs_share_the_file(target: str, tmp_path: Path) -> None:
    pairs = [
        (v, a) for v in (1, 31, 64, 65, 96, 128, 253, 256) for a in (0, 1, 4, 63, 64, 104, 128, 255, 256)
    ]
    asked = [Asked(vgprs=v, agprs=a, workgroup=64) for v, a in pairs]
    found = [waves for waves, _ in compiled(tmp_path, target, 64, asked)]
    assert found == [occupancy(target, a.vgprs, agprs=a.agprs, workgroup=64).waves for a in asked]
    assert set(found) == {1, 2, 3, 4, 7, 8} | (set(found) & {5, 6})


@pytest.mark.parametrize("target", RESOURCES)
def test_sgprs(target: str, tmp_path: Path) -> None:
    asked = [Asked(sgprs=count) for count in (1, 40, 80, 88, 89, 94, 95, 96, 97, 100, 102)]
    found = compiled(tmp_path, target, TARGETS[target].wave_size, asked)
    ours = [occupancy(target, 0, sgprs=sgprs, workgroup=256).waves for _, sgprs in found]
    assert [waves for waves, _ in found] == ours


@pytest.mark.parametrize(("target", "wave"), WAVES)
@pytest.mark.parametrize("cu_mode", [False, True])
def test_lds_and_workgroup_size(target: str, wave: int, cu_mode: bool, tmp_path: Path) -> None:
    known = RESOURCES[target]
    if cu_mode and known.unit == "CU":
        cu_mode = False  # the flag does not exist there; the sizes below are tested all the same
    most = TARGETS[target].lds_bytes
    asked = [
        Asked(lds=lds, workgroup=workgroup)
        for workgroup in (32, 96, 256, 320, 1024)
        for lds in (0, 512, 5000, 16384, 20000, 40000, most // 2 + 1, most)
    ]
    flags = ("-mcumode",) if cu_mode else ()
    found = [waves for waves, _ in compiled(tmp_path, target, wave, asked, *flags)]
    ours = [
        occupancy(target, 2, lds=a.lds, workgroup=a.workgroup, wave=wave, cu_mode=cu_mode).waves
        for a in asked
    ]
    assert found == ours


@pytest.mark.parametrize("target", RESOURCES)
def test_the_compiler_refuses_more_lds_than_the_table_has(target: str, tmp_path: Path) -> None:
    most = TARGETS[target].lds_bytes
    with pytest.raises(ToolchainError, match="refused"):
        compiled(tmp_path, target, TARGETS[target].wave_size, [Asked(lds=most + 1)])
    with pytest.raises(UsageError, match="impossible"):
        occupancy(target, 1, lds=most + 1, workgroup=64)
