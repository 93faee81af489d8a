"""What a statement is offered, for mistakes that need more than its own words to mend."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from unit.test_rewrites import spot_of, words

from layoutprobe.rewrites.moving import moving
from layoutprobe.rewrites.registry import KINDS, offered, rewrites
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.rewrites.substitutes import substitutes
from layoutprobe.rewrites.wording import worded
from layoutprobe.source.macros import macros
from layoutprobe.source.statements import Source

EARLY = 64
"""How far in front the right text has to be among what a statement is offered."""


def place(text: str, wrong: str, right: str) -> int:
    """How many other changes of the statement with a wrong text come before the right one."""
    assert text.count(right) == 1, "the right text has the piece once"
    mistaken = text.replace(right, wrong)
    spot = spot_of(mistaken, text.index(right))
    meant = words(text)
    return next(n for n, one in enumerate(offered(spot)) if words(one.apply(mistaken)) == meant)


WALK = """\
struct Dims { int n, h, w, c; int oh, ow; };
struct Walk {
  int tiles_m, tiles_n, first_row;
  __device__ Walk(int m, int n, int from) : tiles_m(m / 16), tiles_n(n / 16), first_row(from) {}
  __device__ int row(int t) const { return first_row + t / tiles_n; }
  __device__ int back(int r, int height) const { return height - 1 - r; }
};
__device__ float silu(float v) { return v / (1.0f + expf(-v)); }
__device__ void rotate(float* to, const float* from, int first, int offset) {
  for (int i = 0; i < 8; ++i) to[i] = from[first + i + offset];
}
template <int SLOTS>
__device__ void strike(float* best, int lane, int idx) {
  if (lane == idx % 32) best[idx / 32] = -INFINITY;
}
__global__ void walk(const float* q, const float* scale, float* y, Dims p, int past, int rows, int cols) {
  const int lane = threadIdx.x % 32, quad = lane / 16;
  const int tiles_x = (p.ow + 3) / 4;
  const int tx = blockIdx.x % tiles_x;
  float keep[8], sum[2][4], den = 0.f, num = 0.f;
  for (int t = 0; t < 2; ++t)
    for (int v = 0; v < 4; ++v) sum[t][v] = 0.f;
  rotate(keep, q, tx * 16, past);
  float state = 0.f;
  for (int c = 0; c < p.c; c += 16) {
    state = state * scale[c] + q[c];
    for (int v = 0; v < 4; ++v) {
      const int row = tx * 16 + quad * 4 + v;
      sum[1][v] += keep[v] * scale[row];
    }
    const float f = exp2f(q[c]);
    den += f * keep[0];
    num += f * q[lane];
  }
  for (int v = 0; v < 4; ++v) {
    const int row = tx * 16 + quad * 4 + v;
    const int code = static_cast<int>(q[row]) - rows;
    if (row < p.h) y[row * p.ow + min(lane, cols - 1)] = sum[1][v] + code * num / den + state;
  }
}
"""


STENCIL = """\
#define HALF 4
template <typename T, int VDR, int QI>
__device__ T total(const T* x, int n) {
  T sum = 0;
  for (int i = threadIdx.y; i < n; i += blockDim.y) sum += x[i];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor(sum, d);
  float held = 0;
  if (n > 4) held = x[4];
  sum += __shfl(held, 3);
  const int first = threadIdx.x % (QI / VDR) * VDR;
  return sum + x[first];
}
__global__ void stencil(const float* x, float* y, unsigned long long* mask, int* count, int nx, int group) {
  __shared__ int seen[64];
  float u[2];
  for (int t = 0; t < nx; t += 16)
    for (int k = 0; k < 16; ++k) {
      const int i = t + k, g = (t + k) / group;
      u[0] = x[i];
      u[1] = x[i + HALF];
      y[i] = i + 1 < nx ? x[i + 1] * u[1] : x[k * 8];
      if (i < nx) atomicAdd(&seen[g], 1);
      const float slope = 0.25f;
      const int t = i + HALF - k, block = k * 8 / group, row = t * 16 + (k / 16) + 2 * i;
      count[k] = block + row + t + static_cast<int>(slope);
      count[i] = __popcll(mask[i]) + seen[u[0] > 0.0f];
    }
}
__global__ void scan(int* out, Block block, Warp warp) {
  __shared__ int base;
  for (int i = block.rank(); i < 99; i += block.size()) {
    if (block.rank() == block.size() - 1) base = warp.rank() + warp.size();
    if (i < 50) {
      out[i] = base;
    }
    __syncthreads();
  }
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("int sum = 0", "T sum = 0"),
        ("int d = 8", "int d = 16"),
        ("int held", "float held"),
        ("i += blockDim.x", "i += blockDim.y"),
        ("% (QI / VDR);", "% (QI / VDR) * VDR;"),
        ("g = t / group", "g = (t + k) / group"),
        ("u[1] = x[i]", "u[1] = x[i + HALF]"),
        ("? x[i - 1]", "? x[i + 1]"),
        ("seen[g]++", "atomicAdd(&seen[g], 1)"),
        ("__popc(", "__popcll("),
        ("int slope", "float slope"),
        ("i - HALF + k", "i + HALF - k"),
        ("block = k / group", "block = k * 8 / group"),
        ("(k / 16) * 8 + i", "(k / 16) + 2 * i"),
        ("block.rank() == warp.size()", "block.rank() == block.size()"),
    ],
)
def test_the_right_text_of_other_kernels_is_early(wrong: str, right: str) -> None:
    assert place(STENCIL, wrong, right) < EARLY


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("(p.w + 3)", "(p.ow + 3)"),
        ("tx * 16, 0)", "tx * 16, past)"),
        ("height - r;", "height - 1 - r;"),
        ("return t / tiles_n", "return first_row + t / tiles_n"),
        ("idx / 16) best", "idx % 32) best"),
        ("idx / SLOTS) best", "idx % 32) best"),
        ("sum[1][v] = keep", "sum[1][v] += keep"),
        ("den += keep[0]", "den += f * keep[0]"),
        ("min(lane, cols)", "min(lane, cols - 1)"),
        ("unsigned code", "int code"),
        ("return 1.0f / (1", "return v / (1"),
    ],
)
def test_the_right_text_is_early(wrong: str, right: str) -> None:
    text = WALK
    if wrong.startswith("return t"):  # a sum has no order
        text, right = WALK.replace(right, "return t / tiles_n + first_row"), "return t / tiles_n + first_row"
    assert place(text, wrong, right) < EARLY


def test_a_value_that_the_name_has_elsewhere_is_early() -> None:
    right = "const int row = tx * 16 + quad * 4 + v;\n      sum"
    assert place(WALK, right.replace("quad * 4 + v", "lane % 16"), right) < EARLY


def test_what_a_loop_declares_is_offered_before_it() -> None:
    right = "float state = 0.f;\n  for (int c = 0; c < p.c; c += 16) {"
    wrong = "for (int c = 0; c < p.c; c += 16) {\n    float state = 0.f;"
    mistaken = WALK.replace(right, wrong)
    spot = spot_of(mistaken, mistaken.index("float state"))
    assert words(WALK) in [words(one.apply(mistaken)) for one in offered(spot)][:EARLY]


def test_an_index_function_of_others_is_offered_for_a_plain_number() -> None:
    """It says by what the number is divided."""
    text = (
        "struct Tile {\n  static constexpr int CHUNKS = 4;\n  float4 cell[256];\n"
        "  static __device__ int slot(int row, int c) { return row * CHUNKS + (c ^ (row >> 1) % CHUNKS); }\n};\n"
        "__device__ void put(Tile& t, float4 v, int id) { t.cell[t.slot(id / t.CHUNKS, id % t.CHUNKS)] = v; }\n"
    )
    assert place(text, "t.cell[id] = v", "t.cell[t.slot(id / t.CHUNKS, id % t.CHUNKS)] = v") < EARLY


