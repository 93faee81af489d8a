"""What a kernel does not bear, and need not by its manifest: the headline says it, and nothing is a finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import edited
from checks.test_hunt import MANIFEST as EDGES
from checks.test_references import HEAD, Style, verdict

from layoutprobe.gate.gate import check

_ROWS = """block = [32]
grid = ["M"]
sizes = [{{ M = 3, N = 20 }}, {{ M = 5, N = 33 }}]
contract = {{ kind = "reference", function = "reference.py:layer" }}
argument = [
  {{ name = "x", role = "in", dtype = "{x}", shape = ["M", "N"] }},
  {{ name = "y", role = "out", dtype = "{y}", shape = ["M", "N"] }},{more}
  {{ name = "N", role = "scalar", dtype = "i32", value = "N" }},
]"""
NORMED = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, signed char* y, int N) {
  float most = 0;
  for (int i = 0; i < N; ++i) most = fmaxf(most, fabsf(x[blockIdx.x * N + i]));
  const float by = most > 0 ? 1 / most : 0;
  for (int i = threadIdx.x; i < N; i += 32)
    y[blockIdx.x * N + i] = (int)rintf(fminf(fmaxf(x[blockIdx.x * N + i], -100.0f), 100.0f) + 8 * fminf(by, 4.0f));
}
""",
    _ROWS.format(x="f32", y="i8", more=""),
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"].astype(np.float64)
    most = np.abs(x).max(1, keepdims=True)
    by = np.divide(1, most, out=np.zeros_like(most), where=most > 0)
    return {"y": np.rint(np.clip(x, -100, 100) + 8 * np.minimum(by, 4))}
""",
)
DECODED = Style(
    HEAD
    + """extern "C" __global__ void layer(const unsigned char* x, __bf16* y, int N) {
  float sum = 0;
  for (int i = 0; i < N; ++i) {
    const unsigned code = x[blockIdx.x * N + i], exponent = code >> 3 & 15, rest = code & 7;
    const float size = exponent ? ldexpf(8 + rest, (int)exponent - 10) : ldexpf(rest, -9);
    sum += code >> 7 ? -size : size;
  }
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = (__bf16)sum;
}
""",
    _ROWS.format(x="fp8", y="bf16", more=""),
    """
def layer(inputs, sizes):
    return {"y": inputs["x"] * 0.0 + inputs["x"].sum(1, keepdims=True)}
