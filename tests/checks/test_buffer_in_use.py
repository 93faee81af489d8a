"""The next tile goes to the buffer that is being read: the number of the buffer is named, and no barrier is missed.

The same kernel without a barrier at the end of a pass misses just that.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.test_references import HEAD, Style, verdict

DOUBLE = Style(
    HEAD
    + """typedef _Float16 v16h __attribute__((ext_vector_type(16)));
typedef float v8f __attribute__((ext_vector_type(8)));

extern "C" __global__ __launch_bounds__(128) void dbuf(const _Float16* A, const _Float16* B, float* C, int M, int N,
                                                       int K) {
  __shared__ _Float16 As[2][32][24];
  __shared__ _Float16 Bs[2][32][24];
  const int tid = threadIdx.x, lane = tid % 32, wave = tid / 32;
  const int row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
  const int wm = (wave / 2) * 16, wn = (wave % 2) * 16;
  v8f acc = {};
  const int r = tid / 4, k = tid % 4 * 4;
  auto fetch = [&](int buf, int k0) {
    for (int i = 0; i < 4; ++i) {
      As[buf][r][k + i] = row0 + r < M && k0 + k + i < K ? A[(row0 + r) * K + k0 + k + i] : (_Float16)0;
      Bs[buf][r][k + i] = col0 + r < N && k0 + k + i < K ? B[(col0 + r) * K + k0 + k + i] : (_Float16)0;
    }
  };
  fetch(0, 0);
  __syncthreads();
  int buf = 0;
  for (int k0 = 0; k0 < K; k0 += 16) {
    const int next = k0 + 16;
    if (next < K) fetch(buf ^ 1, next);
    v16h fa, fb;
    for (int i = 0; i < 16; ++i) {
      fa[i] = As[buf][wm + lane % 16][i];
      fb[i] = Bs[buf][wn + lane % 16][i];
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(fa, fb, acc);
    __syncthreads();
    buf ^= 1;
  }
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + wm + 2 * i + lane / 16, col = col0 + wn + lane % 16;
    if (row < M && col < N) C[row * N + col] = acc[i];
  }
}
""",
    """grid = ["(N + 31) / 32", "(M + 31) / 32"]
block = [128]
sizes = [{ M = 64, N = 32, K = 64 }, { M = 40, N = 56, K = 40 }]
contract = { kind = "gemm", alpha = 1.0, beta = 0.0 }
argument = [
  { name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "f16", shape = ["K", "N"], order = "col", matrix = "B" },
  { name = "C", role = "out", dtype = "f32", shape = ["M", "N"], matrix = "C" },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]""",
)


def _first(folder: Path, *edits: tuple[str, str]) -> tuple[str, str, str]:
    """The rule of the first finding, what it says, and the text of its line."""
    found = verdict(folder, DOUBLE, edits).findings[0]
    assert found.place.source is not None
    return (
        found.rule.id,
        found.what,
        (folder / "kernel.hip").read_text().split("\n")[found.place.source.line - 1],
    )


def test_the_call_that_gives_the_wrong_number_is_named(tmp_path: Path) -> None:
    rule, what, line = _first(tmp_path, ("fetch(buf ^ 1, next)", "fetch(buf, next)"))
    assert rule == "races/buffer-in-use"
    assert "the number of the buffer is wrong" in what
    assert "fetch(buf, next)" in line


@pytest.mark.parametrize(
    "edit",
    [
        ("    __syncthreads();\n    buf ^= 1;", "    buf ^= 1;"),
        ("  fetch(0, 0);\n  __syncthreads();", "  fetch(0, 0);"),
    ],
)
def test_a_missing_barrier_stays_one(tmp_path: Path, edit: tuple[str, str]) -> None:
    rule, _, _ = _first(tmp_path, edit)
    assert rule in ("races/read-after-write", "races/write-after-read")


def test_what_follows_the_last_pass_is_no_next_tile(tmp_path: Path) -> None:
    """It takes the place of a buffer that is still read: what is missing is the barrier behind the loop."""
    exchange = (
        "  for (int i = 0; i < 8; ++i) {\n    const int row",
        "  float* last = (float*)As[1];\n"
        "  for (int i = 0; i < 2; ++i) last[tid * 2 + i] = acc[i];\n"
        "  __syncthreads();\n"
        "  for (int i = 0; i < 2; ++i) acc[i] = last[tid * 2 + i];\n"
        "  for (int i = 0; i < 8; ++i) {\n    const int row",
    )
    rule, _, line = _first(tmp_path, exchange, _UNBARRED)
    assert rule == "races/write-after-read"
    assert "last[tid * 2 + i] = acc[i]" in line


_UNBARRED = (
    "    __syncthreads();\n    buf ^= 1;\n  }",
    "    if (next < K) __syncthreads();\n    buf ^= 1;\n  }",
)
"""No barrier behind the last pass."""