@pytest.mark.parametrize(
    ("head", "guard"),
    [
        ("__device__ void join(Part& p, Part o) {{\n{body}}}\n", "if (high == -INFINITY) return;"),
        (
            "__device__ float all(Part p, const Part* os, int n) {{\n  for (int i = 0; i < n; ++i) {{\n"
            "    Part o = os[i];\n{body}  }}\n  return p.sum;\n}}\n",
            "if (high == -INFINITY) continue;",
        ),
    ],
)
def test_two_that_are_empty_are_left_out(head: str, guard: str) -> None:
    """The difference of their maxima is NaN."""
    body = (
        "  const float high = fmaxf(p.peak, o.peak);\n  {}\n  p.sum = p.sum * expf(p.peak - high) + o.sum;\n"
    )
    part = "struct Part {\n  float peak = -INFINITY, sum = 0.0f;\n};\n"
    right, wrong = (part + head.format(body=body.format(text)) for text in (guard, ""))
    spot = spot_of(wrong, wrong.index("const float high"))
    assert words(right) in [words(one.apply(wrong)) for one in offered(spot)][:EARLY]


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        ("void f(float* y, const float* gate, const int* token, int row) { y[row] = gate[row]; }",
         "gate[token[row]]", "gate[row]"),
        ("void f(half4* q, half* x, int k, int n) { int c = k / 4; if (k + 3 < n) memcpy(q + c, x + k, 8); }",
         "k < n", "k + 3 < n"),
        ("template <int GROUP> void f(int id, int tm, int tn, int& m) {\n"
         "  int g = id / tn, first = g * GROUP, height = min(tm - first, GROUP);\n  m = first + id % height;\n}",
         "height = GROUP", "height = min(tm - first, GROUP)"),
    ],
    ids=["an element's index", "the last of four", "the last group"],
)  # fmt: skip
def test_what_something_else_in_the_function_speaks_for_is_early(text: str, wrong: str, right: str) -> None:
    assert place(text, wrong, right) < EARLY


def test_an_index_in_the_head_of_a_body_is_taken_for_no_element_of_it() -> None:
    """The statement around a lambda has indices that no statement of the function has."""
    text = "void f(float* y) {\n  each([&](float* out, int c) { out[c] = 0; }, y);\n  y[0] = 1;\n}\n"
    source = Source(text)
    for i in range(len(source.tokens)):
        assert rewrites(Spot(source, source.around(i), [source]), "subscripts") is not None


def test_every_kind_takes_what_is_asked_when_it_is_compiled() -> None:
    """`if constexpr (...)`: what is asked does not stand right behind the `if`."""
    text = "template <bool B> float f(float s) {\n  if constexpr (B) s = -s;\n  return s;\n}\n"
    spot = spot_of(text, text.index("s = -s"))
    found = [words(one.apply(text)) for kind in KINDS for one in rewrites(spot, kind)]
    assert words(text.replace("s = -s;", "s = -s; else s = {};")) in found
    assert words(text.replace("if constexpr (B) ", "")) in found


JOIN = """struct MD { float m, d; };
__device__ MD join(const MD a, const MD b) {
  const float m = fmaxf(a.m, b.m);
  return MD{m, a.d * __expf(a.m - m) + b.d * __expf(b.m - m)};
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fmaxf(a.m, b.m);", "fmaxf(a.m, b.m); if (m == -INFINITY) return a;"),
        (
            "__expf(a.m - m) + b.d * __expf(b.m - m)",
            "(a.m == -INFINITY ? 0.0f : __expf(a.m - m)) + b.d * (b.m == -INFINITY ? 0.0f : __expf(b.m - m))",
        ),
        ("__expf(b.m - m)", "(b.m == -INFINITY ? 0.0f : __expf(b.m - m))"),
    ],
    ids=["left early", "both parts", "one part"],
)
def test_of_two_that_are_empty_no_difference_is_taken(old: str, new: str) -> None:
    spot = spot_of(JOIN, JOIN.index(old))
    assert words(JOIN.replace(old, new)) in [words(one.apply(JOIN)) for one in rewrites(spot, "of_nothing")]


@pytest.mark.parametrize("right", ["(x - d) * scale", "x * scale - d * scale"])
def test_a_factor_that_one_term_has_is_offered_for_all(right: str) -> None:
    text = "float f(float x, float d, float scale) { return x * scale - d; }"
    spot = spot_of(text, text.index("return"))
    assert words(text.replace("x * scale - d", right)) in [
        words(one.apply(text)) for one in offered(spot)[:EARLY]
    ]


def test_a_head_of_a_loop_is_offered_no_real_number() -> None:
    text = "struct P { float m; int n; };\nvoid f(P p) { for (int o = 16; o > 0; o >>= 1) { g(p.m, p.n, o); } }\n"
    found = offered(spot_of(text, text.index("int o")))
    heads = [one.apply(text).partition("for (")[2].partition(") {")[0] for one in found]
    assert any("p.n" in one for one in heads)
    assert not any("p.m" in one for one in heads)


def test_a_barrier_is_offered_behind_the_block_of_a_branch() -> None:
    mistaken = STENCIL.replace("\n    __syncthreads();\n  }\n}", "\n  }\n}")
    spot = spot_of(mistaken, mistaken.index("if (i < 50)"))
    assert words(STENCIL) in [words(one.apply(mistaken)) for one in offered(spot)][:EARLY]


def test_a_bound_is_known_by_its_name() -> None:
    head = "__global__ void f(float* y, int row, int col, int endRow)"
    text = f"{head} {{ if (col < 8 && row < endRow) y[row * 8 + col] = 0; }}"
    assert place(text, "col < 8)", "col < 8 && row < endRow)") < EARLY


@pytest.mark.parametrize(
    "text",
    [
        "float f(float x) { return x > 0.f ? x + 1 : expf(x); }",
        "float f(float head, float heads) { return exp2f(-8.0f * (head + 1) / heads); }",
    ],
)
def test_a_step_of_the_reference_is_offered_on_one_branch_and_for_one_name(text: str) -> None:
    mistaken = text.replace("(head + 1)", "head").replace("x + 1", "x")
    spot = replace(spot_of(mistaken, mistaken.index("return")), steps=("+ 1",))
    assert words(text) in [words(one.apply(mistaken)) for one in rewrites(spot, "steps")]


@pytest.mark.parametrize("name", ["macros.cu", "conv.hip", "linear.hip"])
def test_every_kind_takes_every_statement(name: str) -> None:
    """Also those of macros, which begin and end anywhere."""
    text = (Path(__file__).parents[1] / "strangers" / name).read_text()
    source = Source(text)
    for one, outer in ((source, ()), *((m.body, tuple((p, "") for p in m.parameters)) for m in macros(text))):
        every = {one.around(i) for i in range(0, len(one.tokens), 7)} | {*one.statements(0, len(one.tokens))}
        for within in every:
            spot = Spot(one, within, [source], ("M", "N"), told=(32,), outer=outer, steps=("+ 1",))
            for kind in KINDS:
                assert all(change.kind == kind for change in rewrites(spot, kind))


def test_an_atomic_addition_takes_the_pointer_that_is_stored_through() -> None:
    text = "__global__ void f(float* y, float v) { float* at = y + threadIdx.x; atomicAdd(at, v); }\n"
    assert place(text, "*at += v;", "atomicAdd(at, v);") < EARLY


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("sync(); store(a);", "store(a); sync();", "with `sync();` behind `store(a);`"),
        ("store(a); sync();", "sync(); store(a);", "with `sync();` before `store(a);`"),
        ("for (;;) { int h = 0;", "int h = 0; for (;;) {", "with `int h = 0;` before `for (;;) {`"),
    ],
)
def test_a_statement_that_is_moved_is_told_as_that(old: str, new: str, says: str) -> None:
    text = f"void f(int a) {{ {old} }}"
    start = text.index(old)
    assert worded(text, Rewrite(start, start + len(old), new, "moved")).says == says


@pytest.mark.parametrize(
    ("old", "was", "now"),
    [("e + tile::K <= n; e += tile::K", "tile::K", "count"), ("max(v.x, max(v.y, v.z))", "v", "a")],
)
def test_what_is_another_name_everywhere_is_told_once(old: str, was: str, now: str) -> None:
    text, new = f"void f(int e) {{ g({old}); }}", re.sub(rf"\b{was}\b", now, old)
    start = text.index(old)
    says = worded(text, Rewrite(start, start + len(old), new, "names")).says
    assert says == f"with `{now}` in place of every `{was}`"


HISTOGRAM = """\
struct Group { const int* perm; const float* act; int hidden, first; };
struct Tile {
  float* base;
  __device__ static int place(int row, int chunk) { return row * 32 + (chunk ^ (row & 7)) * 4; }
  __device__ float4 read(int row, int chunk) const { return *(const float4*)(base + place(row, chunk)); }
};
__device__ int bin_of(unsigned char code) { return code >> 3; }
__device__ void merge(float* z, float value, float old_top, float top) {
  z[1] += old_top;
}
__global__ void f(const float* A, float* C, Group g, const int* list, int code, int lda, int ldc, int depth,
                  int splits) {
  __shared__ float part[4], tops[4];
  const int lane = threadIdx.x % 32, wave = threadIdx.x >> 5, share = depth / splits;
  const int kb = blockIdx.z * share;
  const int ke = kb + share < depth ? kb + share : depth;
  const int t = blockIdx.x, row = lane / 4, tile = t - row * (row + 1) / 2;
  float sum = 0, top = -INFINITY, all = 0, m = 0, n = 0;
  for (int k = kb; k < ke; ++k) m = fmaxf(m, tops[k]);
  m += erff(m * 0.7071067811865476f) + gather(g, list[code]) + gather(g, code);
  constexpr int stages = 3;
  if (row >= lda || t >= ldc) return;
  m += two(__shfl_xor(g.first, lane), __shfl_xor(g.hidden, lane)) + stages;
  for (int i = 0; i < 3; ++i) n += A[t * 3 + i];
  for (int j = 0; j < 3; ++j) n += A[row + 3 - 1 - j];
  fetch(part[0], 0);
  if (depth > 1) fetch(part[1], 1);
  HALVING(d, 32) sum += __shfl_xor(sum, d, 64);
  all += part[0] + part[1];
  top = fmaxf(fmaxf(top, tops[0]), tops[1]);
  sum *= __expf(m - n);
  sum += __expf(A[lane] - n);
  const float corr = expf(m), inv = 1.0f / __shfl(n, row + 4, 64);
  const float c = __shfl(corr, row + 4, 64);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) C[i * 3 + j] = A[(t * 3 + i) * 3 + j];
  C[blockIdx.x * ldc + tile] = A[blockIdx.x * lda + g.perm[g.first + t]] + sum + top + all;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("unsigned char code", "unsigned char code"),
        ("threadIdx.x >> 6", "threadIdx.x >> 5"),
        ("row * (row - 1)", "row * (row + 1)"),
        ("ke = kb + share;", "ke = kb + share < depth ? kb + share : depth;"),
        ("base + row * 32 + chunk * 4)", "base + place(row, chunk))"),
        ("A[(t * 3 + j) * 3 + i]", "A[(t * 3 + i) * 3 + j]"),
        ("blockIdx.x * lda + tile", "blockIdx.x * ldc + tile"),
        ("float c = corr;", "float c = __shfl(corr, row + 4, 64);"),
        ("if (row >= lda && t >= ldc)", "if (row >= lda || t >= ldc)"),
        ("A[t * 3 + 3 - 1 - i]", "A[t * 3 + i]"),
        ("A[row + j]", "A[row + 3 - 1 - j]"),
        (
            "two(__shfl_xor(g.first, lane), g.hidden)",
            "two(__shfl_xor(g.first, lane), __shfl_xor(g.hidden, lane))",
        ),
        ("stages = 2;", "stages = 3;"),
        ("fetch(part[1], 0)", "fetch(part[1], 1)"),
        ("gather(g, code)", "gather(g, list[code])"),
        ("gather(g, list[code])", "gather(g, code)"),
        ("erff(m * 0.7978845608028654f)", "erff(m * 0.7071067811865476f)"),
        ("HALVING(d, 16)", "HALVING(d, 32)"),
        ("lda + (g.first + t)]", "lda + g.perm[g.first + t]]"),
    ],
)
def test_what_others_than_the_authors_mistook_is_offered(wrong: str, right: str) -> None:
    wrong = wrong.replace("unsigned char", "signed char")
    spot_scalars = ("depth", "lda", "ldc", "splits")
    mistaken = HISTOGRAM.replace(right, wrong)
    assert mistaken != HISTOGRAM
    spot = replace(spot_of(mistaken, mistaken.index(wrong)), scalars=spot_scalars)
    found = [words(one.apply(mistaken)) for one in offered(spot)]
    assert found.index(words(HISTOGRAM)) < EARLY