""",
)
ADDED = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, const float* r, float* y, int N) {
  float squares = 0;
  for (int i = 0; i < N; ++i) {
    const float v = x[blockIdx.x * N + i] + r[blockIdx.x * N + i];
    squares += v * v;
  }
  const float by = rsqrtf(squares / N + 1e-5f);
  for (int i = threadIdx.x; i < N; i += 32)
    y[blockIdx.x * N + i] = (x[blockIdx.x * N + i] + r[blockIdx.x * N + i]) * by;
}
""",
    _ROWS.format(x="f32", y="f32", more="").replace(
        '  { name = "y"',
        '  { name = "r", role = "in", dtype = "f32", shape = ["M", "N"] },\n  { name = "y"',
        1,
    ),
    """
import numpy as np
def layer(inputs, sizes):
    v = inputs["x"] + inputs["r"]
    return {"y": v / np.sqrt((v * v).mean(1, keepdims=True) + 1e-5)}
""",
)
BY_TABLE = Style(
    HEAD
    + """extern "C" __global__ void layer(const int* x, int* y, int N) {
  __shared__ int table[64];
  for (int i = threadIdx.x; i < 64; i += 32) table[i] = i / 8;
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += 32)
    y[blockIdx.x * N + i] = x[blockIdx.x * N + table[(x[blockIdx.x * N + i] + 32) & 63] % N];
}
""",
    _ROWS.format(x="i32", y="i32", more=""),
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"].astype(np.int64)
    return {"y": np.take_along_axis(x, ((x + 32) & 63) // 8 % sizes["N"], 1)}
""",
)
WITH_SINKS = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, const float* r, float* y, int N) {
  const float *row = x + blockIdx.x * N, *sinks = r + blockIdx.x * N;
  float most = -INFINITY, sum = 0;
  for (int i = 0; i < N; ++i) most = fmaxf(most, fmaxf(row[i], sinks[i]));
  for (int i = 0; i < N; ++i) sum += expf(row[i] - most) + expf(sinks[i] - most);
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = expf(row[i] - most) / sum;
}
""",
    ADDED.keys,
    """
import numpy as np
def layer(inputs, sizes):
    both = np.concatenate((inputs["x"], inputs["r"]), axis=1)
    most = both.max(1, keepdims=True)
    return {"y": np.exp(inputs["x"] - most) / np.exp(both - most).sum(1, keepdims=True)}
""",
)
COUNTED = Style(
    HEAD
    + """// The workgroup that comes last doubles everything.
extern "C" __global__ void layer(const float* x, float* y, unsigned* count, int N) {
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = x[blockIdx.x * N + i];
  __threadfence();
  unsigned before = threadIdx.x ? 0 : atomicAdd(count, 1u);
  before = __shfl(before, 0, 32);
  if (before + 1 != gridDim.x) return;
  __threadfence();
  for (int i = threadIdx.x; i < N * (int)gridDim.x; i += 32) y[i] = 2 * ((volatile float*)y)[i];
  if (threadIdx.x == 0) *count = 0;
}
""",
    _ROWS.format(
        x="f32",
        y="f32",
        more='\n  { name = "count", role = "inout", dtype = "u32", shape = [1], initial = "zero" },',
    ),
    'def layer(inputs, sizes):\n    return {"y": 2 * inputs["x"]}\n',
)
LAYER_NORM = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, float* y, int N) {
  const float* row = x + blockIdx.x * N;
  float sum = 0, square = 0;
  for (int i = threadIdx.x; i < N; i += 32) sum += row[i];
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor(sum, o);
  const float mean = sum / N;
  for (int i = threadIdx.x; i < N; i += 32) square += (row[i] - mean) * (row[i] - mean);
  for (int o = 16; o > 0; o >>= 1) square += __shfl_xor(square, o);
  const float scale = rsqrtf(square / N + 1e-5f);
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = (row[i] - mean) * scale;
}
""",
    _ROWS.format(x="f32", y="f32", more=""),
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"]
    return {"y": (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)}
""",
)
DOUBLED = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, float* y, int N) {
  for (int i = threadIdx.x; i < N; i += 32) {
    const int at = blockIdx.x * N + i;
    y[at] = 2 * x[at];
  }
}
""",
    _ROWS.format(x="f32", y="f32", more=""),
    'def layer(inputs, sizes):\n    return {"y": 2 * inputs["x"]}\n',
)
_EACH = """extern "C" __global__ void layer(const float* x, {y}* y, int N) {{
  for (int i = threadIdx.x; i < N; i += 32) {{
    const float v = x[blockIdx.x * N + i];
    y[blockIdx.x * N + i] = {value};
  }}
}}
"""
SIGNS = Style(
    HEAD + _EACH.format(y="int", value="v < 0"),
    _ROWS.format(x="f32", y="i32", more=""),
    'def layer(inputs, sizes):\n    return {"y": (inputs["x"] < 0).astype("int32")}\n',
)
LARGEST = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, int* y, int N) {
  float most = -INFINITY;
  int at = 0;
  for (int i = 0; i < N; ++i)
    if (x[blockIdx.x * N + i] > most) most = x[blockIdx.x * N + i], at = i;
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = at;
}
""",
    _ROWS.format(x="f32", y="i32", more=""),
    """
import numpy as np
def layer(inputs, sizes):
    return {"y": np.argmax(inputs["x"], 1)[:, None] + np.zeros(inputs["x"].shape, np.int32)}
""",
)
IN_A_BIN = Style(
    HEAD + _EACH.format(y="int", value="v >= -5.75f && v <= 5.75f"),
    _ROWS.format(x="f32", y="i32", more=""),
    'def layer(inputs, sizes):\n    return {"y": (abs(inputs["x"]) <= 5.75).astype("int32")}\n',
)
EDGED = Style(
    HEAD + _EACH.format(y="float", value="v <= 1029.015625f ? v : 0"),
    _ROWS.format(x="f32", y="f32", more=""),
    'def layer(inputs, sizes):\n    return {"y": inputs["x"] * (inputs["x"] <= 1029.015625)}\n',
)
ROUNDED = Style(
    HEAD
    + "static __device__ unsigned short bits(float v) {\n"
    + "  const unsigned u = __float_as_uint(v), half = 0x7fffu + (u >> 16 & 1u);\n  return (u + half) >> 16;\n}\n"
    + _EACH.format(y="unsigned short", value="bits(v)"),
    _ROWS.format(x="f32", y="u16", more=""),
    """
import numpy as np
def layer(inputs, sizes):
    u = inputs["x"].astype(np.float32).view(np.uint32).astype(np.uint64)
    return {"y": ((u + 0x7FFF + (u >> 16 & 1)) >> 16).astype(np.uint16)}
""",
)
CURVED = Style(
    HEAD + _EACH.format(y="float", value="tanhf(v)"),
    _ROWS.format(x="f32", y="f32", more=""),
    'import numpy as np\ndef layer(inputs, sizes):\n    return {"y": np.tanh(inputs["x"])}\n',
)
_TWO = '\n  {{ name = "r", role = "in", dtype = "{r}", shape = ["M", "N"] }},'
PRODUCTS = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, float* y, const float* r, int N) {
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = x[blockIdx.x * N + i] * r[blockIdx.x * N + i];
}
""",
    _ROWS.format(x="f32", y="f32", more=_TWO.format(r="f32")),
    'def layer(inputs, sizes):\n    return {"y": inputs["x"] * inputs["r"]}\n',
)
CODES = Style(
    HEAD
    + """extern "C" __global__ void layer(const signed char* x, signed char* y, const signed char* r, int N) {
  int sum = 0;
  for (int i = 0; i < N; ++i) sum += x[blockIdx.x * N + i] * r[blockIdx.x * N + i];
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = max(-128, min(127, sum >> 11));
}
""",
    _ROWS.format(x="i8", y="i8", more=_TWO.format(r="i8")),
    """
