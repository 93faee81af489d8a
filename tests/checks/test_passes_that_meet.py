"""Passes of a loop that no barrier orders: two waves store to one byte, and it is no matter of addresses."""

from __future__ import annotations

from pathlib import Path

from layoutprobe.gate.gate import check

KERNEL = """\
#include <hip/hip_runtime.h>
#define NT 64
// Pascal's triangle: each row is made of the one before, in three buffers that take turns.
extern "C" __global__ __launch_bounds__(NT) void rows(const int* x, int* y, int n) {
  __shared__ int line[3][256];
  const int t = threadIdx.x;
  int *before = line[0], *last = line[1], *next = line[2];
  for (int i = t; i < n; i += NT) last[i] = x[blockIdx.x * n + i];
  for (int i = t; i < n; i += NT) before[i] = 0;
  __syncthreads();
  for (int pass = 1; pass < n; ++pass) {
    for (int i = pass + t; i < n; i += NT) next[i] = last[i - 1] + last[i] - before[i];
    for (int i = t; i < pass; i += NT) next[i] = pass;
    __syncthreads();
    int* free = before;
    before = last;
    last = next;
    next = free;
  }
  if (!t) y[blockIdx.x] = last[n - 1];
}
"""
MANIFEST = """\
[[kernel]]
name = "rows"
source = "rows.hip"
arch = "gfx1151"
block = [64]
grid = ["P"]
sizes = [{ P = 2, N = 150 }, { P = 3, N = 70 }]
contract = { kind = "reference", function = "rows.py:rows" }
argument = [
  { name = "x", role = "in", dtype = "i32", shape = ["P", "N"] },
  { name = "y", role = "out", dtype = "i32", shape = ["P"] },
  { name = "n", role = "scalar", dtype = "i32", value = "N" },
]
"""
REFERENCE = """\
import numpy as np
def rows(inputs, sizes):
    x = inputs["x"]
    n = x.shape[1]
    last, before = x.astype(np.int64), np.zeros_like(x, np.int64)
    for p in range(1, n):
        following = np.full_like(last, p)
        following[:, p:] = last[:, p - 1 : -1] + last[:, p:] - before[:, p:]
        before, last = last, following
    return {"y": last[:, n - 1].astype(np.int32)}
"""


def test_the_barrier_is_told_and_no_address(tmp_path: Path) -> None:
    barrier = "    __syncthreads();\n    int* free"
    assert barrier in KERNEL
    for name, text in (("rows.toml", MANIFEST), ("rows.py", REFERENCE)):
        (tmp_path / name).write_text(text)
    (tmp_path / "rows.hip").write_text(KERNEL)
    (right,) = check(tmp_path / "rows.toml", allow_reference=True).verdicts
    assert right.exit_code == 0, [found.what for found in right.findings]
    (tmp_path / "rows.hip").write_text(KERNEL.replace(barrier, "    int* free"))
    (untold,) = check(tmp_path / "rows.toml", allow_reference=True).verdicts
    assert "passes of a loop that no barrier orders" in untold.findings[0].hint
    (wrong,) = check(tmp_path / "rows.toml", allow_reference=True, edits=40).verdicts
    assert wrong.exit_code == 1
    first = wrong.findings[0]
    assert first.rule.id.startswith("races/"), first
    assert "`__syncthreads();` added" in first.what
    assert len(wrong.findings) == 1