@pytest.mark.parametrize(
    ("left_out", "beside"),
    [
        ("  sum *= __expf(m - n);\n", "sum += __expf"),
        ("  top = fmaxf(fmaxf(top, tops[0]), tops[1]);\n", "all += part"),
    ],
)
def test_a_statement_that_others_speak_for_is_offered(left_out: str, beside: str) -> None:
    mistaken = HISTOGRAM.replace(left_out, "")
    spot = spot_of(mistaken, mistaken.index(beside))
    found = [words(one.apply(mistaken)) for one in offered(spot)]
    assert found.index(words(HISTOGRAM)) < EARLY


def test_an_index_less_one_is_in_brackets_where_it_binds_less() -> None:
    text = "void f(const float* x, int t) { g(x[t >> 6]); }"
    found = {one.apply(text) for one in rewrites(spot_of(text, text.index("g(x")), "ones")}
    assert "void f(const float* x, int t) { g(x[(t >> 6) - 1]); }" in found
    assert not any("6 - 1" in one for one in found)


PITCHES = """\
#define STRIPS 8
#define WINDOW (4 * STRIPS + 5)
struct Shape { int heads, kv_heads; };
__device__ int ceil_div(int a, int b) { return (a + b - 1) / b; }
__global__ void pitches(const double* x, double* y, const float* r, float* to, Shape p, int n, int k, int slices) {
  double sum = 0;
  const int share = ceil_div(ceil_div(k, slices), 32) * 32;
  const int shared_head = threadIdx.x / (p.heads / p.kv_heads);
  for (int j = threadIdx.x; j + STRIPS < n; j += 2 * STRIPS) {
    const double kept = x[j];
    sum += kept + y[STRIPS * 2] * x[j + STRIPS];
  }
  for (int v = 0; v < 8; ++v, to += 2 * n, r += 2 * n) *to = *r + share + shared_head;
  for (int at = 0; at < k; at += 32) {
    if (at + 32 < k) __syncthreads();
  }
  const int padded = (n + 15) & ~15, phase = (n * k) % slices;
  for (int at = threadIdx.x; at < WINDOW; at += 64) y[at] = padded + phase;
  y[0] = sum;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("padded = n & ~15", "padded = (n + 15) & ~15"),
        ("(n * k) & (slices - 1)", "(n * k) % slices"),
        ("at < STRIPS * 4;", "at < WINDOW;"),
        ("x[j + 1]", "x[j + STRIPS]"),
        ("float kept", "double kept"),
        ("= ceil_div(k, slices) / 32 * 32", "= ceil_div(ceil_div(k, slices), 32) * 32"),
        ("threadIdx.x / p.kv_heads;", "threadIdx.x / (p.heads / p.kv_heads);"),
        ("to += 2 * n) *to", "to += 2 * n, r += 2 * n) *to"),
        ("if (at + 2 * 32 <= k)", "if (at + 32 < k)"),
    ],
)
def test_steps_ratios_and_types_are_offered_early(wrong: str, right: str) -> None:
    assert place(PITCHES, wrong, right) < EARLY


EDGES = """\
#define TILE 32
__global__ void edges(const float* x, float* y, const int* lengths, int rows, int cols, int k) {
  __shared__ float part[4][TILE][TILE + 1];
  const int n0 = blockIdx.x * TILE, m0 = blockIdx.y * TILE, lane = threadIdx.x & 31, wave = threadIdx.x >> 5;
  const int length = min(lengths[m0 / TILE], cols);
  const int shared = (m0 + lane) / 32;
  float acc[16];
  for (int i = 0; i < 16; ++i) acc[i] = 0.0f;
  auto padded = [rows](const float* src, int i, int j) { return i < rows && j < rows ? src[i * rows + j] : 0.f; };
  for (int k0 = 0; k0 < k; k0 += TILE) {
    if (k0 + TILE < k) acc[0] += padded(x, k0, lane);
    if (m0 + lane < rows && k0 + wave * 16 < k) acc[1] += x[(m0 + lane) * k + k0 + wave * 16];
    if (k0 > m0 + 15 + wave) return;
    for (int v = 0; v < 8; ++v) part[wave][v * 4 + lane][m0 * 16 + 2 * v + wave] = acc[v];
  }
  if (lane < cols) y[lane] = length + shared;
  y[1] = dot(x + m0 * k, x + lane * k, 1, k);
  if (n0 + 16 + lane < cols) y[n0 + 16 + lane] = part[wave][0][0];
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("k0 + 2 * TILE <= k", "k0 + TILE < k"),
        ("if (lane < length)", "if (lane < cols)"),
        ("if (n0 + lane < cols", "if (n0 + 16 + lane < cols"),
        ("shared = m0 / 32", "shared = (m0 + lane) / 32"),
        ("x + lane, k, k)", "x + lane * k, 1, k)"),
        ("n0 = blockIdx.y * TILE, m0 = blockIdx.x * TILE", "n0 = blockIdx.x * TILE, m0 = blockIdx.y * TILE"),
    ],
)
def test_what_a_test_guards_is_offered_for_what_it_asks(wrong: str, right: str) -> None:
    assert place(EDGES, wrong, right) < EARLY


@pytest.mark.parametrize(
    ("wrong", "right", "most"),
    [
        ("if (m0 + lane < rows) acc[1]", "if (m0 + lane < rows && k0 + wave * 16 < k) acc[1]", 215),
        ("i < rows ?", "i < rows && j < rows ?", 260),
        ("[v * 4 + 2 * v + wave][m0 * 16 + lane]", "[v * 4 + lane][m0 * 16 + 2 * v + wave]", 114),
    ],
)
def test_what_an_index_ends_with_is_asked_and_exchanged(wrong: str, right: str, most: int) -> None:
    assert place(EDGES, wrong, right) < most


