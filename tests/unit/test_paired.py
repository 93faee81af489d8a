"""What a statement is offered of words that go together in neighbours, and of what its types and macros have."""

from __future__ import annotations

import pytest
from unit.test_offers import EARLY, place
from unit.test_rewrites import spot_of, words

from layoutprobe.rewrites.registry import offered, rewrites
from layoutprobe.rewrites.spot import Spot
from layoutprobe.source.macros import macros

ARGMAX = """\
struct Best { float v; int i; };
struct Sum {
  static constexpr float unit = 0.0f;
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Peak {
  static constexpr float unit = -1e30f;
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
__device__ bool above(Best a, Best b) { return (a.v > b.v || (a.v == b.v && a.i < b.i)); }
__device__ void carry(Row* self, float value, int id) {
  self->sum = __shfl(value, 31, 32);
  self->last = __shfl(id, 31, 32);
}
__device__ float scan(float v, int lane) {
  for (int d = 1; d < 32; d <<= 1) {
    float t = __shfl_up(v, d, 32);
    if (lane >= d) v += t;
  }
  return v;
}
__global__ void argmax(const float* x, float* val, int* idx, Row* self, int n) {
  __shared__ float sv[256];
  __shared__ int si[256];
  const int t = threadIdx.x;
  const auto [wave, lane] = split<32>(t);
  Best b = {-FLT_MAX, n};
  float value = -FLT_MAX;
  for (int r = t; r < n; r += 256) b = better(b, x[r], r);
  sv[t] = b.v;
  si[t] = b.i;
  self->sum = 0.0f;
  self->last = n;
  const float total = reduce<Sum, 256>(b.v);
  const float norm = rsqrtf(total + 1e-5f);
  for (int d = 128; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d && above({sv[t + d], si[t + d]}, {sv[t], si[t]})) {
      sv[t] = sv[t + d];
      si[t] = si[t + d];
    }
  }
  if (t == 0) {
    val[0] = sv[0] * norm + value;
    idx[0] = si[0] + lane;
  }
}
"""


@pytest.mark.parametrize(
    ("left_out", "beside"),
    [
        ("\n      si[t] = si[t + d];", "sv[t] = sv[t + d];"),
        ("\n  self->last = __shfl(id, 31, 32);", "self->sum = __shfl(value"),
        ("\n    idx[0] = si[0] + lane;", "val[0] = sv[0]"),
    ],
)
def test_a_statement_that_goes_with_its_neighbour_is_offered(left_out: str, beside: str) -> None:
    text = ARGMAX.replace(" * norm + value", "").replace("si[0] + lane", "si[0]")
    left_out = left_out.replace(" + lane", "")
    mistaken = text.replace(left_out, "")
    assert mistaken != text
    spot = spot_of(mistaken, mistaken.index(beside))
    found = [words(one.apply(mistaken)) for one in offered(spot)]
    assert found.index(words(text)) < EARLY


def test_no_statement_is_offered_that_the_block_has() -> None:
    spot = spot_of(ARGMAX, ARGMAX.index("sv[t] = sv[t + d]"))
    assert not any("si[t] =" in one.text for one in rewrites(spot, "companions"))


@pytest.mark.parametrize("wrong", ["return a.v > b.v", "return a.v >= b.v"])
def test_the_first_of_equal_ones_is_offered(wrong: str) -> None:
    assert place(ARGMAX, wrong, "return (a.v > b.v || (a.v == b.v && a.i < b.i))") < EARLY


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("reduce<Peak, 256>", "reduce<Sum, 256>"),
        ("[lane, wave]", "[wave, lane]"),
        ("1.0f / (total + 1e-5f)", "rsqrtf(total + 1e-5f)"),
        ("int t = __shfl_up", "float t = __shfl_up"),
        ("float value = FLT_MIN", "float value = -FLT_MAX"),
    ],
)
def test_what_is_mistaken_for_its_like(wrong: str, right: str) -> None:
    assert place(ARGMAX, wrong, right) < EARLY


def test_a_sum_of_half_a_wave_may_be_meant() -> None:
    text = "__device__ float f(float v) { for (int d = 8; d; d >>= 1) v += __shfl_xor(v, d); return v; }"
    assert place(text, "d = 16", "d = 8") < EARLY


@pytest.mark.parametrize(
    ("body", "meant"), [("(x * y)", "((x) * (y))"), ("x * (y)", "(x) * (y)"), ("x * y", "(x * y)")]
)
def test_what_a_macro_is_given_is_offered_in_brackets(body: str, meant: str) -> None:
    text = f"#define PRODUCT(x, y) {body}\n"
    (macro,) = macros(text)
    spot = Spot(macro.body, macro.body.around(0), [macro.body], outer=(("x", ""), ("y", "")))
    assert text.replace(body, meant) in [one.apply(text) for one in rewrites(spot, "guarded")]


def test_a_statement_is_offered_behind_its_loop_with_what_is_asked_before_it() -> None:
    mistaken = """\
__global__ void f(const float* x, const float* bias, float* y, int n) {
  const int t = threadIdx.x;
  float sum = 0.f;
  for (int k = 0; k < n; ++k) {
    if (t < n) {
      sum += bias[t];
      sum += x[k];
    }
  }
  y[t] = sum;
}
"""
    right = mistaken.replace("      sum += bias[t];\n", "").replace(
        "  y[t]", "  if (t < n) sum += bias[t];\n  y[t]"
    )
    spot = spot_of(mistaken, mistaken.index("sum += bias"))
    assert words(right) in [words(one.apply(mistaken)) for one in offered(spot)][:EARLY]
    inside = spot_of(mistaken, mistaken.index("sum += x[k]"))  # nobody knows k behind the loop
    made = [" ".join(one.apply(mistaken).split()) for one in rewrites(inside, "moves")]
    assert made
    assert not any("sum += x[k]; y[t]" in one for one in made)


SPLIT = """\
__global__ void split(const unsigned char* x, const float* f, float* y, Shape p, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  const int head = threadIdx.x / 8, group = head >> p.shift;
  acc = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, acc, 0, 0, 0);
  const float diff = f[row] - f[col];
  const float* at = reinterpret_cast<const float*>(reinterpret_cast<const char*>(f) + row * p.bytes);
  if (head < p.heads) store(y, head, p.heads);
  else store(y, head - p.heads, p.others);
  if (row < n && col < n) y[row * n + col] = at[group] + (row == col ? diff : 0.0f);
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("threadIdx.y == threadIdx.x", "row == col"),
        ("head & MASK(p.shift)", "head >> p.shift"),
        ("f32_16x16x32_fp8_bf8(", "f32_16x16x32_fp8_fp8("),
        ("int diff", "float diff"),
        ("reinterpret_cast<const float*>(f)", "reinterpret_cast<const char*>(f)"),
        ("store(y, head, p.others)", "store(y, head - p.heads, p.others)"),
    ],
)
def test_what_is_taken_for_another_part_type_or_side(wrong: str, right: str) -> None:
    assert place(SPLIT, wrong, right) < EARLY
