"""Compilers with real 16-bit registers use one half while a D16 load of the other is outstanding."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.checks import waits
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import CheckResult

SOURCE = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_b128 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_d16_b16 v1, v0, s[4:5]
  global_load_d16_hi_b16 v1, v0, s[4:5] offset:2
BODY
  s_endpgm
.Lend:
.size k, .Lend-k
.section .rodata,"a"
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_kernarg_size 16
  .amdhsa_group_segment_fixed_size 256
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 256
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 32
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 8
    .args:
      - {.name: x, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.name: y, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
"""
MANIFEST = """\
[[kernel]]
name = "k"
source = "k.s"
grid = 1
block = 32
sizes = [{ n = 64 }]
contract = { kind = "none" }
argument = [
  { name = "x", role = "in", dtype = "f16", shape = ["n"] },
  { name = "y", role = "out", dtype = "f16", shape = ["n"], initial = "zero" },
]
"""
STORE = "global_store_b16 v0, v1, s[6:7]"
STORE_HI = "global_store_d16_hi_b16 v0, v1, s[6:7] offset:2"
LDS, LDS_HI = "ds_store_b16 v0, v1", "ds_store_b16_d16_hi v0, v1"


def waits_of(folder: Path, *body: str) -> CheckResult:
    (folder / "k.s").write_text(SOURCE.replace("BODY", "\n".join(f"  {line}" for line in body)))
    (folder / "layoutprobe.toml").write_text(MANIFEST)
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    verdict = check_kernel(case, "gfx1151", (waits.CHECK,))
    assert not verdict.error, verdict.error
    return verdict.results[0]


@pytest.mark.parametrize("low", [STORE, LDS, "v_mov_b16_e32 v2.l, v1.l", "v_mov_b16_e32 v1.l, 0"])
@pytest.mark.parametrize("high", [STORE_HI, LDS_HI, "v_mov_b16_e32 v2.h, v1.h", "v_mov_b16_e32 v1.h, 0"])
def test_a_half_may_be_used_as_soon_as_its_own_load_is_done(tmp_path: Path, low: str, high: str) -> None:
    result = waits_of(tmp_path, "s_waitcnt vmcnt(1)", low, "s_waitcnt vmcnt(0)", high)
    assert result.status == "holds", result.findings


@pytest.mark.parametrize(
    "early",
    [
        STORE_HI,
        LDS_HI,
        "v_mov_b16_e32 v2.h, v1.h",
        "v_mov_b16_e32 v1.h, 0",
        "v_mov_b32_e32 v2, v1",
        "global_store_b32 v0, v1, s[6:7]",
        "v_fma_mixhi_f16 v1, v0, v0, v0",
        "v_fma_mix_f32 v2, v1, v1, v1 op_sel_hi:[1,1,1]",
    ],
)
def test_not_before_it(tmp_path: Path, early: str) -> None:
    result = waits_of(tmp_path, "s_waitcnt vmcnt(1)", early, "s_waitcnt vmcnt(0)")
    (finding,) = result.findings
    assert str(finding.place.register) == "v1"
    assert "global_load_d16_hi_b16 is outstanding" in finding.what
    assert "vmcnt(0)" in finding.expected