def test_the_last_row_of_a_tile_is_offered_for_the_first() -> None:
    text = EDGES.replace("m0 + 15 + wave", "m0 + wave")
    spot = spot_of(text, text.index("if (k0 > m0"))
    assert any(one.apply(text).count("k0 > m0 + wave + 15)") for one in offered(spot)[:EARLY])


def test_captures_and_parameters_of_a_lambda_are_left_alone() -> None:
    """With another one nothing in its body compiles, and a program of many changes loses all of it."""
    spot = spot_of(EDGES, EDGES.index("auto padded"))
    head = range(EDGES.index("[rows](const"), EDGES.index(" { return i < rows"))
    assert not [one for one in offered(spot) if head.start <= one.start <= head.stop and one.end > head.start]


def test_what_follows_a_declaration_is_done_again_where_a_loop_begins_anew() -> None:
    text = EDGES.replace(
        "for (int v = 0; v < 8; ++v) part", "for (int v = 0; v < 8; ++v) { acc[v] += x[v]; } part"
    )
    spot = spot_of(text, text.index("acc[v] += x[v]"))
    made = list(rewrites(spot, "resets"))
    assert any("for (int i = 0; i < 16; ++i) acc[i] = 0.0f;" in one.text for one in made)


WARPS = """\
struct Cfg { static constexpr int WM = 64, WN = 32, BM = 128, BN = 64, LD = 40, WAVES_M = 2, WAVES_N = 2; };
__global__ void warps(float* y) {
  const int wave = threadIdx.x / 32;
  const int wm = (wave / Cfg::WAVES_N) * Cfg::WM;
  const int wn = (wave % Cfg::WAVES_N) * Cfg::WN;
  y[threadIdx.x] = wm + wn;
}
"""


def test_the_axis_of_most_names_of_a_statement_is_meant() -> None:
    assert place(WARPS, "WAVES_N) * Cfg::WM;\n  y", "WAVES_N) * Cfg::WN;\n  y") < 3


PIECES = """\
#define LOWORD(x) ((x) & 0xffffu)
#define HIWORD(x) ((x) >> 16)
__device__ float max_of_row(float x) { return fmaxf(x, __shfl_xor(x, 1)); }
__device__ float sum_of_row(float x) { return x + __shfl_xor(x, 1); }
__global__ void pieces(const unsigned* x, const float* s, float* y, int acc, int mult, int n) {
  const unsigned word = x[threadIdx.x];
  const float high = HIWORD(word) * s[0];
  const long product = ((long)acc * mult);
  float top = s[0];
  for (int i = 0; i < n; ++i)
    top = fmaxf(top, s[i]);
  top = max_of_row(top);
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += s[i] - top;
  sum = sum_of_row(sum);
  y[threadIdx.x] = high + product + sum;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("high = LOWORD(word)", "high = HIWORD(word)"),
        ("product = (long)(acc * mult)", "product = ((long)acc * mult)"),
    ],
)
def test_the_other_macro_and_the_type_of_a_factor_are_offered_early(wrong: str, right: str) -> None:
    assert place(PIECES, wrong, right) < EARLY


def test_a_function_that_nobody_calls_is_called_behind_the_loop() -> None:
    text = PIECES.replace("  top = max_of_row(top);\n", "")
    spot = spot_of(text, text.index("top = fmaxf(top"))
    meant = words(PIECES)
    assert any(words(one.apply(text)) == meant for one in offered(spot)[:EARLY])
    assert not [
        one
        for one in rewrites(spot_of(PIECES, PIECES.index("top = fmaxf(top")), "omitted")
        if "max_of" in one.text
    ]


GIVEN = """\
#define LANES 32
#define KEY_MAX 0xffffffffu
typedef long long i64;
struct Dims { int tk, tq, groups, h, w, oh, ow; };
template <class T> struct Cell {
  T value;
  int step;
  __device__ int twice(int n) const { return n * step; }
};
struct Sum {
  unsigned key;
  float sum;
  __device__ Sum(unsigned at, float from) : key(at), sum(from) {}
  __device__ void add(float x) { sum += x; }
  __device__ void open(unsigned at) { key = at, sum = 0.0f; }
  __device__ void flush(float* to, int n) { if (key < n) to[key] = sum; }
};
struct Turned { float lo, hi; };
__device__ Turned turned(float a, float b, float c) { return {a * c - b, b * c + a}; }
__device__ int thrice(int n) { return n * 3; }
template <bool Wide> __device__ int half(int n) { return Wide ? n / 4 : n / 2; }
__global__ void given(const int* ptr, float* q, float* y, i64* sums, unsigned* keys, int base, int m, int n, Dims p) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
  const int older = p.tk - p.tq, x0 = ptr[3] * lane, x1 = ptr[4] * lane;
  float raw[4], biased[4], sum;
  const int j = ptr[row] - base + lane;
  const int je = ptr[row + 1] - base;
  for (int i = 0; i < 4; ++i) biased[i] = (raw[i] = q[i]) + y[i];
  sum = raw[1];
  for (int d = LANES / 2; d > 0; d >>= 1) sum += __shfl_down(sum, d, LANES);
  const i64 own = (i64)x0 + x1;
  keys[lane] = lane < n ? thrice(lane) : KEY_MAX;
  if (lane <= row + older && row < m && lane + (je) < n) sums[row] = own + j;
  const float was = q[lane];
  q[lane] = turned(was, q[lane + 32], sum).lo;
  q[lane + 32] = turned(was, q[lane + 32], sum).hi;
  const bool live = lane < p.oh * p.ow && lane % (p.oh * p.ow) > p.h * p.w;
  const float top = live ? raw[2] : -INFINITY;
  const float low = live ? -INFINITY : top;
  const float share = (top > 0 ? raw[0] / top : 0);
  float scaled[4], first = low * share, second = 0.0f;
  for (int i = 0; i < 4; ++i) {
    const float x = y[i];
    scaled[i] = x * biased[i];
    first += x;
    second += scaled[i] * q[i];
  }
  Sum run(lane, first + second);
  for (int i = 0; i < n; ++i) {
    if (keys[i] != run.key) {
      run.flush(y, n);
      run.open(keys[i]);
    }
    run.add(q[i]);
  }
  run.flush(y, n);
  const int blocks = (n + 15) / 16;
  for (int blk = 0; blk < blocks; ++blk) y[row * blocks + blk] *= q[n0(row) * gridDim.x];
  for (int c = 0; c < n; c += 8) {
    y[c] = 0.0f;
    for (int i = 0; i < 8; ++i) y[c] += q[c + i];
  }
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("ptr[row + 1]", "ptr[row + 1] - base"),
        ("biased[1]", "raw[1]"),
        ("LANES / 4", "LANES / 2"),
        ("own = x0 + x1", "own = (i64)x0 + x1"),
        ("row / 8 * 8 < m && lane", "row < m && lane"),
        ("row * gridDim.x + blk", "row * blocks + blk"),
        ("lane % (p.h * p.w)", "lane % (p.oh * p.ow)"),
        ("live ? 0.0f : top", "live ? -INFINITY : top"),
        ("second += x * q[i]", "second += scaled[i] * q[i]"),
        ("share = raw[0] / top", "share = (top > 0 ? raw[0] / top : 0)"),
        ("thrice(lane) : 0x7fffffffu", "thrice(lane) : KEY_MAX"),
        ("row < n && lane + (je) < m", "row < m && lane + (je) < n"),
    ],
)
def test_what_stands_beside_and_what_is_declared_beside_is_offered(wrong: str, right: str) -> None:
    assert place(GIVEN, wrong, right) < EARLY


def test_a_step_of_the_reference_is_told_in_names_of_the_kernel() -> None:
    text = GIVEN.replace("row + older", "row")
    spot = replace(spot_of(text, text.index("if (lane <= row")), steps=("+ tk - tq",))
    assert [one for one in rewrites(spot, "steps") if "lane <= row + older &&" in one.apply(text)]


def test_the_value_that_a_statement_has_spoilt_is_kept_for_the_next_one() -> None:
    text = GIVEN.replace("  const float was = q[lane];\n", "").replace("turned(was,", "turned(q[lane],")
    spot = spot_of(text, text.index("q[lane] = turned"))
    made = " ".join(next(one for one in rewrites(spot, "orders") if "_before" in one.text).text.split())
    assert made.startswith(
        "const auto q_lane_before = q[lane]; q[lane] = turned(q[lane], q[lane + 32], sum).lo;"
    )
    assert made.endswith("q[lane + 32] = turned(q_lane_before, q[lane + 32], sum).hi")


def test_what_is_done_before_a_loop_is_offered_at_its_beginning() -> None:
    text = GIVEN.replace("    y[c] = 0.0f;\n", "").replace(
        "  for (int c = 0", "  y[0] = 0.0f;\n  for (int c = 0"
    )
    spot = spot_of(text, text.index("y[0] = 0.0f"))
    made = [" ".join(one.apply(text).split()) for one in rewrites(spot, "moves")]
    assert any("for (int c = 0; c < n; c += 8) { y[0] = 0.0f; for" in one for one in made)


