"""Addresses that move on by a wrong distance: the finding stands where they do, and not where that shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from scaffold import of_pointers

from layoutprobe.gate.gate import check
from layoutprobe.report.finding import Finding

KERNEL = """\
#include <hip/hip_runtime.h>

typedef _Float16 f16x16 __attribute__((ext_vector_type(16)));
typedef float f32x8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(32) k(
    const _Float16* A, const _Float16* B, float* Y, int N, int K) {
  const int l = threadIdx.x & 15, row = blockIdx.y * 16, col = blockIdx.x * 16;
  const f16x16* a = (const f16x16*)(A + (row + l) * K);
  const _Float16* b = B + (col + l) * K;
  f32x8 sum = {};
  for (int k = 0; k < K; k += 16) {
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(*a, *(const f16x16*)b, sum);
    a += 1;
    b += 16;
  }
  for (int v = 0; v < 8; ++v) Y[(row + 2 * v + (threadIdx.x >> 4)) * N + col + l] = sum[v];
}
"""
MANIFEST = """
[[kernel]]
name = "k"
source = "kernel.hip"
block = [32]
grid = ["N / 16", "M / 16"]
sizes = [{ M = 32, N = 16, K = 64 }, { M = 16, N = 48, K = 96 }]
contract = { kind = "gemm" }
argument = [
  { name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "f16", shape = ["K", "N"], order = "col", matrix = "B" },
  { name = "Y", role = "out", dtype = "f32", shape = ["M", "N"], matrix = "C" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]
"""


def findings(folder: Path, source: str, manifest: str = MANIFEST, name: str = "kernel.hip") -> list[Finding]:
    (folder / name).write_text(source)
    (folder / "layoutprobe.toml").write_text(manifest)
    (verdict,) = check(folder / "layoutprobe.toml").verdicts
    assert not verdict.error
    return list(verdict.findings)


def line(source: str, text: str) -> int:
    return source[: source.index(text)].count("\n") + 1


@pytest.mark.parametrize(("by", "at"), [("4", "b += "), ("8", "sum = __builtin")])
def test_a_pointer_that_moves_on_too_little_in_a_loop(tmp_path: Path, by: str, at: str) -> None:
    """8 elements are 16 bytes: the compiler takes the counter of the loop for that, whose line says nothing."""
    source = KERNEL.replace("b += 16", f"b += {by}")
    (found,) = findings(tmp_path, source)
    assert found.place.source is not None
    assert found.place.source.line == line(source, at)
    assert ("makes 4 k from step to step, and 16 are needed" in found.what) == (by == "4")
    loads = [one.place.source.line for one in found.related if one.place.source]
    assert line(source, "sum = __builtin") in loads


STORES = "\n".join(f"  v_add_nc_u32 v5, s14, v5\n  global_store_b32 v5, v{v}, s[8:9]" for v in range(9, 16))
BODY = """\
  v_and_b32 v1, 15, v0
  v_bfe_u32 v2, v0, 4, 1
  v_lshlrev_b32 v3, 5, v1
  v_lshlrev_b32 v5, 6, v2
  v_lshl_add_u32 v5, v1, 2, v5
  s_movk_i32 s14, 0x80
  global_load_b128 v[16:19], v3, s[4:5]
  global_load_b128 v[20:23], v3, s[4:5] offset:16
  global_load_b128 v[24:27], v3, s[6:7]
  global_load_b128 v[28:31], v3, s[6:7] offset:16
"""
ZEROS = "\n".join(f"  v_mov_b32 v{v}, 0" for v in range(8, 16))
LAST = f"""
  s_waitcnt vmcnt(0)
  v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]
  global_store_b32 v5, v8, s[8:9]
{STORES}
"""


def test_a_step_from_store_to_store_in_assembly(tmp_path: Path) -> None:
    head = MANIFEST[: MANIFEST.index('  { name = "N"')] + "]\n"
    manifest = head.replace("kernel.hip", "kernel.s").replace(
        "[{ M = 32, N = 16, K = 64 }, { M = 16, N = 48, K = 96 }]", "[{ M = 16, N = 16, K = 16 }]"
    )
    right = of_pointers(BODY + ZEROS + LAST, target="gfx1151", pointers=3)
    assert findings(tmp_path, right, manifest, "kernel.s") == []
    wrong = right.replace("s14, 0x80", "s14, 0x40")
    (found,) = findings(tmp_path, wrong, manifest, "kernel.s")
    assert found.check == "epilogue"
    assert found.place.source is not None
    assert found.place.source.line == line(wrong, "s_movk_i32 s14")
    assert "makes 1 row from store to store, and 2 are needed" in found.what
