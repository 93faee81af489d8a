"""Matrix instructions behind a branch that some lanes do not take: they take what those hold all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.watched import assembly_kernel, launch, subject

from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.finding import Finding
from layoutprobe.trace.idle_lanes import idle_lanes
from layoutprobe.trace.subject import RunSpec

SOURCE = """\
#include <hip/hip_runtime.h>
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
extern "C" __global__ void k(const _Float16* a, const _Float16* b, float* y) {
  const int lane = threadIdx.x, l = lane % 16;
  float8 acc = {};
#pragma clang loop unroll(disable)
  for (int at = 0; at < 32; at += 16)
    if (TEST) {
      half16 x, w;
      for (int i = 0; i < 16; ++i) x[i] = a[l * 32 + at + i];
      for (int i = 0; i < 16; ++i) w[i] = b[l * 32 + at + i];
      acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, w, acc);
    }
  if (STORES)
    for (int i = 0; i < 8; ++i) y[(2 * i + lane / 16) * 16 + l] = __expf(acc[i] * 0.01f);
}
"""


def found(folder: Path, test: str, stores: str = "true") -> tuple[Finding, ...]:
    (folder / "k.hip").write_text(SOURCE.replace("TEST", test).replace("STORES", stores), "utf-8")
    (folder / "ref.py").write_text(
        "import numpy as np\ndef f(inputs, sizes):\n    return {'y': np.exp(inputs['a'] @ inputs['b'].T * 0.01)}\n",
        "utf-8",
    )
    (folder / "layoutprobe.toml").write_text(
        """
[[kernel]]
name = "k"
source = "k.hip"
grid = "1"
block = 32
sizes = [{}]
contract = { kind = "reference", function = "ref.py:f" }
argument = [
  { name = "a", role = "in", dtype = "f16", shape = [16, 32] },
  { name = "b", role = "in", dtype = "f16", shape = [16, 32] },
  { name = "y", role = "out", dtype = "f32", shape = [16, 16] },
]
""",
        "utf-8",
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    return check_kernel(case, case.arches[0], CHECKS, allow_reference=True).findings


def test_what_idle_lanes_hold_is_told(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "lane < 21")
    assert one.rule.id == "numerics/never-defined"
    assert "v_wmma_f32_16x16x16_f16 at k.hip:13 takes the registers of all lanes" in one.what
    assert "in lane 21, which is switched off (21 of 32 are active), A is undefined" in one.what


def test_a_branch_that_all_lanes_take_is_none(tmp_path: Path) -> None:
    assert found(tmp_path, "lane < 32") == ()


def test_what_is_wrong_in_another_way_is_not_told_so(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "at == 0")
    assert "switched off" not in one.what


WMMA = "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[16:23], v[24:31]"


@pytest.mark.parametrize(
    ("begin", "block", "held"),
    [
        (
            "s_mov_b32 exec_lo, 0x1ff",
            32,
            "in lane 9, which is switched off (9 of 32 are active), A and B are as",
        ),
        ("s_mov_b32 exec_lo, 0x1ff\n v_mov_b32 v17, v40", 32, "in lane 9, which is switched off"),
        ("s_mov_b32 exec_lo, 0x1ff", 9, ""),
        ("s_mov_b32 exec_lo, -1", 32, ""),
    ],
)
def test_lanes_that_are_nobodys_are_not_idle(begin: str, block: int, held: str) -> None:
    filled = "\n".join(f"v_mov_b32 v{number}, 0" for number in range(8, 32))
    code = assembly_kernel(f"{filled}\n{begin}\n{WMMA}", pointers=0)
    told = idle_lanes(subject(launch(code, [], block=block)), RunSpec("integers"))
    assert held in told[0] if told and held else not told and not held


def test_undefined_registers_of_idle_lanes() -> None:
    filled = "\n".join(f"v_mov_b32 v{number}, 0" for number in range(8, 32) if number != 17)
    code = assembly_kernel(f"{filled}\ns_mov_b32 exec_lo, 0x1ff\nv_mov_b32 v17, 0\n{WMMA}", pointers=0)
    told = idle_lanes(subject(launch(code, [])), RunSpec("integers"))
    assert told is not None
    assert "in lane 9, which is switched off (9 of 32 are active), B is undefined" in told[0]