@pytest.mark.parametrize("at", ["const int j =", "if (lane <= row", "sum = raw[1]", "keys[lane] ="])
def test_nothing_is_offered_that_another_template_or_structure_knows(at: str) -> None:
    """Nor a type as a value, a kernel as a function, another parity of a constant, or a root of a number."""
    spot = spot_of(GIVEN, GIVEN.index(at))
    texts = [one.text for one in offered(spot)]
    assert texts
    for name in ("T", "Wide", "twice", "step", "given"):
        assert not [text for text in texts if re.search(rf"(?<![\w.]){name}\b", text)], name
    assert not [text for text in texts if re.search(r"[-+*/%<&|] *(?:float|Dims|Turned|i64)\s*$", text)]
    assert not [text for text in texts if "sqrtf(3" in text or "sqrtf(1" in text or "LANES ^" in text]


def test_what_a_loop_does_for_each_part_is_offered_behind_it_for_the_last() -> None:
    """Also where the function ends there."""
    text = GIVEN.replace("  }\n  run.flush(y, n);\n", "  }\n}\n__device__ void next() {\n")
    spot = spot_of(text, text.index("run.flush(y, n);"))
    made = [" ".join(one.apply(text).split()) for one in rewrites(spot, "moves")]
    assert any("run.add(q[i]); } run.flush(y, n);" in one for one in made)


BETWEEN = """\
#define ROWS 16
#define WAVES 4
typedef unsigned short u16;
__device__ u16 to_bf16(float x) { return (u16)(__float_as_uint(x) >> 16); }
__global__ void between(
    const signed char* x, const float* z, float* y, u16* out, int* load, int* ids, int w, int older) {
  __shared__ int counts[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) counts[i] = 0;
  const int lane = threadIdx.x % 32, first = blockIdx.x * (ROWS * WAVES);
  int v = lane, carry = 0;
  for (int d = 1; d < 32; d *= 2) {
    const int up = __shfl_up(v, d);
    if (lane >= d) v += up;
  }
  const int end = min(w, first + ROWS * WAVES);
  const int newest = lane + older;
  const int last = min(w, lane + 1 + older);
  unsigned long long packed = 0;
  for (int i = 0; i < 8; ++i) packed |= (unsigned long long)(unsigned char)x[i] << (8 * i);
  const bool inside = (unsigned)newest < (unsigned)w;
  const bool ahead = newest < 0 || newest >= w;
  const int tap = lane / 4 * older + first - 1;
  const int chunk = newest / 8 ^ older;
  const int spot = chunk * 8 + newest % 8;
  const int base = tap * ROWS * 16 + lane * 16 * ROWS;
  const int turned = ((chunk + (tap >> 1)) & 3);
  const float held = fminf(fmaxf(z[spot + base + turned], -128.f), 127.f);
  for (int c = 0; c < 8; c += 2) carry += c;
  const int line = tap / w, column = tap % w;
  const bool also = (unsigned)last < (unsigned)end;
  const float low = z[0], high = z[1], low1 = z[2], low2 = z[3], high1 = z[4], high2 = z[5];
  const int owned = base + first * 4 + (turned);
  y[0] = low - high;
  y[1] = low + high;
  y[2] = low2 * high1;
  const auto sum = fold(low, [](float a, float b) { return a + b; });
  const float most = fmaxf(fabsf(low), fabsf(high));
  out[lane] = to_bf16(most * sum);
  for (int j = 0; j < 4; ++j) {
    const int e = j * 32 + lane;
    const int rank = counts[e];
    ids[rank + first] = e;
    counts[e] = rank + 1;
  }
  for (int e = lane; e < w; e += 32)
    if (counts[e] > 0) atomicAdd(&load[e], counts[e]);
  carry += inside && also ? (int)packed : end;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("    v += up;", "    if (lane >= d) v += up;"),
        ("first + ROWS);", "first + ROWS * WAVES);"),
        ("min(w, lane + 1);", "min(w, lane + 1 + older);"),
        ("(unsigned long long)x[i]", "(unsigned long long)(unsigned char)x[i]"),
        ("inside = newest < w;", "inside = (unsigned)newest < (unsigned)w;"),
        ("chunk * 8;", "chunk * 8 + newest % 8;"),
        ("+ lane * 16;", "+ lane * 16 * ROWS;"),
        ("(chunk + ((tap >> 1) & 3))", "((chunk + (tap >> 1)) & 3)"),
        ("0.f), 255.f)", "-128.f), 127.f)"),
        ("c < 8; ++c)", "c < 8; c += 2)"),
        ("tap / older, column", "tap / w, column"),
        ("ahead = newest >= w;", "ahead = newest < 0 || newest >= w;"),
        ("(lane / 4 + first - 1) * older;", "lane / 4 * older + first - 1;"),
        ("y[1] = y[0] + high;", "y[1] = low + high;"),
        ("return fmaxf(a, b);", "return a + b;"),
        ("fmaxf(fabsf(low), high)", "fmaxf(fabsf(low), fabsf(high))"),
        ("(u16)(most * sum)", "to_bf16(most * sum)"),
        ("e = lane * 4 + j;", "e = j * 32 + lane;"),
        ("base + first + (turned) * 16;", "base + first * 4 + (turned);"),
        ("low1 * high2", "low2 * high1"),
        ("    ids[rank + first] = e;\n", "    ids[rank + first] = e;\n    counts[e] = rank + 1;\n"),
        ("load[e] = counts[e]", "atomicAdd(&load[e], counts[e])"),
    ],
)
def test_the_right_text_of_what_lanes_share_is_offered_early(wrong: str, right: str) -> None:
    assert place(BETWEEN, wrong, right) < EARLY


def test_what_is_added_to_in_lds_is_offered_zeros_before() -> None:
    text = BETWEEN.replace("  for (int i = threadIdx.x; i < 64; i += blockDim.x) counts[i] = 0;\n", "")
    assert [one.text for one in rewrites(spot_of(text, text.index("__shared__ int counts")), "cleared")]
    assert not rewrites(spot_of(BETWEEN, BETWEEN.index("__shared__ int counts")), "cleared")


def test_no_number_is_rounded_that_is_whole_already() -> None:
    """Nor is one compared in float."""
    for at in ("(unsigned long long)(unsigned", "int v = lane"):
        spot = spot_of(BETWEEN, BETWEEN.index(at))
        assert not [one.text for one in offered(spot) if re.search("rintf|fmaxf|fminf", one.text)]


HANDED = """\
__global__ void f(const float* x, float alpha, float beta, float* c, int n) {
  float t = x[0];
  if (beta != 0.f) t += beta * c[1];
  c[1] = alpha * t;
  float u = alpha * x[1];
  c[2] = u + n;
}
"""


@pytest.mark.parametrize(
    ("at", "changes"),
    [
        ("c[1] = alpha", {"float t = x[0]": "float t = alpha * x[0]", "c[1] = alpha * t": "c[1] = t"}),
        ("float u", {"float u = alpha * x[1]": "float u = x[1]", "c[2] = u": "c[2] = (alpha * u)"}),
    ],
)
def test_a_factor_is_offered_for_the_statement_before_and_behind(at: str, changes: dict[str, str]) -> None:
    right = HANDED
    for old, new in changes.items():
        right = right.replace(old, new)
    spot = spot_of(HANDED, HANDED.index(at))
    assert right in [one.apply(HANDED) for one in rewrites(spot, "handed")]


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("((n + 7) / 8) & ~3", "((n + 7) / 8 + 3) & ~3"),
        ("n & ~(S - 1)", "(n + S - 1) & ~(S - 1)"),
        ("n & -16", "(n + 15) & -16"),
        ("(n + 15) & ~15", "(n) & ~15"),
        ("(n + S - 1) & -S", "(n) & -S"),
    ],
)
def test_multiples_of_a_power_of_two_are_rounded_up_by_a_mask(value: str, right: str) -> None:
    text = f"__global__ void f(int* y, int n) {{ int m = {value}; y[m] = n; }}\n"
    spot = spot_of(text, text.index("int m"))
    assert text.replace(value, right) in [one.apply(text) for one in rewrites(spot, "rounding")]


def test_what_goes_with_an_extent_of_the_launch_comes_early() -> None:
    text = """\
