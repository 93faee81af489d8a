"""What is kept in 16 bits on the way, where nothing says that this is meant, is judged as the output's type is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checks.test_references import HEAD, Style, verdict

from layoutprobe.gate.gate import check

TURNED = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, const float* s, float* y, int M, int N) {
  __shared__ float tile[16][17];
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (col < N && row < M) tile[threadIdx.y][threadIdx.x] = x[row * N + col];
  __syncthreads();
  const int r = blockIdx.y * 16 + threadIdx.x, c = blockIdx.x * 16 + threadIdx.y;
  if (r < M && c < N) y[c * M + r] = s[r] * tile[threadIdx.x][threadIdx.y];
}
""",
    """block = [16, 16]
grid = ["(N + 15) / 16", "(M + 15) / 16"]
sizes = [{ M = 19, N = 35 }, { M = 32, N = 16 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "N"] },
  { name = "s", role = "in", dtype = "f32", shape = ["M"] },
  { name = "y", role = "out", dtype = "f32", shape = ["N", "M"] },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]""",
    """
def layer(inputs, sizes):
    return {"y": (inputs["x"] * inputs["s"][:, None]).T}
""",
)
KEPT = ("float tile[", "_Float16 tile[")


def test_lds_of_another_type_is_wrong(tmp_path: Path) -> None:
    found = verdict(tmp_path, TURNED, (KEPT,))
    (finding,) = found.findings
    assert finding.rule.id == "numerics/rounded-sum"
    assert "values are rounded to f16 on the way" in finding.what
    assert finding.place.source is not None
    assert "tile[threadIdx.y]" in found_line(tmp_path, finding.place.source.line)
    assert "tolerance" in finding.hint


def found_line(folder: Path, line: int) -> str:
    return (folder / "kernel.hip").read_text().split("\n")[line - 1]


