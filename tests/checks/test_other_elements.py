"""Kernels that compute an output of other elements than their Python reference: the element, and where it goes.

Each kernel stands for a style that others write; a fault is one edit. The kernels are judged by what comes first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.test_references import HEAD, Style, verdict
from msgspec import Struct

from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.inputs import make_inputs
from layoutprobe.manifest.read import read_manifest

REFERENCE = '\ncontract = { kind = "reference", function = "reference.py:layer" }\n'
NORM = Style(
    HEAD
    + """// Root mean square of a row, two waves a row; each lane takes every 64th element.
__device__ float total(float v, float* part) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor(v, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  return part[0] + part[1];
}
extern "C" __global__ void layer(const float* x, const float* g, float* y, int N) {
  __shared__ float part[2];
  const int row = blockIdx.x;
  float sum = 0;
  for (int i = threadIdx.x; i < N; i += 64) {
    const float v = x[row * N + i];
    sum += v * v;
  }
  const float scale = rsqrtf(total(sum, part) / N + 1e-5f);
  for (int i = threadIdx.x; i < N; i += 64)
    y[row * N + i] = x[row * N + i] * scale * g[i];
}
""",
    'block = [64]\ngrid = ["M"]\nsizes = [{ M = 3, N = 100 }, { M = 4, N = 192 }]'
    + REFERENCE
    + """argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "N"] },
  { name = "g", role = "in", dtype = "f32", shape = ["N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"]
    return {"y": x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * inputs["g"]}
""",
)
ATTENTION = Style(
    HEAD
    + """// One lane a query; keys one by one, softmax as it goes; H heads share H / G keys.
extern "C" __global__ void layer(const float* q, const float* k, const float* v, float* o, int S, int G) {
  constexpr int D = 4;
  const int i = threadIdx.x, h = blockIdx.y;
  if (i >= S) return;
  const float* kh = k + h / G * S * D;
  const float* vh = v + h / G * S * D;
  float m = -INFINITY, l = 0, acc[D] = {};
  for (int j = 0; j < S; ++j) {
    float s = 0;
    for (int d = 0; d < D; ++d) s += q[(h * S + i) * D + d] * kh[j * D + d];
    s *= 0.5f;
    if (j > i) s = -INFINITY;
    const float n = fmaxf(m, s), c = expf(m - n), p = expf(s - n);
    l = l * c + p;
    for (int d = 0; d < D; ++d) acc[d] = acc[d] * c + p * vh[j * D + d];
    m = n;
  }
  for (int d = 0; d < D; ++d) o[(h * S + i) * D + d] = acc[d] / l;
}
""",
    'block = [32]\ngrid = [1, "H"]\nsizes = [{ S = 9, H = 4, G = 2 }]'
    + REFERENCE
    + """argument = [
  { name = "q", role = "in", dtype = "f32", shape = ["H", "S", 4] },
  { name = "k", role = "in", dtype = "f32", shape = ["H / G", "S", 4] },
  { name = "v", role = "in", dtype = "f32", shape = ["H / G", "S", 4] },
  { name = "o", role = "out", dtype = "f32", shape = ["H", "S", 4] },
  { name = "S", role = "scalar", dtype = "i32", value = "S" },
  { name = "G", role = "scalar", dtype = "i32", value = "G" },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    q, k, v, g = inputs["q"], inputs["k"], inputs["v"], sizes["G"]
    s = q @ np.repeat(k, g, 0).transpose(0, 2, 1) * 0.5
    s = np.where(np.tril(np.ones(s.shape[1:], bool)), s, -np.inf)
    e = np.exp(s - s.max(2, keepdims=True))
    return {"o": e / e.sum(2, keepdims=True) @ np.repeat(v, g, 0)}
""",
)
CONVOLUTION = Style(
    HEAD
    + """// 3 x 3, padded by one, stride two; one lane an output.
extern "C" __global__ void layer(const float* x, const float* w, float* y, int C, int H, int W, int O) {
  const int P = (H + 1) / 2, Q = (W + 1) / 2;
  const int at = blockIdx.x * 32 + threadIdx.x, f = blockIdx.y;
  if (at >= P * Q) return;
  const int p = at / Q, q = at % Q;
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s) {
        const int i = 2 * p + r - 1, j = 2 * q + s - 1;
        if (i < 0 || j < 0 || i >= H || j >= W) continue;
        sum += x[(c * H + i) * W + j] * w[((f * C + c) * 3 + r) * 3 + s];
      }
  y[(f * P + p) * Q + q] = sum;
}
""",
    'block = [32]\ngrid = ["((H + 1) / 2 * ((W + 1) / 2) + 31) / 32", "O"]\nsizes = [{ C = 3, H = 7, W = 9, O = 4 }]'
    + REFERENCE
    + """argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["C", "H", "W"] },
  { name = "w", role = "in", dtype = "f32", shape = ["O", "C", 3, 3] },
  { name = "y", role = "out", dtype = "f32", shape = ["O", "(H + 1) / 2", "(W + 1) / 2"] },
  { name = "C", role = "scalar", dtype = "i32", value = "C" },
  { name = "H", role = "scalar", dtype = "i32", value = "H" },
  { name = "W", role = "scalar", dtype = "i32", value = "W" },
  { name = "O", role = "scalar", dtype = "i32", value = "O" },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    x, w = np.pad(inputs["x"], ((0, 0), (1, 2), (1, 2))), inputs["w"]
    P, Q = (sizes["H"] + 1) // 2, (sizes["W"] + 1) // 2
    y = np.zeros((len(w), P, Q))
    for r in range(3):
        for s in range(3):
            y += np.einsum("oc,cpq->opq", w[:, :, r, s], x[:, r:r + 2 * P:2, s:s + 2 * Q:2])
    return {"y": y}