__global__ void f(unsigned* t) {
  const int lane = threadIdx.x, s = blockIdx.z;
  t[blockIdx.y * gridDim.y + blockIdx.x] = lane + s;
}
"""
    made = [one.text for one in rewrites(spot_of(text, text.index("t[block")), "names")]
    assert made.index("gridDim.x") < min(made.index("lane"), made.index("s"))


BASED = """\
__global__ void f(const float* bias, float* y, int n, int pitch) {
  __shared__ float tile[64];
  const int n0 = blockIdx.x * 64, m0 = blockIdx.y * 16, d = threadIdx.x, r = threadIdx.y;
  tile[d] = bias[d];
  if (d < n) y[r * pitch + n0 + d] = tile[d];
}
"""


@pytest.mark.parametrize(
    ("at", "old", "new"),
    [
        ("tile[d] = ", "bias[d]", "bias[n0 + d]"),
        ("if (d", "d < n", "n0 + d < n"),
        ("if (d", "r * pitch", "(m0 + r) * pitch"),
    ],
)
def test_where_a_workgroup_begins_is_offered_for_what_is_within(at: str, old: str, new: str) -> None:
    made = [one.apply(BASED) for one in rewrites(spot_of(BASED, BASED.index(at)), "based")]
    assert BASED.replace(old, new) in made
    assert not any("tile[n0 + d]" in one or "tile[m0 + d]" in one for one in made)  # LDS has one of its own


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        ("brackets", "expf(x - top) * scale", "expf((x - top) * scale)"),
        ("brackets", "expf(x * scale)", "(expf(x) * scale)"),
        ("rounding", "n / 2", "(n + 1) / 2"),
        ("rounding", "(n + 7) / 8", "n / 8"),
    ],
)
def test_factors_and_roundings_in_brackets(kind: str, wrong: str, right: str) -> None:
    text = f"__global__ void f(float* y, float x, float top, float scale, int n) {{ y[n] = {wrong}; }}\n"
    spot = spot_of(text, text.index("y[n]"))
    assert text.replace(wrong, right) in [one.apply(text) for one in rewrites(spot, kind)]


def test_of_equal_ones_the_first_or_the_last_is_taken() -> None:
    text = """\
struct Cand {
  float v;
  int i;
  __device__ bool after(const Cand& o) const { return v < o.v; }
};
"""
    made = [one.text for one in rewrites(spot_of(text, text.index("return v")), "ties")]
    assert made == [f"(v < o.v || (v == o.v && i {sign} o.i))" for sign in "<>"]


TOGETHER = """\
typedef long long i64;
__global__ void f(const int* x, const int* pay, const int* place, i64* y, int* z, int n, int m, int pitch, int flip) {
  const int row = blockIdx.x * n, i = threadIdx.x;
  int sum = x[row + i], most = 0, at = 0;
  if (i + 1 < n) y[row + i] = sum;
  sum += x[row + i + 1];
  if (sum > most) most = sum;
  at = i;
  z[row + i] = (i < n ? sum : most) ^ flip;
  z[row + at] = place[i];
  z[blockIdx.y * n * m] = 0;
}
"""


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        ("orders", "sum += x[row + i + 1];", "if (i + 1 < n) y[row + i] = sum;"),
        ("moves", "if (sum > most) most = sum;\n  at = i;", "if (sum > most) { most = sum;\n  at = i; }"),
        ("brackets", "(i < n ? sum : most) ^ flip", "(i < n ? sum ^ flip : most)"),
        ("unread", "= place[i];", "= pay[row + place[i]];"),
        ("lacking", "blockIdx.y * n * m", "blockIdx.y * pitch"),
        ("types", "int sum", "i64 sum"),
    ],
)
def test_what_c_programmers_mistake_is_offered(kind: str, wrong: str, right: str) -> None:
    at = TOGETHER.index(wrong) + (wrong.index("at = i") if kind == "moves" else 0)
    made = [one.apply(TOGETHER) for one in rewrites(spot_of(TOGETHER, at), kind)]
    if kind == "orders":
        lines = TOGETHER.split("\n")
        n = next(i for i, line in enumerate(lines) if wrong in line)
        lines[n - 1 : n + 1] = lines[n], lines[n - 1]
        assert "\n".join(lines) in made
    else:
        assert TOGETHER.replace(wrong, right) in made


def test_the_factor_of_a_registers_row_is_offered() -> None:
    text = """\
__global__ void f(float* y, const float* x, int n) {
  const int lane = threadIdx.x % 64, quad = lane / 16;
  float acc[4] = {}, scale = x[lane];
  for (int r = 0; r < 4; ++r) acc[r] *= __shfl(scale, quad * 4 + r);
  for (int r = 0; r < 4; ++r)
    if (quad * 4 + r < n) y[quad * 4 + r] = acc[r];
}
"""
    mistaken = text.replace("__shfl(scale, quad * 4 + r)", "scale")
    made = [
        one.apply(mistaken) for one in rewrites(spot_of(mistaken, mistaken.index("acc[r] *=")), "of_rows")
    ]
    assert text in made


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("x[k + q * 32], x[k + q * 32 + 16]", "x[k + q * 16], x[k + q * 16 + 64]"),
        ("x[k + q * 16], x[k + q * 16 + 64]", "x[k + q * 32], x[k + q * 32 + 16]"),
        ("x[k + h * 16], x[k + 8 + h * 16]", "x[k + h * 8], x[k + h * 8 + 16]"),
    ],
)
def test_the_other_order_of_halves_of_an_operand_is_offered(wrong: str, right: str) -> None:
    text = f"__device__ v2 f(const v1* x, int k, int q, int h) {{\n  return cat({wrong});\n}}\n"
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("return")), "halved")]
    assert text.replace(wrong, right) in made


@pytest.mark.parametrize(
    ("step", "of_sum"),
    [
        ("most = fmaxf(most, __shfl_xor(most, 16, 32));", "sum += __shfl_xor(sum, 16, 32);"),
        (
            "for (int d = 8; d > 0; d /= 2) most = fmaxf(most, __shfl_down(most, d));",
            "for (int d = 8; d > 0; d /= 2) sum += __shfl_down(sum, d);",
        ),
    ],
)
def test_a_step_between_lanes_that_another_sum_has_is_offered(step: str, of_sum: str) -> None:
    text = f"""\
__global__ void f(const float* x, float* y, int n) {{
  float most = 0.f, sum = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) {{
    most = fmaxf(most, x[i]);
  }}
  {step}
  const float low = most - 1.f;
  for (int i = threadIdx.x; i < n; i += 32) sum += x[i] - low;
  {of_sum}
  y[threadIdx.x] = sum;
}}
"""
    mistaken = text.replace(f"  {step}\n", "")
    spot = spot_of(mistaken, mistaken.index("const float low"))
    assert text in [one.apply(mistaken) for one in rewrites(spot, "across")]
    assert not [*rewrites(spot_of(text, text.index("const float low")), "across")], "it has the step"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("__popcll(peers & ((1u << lane) - 1))", "__popcll(peers & ((1ull << lane) - 1))"),
        ("__popc(peers & below)", "__popcll(peers & below)"),
        ("peers >> lane & 1 << n", "peers >> lane & 1ull << n"),
    ],
)
def test_masks_of_64_lanes_are_offered(wrong: str, right: str) -> None:
    text = f"__device__ int f(u64 peers, u64 below, int lane, int n) {{\n  return {wrong};\n}}\n"
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("return")), "bits")]
    assert made == [text.replace(wrong, right)]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("make_float2(t.y, -t.x)", "INV ? make_float2(-t.y, t.x) : make_float2(t.y, -t.x)"),
        ("s * t.y", "INV ? -(s * t.y) : s * t.y"),
    ],
)
def test_the_other_sign_is_offered_where_a_flag_is_not_asked(wrong: str, right: str) -> None:
    text = f"""\
template <int INV, int N> __device__ auto f(float2 t, float s) {{
  const auto v = {wrong};
  return v + N;
}}
"""
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("const auto")), "ways")]
    assert text.replace(wrong, right) in made
    assert not any("N ?" in one for one in made), "N is asked"
    asked = text.replace("return v", "return INV + v")
    assert not [*rewrites(spot_of(asked, asked.index("const auto")), "ways")]


def test_logarithms_of_another_base_are_offered() -> None:
    text = """\
__device__ void f(float* to, float most, float x) {
  const float sum = exp2f(x - most);
  *to = most + __logf(sum);
}
"""
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("*to =")), "logarithms")]
    assert text.replace("most + _", "most * 0.69314718f + _") in made
    assert text.replace("__logf(sum)", "__logf(sum) * 1.44269504f") in made
    plain = text.replace("exp2f", "expf")
    assert not [*rewrites(spot_of(plain, plain.index("*to =")), "logarithms")]


def test_a_largest_number_begins_low_first_where_low_numbers_go_wrong() -> None:
    text = "__device__ float f(float x) {\n  float most = 0.f;\n  return fmaxf(most, x);\n}\n"
    spot = spot_of(text, text.index("float most"))
    told = replace(spot, said="y is wrong on inputs where all of x is about -120")
    for text_of in ("-INFINITY", "-1e30f"):
        (plain,) = [one for one in rewrites(spot, "neutral") if one.text == text_of]
        (early,) = [one for one in rewrites(told, "neutral") if one.text == text_of]
        assert early.rank < plain.rank


def test_the_inverse_of_a_table_is_offered() -> None:
    text = "__device__ int f(int e) {\n  constexpr int at[5] = {0, 2, 4, 1, 3};\n  return at[e];\n}\n"
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("constexpr")), "inverse")]
    assert made == [text.replace("0, 2, 4, 1, 3", "0, 3, 1, 4, 2")]
    other = text.replace("0, 2, 4, 1, 3", "0, 2, 4, 1, 4")  # no permutation
    assert not [*rewrites(spot_of(other, other.index("constexpr")), "inverse")]


def test_all_that_a_twin_has_is_offered_at_once() -> None:
    text = """\
