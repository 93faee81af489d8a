"""What a statement is offered of what its file does elsewhere, for what was forgotten in it."""

from __future__ import annotations

import pytest
from unit.test_offers import place

KERNEL = """\
struct Sizes { int rows, cols, depth; };
__device__ int slot(int row, int at) { return row * 8 + (at ^ (row & 7)); }
__device__ bool inside(int y, int x, Sizes p) { return y >= 0 && x < p.cols && y < p.rows; }
__global__ void fold(const float* a, float* c, const int* order, Sizes p, int share, int kept) {
  __shared__ float tile[256];
  const int lane = threadIdx.x & 31, wave = threadIdx.x >> 5;
  const int first = blockIdx.x * share, end = min(first + share, p.depth);
  const int row = blockIdx.y * 16 + wave * 4 + lane / 8, col = blockIdx.z * 8 + lane % 8;
  float sum = 0.0f;
  for (int k = first; k < end; ++k) {
    if (row < p.rows && k < p.depth) tile[slot(row, k % 8)] = a[(row + kept) * p.depth + order[k]];
    sum += tile[slot(lane / 4, lane % 8)] * (a[col * p.depth + order[k]] + a[min(kept, p.depth)]);
  }
  if (row >= p.rows || col >= p.cols) return;
  const int base = wave * 4 + blockIdx.y * 16;
  const int part = (lane >> 2) * 4 + wave;
  c[(row * p.cols + col) * 32 + part + base] = sum;
}
"""
EARLY = 600
"""They come behind what something speaks for."""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("a[row * p.depth", "a[(row + kept) * p.depth"),
        ("wave + lane / 8", "wave * 4 + lane / 8"),
        ("= wave * 4 + blockIdx.y;", "= wave * 4 + blockIdx.y * 16;"),
        ("a[col + order[k]]", "a[col * p.depth + order[k]]"),
    ],
)
def test_terms_and_factors(wrong: str, right: str) -> None:
    assert place(KERNEL, wrong, right) < EARLY


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("y >= 0 && x < p.cols", "y >= 0 && x < p.cols && y < p.rows"),
        ("row >= p.rows) return", "row >= p.rows || col >= p.cols) return"),
        ("if (row < p.rows) tile", "if (row < p.rows && k < p.depth) tile"),
    ],
)
def test_tests(wrong: str, right: str) -> None:
    assert place(KERNEL, wrong, right) < EARLY


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("end = first + share;", "end = min(first + share, p.depth);"),
        ("p.depth + k] +", "p.depth + order[k]] +"),
    ],
)
def test_calls_and_tables(wrong: str, right: str) -> None:
    assert place(KERNEL, wrong, right) < EARLY


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("row + kept * p.depth", "(row + kept) * p.depth"),
        ("lane >> 2 * 4", "(lane >> 2) * 4"),
        ("row * p.cols + col * 32", "(row * p.cols + col) * 32"),
    ],
)
def test_brackets_around_any_neighbours(wrong: str, right: str) -> None:
    assert place(KERNEL, wrong, right) < EARLY


def test_two_integers_of_one_expression_are_exchanged() -> None:
    assert place(KERNEL, "wave * 16 + blockIdx.y * 4", "blockIdx.y * 16 + wave * 4") < EARLY


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        (
            "__device__ int f(int id, int top) { return id < 0 ? -1 : id / top; }",
            "-1 : id;",
            "-1 : id / top;",
        ),
        (
            "__device__ int f(int i, int k, int w, int n) { int l = k * n + i; return l; }",
            "i * w + k",
            "k * n + i",
        ),
        ("__device__ int f(int tid, int i) { return (tid >> 4 & 3) * 4 + i; }", ">> 4 & 1)", ">> 4 & 3)"),
        (
            "__device__ float f(float* acc, int lane, int v) { const int half = lane >> 4;\n"
            "  const int row = half * 8 + v; return acc[v] * row; }",
            "2u * v + half",
            "half * 8 + v",
        ),
        (
            "__device__ float f(float* m, int i) { const float mu = m[i]; return mu; }",
            "const int mu",
            "const float mu",
        ),
        (
            "__device__ float f(float* m, int n) { const auto raw = [=](int i) { return m[i]; };\n"
            "  const auto scaled = compose(half, raw); float u = raw(1), w = scaled(1);\n"
            "  float t = scaled(0); return t + u + w; }",
            "t = raw(0)",
            "t = scaled(0)",
        ),
        ("__device__ int f(int r, int c) { return at(r, c + 1); }", "at(r, c) + CHUNK", "at(r, c + 1)"),
        (
            "__device__ float f(float* m, int n) { float out = 0; for (int k = 0; k < n; ++k) {\n"
            "  const auto [weight, shrink] = update(m[k]);\n  out *= shrink;\n  out += weight * m[k]; }\n"
            "  return out; }",
            "\n  out +=",
            "\n  out *= shrink;\n  out +=",
        ),
    ],
)
def test_what_strangers_mistook(text: str, wrong: str, right: str) -> None:
    assert place(text, wrong, right) < EARLY
