"""A kernel that its compiler got wrong at one level: what is wrong says that it is right at another."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.finding import Finding

KERNEL = """\
#include <hip/hip_runtime.h>
extern "C" __global__ __launch_bounds__(32) void gemm(const signed char* A, const signed char* B, int* C,
                                                      int M, int N, int K) {
  const int row = blockIdx.x, col = threadIdx.x;
  if (col >= N) return;
  int sum = 0, k = 0;
  for (; k + 4 <= K; k += 4) {
    int a;
    __builtin_memcpy(&a, A + (size_t)row * K + k, 4);
    const signed char* b = B + (size_t)k * N + col;
    const unsigned low = __builtin_amdgcn_perm((unsigned char)b[N], (unsigned char)b[0], 0x0c0c0400u);
    const unsigned high = __builtin_amdgcn_perm((unsigned char)b[3 * N], (unsigned char)b[2 * N], 0x0c0c0400u);
    sum = __builtin_amdgcn_sudot4(true, a, true, low | high << 16, sum, false);
  }
  switch (K - k) {
    case 3: sum += A[(size_t)row * K + k + 2] * B[(size_t)(k + 2) * N + col]; [[fallthrough]];
    case 2: sum += A[(size_t)row * K + k + 1] * B[(size_t)(k + 1) * N + col]; [[fallthrough]];
    case 1: sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];  // the last
  }
  C[(size_t)row * N + col] = sum;
}
"""
MANIFEST = """
[[kernel]]
name = "gemm"
source = "kernel.hip"
grid = ["M"]
block = [32]
flags = [FLAGS]
sizes = [{ M = 2, N = 3, K = 13 }]
contract = { kind = "gemm" }
argument = [
  { name = "A", role = "in", dtype = "i8", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "i8", shape = ["K", "N"], matrix = "B" },
  { name = "C", role = "out", dtype = "i32", shape = ["M", "N"], matrix = "C" },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]
"""


def findings_of(folder: Path, *edits: tuple[str, str], flags: str = "") -> tuple[Finding, ...]:
    source = KERNEL
    for old, new in edits:
        assert source.count(old) == 1
        source = source.replace(old, new)
    (folder / "kernel.hip").write_text(source)
    (folder / "layoutprobe.toml").write_text(MANIFEST.replace("FLAGS", flags))
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    return tuple(check_kernel(case, "gfx1151", CHECKS, edits=0).findings)


def test_what_is_right_at_another_level_says_so(tmp_path: Path) -> None:
    findings = findings_of(tmp_path)
    if not findings:
        pytest.skip("this compiler is right about it")
    assert findings_of(tmp_path, flags='"-O1"') == ()
    (found,) = findings
    assert found.rule.id == "memory/load-out-of-bounds"
    assert found.hint.startswith(
        "compiled with -O1 every check holds at all sizes: on the path that was taken the "
    )
    assert 'flags = ["-O1"]' in found.hint


def test_what_is_wrong_at_every_level_does_not(tmp_path: Path) -> None:
    far = ("A[(size_t)row * K + k] * B", "A[((size_t)row * K + k) << 30] * B")
    findings = findings_of(tmp_path, far)
    assert findings
    assert not any("compiled with" in found.hint for found in findings)