@pytest.mark.parametrize(
    "meant",
    [
        (
            KEPT,
            (
                "s[r] * tile[threadIdx.x][threadIdx.y]",
                "(float)((_Float16)s[r] * tile[threadIdx.x][threadIdx.y])",
            ),
        ),
        (KEPT, ("const float* s", "const _Float16* s")),
    ],
    ids=["computed with", "as an argument is"],
)
def test_it_is_meant_where_something_computes_in_it_or_an_argument_has_it(
    meant: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    keys = TURNED.keys
    if "const _Float16* s" in meant[-1]:
        keys = keys.replace('"s", role = "in", dtype = "f32"', '"s", role = "in", dtype = "f16"')
    found = verdict(tmp_path, Style(TURNED.source, keys, TURNED.python), meant)
    assert found.exit_code == 0, found.findings
    assert any("the tolerance is that of f16" in one for result in found.results for one in result.reserved)


def test_it_is_meant_where_the_manifest_says_so(tmp_path: Path) -> None:
    keys = TURNED.keys + "\ntolerance = { relative = 1e-3, absolute = 1e-3 }"
    assert verdict(tmp_path, Style(TURNED.source, keys, TURNED.python), (KEPT,)).exit_code == 0


def test_f32_throughout_holds_without_a_word(tmp_path: Path) -> None:
    found = verdict(tmp_path, TURNED)
    assert found.exit_code == 0
    assert not any(result.reserved for result in found.results)


DOUBLES = Style(
    HEAD
    + """extern "C" __global__ void dgemm(const double* A, const double* B, double* C, int M, int N, int K) {
  __shared__ double a[16][17], b[16][17];
  const int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
  double sum = 0;
  for (int k = 0; k < K; k += 16) {
    a[y][x] = row < M && k + x < K ? A[row * K + k + x] : 0.0;
    b[y][x] = k + y < K && col < N ? B[(k + y) * N + col] : 0.0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += a[y][i] * b[i][x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = sum;
}
""",
    """block = [16, 16]
grid = ["(N + 15) / 16", "(M + 15) / 16"]
sizes = [{ M = 19, N = 35, K = 24 }, { M = 32, N = 16, K = 32 }]
contract = { kind = "gemm" }
argument = [
  { name = "A", role = "in", dtype = "f64", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "f64", shape = ["K", "N"], matrix = "B" },
  { name = "C", role = "out", dtype = "f64", shape = ["M", "N"], matrix = "C" },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]""",
    "",
)


def test_f64_that_goes_through_f32_is_wrong(tmp_path: Path) -> None:
    found = verdict(
        tmp_path,
        DOUBLES,
        (("__shared__ double a[16][17], b", "__shared__ double a[16][17]; __shared__ float b"),),
    )
    (finding,) = found.findings
    assert finding.rule.id == "numerics/rounded-sum"
    assert "converted to f32" in finding.what
    assert finding.place.source is not None
    assert "b[y][x] =" in found_line(tmp_path, finding.place.source.line)


def test_f64_may_be_computed_in_f32_where_an_instruction_says_so(tmp_path: Path) -> None:
    found = verdict(
        tmp_path, DOUBLES, (("sum += a[y][i] * b[i][x]", "sum += (float)a[y][i] * (float)b[i][x]"),)
    )
    assert found.exit_code == 0, found.findings
    assert any(
        "C (f64) is computed with arithmetic in f32" in one
        for result in found.results
        for one in result.reserved
    )


def test_f64_is_judged_as_f64(tmp_path: Path) -> None:
    assert verdict(tmp_path, DOUBLES).exit_code == 0


MFMA = """#include <hip/hip_runtime.h>
typedef double double4v __attribute__((ext_vector_type(4)));
extern "C" __global__ __launch_bounds__(64) void dgemm(const double* A, const double* B, double* C, int N, int K) {
  const int lane = threadIdx.x, lo = lane & 15, hi = lane >> 4, col = blockIdx.x * 16 + lo;
  const double* rows = A + blockIdx.y * 16 * K;
  double4v sum = {0, 0, 0, 0};
  for (int k = hi; k < K; k += 4) {
    const float b = B[k * N + col];
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(rows[lo * K + k], b, sum, 0, 0, 0);
  }
  for (int v = 0; v < 4; ++v) C[(blockIdx.y * 16 + 4 * v + hi) * N + col] = sum[v];
}
"""
OF_MFMA = """[[kernel]]
name = "dgemm"
source = "kernel.hip"
arch = "gfx942"
block = [64]
grid = ["N / 16", "M / 16"]
sizes = [{ M = 16, N = 32, K = 16 }]
contract = { kind = "gemm" }
argument = [
  { name = "A", role = "in", dtype = "f64", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "f64", shape = ["K", "N"], matrix = "B" },
  { name = "C", role = "out", dtype = "f64", shape = ["M", "N"], matrix = "C" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]
"""


def test_an_operand_that_is_rounded_is_told_with_as_many_digits_as_show_it(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text(MFMA)
    (tmp_path / "layoutprobe.toml").write_text(OF_MFMA)
    (judged,) = check(tmp_path / "layoutprobe.toml", edits=400).verdicts
    (finding,) = judged.findings
    assert finding.rule.id == "numerics/changed-operand"
    says = re.search(r"B are changed on their way: (\S+) arrives as (\S+) \(rounded to f32\)", finding.what)
    assert says is not None, finding.what
    assert says[1] != says[2]
    assert "with `double` in place of `float` all is right" in finding.what


NOISY = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, const unsigned* noise, unsigned short* y, int N) {
  for (int i = threadIdx.x; i < N; i += 32)
    y[i] = (unsigned short)((__float_as_uint(0.3f * x[i]) + (noise[i] & 0xffffu)) >> 16);
}
""",
    """block = [32]
grid = ["1"]
sizes = [{ N = 96 }, { N = 40 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["N"] },
  { name = "noise", role = "in", dtype = "u32", shape = ["N"] },
  { name = "y", role = "out", dtype = "bf16", shape = ["N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    bits = (np.float32(0.3) * inputs["x"].astype(np.float32)).view(np.uint32) + (inputs["noise"] & np.uint32(0xFFFF))
    return {"y": (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)}
""",
)


@pytest.mark.parametrize(
    "other", [("noise[i] &", "noise[threadIdx.x] &"), ("+ (noise[i] & 0xffffu)", "")], ids=["again", "none"]
)
def test_noise_that_decides_how_numbers_are_rounded_is_not_judged_and_that_is_told(
    other: tuple[str, str], tmp_path: Path
) -> None:
    assert not any(result.reserved for result in verdict(tmp_path, NOISY).results)
    found = verdict(tmp_path, NOISY, (other,))
    assert any(
        "how it is rounded is not judged" in one for result in found.results for one in result.reserved
    )


BY_HAND = """#include <hip/hip_runtime.h>
typedef short short4v __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
__device__ short rounded(float v) {
  const unsigned bits = __float_as_uint(v);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
__device__ float wide(short v) { return __uint_as_float((unsigned)(unsigned short)v << 16); }
extern "C" __global__ __launch_bounds__(64) void layer(const float* x, const short* w, float* y) {
  const int lane = threadIdx.x, lo = lane & 15, hi = lane >> 4;
  short4v a, b;
  for (int i = 0; i < 4; ++i) {
    a[i] = rounded(1.5f * fmaxf(x[lo * 16 + hi * 4 + i], 0.f));
    b[i] = w[(hi * 4 + i) * 16 + lo];
  }
  float4v d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, float4v{0, 0, 0, 0}, 0, 0, 0);
  for (int i = 0; i < 4; ++i) y[(hi * 4 + i) * 16 + lo] = d[i];
}
"""
WITHOUT = """  for (int v = 0; v < 4; ++v) {
    float d = 0;
    for (int k = 0; k < 16; ++k)
      d += wide(rounded(1.5f * fmaxf(x[(hi * 4 + v) * 16 + k], 0.f))) * wide(w[k * 16 + lo]);
    y[(hi * 4 + v) * 16 + lo] = d;
  }
}
"""
OF_HAND = """[[kernel]]
name = "layer"
source = "kernel.hip"
arch = "gfx942"
block = [64]
grid = [1]
sizes = [{}]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["16", "16"] },
  { name = "w", role = "in", dtype = "bf16", shape = ["16", "16"] },
  { name = "y", role = "out", dtype = "f32", shape = ["16", "16"] },
]
"""


@pytest.mark.parametrize("matrix", [True, False])
def test_what_a_matrix_instruction_takes_may_be_rounded_by_hand(tmp_path: Path, matrix: bool) -> None:
    """Where there is no instruction for bf16, integers round. What f32 arithmetic takes need not be rounded."""
    text = BY_HAND if matrix else BY_HAND[: BY_HAND.index("  short4v a, b")] + WITHOUT
    (tmp_path / "kernel.hip").write_text(text)
    (tmp_path / "layoutprobe.toml").write_text(OF_HAND)
    (tmp_path / "reference.py").write_text(
        "import numpy as np\ndef layer(inputs, sizes):\n"
        '    return {"y": 1.5 * np.maximum(inputs["x"], 0) @ inputs["w"]}\n'
    )
    (found,) = check(tmp_path / "layoutprobe.toml", allow_reference=True, edits=0).verdicts
    assert (found.exit_code, found.error) == (int(not matrix), ""), found
    told = [one for result in found.results for one in result.reserved if "bf16" in one]
    assert bool(told) == matrix
