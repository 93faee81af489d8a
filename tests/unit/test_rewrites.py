"""Which changes a statement is offered: the right text is among the first ones for mistakes of many kinds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.codegen.expressions import Spot
from layoutprobe.codegen.rewrites import KINDS, offered, rewrites
from layoutprobe.codegen.statements import Source

KERNEL = """\
#include <hip/hip_runtime.h>
#define STRIDE 40
constexpr int TILE = 16;
constexpr float LOG2E = 1.44269504f;
struct Args { int H, W, C, R, S, stride, pad; };

__device__ int slot(int row, int chunk) { return row * 64 + ((chunk ^ (row & 3)) << 4); }

extern "C" __global__ void conv(const float* x, const float* w, float* y, const float* bias, Args a,
                                int M, int N, int K, int ldb, float scale) {
  __shared__ float xs[2][640];
  __shared__ float ws[2][640];
  const int tid = threadIdx.x, lane = tid & 31;
  const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
  const int p = lane / a.W, q = lane % a.W;
  const int h0 = p * a.stride - a.pad;
  const int w0 = q * a.stride - a.pad;
  float acc[8] = {};
  float largest = -INFINITY, total;
  const int steps = (K + TILE - 1) / TILE;
  for (int t = 0; t < steps; ++t) {
    const int cur = t & 1, d = t * TILE + lane;
    const int r = d / (a.C * a.S);
    const float old = largest;
    const int wave = tid / 32;
    if (m0 + lane < M && d < K) xs[cur ^ 1][lane * STRIDE] = x[h0 + (m0 + lane) * K + d];
    if (n0 + lane < N && d < K) ws[cur ^ 1][lane * STRIDE] = w[w0 + d * ldb + n0 + lane];
    __syncthreads();
    for (int i = wave; i < TILE * 4; i += 64) acc[i & 7] += xs[cur][slot(r, 0)] * scale;
    for (int i = wave; i < TILE * 4; i += 64) acc[i & 7] += ws[cur][slot(r, 1)] * scale;
    const float fix = exp2f((old - largest) * LOG2E);
    total = total * fix + acc[0];
    __syncthreads();
  }
  for (int v = 0; v < 8; ++v) {
    const int m = m0 + 2 * v + lane / 16, n = n0 + lane % 16;
    if (m < M && n < N) y[m * N + n] = fmaxf(acc[v] * scale, 0.0f) + bias[n] / sqrtf(total + 1e-5f);
  }
}
"""
MISTAKES = (
    ("m < M && n < N", "m < M"),
    ("d * ldb + n0", "d * N + n0"),
    ("a.C * a.S", "a.C * a.R"),
    ("n0 = blockIdx.x * TILE", "n0 = blockIdx.y * TILE"),
    ("2 * v + lane / 16", "v + 8 * (lane / 16)"),
    ("bias[n]", "bias[lane % 16]"),
    ("tid & 31", "tid & 15"),
    ("m < M && n < N", "m < M && n < M"),
    ("m < M && n < N", "m <= M && n < N"),
    ("m0 + lane < M && d < K", "m0 + lane < M"),
    ("n0 + lane < N && d < K", "n0 + lane < N"),
    ("ws[cur ^ 1]", "ws[cur]"),
    ("w0 = q * a.stride - a.pad", "w0 = q - a.pad"),
    ("q = lane % a.W", "q = lane % a.H"),
    ("(K + TILE - 1) / TILE", "K / TILE"),
    ("total * fix", "total"),
    ("(old - largest) * LOG2E", "(old - largest)"),
    ("(chunk ^ (row & 3)) << 4", "(chunk ^ ((row >> 1) & 3)) << 4"),
    ("i += 64) acc[i & 7] += ws", "i += 2 * 64) acc[i & 7] += ws"),
    ("fmaxf(acc[v] * scale, 0.0f) + bias[n]", "fmaxf(acc[v] * scale + bias[n], 0.0f)"),
    ("sqrtf(total + 1e-5f)", "sqrtf(total) + 1e-5f"),
    ("fmaxf(acc", "fminf(acc"),
    ("largest = -INFINITY", "largest = 0.0f"),
    ("h0 = p * a.stride", "h0 = p + a.stride"),
    ("slot(r, 1)", "slot(1, r)"),
    ("p = lane / a.W", "p = lane / a.W % a.H"),
)
"""What stands there, and what somebody wrote instead."""
FIRST = 100
"""So early the right text is offered."""


def spot_of(text: str, at: int) -> Spot:
    source = Source(text)
    index = next(i for i, token in enumerate(source.tokens) if token.end > at)
    return Spot(source, source.around(index), [source], ("M", "N", "K", "ldb"))


def words(text: str) -> tuple[str, ...]:
    return tuple(token.text for token in Source(text).tokens if token.text not in ("(", ")"))


@pytest.mark.parametrize(("right", "wrong"), MISTAKES)
def test_the_right_text_is_offered_early(right: str, wrong: str) -> None:
    assert KERNEL.count(right) == 1
    text = KERNEL.replace(right, wrong)
    place = KERNEL.index(right)
    common = (
        next(n for n in range(len(wrong)) if not right.startswith(wrong[: n + 1]))
        if wrong not in right
        else 0
    )
    found = [words(one.apply(text)) for one in offered(spot_of(text, place + common))]
    assert words(KERNEL) in found[:FIRST]


def test_the_same_mistake_in_two_statements_is_one_change() -> None:
    lines = "    s[(2 * v + hi) * L + l] = p0;\n    s[(2 * v + hi) * L + 16 + l] = p1;\n"
    text = f"void f(int v, int hi, int l, float* s) {{ for (;;) {{\n{lines}  }} }}"
    wrong = text.replace("2 * v + hi", "v + 8 * hi")
    found = [words(one.apply(wrong)) for one in offered(spot_of(wrong, wrong.index("s[")))]
    assert words(text) in found[:FIRST]


def spots(text: str) -> list[Spot]:
    source = Source(text)
    found, i = [], 0
    while i < len(source.tokens):
        within = source.around(i)
        found.append(Spot(source, within, [source], ("M", "N", "K")))
        i = max(within.stop, i) + 1
    return found


def test_what_is_offered_changes_the_function_it_is_for_and_nothing_else() -> None:
    for spot in spots(KERNEL):
        first, last = spot.function.start, min(spot.function.stop, len(spot.source.tokens) - 1)
        start, end = spot.source.tokens[first].start, spot.source.tokens[last].end
        found = offered(spot)
        assert [one.rank for one in found] == sorted(one.rank for one in found)
        assert len({one.apply(KERNEL) for one in found}) == len(found)
        for one in found:
            assert start - 40 <= one.start <= one.end <= end
            assert one.apply(KERNEL) != KERNEL
            assert one.kind in KINDS


WORDS = """a b K x y.z 1 0x3 2.0f 'c' "s" ( ) [ ] { } ; , < > << + - * / % & && ^ = += == ? : . -> :: if for return
int float const // /* */ # R"( template struct __syncthreads() asm"""
PIECES = st.lists(st.sampled_from([*WORDS.split(), "\\", "\n"]), max_size=80)


@given(PIECES)
def test_any_text_gives_changes_that_apply(pieces: list[str]) -> None:
    text = " ".join(pieces)
    for spot in spots(text)[:6]:
        for one in offered(spot):
            assert 0 <= one.start <= one.end <= len(text)
            assert one.apply(text) != text


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 20000,
        "{" * 20000,
        "({" * 9000 + ";",
        'R"x(' * 9000,
        '"\\' * 20000,
        "a<" * 20000,
        "x = " + "-" * 20000,
    ],
)
def test_hostile_text_ends(text: str) -> None:
    """In time that grows with its length, or within the bounds of a statement."""
    source = Source(text)
    spot = Spot(source, source.statement(1), [source])
    for kind in KINDS:
        assert len(rewrites(spot, kind)) < 1000


def test_directives_and_strings_are_no_statements() -> None:
    source = Source('int a;\n  #pragma unroll\n  b = R"m(;")m";  // c \\\n d;\n')
    assert [token.text for token in source.tokens] == ["int", "a", ";", "b", "=", 'R"m(;")m"', ";"]