__global__ void f(float* to, const float* x, const float* y, int i, int j, int q) {
  const float a = cat(x[i + q * 16], x[i + 64 + q * 16]);
  const float b = cat(y[j + q * 16], y[j + 64 + q * 16]);
  to[i] = a * b;
}
"""
    right, wrong = "cat(y[j + q * 16], y[j + 64 + q * 16])", "cat(y[j + q * 32], y[j + q * 32 + 16])"
    mistaken = text.replace(right, wrong)
    made = [one.apply(mistaken).split() for one in rewrites(spot_of(mistaken, mistaken.index(wrong)), "twin")]
    assert text.split() in made


PADDED = """\
#define EACH(i, n) for (int i = blockIdx.x; i < n; i += gridDim.x)
__device__ void gather(float* to, const float* from, const int* ids, int n, int padding, bool all) {
  EACH(i, n) {
    if (ids[i] == padding) continue;
    if (ids[i] < n) to[i] = from[ids[i]]; else to[i] = {};
    if (all) {
      to[i + n] = from[i];
    } else to[i + n] = {};
  }
}
"""


@pytest.mark.parametrize(
    ("kind", "wrong", "right", "at"),
    [
        ("words", "return;", "continue;", "if (ids[i] == padding)"),
        ("otherwise", "from[ids[i]];", "from[ids[i]]; else to[i] = {};", "if (ids[i] < n)"),
        ("otherwise", "    }\n  }\n}", "    } else to[i + n] = {};\n  }\n}", "to[i + n] = from"),
    ],
)
def test_what_padding_needs_is_offered(kind: str, wrong: str, right: str, at: str) -> None:
    text = PADDED.replace(right, wrong)
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index(at)), kind)]
    assert PADDED in made


SOLVED = """\
template <class View> __device__ void solve(View L, float* x, float* sl, int jb, int kb, int n, bool unit) {
  for (int r = 0; r < n; ++r)
    sl[r] = jb + r < n && kb < n ? L(jb + r, kb) : 0.f;
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int k = 0; k < i; ++k) x[i] -= sl[k] * x[k];
    if (!unit) x[i] /= sl[i];
  }
}
"""


@pytest.mark.parametrize("at", ["if (!unit)", "#pragma unroll"])
def test_a_statement_is_offered_behind_the_loop_that_follows_or_before_the_one_before(at: str) -> None:
    loop, plain = (
        "#pragma unroll\n    for (int k = 0; k < i; ++k) x[i] -= sl[k] * x[k];",
        "if (!unit) x[i] /= sl[i];",
    )
    mistaken = SOLVED.replace(f"{loop}\n    {plain}", f"    {plain}\n{loop}")
    text, right = (mistaken, SOLVED) if at == "if (!unit)" else (SOLVED, mistaken)
    made = [one.apply(text).split() for one in rewrites(spot_of(text, text.index(plain)), "orders")]
    assert right.split() in made


def test_two_names_are_exchanged_among_the_arguments_of_one_call() -> None:
    text = SOLVED.replace("L(jb + r, kb)", "L(kb + r, jb)")
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("sl[r] = jb")), "exchange")]
    assert SOLVED in made


def test_what_may_be_stored_over_is_kept_first() -> None:
    text = "#define F(r, a) do { (r).x = g((a).x, (a).y); (r).y = h((a).x, (a).y); } while (0)\n"
    (body,) = macros(text)
    spot = Spot(body.body, body.body.around(body.body.token_at(text.index("(r).x"))), [Source(text)])
    made = [" ".join(one.apply(text).split()) for one in rewrites(spot, "orders")]
    kept = "const auto lp_kept = g((a).x, (a).y); (r).y = h((a).x, (a).y); (r).x = lp_kept;"
    assert any(kept in one for one in made)


AGREEING = """\
__global__ void f(float* v, const float* q, int c, int n) {
  if (c + 0 < n) v[0] = q[0];
  if (c + 0 < n) v[1] = q[1];
  v[2] = q[6];
  v[3] = q[6];
  v[4] -= q[c] * v[c + 1];
  if (c == n) v[c + 1] = q[c];
}
"""


@pytest.mark.parametrize(
    ("kind", "wrong", "right", "nth"),
    [
        ("agreeing", "c + 0 < n) v[1]", "c + 1 < n) v[1]", 0),
        ("agreeing", "v[3] = q[6]", "v[3] = q[7]", 1),
        ("more", "v[4] -= q[c]", "v[4] -= q[c + 1]", 1),
        ("ones", "c == n)", "c == n - 1)", 1),
    ],
)
def test_a_number_that_does_not_go_with_its_statement(kind: str, wrong: str, right: str, nth: int) -> None:
    made = rewrites(spot_of(AGREEING, AGREEING.index(wrong)), kind)
    made.sort(key=lambda one: one.rank)
    assert AGREEING.replace(wrong, right) in [one.apply(AGREEING) for one in made[: nth + 1]]


PACKED = """\
__device__ int pack4(int a, int b, int c, unsigned char d) {
  return (a & 255) | (b << 8) | ((c & 255) << 16) | (d << 24);
}
__global__ void f(int* y, float fx, float fy, int h) {
  const int x0 = (int)floorf(fx), y0 = (int)fy;
  if (h < y0) y[x0] = pack4(x0, y0, h, 3);
}
"""


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [("packed", "(b << 8)", "((b & 255) << 8)"), ("rounded", "(int)fy", "(int)floorf(fy)")],
)
def test_fields_are_packed_and_places_rounded_as_others_are(kind: str, wrong: str, right: str) -> None:
    made = rewrites(spot_of(PACKED, PACKED.index(wrong)), kind)
    assert PACKED.replace(wrong, right) == made[0].apply(PACKED)


def test_a_bound_goes_with_the_letter_of_its_index() -> None:
    text = "__global__ void f(float* y, int H, int W, int C) { int iw = threadIdx.x; if (iw < H) y[iw + C] = W; }\n"
    made = rewrites(spot_of(text, text.index("if (iw")), "names")
    assert text.replace("iw < H", "iw < W") == made[0].apply(text)


IN_PLACE = """\
constexpr int kWave = 64;
__device__ float gather(const float* x, const int* ids, float* table, int n) {
  int current = ids[0];
  float sum = 0.f;
  for (int i = 0; i < n; ++i) {
    if (ids[i] != current) {
      table[current] = sum;
      current = ids[i];
    }
    sum += x[i];
  }
  const float all = reduce(sum);
  const float target = x[n];
  if constexpr (true) return all < target ? all : target;
  for (int c = blockIdx.y * kWave + n; c < n; c += kWave) table[c] = all;
}
"""


def test_a_sum_is_offered_to_begin_anew_where_it_is_taken() -> None:
    made = [
        one.apply(IN_PLACE) for one in rewrites(spot_of(IN_PLACE, IN_PLACE.index("table[current]")), "resets")
    ]
    assert IN_PLACE.replace("current = ids[i];", "current = ids[i];\n      sum = 0.f;") in made


def test_what_is_overwritten_is_offered_to_be_loaded_before() -> None:
    spot = spot_of(IN_PLACE, IN_PLACE.index("const float target"))
    right = IN_PLACE.replace("  const float all = reduce(sum);\n", "").replace(
        "x[n];", "x[n];\n  const float all = reduce(sum);"
    )
    for said, offered_there in (("a wave overwrites global memory", True), ("y is wrong", False)):
        asked = Spot(spot.source, spot.within, [spot.source], said=said)
        assert (right in [one.apply(IN_PLACE) for one in rewrites(asked, "moves")]) == offered_there


def test_steps_over_the_grid_go_along_the_axis_that_the_loop_begins_with() -> None:
    spot = spot_of(IN_PLACE, IN_PLACE.index("for (int c"))
    assert "gridDim.y * kWave" in [one.text for one in rewrites(spot, "shares")]


def test_an_expression_begins_behind_the_tests_before_it() -> None:
    made = [one.text for one in offered(spot_of(IN_PLACE, IN_PLACE.index("if constexpr")))]
    assert made
    assert not any(re.search(r"\w\((?:if|return)\b", one) for one in made)


def test_no_value_is_made_of_what_it_is_the_value_of() -> None:
    for at in ("const float target", "const float all"):
        spot = spot_of(IN_PLACE, IN_PLACE.index(at))
        name = at.split()[-1]
        assert not any(re.search(rf"\b{name}\b", one.text) and ";" not in one.text for one in offered(spot))


def test_what_follows_one_is_as_what_follows_its_like() -> None:
    text = "State f(u64 a, u64 b) { State s{(u32)a, 0u, (u32)b, (u32)(b >> 32)}; return s; }\n"
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("State s")), "in_pairs")]
    assert made == [text.replace("0u", "(u32)(a >> 32)")]


def test_a_step_that_the_statement_beside_has_is_offered_at_the_same_place() -> None:
    text = """\