import numpy as np
def layer(inputs, sizes):
    sums = (inputs["x"].astype(int) * inputs["r"].astype(int)).sum(1, keepdims=True)
    return {"y": np.clip(sums >> 11, -128, 127) + 0 * inputs["x"].astype(int)}
""",
)
IN_TURNS = Style(
    HEAD
    + """// Two halves take turns: each launch empties that of the next one.
extern "C" __global__ void layer(const float* x, float* y, unsigned* count, int N) {
  unsigned* own = count + 3 * blockIdx.x;
  const unsigned before = own[0], half = 1 + before % 2, old = own[half];
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = (1 + old) * x[blockIdx.x * N + i];
  if (threadIdx.x == 0) own[0] = before + 1, own[half] = 1, own[3 - half] = 0;
}
""",
    _ROWS.format(
        x="f32",
        y="f32",
        more='\n  { name = "count", role = "inout", dtype = "u32", shape = ["M", 3], initial = "zero" },',
    ),
    'def layer(inputs, sizes):\n    return {"y": inputs["x"]}\n',
)
SUMMED = Style(
    HEAD
    + """extern "C" __global__ void layer(const int* x, int* y, int N) {
  int sum = 0;
  for (int i = 0; i < N; ++i) sum += x[blockIdx.x * N + i];
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = sum + x[blockIdx.x * N + i] % 4096;
}
""",
    _ROWS.format(x="i32", y="i32", more=""),
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"].astype(np.int64)
    return {"y": (x.sum(1, keepdims=True) + np.fmod(x, 4096)).astype(np.int32)}
""",
)
BY_WAVES = Style(
    HEAD
    + """// How many of a row are as large as the first one, by waves.
extern "C" __global__ void layer(const int* x, int* y, int N) {
  int count = 0;
  for (int i = threadIdx.x; i - (int)threadIdx.x < N; i += 32)
    count += __popcll(__ballot(i < N && x[blockIdx.x * N + i] == x[blockIdx.x * N]));
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = count;
}
""",
    _ROWS.format(x="i32", y="i32", more="").replace("N = 33", "N = 300"),
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"]
    return {"y": np.count_nonzero(x == x[:, :1], 1)[:, None] + np.zeros(x.shape, int)}
""",
)
SHARES = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, float* y, int N) {
  float sum = 0;
  for (int i = 0; i < N; ++i) sum += 1 / (1 + __expf(-x[blockIdx.x * N + i]));
  for (int i = threadIdx.x; i < N; i += 32)
    y[blockIdx.x * N + i] = 1 / (1 + __expf(-x[blockIdx.x * N + i])) / (sum + 1e-20f);
}
""",
    _ROWS.format(x="f32", y="f32", more=""),
    """
import numpy as np
def layer(inputs, sizes):
    s = 1 / (1 + np.exp(-inputs["x"]))
    return {"y": s / (s.sum(1, keepdims=True) + 1e-20)}
""",
)
SHARED = Style(
    HEAD
    + """extern "C" __global__ void layer(const int* x, float* y, int N) {
  for (int i = threadIdx.x; i < N; i += 32) {
    const int count = x[blockIdx.x * N + i];
    y[blockIdx.x * N + i] = count > 0 ? 12.0f / count : 0.0f;
  }
}
""",
    _ROWS.format(x="i32", y="f32", more="").replace(
        'shape = ["M", "N"] }', 'shape = ["M", "N"], values = "1 + i1 % 5" }', 1
    ),
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"].astype(float)
    return {"y": np.divide(12, x, out=np.zeros_like(x), where=x > 0)}
""",
)
CUT = Style(
    HEAD + _EACH.format(y="_Float16", value="(_Float16)fminf(fmaxf(100 * v, -65504.0f), 65504.0f)"),
    _ROWS.format(x="f32", y="f16", more=""),
    'import numpy as np\ndef layer(inputs, sizes):\n    return {"y": np.clip(100 * inputs["x"], -65504, 65504)}\n',
)
COUNTED_IN_BYTES = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, int* y, int N) {
  unsigned char part = 0;
  int most = 0, above = 0;
  for (int i = 0; i < N; ++i) {
    part += x[blockIdx.x * N + i] == x[blockIdx.x * N];
    if (++most == 255) above += part, part = 0, most = 0;
  }
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = above + part;
}
""",
    _ROWS.format(x="f32", y="i32", more="").replace("N = 33", "N = 600"),
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"]
    return {"y": np.count_nonzero(x == x[:, :1], 1)[:, None] + np.zeros(x.shape, int)}
""",
)
SCALED = Style(
    HEAD
    + """extern "C" __global__ void layer(const _Float16* x, _Float16* y, const float* r, int N) {
  for (int i = threadIdx.x; i < N; i += 32) {
    const float by = r[blockIdx.x * N + i];
    y[blockIdx.x * N + i] = (_Float16)(1000 * ((float)x[blockIdx.x * N + i] * by));
  }
}
""",
    _ROWS.format(x="f16", y="f16", more=_TWO.format(r="f32")),
    'def layer(inputs, sizes):\n    return {"y": 1000 * inputs["x"] * inputs["r"]}\n',
)
ROUTED = Style(
    HEAD
    + """extern "C" __global__ void layer(const int* x, int* y, int N) {
  for (int e = threadIdx.x; e < N; e += 32) {
    int count = 0;
    for (int i = 0; i < N; ++i) count += x[blockIdx.x * N + i] == e;
    y[blockIdx.x * N + e] = count;
  }
}
""",
    _ROWS.format(x="i32", y="i32", more="")
    .replace(
        'dtype = "i32", shape = ["M", "N"] },',
        'dtype = "i32", shape = ["M", "N"], values = "i1 * 7 % N" },',
        1,
    )
    .replace("N = 33", "N = 600"),
    """
import numpy as np
def layer(inputs, sizes):
    return {"y": np.stack([np.bincount(row, minlength=sizes["N"]) for row in inputs["x"]])}
""",
)
CASES = {
    "doubled": (DOUBLED, (), None),
    "an index of 16 bits": (
        DOUBLED,
        (("y[at]", "y[(unsigned short)at]"),),
        "no size in which an index or a count is above 65535, of which 16 bits are taken, at kernel.hip:5",
    ),
    "a product of 24 bits": (
        DOUBLED,
        (("blockIdx.x * N + i", "__mul24(blockIdx.x * N, 1) + i"),),
        "no size in which an index or a count is above 8388607, of which 24 bits are taken, at kernel.hip:5",
    ),
    "normed": (NORMED, (), "y is another one where x is NaN here and there"),
    "a norm": (LAYER_NORM, (), None),
    "a mean that hides the variance": (
        LAYER_NORM,
        (
            ("(row[i] - mean) * (row[i] - mean)", "row[i] * row[i]"),
            ("square / N +", "square / N - mean * mean +"),
        ),
        "y is far off where x is about -30000, or where x is about 8192, give or take 1",
    ),
    "ties away from zero": (
        NORMED,
        (("(int)rintf(", "(int)roundf("),),
        "y is another one where values tie, or lie half-way between two integers, or where x is NaN here and there",
    ),
    "a row of zeros": (
        NORMED,
        (("most > 0 ? 1 / most : 0", "1 / most"),),
        "y is far off where rows of the inputs are zero; y is another one where x is NaN here and there",
    ),
    "decoded": (DECODED, (), None),
    "no subnormals": (DECODED, ((" : ldexpf(rest, -9)", " : 0"),), "y is far off where x is subnormal"),
    "a sum that is normed": (ADDED, (), None),
    "signs": (SIGNS, (), None),
    "a zero that is less than zero": (
        SIGNS,
        (("v < 0", "__float_as_uint(v) >> 31"),),
        "y is another one where values tie, or lie half-way between two integers, or where x has zeros of both "
        "signs, or where x is NaN here and there",
    ),
    "rounded to 16 bits": (ROUNDED, (), None),
    "ties are rounded up": (
        ROUNDED,
        (("0x7fffu + (u >> 16 & 1u)", "0x8000u"),),
        "y is another one where x is half-way between two numbers of 16 bits",
    ),
    "in a bin": (IN_A_BIN, (), None),
    "the edge of the last bin is in none": (
        IN_A_BIN,
        (("v <= 5.75f", "v < 5.75f"),),
        "y is another one where x is exactly -5.75 or 5.75",
    ),
    "the edge is not let through": (
        EDGED,
        (("v <= 1029.015625f", "v < 1029.015625f"),),
        "y is far off where x is exactly 1029.015625",
    ),
    "curved": (CURVED, (), None),
    "infinity by infinity": (
        CURVED,
        (("tanhf(v)", "(__expf(2 * v) - 1) / (__expf(2 * v) + 1)"),),
        "y is far off where x is about 256, or where x is about 8192, give or take 1, or where x is tiny, or "
        "where x is huge",
    ),
    "no less than a number that stands for none": (
        CURVED,
        (("tanhf(v)", "tanhf(v) * (v > -1e4f)"),),
        "y is far off where x is about -30000, or where x is huge, or where rows of x are -infinity",
    ),
    "largest": (LARGEST, (), "y is another one where x is NaN here and there"),
    "no place where nothing is larger": (
        LARGEST,
        (("most = -INFINITY", "most = -3e38f"), ("at = 0", "at = N")),
        "y is another one where rows of x are -infinity, or where x is NaN here and there",
    ),
    "the place of a NaN": (
        LARGEST,
        (("if (x[blockIdx.x * N + i] > most)", "if (!(x[blockIdx.x * N + i] <= most) && most == most)"),),
        None,
    ),
    "cut": (CUT, (), None),
    "cut on one side": (
        CUT,
        (("fmaxf(100 * v, -65504.0f)", "100 * v"),),
        "y is far off where x is about -30000, or where x is huge, or where rows of x are -infinity",
    ),
    "counted in bytes": (COUNTED_IN_BYTES, (), None),
    "one more than a byte holds": (
        COUNTED_IN_BYTES,
        (("most == 255", "most == 256"),),
        "y is far off where rows of the inputs are zero; "
        "y is another one where rows of x are -infinity, or where all of x is one number",
    ),
    "in turns": (IN_TURNS, (), None),
    "a half that nobody empties": (
        IN_TURNS,
        ((", own[3 - half] = 0", ""),),
        "a third launch goes wrong unless count is zeroed",
    ),
    "summed": (SUMMED, (), None),
    "a sum of 24 bits": (
        SUMMED,
        (("int sum = 0", "float sum = 0"),),
        "y is another one where x is up to 2^22, or where x is any whole number",
    ),
    "by waves": (BY_WAVES, (), None),
    "half of a wave at most": (
        BY_WAVES,
        (
            ("count += __popcll(", "count += min(16, (int)__popcll("),
            ("== x[blockIdx.x * N]));", "== x[blockIdx.x * N])));"),
        ),
        "y is another one where all of x is one number, or where x has runs of equal numbers",
    ),
    "shares": (SHARES, (), None),
    "an epsilon that is larger than a share": (
        SHARES,
        (("1e-20f", "1e-6f"),),
        "y is far off where x is about -16",
    ),
    "shared": (SHARED, (), None),
    "a share of nothing": (
        SHARED,
        (("count > 0 ? 12.0f / count : 0.0f", "12.0f / count"),),
        "y is far off where all of x is 0",
    ),
    "routed": (ROUTED, (), None),
    "a count of a byte": (
        ROUTED,
        (("int count = 0", "unsigned char count = 0"),),
        "y is another one where all of x is one of its numbers",
    ),
    "scaled": (SCALED, (), None),
    "a scale in f16": (
        SCALED,
        (("const float by", "const _Float16 by"),),
        "y is far off where r is about 1e-7",
    ),
    "products": (PRODUCTS, (), None),
    "a bound that usual products never reach": (
        PRODUCTS,
        (
            (
                "= x[blockIdx.x * N + i] * r[blockIdx.x * N + i]",
                "= fminf(x[blockIdx.x * N + i] * r[blockIdx.x * N + i], 1e20f)",
            ),
        ),
        "y is far off where all inputs are huge",
    ),
    "zero times another row": (
        PRODUCTS,
        (("* r[blockIdx.x * N + i];", "* r[blockIdx.x * N + i] + 0.0f * x[N + i];"),),
        "y is far off where x is -infinity here and there, or where rows of x are -infinity, or where x is NaN here "
        "and there",
    ),
    "by table": (BY_TABLE, (), None),
    "half of a table": (
        BY_TABLE,
        (("int i = threadIdx.x; i < 64", "int i = 16 + threadIdx.x; i < 48"),),
        "an undefined value is used as an address where x is up to 2^22, or where x is any whole number",
    ),
    "with sinks": (WITH_SINKS, (), None),
    "a maximum that begins at nothing": (
        WITH_SINKS,
        (("most = -INFINITY", "most = 0"),),
        "y is far off where all inputs are about -256",
    ),
    "codes": (CODES, (), None),
    "a bound that is one too high": (
        CODES,
        (("min(127,", "min(128,"),),
        "y is far off where all codes are as large as their types hold, those of x of both signs, or where all codes "
        "are as large as their types hold, those of r of both signs",
    ),
    "counted": (COUNTED, (), None),
    "never reset": (
        COUNTED,
        (("  if (threadIdx.x == 0) *count = 0;\n", ""),),
        "a second launch goes wrong unless count is zeroed",
    ),
}


_TOLD = ("off where", "another one", "launch", "bits are taken", "address where")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.every_case
def test_what_is_not_borne_is_a_reservation(tmp_path: Path, name: str) -> None:
    style, edits, says = CASES[name]
    found = verdict(tmp_path, Style(edited(style.source, edits), style.keys, style.python))
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found
    told = [one for one in found.reservations if any(word in one for word in _TOLD)]
    assert "; ".join(told) == (says or "")


OUTSIDE = "an epsilon outside of the root"
MET = {
    OUTSIDE: (
        LAYER_NORM,
        (("rsqrtf(square / N + 1e-5f)", "1 / (sqrtf(square / N) + 1e-5f)"),),
        "x is about 0.001",
    ),
    "a sum, and its epsilon outside of the root": (
        ADDED,
        (("rsqrtf(squares / N + 1e-5f)", "1 / (sqrtf(squares / N) + 1e-5f)"),),
        "all inputs are about 0.001",
    ),
}


@pytest.mark.parametrize("name", MET)
def test_what_every_kernel_meets_is_a_finding(tmp_path: Path, name: str) -> None:
    style, edits, says = MET[name]
    found = verdict(tmp_path, Style(edited(style.source, edits), style.keys, style.python))
    (one,) = found.findings
    assert one.rule.id == "numerics/not-borne"
    assert one.what.startswith(f"y is wrong on inputs where {says}")


def test_a_manifest_may_say_that_none_of_it_comes(tmp_path: Path) -> None:
    style, edits, _ = MET[OUTSIDE]
    keys = style.keys + "\nbears = []\n"
    found = verdict(tmp_path, Style(edited(style.source, edits), keys, style.python))
    assert (found.error, found.findings, found.exit_code) == ("", (), 0)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (0, ""),
        (7, "goes wrong below K = 9: numerics/wrong-values at M=17 N=33 K=1, which is not listed"),
        (3, "goes wrong above N = 64: numerics/wrong-values at M=17 N=65 K=9, which is not listed"),
        (10, "goes wrong at M=100 N=81 K=26, which is not listed: epilogue/out-of-bounds"),
    ],
)
def test_two_sizes_beside_those_of_the_manifest(tmp_path: Path, fault: int, says: str) -> None:
    """By the kernel's source: with one fault K = 1 goes wrong, with another N above 64, with one M * N above 8000.
    Where one extent alone is beyond what the kernel bears, it is named."""
    rows = 99 if fault == 10 else 40
    last = 80 if fault == 10 else 64
    path = tmp_path / "layoutprobe.toml"
    path.write_text(
        EDGES % (fault, f"sizes = [{{ M = {rows}, N = {last}, K = 25 }}, {{ M = 17, N = 33, K = 9 }}]")
    )
    (found,) = check(path, checks=["numerics", "memory"]).verdicts
    assert found.exit_code == 0
    assert [one for one in found.reservations if "not listed" in one] == ([says] if says else [])


@pytest.mark.parametrize(
    ("fault", "depths", "told"),
    [(0, (8, 24), ()), (11, (8, 24), ("others go wrong",)), (12, (9, 45), ("K=18 goes wrong",))],
)
def test_sizes_that_no_listed_one_is_like(
    tmp_path: Path, fault: int, depths: tuple[int, int], told: tuple[str, ...]
) -> None:
    """By the kernel's source: K that is no multiple of 8 goes wrong with one fault, and two passes of the loop over
    K with another: all listed sizes have 1 and 3 of them."""
    sizes = ", ".join(
        f"{{ M = {m}, N = {n}, K = {k} }}" for m, n, k in zip((40, 17), (64, 33), depths, strict=True)
    )
    path = tmp_path / "layoutprobe.toml"
    path.write_text(EDGES % (fault, f"sizes = [{sizes}]"))
    (found,) = check(path, checks=["numerics", "memory", "races"]).verdicts
    assert found.exit_code == (fault == 12)  # K = 18 lies between the listed ones
    assert len(found.reservations) == len(told), found.reservations
    assert all(words in one for words, one in zip(told, found.reservations, strict=True)), found.reservations


BY_LANES = """extern "C" __global__ void layer(const float* x, float* y, int N) {
  for (int i = threadIdx.x; i < N; i += 32) y[blockIdx.x * N + i] = 2 * x[blockIdx.x * N + i];
}
"""


@pytest.mark.parametrize(
    ("loop", "where", "told"),
    [
        ("for (int i = threadIdx.x; i < N; i += 32)", '["N <= 64"]', []),
        ("if (const int i = threadIdx.x; i < N)", '["N <= 64"]', ["N=64"]),
        ("if (const int i = threadIdx.x; i < N)", '["N <= 32"]', []),
        ("for (int i = threadIdx.x; i < N || i < 2; i += 32)", '["N >= 1"]', ["N=1"]),
    ],
    ids=["any", "one pass", "one pass, as it says", "two at least"],
)
def test_each_extent_is_tried_alone_at_its_ends(
    tmp_path: Path, loop: str, where: str, told: list[str]
) -> None:
    """The largest one is that of the manifest, where it states one."""
    source = HEAD + BY_LANES.replace("for (int i = threadIdx.x; i < N; i += 32)", loop)
    keys = _ROWS.format(x="f32", y="f32", more="").replace("N = 33", "N = 29") + f"\nwhere = {where}\n"
    found = verdict(
        tmp_path, Style(source, keys, 'def layer(inputs, sizes):\n    return {"y": 2 * inputs["x"]}\n')
    )
    beyond = [one for one in found.reservations if "not listed" in one]
    largest = told == ["N=64"]  # by what the manifest says
    assert (found.exit_code, len(beyond)) == (largest, len(told)), found
    assert all(size in one for size, one in zip(told, beyond, strict=True))


TWICE = """extern "C" __global__ void layer(const float* x, float* y, int N) {
  __shared__ float stage[2][64];
  const int t = threadIdx.x;
  float sum = 0;
  for (int product = 0; product < 2; ++product) {
    for (int step = 0; step * 64 < N; ++step) {
      const int at = step * 64 + t;
      stage[step & 1][t] = at < N ? x[blockIdx.x * N + at] : 0;
      __syncthreads();
      sum += stage[step & 1][t ^ 32];
    }
    __syncthreads();
  }
  for (int i = t; i < N; i += 64) y[blockIdx.x * N + i] = sum;
}
"""


TWICE_IN_PYTHON = """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"].reshape(sizes["M"], -1)
    t = np.arange(sizes["N"]) % 64 ^ 32
    return {"y": 2 * np.stack([x[:, at::64].sum(1) for at in t], 1)}
"""


@pytest.mark.parametrize(
    ("edits", "told"),
    [((), []), ((("    }\n    __syncthreads();\n", "    }\n"),), ["races/write-after-read"])],
    ids=["right", "no barrier between"],
)
def test_a_race_of_odd_numbers_of_steps_alone(
    tmp_path: Path, edits: tuple[tuple[str, str], ...], told: list[str]
) -> None:
    """Two steps take two stages, so that with an even number of them the next product begins with the other one."""
    keys = _ROWS.format(x="f32", y="f32", more="").replace("[32]", "[64]")
    keys = keys.replace("N = 20", "N = 100").replace("N = 33", "N = 200")
    found = verdict(
        tmp_path,
        Style(edited(HEAD + TWICE, edits), keys, TWICE_IN_PYTHON),
    )
    beyond = [one for one in found.reservations if "not listed" in one]
    assert (found.findings, len(beyond)) == ((), len(told)), found
    assert all(rule in one for rule, one in zip(told, beyond, strict=True))


def test_a_race_at_a_size_that_is_meant_is_a_finding(tmp_path: Path) -> None:
    keys = _ROWS.format(x="f32", y="f32", more="").replace("[32]", "[64]")
    keys = keys.replace("N = 20", "N = 100").replace("N = 33", "N = 251")
    source = edited(HEAD + TWICE, (("    }\n    __syncthreads();\n", "    }\n"),))
    found = verdict(tmp_path, Style(source, keys, TWICE_IN_PYTHON))
    (one,) = found.findings
    assert one.rule.id == "races/write-after-read"
    assert any("not listed, but like" in says for says in found.reservations)


IN_WAVES = """extern "C" __global__ void layer(const float* x, float* y, int N) {
  __shared__ float part[32];
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32, waves = blockDim.x / 32;
  float sum = 0;
  for (int i = threadIdx.x; i < N; i += blockDim.x) sum += x[blockIdx.x * N + i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor(sum, d);
  if (lane == 0) part[wave] = sum;
  __syncthreads();
  sum = lane < waves ? part[lane] : 0;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor(sum, d);
  sum = __shfl(sum, 0);
  for (int i = threadIdx.x; i < N; i += blockDim.x) y[blockIdx.x * N + i] = sum;
}
"""


@pytest.mark.parametrize(
    ("fault", "fixed", "told"),
    [(False, "", []), (True, "", ["block of 192"]), (True, '\nfixed = ["block"]', [])],
    ids=["right", "half of the waves first", "no other block"],
)
def test_another_block_where_the_kernel_asks_for_its_size(
    tmp_path: Path, fault: bool, fixed: str, told: list[str]
) -> None:
    """A tree that begins at half of the waves forgets one where their number is no power of two."""
    first, second = ("  for (int d = 16; d > 0; d /= 2) sum", "  for (int d = waves / 2; d > 0; d /= 2) sum")
    head, _, tail = IN_WAVES.rpartition(first)
    source = HEAD + head + (second if fault else first) + tail
    keys = _ROWS.format(x="f32", y="f32", more="").replace("[32]", "[128]").replace("N = 33", "N = 300")
    reference = (
        'def layer(inputs, sizes):\n    x = inputs["x"]\n    return {"y": 0 * x + x.sum(1, keepdims=True)}\n'
    )
    found = verdict(tmp_path, Style(source, keys + fixed, reference))
    beyond = [one for one in found.reservations if "which no size has" in one]
    assert (found.findings, len(beyond)) == ((), len(told)), found
    assert all(words in one for words, one in zip(told, beyond, strict=True))


def test_sizes_without_the_common_divisor_hold_where_nothing_races(tmp_path: Path) -> None:
    """A kernel without LDS is not asked about races: it bears any N, and needs no word about it."""
    keys = _ROWS.format(x="f32", y="f32", more="").replace("N = 20", "N = 24").replace("N = 33", "N = 40")
    style = Style(HEAD + BY_LANES, keys, 'def layer(inputs, sizes):\n    return {"y": 2 * inputs["x"]}\n')
    found = verdict(tmp_path, style)
    assert (found.findings, found.reservations) == ((), ()), found
