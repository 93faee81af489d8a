"""What a statement is offered of what the file, or a changed reference, has for it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from unit.test_offers import EARLY, place
from unit.test_rewrites import spot_of, words

from layoutprobe.rewrites.registry import offered

FILE = """\
#define SLOT(r, c) ((r) * 4 + ((c) ^ ((r) >> 1 & 3)))
#define PUT(v, r, c) y[(v) * 16 + (r) + (c)] = v;
struct Complex { float re, im; };
template <int N> struct Turn { static constexpr float sign = N; };
template <int TILES>
struct Sums {
  float of[TILES][8];
  __device__ void clear() { for (int t = 0; t < TILES; ++t) of[t][0] = 0.f; }
};
struct Strided {
  const float* base;
  int step;
  __device__ float operator[](int i) const { return base[i * step]; }
};
template <int DIR>
struct Fft {
  static constexpr float sign = DIR;
  __device__ static Complex quarter(Complex z) { return {-sign * z.im, sign * z.re}; }
};
struct Part { float count, mean; };
__device__ Part merged(const Part& one, const Part& two) {
  Part found = {};
  found.mean = one.count * two.count * one.mean;
  return found;
}
__device__ float chain(const float* x, int from, int end, int step) {
  float one = 0.f, two = 0.f;
  int i = from;
  for (; i + step < end; i += 2 * step) {
    one += x[i];
    two += x[i + step];
  }
  return one + two;
}
__global__ void filed(const float* x, Strided s, float* y, const int* lens, int rows, int T, int ch,
                      const unsigned char* bytes, Sums<1> pack) {
  __shared__ float tiles[576];
  __shared__ float cells[256];
  using Wave = Sums<4>;
  const int lane = threadIdx.x % 32, half = lane / 16, r = lane % 16, c = half + 1;
  const int len = lens[blockIdx.x], m0 = blockIdx.y * 16;
  const int padded = (len + 7) / 8 * 8;
  const int whole = (rows + ch - 1) / ch * ch;
  cells[SLOT(r, c)] = x[lane];
  Wave wave;
  for (int k = 0; k < rows; k += 16) {
    wave.clear();
    wave.of[0][0] += s[k + lane];
    const int stop = min(k + ch, len);
    for (int v = 0; v < 8; ++v) {
      const int m = m0 + half * 8 + v;
      if (m < rows) wave.of[1][v] += cells[SLOT(lane, c)] * x[m];
    }
    y[stop] = wave.of[0][0];
  }
  for (int v = 0; v < 8; ++v)
    if (m0 + half * 8 + v < rows) y[v] = wave.of[1][v];
  struct Pair { float v; int i; } pair = lane < rows ? Pair{x[lane], lane} : Pair{-INFINITY, lane};
  PUT(padded, 0, 16) PUT(whole, 16, 0);
  y[padded + whole] = pair.v;
  const float share = y[1], kept = 1.0f / (1.0f - share);
  const int m = half * 2, first = c * 4;
  int total = lens[lane % 3];
  tiles[c * 36 + r] = 2;
  tiles[r * 36 + c] = 1;
  if (m0 + m < rows) tiles[bytes[3] + m0 + m] = kept;
  if (m == len) total = 0;
  total += (signed char)bytes[c];
  y[m * 7 + lane % 7] = total;
  fold(pack, c);
  pack.of[0] = lens[0];
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("cells[r * 4 + (c ^ (r & 3))] =", "cells[SLOT(r, c)] ="),
        ("    wave.of[0][0] += s", "    wave.clear();\n    wave.of[0][0] += s"),
        ("+= s.base[k + lane]", "+= s[k + lane]"),
        ("{z.im, -z.re}", "{-sign * z.im, sign * z.re}"),
        ("i += step)", "i += 2 * step)"),
        ("min(k + ch, T)", "min(k + ch, len)"),
        ("rows / ch * ch + ch;", "(rows + ch - 1) / ch * ch;"),
        ("m = m0 + r;", "m = m0 + half * 8 + v;"),
        ("Pair{0.f, lane}", "Pair{-INFINITY, lane}"),
        ("tiles[r * 32 + c] = 1", "tiles[r * 36 + c] = 1"),
        ("= one.count * one.mean", "= one.count * two.count * one.mean"),
        ("total += bytes[c]", "total += (signed char)bytes[c]"),
        ("y[lane % 7]", "y[m * 7 + lane % 7]"),
        ("if (m < rows) tiles", "if (m0 + m < rows) tiles"),
        ("if (first + 1 == len)", "if (m == len)"),
        ("1.0f / share", "1.0f / (1.0f - share)"),
        ("  pack.of[0] = lens[0];\n  fold(pack, c);", "  fold(pack, c);\n  pack.of[0] = lens[0];"),
        ("PUT(whole, 0, 16) PUT(padded, 16, 0)", "PUT(padded, 0, 16) PUT(whole, 16, 0)"),
    ],
)
def test_what_the_file_has_for_it_is_offered_early(wrong: str, right: str) -> None:
    assert place(FILE, wrong, right) < EARLY


TOLD = """\
__global__ void told(const float* x, const float* w, float* y, int H, int HK, int n) {
  const int h = blockIdx.x, hk = h / (H / HK);
  float peak = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) peak = fmaxf(peak, fabsf(x[hk * n + i]));
  y[h] = peak;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        (
            "hk = h % HK;",
            "hk = h / (H / HK);",
            "y is what the reference gives with `head % HK` in place of `head // (H // HK)` (ref.py:3)",
        ),
        (
            "fmaxf(peak, x[hk * n + i])",
            "fmaxf(peak, fabsf(x[hk * n + i]))",
            "y is what the reference gives without `np.abs(...)` in `np.abs(x).max(1)` (ref.py:3)",
        ),
    ],
)
def test_what_a_changed_reference_says_is_offered_first(wrong: str, right: str, said: str) -> None:
    assert TOLD.count(right) == 1
    mistaken = TOLD.replace(right, wrong)
    found = offered(replace(spot_of(mistaken, TOLD.index(right)), said=said))
    assert words(TOLD) in [words(one.apply(mistaken)) for one in found[:24]]
