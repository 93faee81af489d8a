"""What a statement is offered where it stands in the wrong place, or where a loop or sum should be as others are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.test_offers import EARLY, place
from unit.test_rewrites import spot_of, words

from layoutprobe.rewrites.registry import KINDS, offered, rewrites
from layoutprobe.rewrites.spot import Spot
from layoutprobe.source.macros import macros
from layoutprobe.source.statements import Source

PLACES = """\
#define ROWS 64
#define COLS 32
#define OUT_H 64
#define OUT_W 32
#define NT 256
struct Tile { static constexpr int IN_H = (OUT_H - 1) * 2 + 3; static constexpr int IN_W = (OUT_W - 1) * 2 + 3; };
struct Box { int h, w, oh, ow; };
struct Seg { int flag; float val; };
struct Sums {
  int id, len;
  float all;
  __device__ void open(int one) { id = one; len = 0; all = 0.f; }
};
__device__ Seg joined(Seg l, Seg r) { return Seg{l.flag | r.flag, r.flag ? r.val : l.val + r.val}; }
__device__ int chunk(int n, int carry) { return carry + n; }
__device__ float shift_up(float v, int by) { return __shfl_up(v, by); }
__device__ float whole(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down(v, d);
  return __shfl(v, 0);
}
__global__ void places(const float* x, const float* w, const float* b, float* y, Box g, int n, int rows, int cols,
                       unsigned drop) {
  __shared__ float scale[ROWS], tile[64][4], sums[8];
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32, half = lane / 16;
  const int row0 = blockIdx.y * 16, row = row0 + lane, i0 = lane % 16, first = lane * 4;
  x += row * n;
  w += row * cols;
  b += row * g.w;
  if (threadIdx.x < ROWS) scale[threadIdx.x] = x[lane];
  tile[lane][0] = w[lane];
  __syncthreads();
  if (row >= rows) return;
  const float mean = n > 0 ? x[0] / n : 0;
  float acc0 = 0.f, acc1 = 0.f;
  int total = 0, carry = 0;
  Sums run;
  scale[lane] = mean;
  for (int c = lane; c < cols; c += 32) {
    total += c;
    if (c < lane) acc0 += x[c];
  }
  acc1 += total;
  run.open(lane);
  for (int at = threadIdx.x; at < n; at += NT) sums[at] += 1.f;
  for (int at = lane; at < cols; at += 32) acc0 += w[at];
  for (int k = row0 + half; k < n; k += 16) acc1 += x[row0 + half * 2] + w[k];
  if (i0 < g.oh && lane < g.ow) y[i0] = acc0;
  const bool keep = drop >= unsigned(n);
  const int kept = rintf(acc0 * 2.f);
  carry = chunk(n, carry);
  const float below = shift_up(acc0, 1);
  if (lane >= 1) acc0 += below;
  y[(size_t)row * cols + lane] = acc1;
  y[row0 + i0 * 2 + 4 * wave + half] = x[row0 + i0 * 2 + lane];
  y[(row0 * 3 + lane) * g.w] = tile[2 * lane][0] + tile[2 * lane + 1][0];
  sums[blockIdx.y * gridDim.x + blockIdx.x] = keep + kept + carry;
  if (first < cols && i0 < cols) acc1 += 1.f;
  if (first + i0 < cols) y[first + i0] = acc0;
  const int other = i0 * 2 + 4 * wave + half;
  for (int at = threadIdx.x; at < rows; at += NT) sums[at] += other;
  const bool last = lane == n;
  const unsigned peers = __ballot(last);
  int counted = 0;
  counted += __popc(peers);
  const float best = fabsf(x[lane]);
  const float live = last ? 0 : x[n];
  y[(row0 * cols + lane) * n + i0] = at(counted + half, counted + half) + live + best + counted;
  const int step = gridDim.x * blockDim.x;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("IN_W = OUT_W * 2;", "IN_W = (OUT_W - 1) * 2 + 3;"),
        ("  if (row >= rows) return;\n  tile[lane][0] = w[lane];\n  __syncthreads();\n",
         "  tile[lane][0] = w[lane];\n  __syncthreads();\n  if (row >= rows) return;\n"),
        ("Seg{r.flag, r.flag ? r.val", "Seg{l.flag | r.flag, r.flag ? r.val"),
        ("  return v;\n}\n__global__", "  return __shfl(v, 0);\n}\n__global__"),
        ("  b += row;\n", "  b += row * g.w;\n"),
        ("  w += row * cols;\n  if", "  w += row * cols;\n  b += row * g.w;\n  if"),
        ("threadIdx.x < COLS) scale", "threadIdx.x < ROWS) scale"),
        ("mean = x[0] / n;", "mean = n > 0 ? x[0] / n : 0;"),
        ("  run.id = lane;", "  run.open(lane);"),
        ("(int at = lane; at < n; at += 32) sums", "(int at = threadIdx.x; at < n; at += NT) sums"),
        ("+ w[row0 + half];", "+ w[k];"),
        ("i0 < g.h && lane < g.w)", "i0 < g.oh && lane < g.ow)"),
        ("(int)drop >= (int)unsigned(n);", "drop >= unsigned(n);"),
        ("kept = (acc0 * 2.f + 0.5f);", "kept = rintf(acc0 * 2.f);"),
        ("  chunk(n, carry);", "  carry = chunk(n, carry);"),
        ("best = x[lane];", "best = fabsf(x[lane]);"),
        ("live = x[n];", "live = last ? 0 : x[n];"),
        ("counted += 1;", "counted += __popc(peers);"),
        ("y[(row0 * n + i0) * cols + lane]", "y[(row0 * cols + lane) * n + i0]"),
        ("at(half, half)", "at(counted + half, counted + half)"),
        ("  acc0 += below;", "  if (lane >= 1) acc0 += below;"),
        ("y[(size_t)lane * rows + row]", "y[(size_t)row * cols + lane]"),
        ("y[row0 + i0 * 2 + lane] = x", "y[row0 + i0 * 2 + 4 * wave + half] = x"),
        ("y[(row0 + lane) * 3 * g.w]", "y[(row0 * 3 + lane) * g.w]"),
        ("tile[lane][0] + tile[lane + 32][0]", "tile[2 * lane][0] + tile[2 * lane + 1][0]"),
        ("sums[blockIdx.x] =", "sums[blockIdx.y * gridDim.x + blockIdx.x] ="),
        ("  y[first + i0] = acc0;", "  if (first + i0 < cols) y[first + i0] = acc0;"),
        ("step = blockDim.x;", "step = gridDim.x * blockDim.x;"),
    ],
)  # fmt: skip
def test_what_stands_in_the_wrong_place_is_offered_early(wrong: str, right: str) -> None:
    assert place(PLACES, wrong, right) < 2 * EARLY