__device__ void f(half* row, const unsigned char* qs, float d, int j) {
  const int q = qs[j];
  row[j] = (half) (d * ((q & 0x0F) - 8));
  row[j + 16] = (half) (d * (q >> 4));
}
"""
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("row[j + 16]")), "beside")]
    assert text.replace("(q >> 4)", "((q >> 4) - 8)") in made


def test_a_factor_that_the_statement_beside_has_is_offered_in_the_words_of_this_one() -> None:
    text = """\
constexpr int kWavesIn = 2, kFragOut = 3, kFragIn = 2;
__device__ void f(int* y, int wave) {
  const int wave_out = (wave / kWavesIn) * kFragOut * 16;
  const int wave_in = (wave % kWavesIn) * 16;
  for (int i = 0; i < kFragIn; ++i) y[wave_out + wave_in] = i;
}
"""
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index("const int wave_in")), "beside")]
    assert text.replace("% kWavesIn) * 16", "% kWavesIn) * kFragIn * 16") in made


SCALED = """\
struct cf { float re, im; };
__device__ float deviation(float var, float dev, float eps) {
  return 1.f / (sqrtf(var + eps)) - 1.f / (sqrtf(dev) + eps);
}
__device__ float gate(float up, float low, float limit) {
  const float u = fmaxf(fminf(up, limit), -limit);
  const float v = std::min(std::max(low, -limit), limit);
  return u * v;
}
__device__ void scaled(cf* to, const cf* v, int n, float scale) {
  for (int r = 0; r < n; ++r) to[r] = {v[r].re * scale, v[r].im * scale};
}
"""


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        ("clamps", "fminf(up, limit);", "fmaxf(fminf(up, limit), -limit);"),
        ("clamps", "std::max(low, -limit);", "std::min(std::max(low, -limit), limit);"),
        ("twin", "v[r].im}", "v[r].im * scale}"),
        ("roots", "sqrtf(var) + eps", "sqrtf(var + eps)"),
        ("roots", "sqrtf(dev + eps)", "(sqrtf(dev) + eps)"),
        ("twin", "{v[r].re,", "{v[r].re * scale,"),
    ],
)
def test_the_other_end_and_the_factor_of_the_other_component_are_offered(
    kind: str, wrong: str, right: str
) -> None:
    text = SCALED.replace(right, wrong)
    made = [one.apply(text) for one in rewrites(spot_of(text, text.index(wrong)), kind)]
    assert SCALED in made


POOLED = """\
struct State {
  float peak, total;
  __device__ void push(float x) {
    if (x > peak) {
      total = total + 1.0f;
      peak = x;
    } else {
      total += __expf(x - peak);
    }
  }
};
__device__ float pool(const Bag& bag, const float* x, int skip) {
  float sum = 0.f;
  int counted = 0;
  for (int base = bag.begin; base < bag.end; base += 64) {
    const int here = min(64, bag.size());
    for (int j = 0; j < here; ++j) {
      if (j == skip) continue;
      ++counted;
      sum += x[j];
    }
  }
  const float scale = bag.size() > 0 ? 1.0f / (float)(bag.size()) : 0.0f;
  return sum * scale;
}
"""


@pytest.mark.parametrize(
    ("kind", "at", "wrong", "right"),
    [
        ("carried", "total = total", "total + 1.0f", "total * __expf(peak - x) + 1.0f"),
        ("clamps", "const int here", "min(64, bag.size())", "min(64, bag.end - base)"),
        ("unread", "const float scale", "bag.size() > 0 ? 1.0f / (float)(bag.size())",
         "counted > 0 ? 1.0f / (float)(counted)"),
    ],
)  # fmt: skip
def test_what_pools_over_a_bag_is_offered_its_rest_its_count_and_its_scale(
    kind: str, at: str, wrong: str, right: str
) -> None:
    made = [one.apply(POOLED) for one in rewrites(spot_of(POOLED, POOLED.index(at)), kind)]
    assert POOLED.replace(wrong, right) in made


HELD = """\
struct pair { float re, im; };
template <int DIR, class T> __device__ pair turn(pair a) { return DIR > 0 ? pair{-a.im, a.re} : pair{a.im, -a.re}; }
template <int DIR, class T>
__device__ void pass(float* y, const float* gamma, pair* v, int rows, int cols, float eps) {
  float prod = 1.f, held[4];
  const pair w1 = {1.f, 0.f}, w2 = turn<DIR, T>(w1), w3 = turn<DIR, T>(w2);
  for (int i = 0; i < rows; ++i) {
    const int iy = rows + i * cols, ix = rows + i * cols;
    const float d = y[i * cols];
    held[i] = d * gamma[i];
    prod *= d;
    y[i] = held[i];
  }
  v[0] = turn<DIR, T>(w3);
}
"""


@pytest.mark.parametrize(
    ("kind", "at", "wrong", "right"),
    [
        ("of_templates", "v[0] =", "turn<-1, T>(w3)", "turn<DIR, T>(w3)"),
        ("of_templates", "v[0] =", "turn<1, T>(w3)", "turn<DIR, T>(w3)"),
        ("names", "w3 =", "w3 = turn<DIR, T>(w1)", "w3 = turn<DIR, T>(w2)"),
        ("words", "prod *=", "prod = d", "prod *= d"),
        ("beside", "iy =", "ix = rows + i", "ix = rows + i * cols"),
    ],
)
def test_what_is_known_beside_is_offered(kind: str, at: str, wrong: str, right: str) -> None:
    """What a template is made for, what the same statement declares, a product for what is set."""
    mistaken = HELD.replace(right, wrong)
    made = [one.apply(mistaken) for one in rewrites(spot_of(mistaken, HELD.index(at)), kind)]
    assert HELD in made


@pytest.mark.parametrize(
    ("wrong", "old", "right"),
    [
        ("y[i] = d;", "d", "y[i] = held[i];"),
        ("y[i] = gamma[i];", "gamma[i]", "y[i] = held[i];"),
        ("y[i] = 0.5f;", "0.5f", "y[i] = held[i];"),
        ("prod *= eps;", "eps", "prod *= d;"),
        ("y[cols]", "cols", "y[i * cols]"),
        ("i < 1;", "1", "i < rows;"),
    ],
)
def test_any_value_of_the_function_may_stand_in_place_of_a_suspect(wrong: str, old: str, right: str) -> None:
    beside = HELD.replace("prod *= d;", "prod *= d; y[i * cols] = d;")
    mistaken = beside.replace(right, wrong, 1)
    start = mistaken.index(wrong) + wrong.index(old)
    found = substitutes(spot_of(mistaken, start), start, start + len(old))
    assert words(beside) in {words(one.apply(mistaken)) for one in found}


def test_each_value_of_a_statement_is_asked_for_what_it_goes_into() -> None:
    """Once with each of the other values; what is assigned to is none."""
    asked = {HELD[one.start : one.end] for one in moving(spot_of(HELD, HELD.index("held[i] = d")))}
    assert {"d", "gamma[i]", "d * gamma[i]", "i"} <= asked
    assert "held[i]" not in asked


SHARES = """\
struct Range {
  int begin, end;
  __device__ static Range of(int slice, int splits, int k) {
    const int steps = ceil_div(ceil_div(k, 16), splits);
    const int begin = slice * steps * 16;
    return {begin, min(begin + steps * 16, k)};
  }
};
__device__ void walk(float* y, int part, int parts, int rows) {
  const int share = (rows + parts - 1) / parts, first = part * share;
  const int last = min(first + share, rows);
  for (int i = first; i < last; ++i) y[i] = 0.f;
}
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("{begin, begin + steps * 16}", "{begin, min(begin + steps * 16, k)}"),
        ("= first + share;", "= min(first + share, rows);"),
    ],
)
def test_the_last_share_is_offered_its_end(wrong: str, right: str) -> None:
    mistaken = SHARES.replace(right, wrong)
    made = [one.apply(mistaken) for one in rewrites(spot_of(mistaken, mistaken.index(wrong) + 3), "ended")]
    assert SHARES in made