""",
)


class Named(Struct, frozen=True):
    """A fault: its edit, words of what comes first, and text of the line that it names."""

    style: Style
    edit: tuple[str, str]
    words: tuple[str, ...]
    at: str


NO_PART, PART = "does not go into", "goes into"
FAULTS = {
    "a step of an exchange": Named(NORM, ("int o = 16", "int o = 8"), (NO_PART, "exchange between lanes"), "int o ="),
    "one partial sum": Named(NORM, ("+ part[1]", ""), (NO_PART, "from where it does not come back"), "= v;"),
    "a tail": Named(
        NORM, ("i < N; i += 64) {", "i < N / 64 * 64; i += 64) {"), (NO_PART, "not loaded there"), "N / 64 * 64"
    ),
    "another row": Named(NORM, ("sum += v * v", "sum += v * x[i]"), ("x[0]", PART), "sum += v"),
    "a mask that hides the diagonal": Named(
        ATTENTION, ("j > i", "j >= i && j"), ("k[", NO_PART, "has no effect"), "j >= i"
    ),
    "a mask that hides too little": Named(
        ATTENTION, ("j > i", "j > i + 1"), ("v[", PART, "passes what keeps it out of others"), "j > i + 1"
    ),
    "the last key": Named(ATTENTION, ("j < S;", "j < S - 1;"), (NO_PART, "not loaded there"), "j < S - 1"),
    # The element is that of another head, and the line that of the mask behind its product.
    "the head of the keys": Named(ATTENTION, ("k + h / G", "k + h % 2"), ("k[", PART, NO_PART), "j > i"),
    "the head of the values": Named(ATTENTION, ("v + h / G", "v + h % 2"), ("v[", PART, NO_PART), "vh[j"),
    "a kernel turned over": Named(
        CONVOLUTION, ("+ r) * 3 + s]", "+ 2 - r) * 3 + 2 - s]"), ("w[", PART, NO_PART), "sum += x["
    ),
    "no padding": Named(CONVOLUTION, ("2 * p + r - 1", "2 * p + r"), (PART,), "sum += x["),
    "a right edge": Named(CONVOLUTION, ("j >= W", "j >= W - 1"), ("x[", NO_PART, "not loaded there"), "j >= W - 1"),
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("name", FAULTS)
def test_the_element_comes_first_with_the_line_where_it_goes(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    found = verdict(tmp_path, fault.style, (fault.edit,))
    assert not found.error, found.error
    assert [f.rule.id for f in found.findings] == ["numerics/other-elements"], found.findings
    said, place = found.findings[0].what, found.findings[0].place.source
    assert all(words in said for words in fault.words), said
    assert place is not None
    assert fault.at in (tmp_path / "kernel.hip").read_text().split("\n")[place.line - 1], place


@pytest.mark.parametrize("style", [NORM, ATTENTION, CONVOLUTION], ids=["norm", "attention", "convolution"])
def test_right_kernels_are_green(tmp_path: Path, style: Style) -> None:
    found = verdict(tmp_path, style)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found


def test_a_wrong_constant_is_no_other_element(tmp_path: Path) -> None:
    found = verdict(tmp_path, NORM, (("1e-5f", "0.5f"),))
    assert [f.rule.id for f in found.findings] == ["numerics/wrong-values"], found.findings


def test_one_element_is_moved_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text(NORM.source)
    manifest = tmp_path / "layoutprobe.toml"
    manifest.write_text(f'[[kernel]]\nname = "layer"\nsource = "kernel.hip"\n{NORM.keys}\n')
    (case,) = read_manifest(manifest).kernels
    binding = bind(case, {"M": 3, "N": 100})
    usual, moved = (make_inputs(binding, kind, beta=0.0) for kind in ("normal", "moved x 207 -1"))
    assert usual["x"] is not None
    assert moved["x"] is not None
    assert np.argwhere(usual["x"] != moved["x"]).tolist() == [[2, 7]]
    assert moved["x"][2][7] == usual["x"][2][7] - 8
    assert np.array_equal(usual["g"], moved["g"])  # type: ignore[arg-type]


ROWS = """argument = [
  { name = "x", role = "in", dtype = "%s", shape = ["M", "N"] },
  { name = "y", role = "out", dtype = "%s", shape = ["M", "%s"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]"""
SCAN = Style(
    HEAD
    + """// Prefix sums, 128 elements a step; a step begins with the sum of those before it.
extern "C" __global__ void layer(const int* x, int* y, int N) {
  __shared__ int part[4];
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32, row = blockIdx.x * N;
  int carry = 0;
  for (int i = threadIdx.x; i < (N + 127) / 128 * 128; i += 128) {
    int v = i < N ? x[row + i] : 0;
    for (int o = 1; o < 32; o <<= 1) {
      const int u = __shfl_up(v, o);
      if (lane >= o) v += u;
    }
    if (lane == 31) part[wave] = v;
    __syncthreads();
    int before = carry, total = carry;
    for (int w = 0; w < 4; ++w) {
      if (w < wave) before += part[w];
      total += part[w];
    }
    if (i < N) y[row + i] = v + before;
    carry = total;
    __syncthreads();
  }
}
""",
    'block = [128]\ngrid = ["M"]\nsizes = [{ M = 2, N = 100 }, { M = 3, N = 300 }]' + REFERENCE
    + ROWS % ("i32", "i32", "N"),
    """
import numpy as np
def layer(inputs, sizes):
    return {"y": np.cumsum(inputs["x"].astype(np.int64), 1)}
""",
)  # fmt: skip
SORT = Style(
    HEAD
    + """// Sorts rows of at most 128.
extern "C" __global__ void layer(const float* x, float* y, int N) {
  __shared__ float s[128];
  const int row = blockIdx.x * N;
  for (int i = threadIdx.x; i < 128; i += 64) s[i] = i < N ? x[row + i] : INFINITY;
  __syncthreads();
  for (int k = 2; k <= 128; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      const int t = threadIdx.x, a = 2 * t - (t & (j - 1)), b = a + j;
      const float u = s[a], v = s[b];
      if ((u > v) == ((a & k) == 0)) {
        s[a] = v;
        s[b] = u;
      }
      __syncthreads();
    }
  for (int i = threadIdx.x; i < N; i += 64) y[row + i] = s[i];
}
""",
    'block = [64]\ngrid = ["M"]\nsizes = [{ M = 2, N = 128 }, { M = 3, N = 77 }]' + REFERENCE
    + ROWS % ("f32", "f32", "N"),
    """
import numpy as np
def layer(inputs, sizes):
    return {"y": np.sort(inputs["x"], 1)}
""",
)  # fmt: skip
LARGEST = Style(
    HEAD
    + """// The largest of a row, and it alone, found by one wave.
extern "C" __global__ void layer(const float* x, float* y, int N) {
  float most = -INFINITY;
  for (int i = threadIdx.x; i < N; i += 32) most = fmaxf(most, x[blockIdx.x * N + i]);
  for (int o = 16; o > 0; o >>= 1) most = fmaxf(most, __shfl_xor(most, o));
  if (threadIdx.x == 0) y[blockIdx.x] = most;
}
""",
    'block = [32]\ngrid = ["M"]\nsizes = [{ M = 5, N = 20 }, { M = 6, N = 100 }]' + REFERENCE
    + ROWS % ("f32", "f32", "1"),
    """
def layer(inputs, sizes):
    return {"y": inputs["x"].max(1, keepdims=True)}
""",
)  # fmt: skip


@pytest.mark.parametrize(
    ("style", "edit"),
    [
        (SCAN, ("carry = total", "carry = total - carry")),
        (SORT, ("N ? x[row + i] : INFINITY", "N ? x[row + i] : 0")),
        (LARGEST, ("o > 0", "o > 1")),
    ],
    ids=["a sum that is not carried on", "padding that is sorted, too", "a step of a tree for the largest"],
)
def test_nothing_is_said_of_an_element_that_is_not_so(
    tmp_path: Path, style: Style, edit: tuple[str, str]
) -> None:
    """What is stored to LDS there is loaded again, and no element of x is added to anything: the largest of others is
    another one. Both were said, at the line of a store or load that is right."""
    assert verdict(tmp_path, style).exit_code == 0
    found = verdict(tmp_path, style, (edit,))
    assert found.exit_code == 1
    for cause in found.findings:
        assert cause.rule.id != "numerics/misplaced-addend", cause
        assert "does not come back" not in cause.what, cause