@pytest.mark.parametrize(
    ("wrong", "right", "moved"),
    [
        (
            "  for (int c = lane; c < cols; c += 32) {\n    scale[lane] = mean;\n",
            "  scale[lane] = mean;\n  for (int c = lane; c < cols; c += 32) {\n",
            "scale[lane] = mean;",
        ),
        (
            "    if (c < lane) acc0 += x[c];\n    acc1 += total;\n  }\n",
            "    if (c < lane) acc0 += x[c];\n  }\n  acc1 += total;\n",
            "acc1 += total;",
        ),
        (
            "  acc1 += total;\n  for (int c = lane; c < cols; c += 32) {\n    total",
            "  for (int c = lane; c < cols; c += 32) {\n    acc1 += total;\n    total",
            "acc1 += total;",
        ),
    ],
)
def test_a_statement_is_offered_in_the_blocks_beside_it(wrong: str, right: str, moved: str) -> None:
    text = PLACES if right in PLACES else PLACES.replace(right.replace(f"    {moved}\n", ""), right)
    mistaken = text.replace(right, wrong)
    spot = spot_of(mistaken, mistaken.index(moved))
    assert words(text) in [words(one.apply(mistaken)) for one in offered(spot)[:EARLY]]


ROWS = """\
#define MOST 16  // MOST: weights of a filter
#define BINS (MOST_BINS / 2 + 1)
#define MOST_BINS 128
__global__ void filters(const float* w, const float* x, float* y, int filters, int frames) {
  for (int m = threadIdx.x; m < filters; m += 32) {
    const int n = min(filters, frames);
    float sum = 0.f;
    for (int i = 0; i < n; ++i) sum += w[m * MOST + i] * x[i * BINS];
    y[m] = sum;
  }
}
"""


def test_a_constant_that_nothing_uses_is_the_length_of_a_row() -> None:
    assert place(ROWS, "w[m * n + i]", "w[m * MOST + i]") < 12
    kept = ROWS.replace("y[m] = sum;", "y[m % MOST] = sum;")
    assert place(kept, "w[m * n + i]", "w[m * MOST + i]") < 2 * EARLY


TEXT = Source(PLACES)


@given(st.integers(0, len(TEXT.tokens) - 2), st.sampled_from((1, 2, 3, 5, 8, 14, 30)))
def test_any_text_can_be_the_body_of_a_macro(first: int, words: int) -> None:
    """It may begin and end in the middle of a sentence: what is offered is less then, and no kind of it fails."""
    last = min(first + words, len(TEXT.tokens))
    text = f"#define ANY(x, y) {' '.join(token.text for token in TEXT.tokens[first:last])}\n"
    for one in macros(text):
        for within in one.body.statements(0, len(one.body.tokens)):
            spot = Spot(one.body, within, [one.body], outer=(("x", ""), ("y", "")))
            for kind in KINDS:
                for change in rewrites(spot, kind):
                    assert 0 <= change.start <= change.end <= len(text)


PAGED = """\
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define KSTEP 16
#define PAGE 4
__device__ int scaled(int x, int by, int n, int than, int m) { return x * by * n + than * m; }
template <int SEL>
__device__ void step(int* y, int t, int ctx, int seq) { y[t] = scaled(y[t], SEL, ctx, SEL, seq); }
__device__ int chunk_of(int K, int splits) { return CEIL_DIV(CEIL_DIV(K, splits), KSTEP) * KSTEP; }
__device__ void paged(const int* table, const int* lens, int* y, int heads, int max_pages) {
  const int seq = blockIdx.y, ctx = lens[seq];
  const int* pages = table + seq * max_pages;
  for (int t = threadIdx.x; t < ctx; t += 32) y[seq * heads + t] = pages[t / PAGE] + chunk_of(ctx, 8);
}
__device__ void meant(const float* x, float* y, int heads) {
  const int seq = blockIdx.y;
  float sum = 0;
  if (heads == 0) {
    y[seq] = 0;
    ;
  } else {
    for (int t = 0; t < heads; ++t) sum += x[t];
  }
  y[seq] = sum / (float)heads;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("seq * CEIL_DIV(ctx, PAGE);", "seq * max_pages;"),
        ("splits), 8) * 8;", "splits), KSTEP) * KSTEP;"),
        ("sum / (float)(KSTEP * PAGE);", "sum / (float)heads;"),
        ("return;\n  } else", ";\n  } else"),
        ("scaled(y[t], SEL, ctx, 0, seq)", "scaled(y[t], SEL, ctx, SEL, seq)"),
    ],
)
def test_what_the_kernel_is_handed_takes_the_place_of_what_it_computes(wrong: str, right: str) -> None:
    """And what rounds to a number is changed in both its places; a constant is taken where the call has it beside."""
    assert place(PAGED, wrong, right) < EARLY
