"""Which changes a statement is offered: the right text is among the first ones for mistakes of many kinds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from layoutprobe.rewrites.registry import KINDS, offered, rewrites
from layoutprobe.rewrites.spot import Spot
from layoutprobe.source.declarations import declarations
from layoutprobe.source.statements import Source

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
    ("(old - largest)", "(largest - old)"),
)
"""What stands there, and what somebody wrote instead."""
FIRST = 300
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


HEAD = """\
#include <hip/hip_runtime.h>
#define GROUP 32
#define PER_LANE 4
#define TEAM (GROUP / PER_LANE)
namespace { constexpr float LOG2E = 1.44269504f; }
enum { BM = 32, BN = 64 };
struct Problem { int m, n, k; };
struct Part { float t, p; };
"""
SMALL = (
    ("0.044715f", "0.44715f", "float gelu(float x) { return tanhf(x + 0.044715f * x * x * x); }"),
    ("= 1e-5f", "= 1e-6f", "float f(float x) { const float eps = 1e-5f; return rsqrtf(x + eps); }"),
    ("240.0f", "448.0f", "float f(float x) { return fminf(x, 240.0f); }"),
    ("(int)rintf(f)", "(int)f", "int8_t f(float f) { return (int8_t)(int)rintf(f); }"),
    (
        "<int8_t>(rintf(f * 2))",
        "<int8_t>(f * 2)",
        "int8_t f(float f) { return static_cast<int8_t>(rintf(f * 2)); }",
    ),
    (
        "(u + 0x7fffu + ((u >> 16) & 1u)) >> 16",
        "u >> 16",
        "unsigned f(unsigned u) { return (u + 0x7fffu + ((u >> 16) & 1u)) >> 16; }",
    ),
    ("k < K;", "k + 16 <= K;", "void f(int K) { for (int k = 0; k < K; k += 16) { g(k); } }"),
    ("k + 16 <= K;", "k < K;", "void f(int K) { for (int k = 0; k + 16 <= K; k += 16) { g(k); } }"),
    ("at >= n", "at + 4 > n", "void f(int at, int n) { if (at >= n) return; g(at); }"),
    ("SWZ(r, 2 * s + 1)", "SWZ(r, 2 * s) + 1", "int f(int r, int s) { return t[SWZ(r, 2 * s + 1)]; }"),
    ("m / LOG2E", "m", "void f(float m, float l) { out[0] = m / LOG2E + logf(l); g(l * LOG2E); }"),
    (
        "x += up(x, 4);",
        "",
        "float f(float x) {\n  x += up(x, 1);\n  x += up(x, 2);\n  x += up(x, 4);\n  return x; }",
    ),
    (
        "x += up(x, 1);",
        "",
        "float f(float x) {\n  x += up(x, 4);\n  x += up(x, 2);\n  x += up(x, 1);\n  return x; }",
    ),
    (
        "x += up(x, 2);",
        "",
        "float f(float x) {\n  x += up(x, 4);\n  x += up(x, 1);\n  x += up(x, 2);\n  return x; }",
    ),
    ("m / ln2", "m", "void f(float m) { const float ln2 = 0.693f; out[0] = m / ln2 + 1.0f; g(m * ln2); }"),
    (
        "r * groups + g",
        "r * (cols / 32) + g",
        "void f(int cols, int r, int g) { const int groups = (cols + 31) / 32; s[r * groups + g] = 1; }",
    ),
    ("int n) { ;", "int n) { if (b >= n) return;", "void f(int b, int n) { ; g(b); }"),
    (
        "b1 = nb1;",
        "",
        "void f(v8 b0, v8 b1, v8 nb0, v8 nb1) {\n  b0 = nb0;\n  b1 = nb1;\n  g(b0, b1); }",
    ),
    (
        "acc = {}; for (int",
        "for (int",
        "void f(int o, int K) { v8 acc = {}; for (;;) { acc = {}; for (int k = 0; k < K; ++k) { acc = w(acc); } } }",
    ),
    (
        "acc = {}; for (int",
        "for (int",
        "void f(int o, int K) { v8 acc = {}; for (;;) { acc = {}; for (int k = 0; k < K; ++k) { wmma(acc, k); } } }",
    ),
    (
        "for (auto& lp_each : acc) lp_each = {};",
        "",
        "void f(int K) { float acc[4] = {}; for (;;) { for (auto& lp_each : acc) lp_each = {};"
        " for (int k = 0; k < K; ++k) acc[k % 4] += h(k); } }",
    ),
    ("4 * g + 8 * q", "16 * g + 4 * q", "int f(int g, int q, int i) { const int m = 4 * g + 8 * q + i; }"),
    ("v / 4 * 8 + 4 * u + v % 4", "v + 16 * u", "int f(int u, int v) { int r = v / 4 * 8 + 4 * u + v % 4; }"),
    (
        "c + i < n",
        "c < n",
        "void f(int c, int n) { for (int i = 0; i < 4; ++i) { if (c + i < n) v[i] = p[i]; } }",
    ),
    ('"+v"(d)', '"=v"(d)', 'void f(v8 d, v8 a) { asm volatile("v_x %0, %1, %0" : "+v"(d) : "v"(a)); }'),
    (
        "c = i / S + g * cpg;",
        "c = i / S;",
        "void f(int n, int g, int cpg, int C, int S, int i) {\n  const int base = (n * C + g * cpg) * S;\n"
        "  const int c = i / S + g * cpg;\n  h(base, c); }",
    ),
    (
        "load<T, 2>(b, LINE, 1)",
        "load<T, 2>(b, n, 1)",
        "void f(int n) {\n  x = load<T, 4>(a, LINE, 0);\n  y = load<T, 2>(b, LINE, 1);\n}",
    ),
    (
        "silu(sum_gate[v]) * sum_up[v]",
        "silu(sum_up[v]) * sum_gate[v]",
        "void f(float* y, int v) {\n  f4 sum_gate = {0, 0}, sum_up = {0, 0};\n"
        "  y[v] = silu(sum_gate[v]) * sum_up[v]; }",
    ),
    (
        "pu.at(row, 1)",
        "pg.at(row, 1)",
        "void f(int row) {\n  Panel pg, pu;\n  g = pg.at(row, 1);\n  u = pu.at(row, 1);\n}",
    ),
    ("x / total", "total / x", "float f(float x, float total) { return x / total; }"),
    ("m / p.n % p.m", "m / p.n", "int f(Problem p, int m) { const int r = m / p.n % p.m; return r; }"),
    (
        "h / (heads / kv_heads)",
        "h % kv_heads",
        "int f(int h, int heads, int kv_heads) { int g = h / (heads / kv_heads); }",
    ),
    (
        "ceil(p.n, BN)",
        "ceil(p.m, BM)",
        "int f(Problem p) { const int across = ceil(p.n, BN); return across; }",
    ),
    ("(wave & 1) * 16", "(wave >> 1) * 16", "int f(int wave) { const int n0 = (wave & 1) * 16; return n0; }"),
    ("e < o", "e > o", "bool f(int e, int o, float v, float w) { return v > w || (v == w && e < o); }"),
    (
        "c ? a - b : a + b",
        "c ? a + b : a - b",
        "float f(bool c, float a, float b) { return c ? a - b : a + b; }",
    ),
    (
        "if (t == 0) first = v;",
        "first = v;",
        "void f(float v, float first) { for (int t = 0; t < 4; ++t) { if (t == 0) first = v; } }",
    ),
    ("kept[threadIdx.y]", "kept[threadIdx.x / 32]", "int f() { g(threadIdx.y); int r = kept[threadIdx.y]; }"),
    (
        "b.t * f(b.p)",
        "b.t",
        "float h(Part a, Part b) { float r = a.t * f(a.p) + b.t * f(b.p); return r; }",
    ),
    ("h.y * h.y", "h.x * h.y", "void f(Part h) { s += h.x * h.x + h.y * h.y; }"),
    (
        "sa[row]",
        "sa[m0 + x]",
        "void f(int m0, int x, int u) { const int row = m0 + 8 * u; y[row] = sa[row]; }",
    ),
    (
        "B += z * strideB",
        "B += z * strideA",
        "#define C_(i) C[i * ldc + low * k]\nvoid f(int z, int strideA, int strideB, int ldc, int low, int x, int w) "
        "{ A += z * strideA; B += z * strideB; }",
    ),
    ("(n % 8)", "(7 - n % 8)", "int f(int n, int w) { return w >> (4 * (n % 8)); }"),
    ("TEAM / 2", "GROUP / 2", "void f(float v) { for (int d = TEAM / 2; d > 0; d >>= 1) v = h(v, d); }"),
    (
        "r < M && k0 + c < K",
        "r < M",
        "void f(int k0, int M, int K, int i) { const int r = i / 32, c = i % 32; const bool ok = r < M && k0 + c < K;"
        " const bool b_ok = k0 + r < K; }",
    ),
    (
        "4 * quad + v",
        "quad + v * 4",
        "void f(int m0, int quad) { for (int v = 0; v < 4; ++v) r = m0 + 4 * quad + v; }",
    ),
    (
        "<< 1 | (1u << l)",
        "<< 1 | (2u << l)",
        "unsigned f(unsigned x, int l) { return x << 1 | (1u << l); }",
    ),
    (
        "wn * P::FN",
        "wn * P::FM",
        "struct Shape { static constexpr int FM = 2, FN = 4; };\n"
        "template <class P> int f(int wm, int wn) { const int m = wm * P::FM; return wn * P::FN; }",
    ),
    (
        "B + z * s.b",
        "B + z * s.a",
        "struct Far { long a, b; };\nvoid f(float* A, float* B, Far s, int z) { p = A + z * s.a; q = B + z * s.b; }",
    ),
    (
        "list[b] * 32 + s",
        "b * 32 + s",
        "void f(const int* list, int n, int s) { for (int b = 0; b < n; ++b) {\n"
        "  g(list[b] * 32);\n  h(list[b] * 32 + s);\n} }",
    ),
    (
        "(k0 + s)",
        "(b * 32 + s)",
        "void f(const int* list, int n, int s) { for (int b = 0; b < n; ++b) {\n  const int k0 = list[b] * 32;\n"
        "  h(k0 + s);\n} }",
    ),
    (
        "till(lengths[seq], c)",
        "till(c, c)",
        "void f(const int* lengths, int c) { const int seq = blockIdx.z; till(lengths[seq], c); }",
    ),
    (
        "o1[r] *= keep;",
        "",
        "void f(v8 o0, v8 o1, v8 p) { for (int r = 0; r < 8; ++r) {\n"
        "  const float keep = g(r);\n  o0[r] *= keep;\n  o1[r] *= keep;\n}\n"
        "  o0 = wmma(p, p, o0);\n  o1 = wmma(p, p, o1); }",
    ),
    (
        "for (auto& lp_each : acc) lp_each *= c;",
        "",
        "void f(float x, float c) { float acc[4] = {}, l = 0.0f; for (;;) {\n  l = l * c + x;\n"
        "  for (auto& lp_each : acc) lp_each *= c;\n  for (int i = 0; i < 4; ++i) acc[i] += g(i);\n} }",
    ),
    ("o * fa +", "o +", "float f(float o, float x, float fa, float fb) { o = o * fa + x * fb; return o; }"),
    (
        "(stage ^ 1) * BYTES",
        "stage * BYTES",
        "void f(char* lds, int stage) { put(lds + (stage ^ 1) * BYTES, stage); }",
    ),
    (
        "step(acc, now); h();",
        "h();",
        "void f(int K) { v8 acc, now; for (int k = 0; k < K; ++k) { v8 then = g(k); step(acc, now); now = then; }"
        " step(acc, now); h(); }",
    ),
    (
        "stage ^= 1; }",
        "}",
        "void f(int n) { int stage = 0; for (int d = 0; d < n; ++d) { use(lds[stage], d); stage ^= 1; } }",
    ),
    (
        "if (lane < 1) before = 0;",
        "",
        "void f(float x) { const int lane = g(); float before = __shfl_up(x, 1, 64);"
        " if (lane < 1) before = 0; h(before); }",
    ),
    ("(lane >> 3 & 1) * 8", "(lane >> 3) * 8", "int f(int lane) { return (lane >> 3 & 1) * 8; }"),
    ("lane >> 5;", "lane >> 4 & 1;", "void f(int lane) { const int half = lane >> 5; g(half); }"),
    ("w ^ (r >> 1)", "w ^ (r & 31)", "int f(int r, int w) { return r * 32 + (w ^ (r >> 1)); }"),
    ("expf(-g)", "expf(g)", "float f(float g) { return g / (1.0f + expf(-g)); }"),
    ("(t % S) * D", "t * D", "float* f(float* p, int t, int S, int D) { return p + (t % S) * D; }"),
    (
        "high = min(B, rows - first)",
        "high = B",
        "void f(int i, int rows, int B) { const int first = i / B * B; const int high = min(B, rows - first);"
        " g(first, high); }",
    ),
    (
        "(t % S) * D;",
        "t * D;",
        "struct Rows {\n  float *at_;\n"
        "  Rows(float *p, int t, int S, int D) : at_(nullptr) { at_ = p + (t % S) * D; }\n};",
    ),
    (
        "w < BM;",
        "w <= wave;",
        "void f(int wave, float sum) { for (int w = 0; w < BM; ++w) sum += part[w]; g(wave, sum); }",
    ),
    (
        "ring[(i + ahead) % 3]",
        "ring[(i + 1) % 3]",
        "void f(int i, int n, int ahead) { if (i + ahead < n) bring(ring[(i + ahead) % 3], i + ahead); }",
    ),
    ("a * s + b;", "(a + b) * s;", "float f(float a, float b, float s) { return a * s + b; }"),
    (
        "q.x, 1);\n  u(b, 8, q.y",
        "q.y, 1);\n  u(b, 8, q.x",
        "void f(v2 q) {\n  u(b, 0, q.x, 1);\n  u(b, 8, q.y, 1); }",
    ),
    (
        "(row + line) * pitch",
        "line * pitch",
        "struct Reader {\n  int row, line, pitch;\n  int at(int k) { return (row + line) * pitch + k; }\n};",
    ),
    (
        "col < cols_ && k < depth_",
        "col < cols_",
        "struct Rows { int rows_, depth_; bool has(int row, int k) { return row < rows_ && k < depth_; } };\n"
        "struct Cols { int cols_, depth_; bool has(int col, int k) {"
        " const bool ok = col < cols_ && k < depth_; return ok; } };",
    ),
    (
        "o.sum * expf(o.peak - top)",
        "o.sum",
        "struct Piece { float sum, peak;\n  void merge(Piece o) { const float top = fmaxf(peak, o.peak);"
        " sum = sum * expf(peak - top) + o.sum * expf(o.peak - top); } };",
    ),
    ("(A_ALL + B_ALL)", "A_ALL", "void f(int s) { const int A_ALL = 8, B_ALL = 4; g(s * (A_ALL + B_ALL)); }"),
    ("0x07060302u", "0x03020706u", "unsigned f(unsigned a, unsigned b) { return perm(a, b, 0x07060302u); }"),
    ("0xc)", "0x8)", "float f(float x) { return dpp(x, 0xc); }"),
    (
        "CEIL_DIV(K, 32)",
        "K / 32",
        "#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\n"
        "int f(int K, int N) { g(CEIL_DIV(N, 32)); return CEIL_DIV(K, 32); }",
    ),
    (
        "else atomicAdd(&counts[b], sum);",
        "else counts[b] += sum;",
        "void f(int* counts, int b, int sum) { if (b < 0) g(sum); else atomicAdd(&counts[b], sum); }",
    ),
    (
        "acc[1][i] *= keep;",
        "",
        "void f(float keep, int i) { float acc[2][8];\n  acc[0][i] *= keep;\n  acc[1][i] *= keep;\n  h(acc); }",
    ),
    (
        "(wave >> 1) * 16",
        "(wave & 2) * 16",
        "int f(int wave) { const int m0 = (wave >> 1) * 16; return m0; }",
    ),
    ("word >> (2 * i)", "word >> i", "int f(unsigned word, int i) { return (word >> (2 * i)) & 3u; }"),
    ("0x7fff", "0x7ff", "unsigned f(unsigned u) { return u + 0x7fff; }"),
    (
        "k += WAVES * STEP",
        "k += WAVES * 8",
        "#define WAVES 4\n#define STEP 16\n"
        "void f(int K, int w) { for (int k = w * STEP; k < K; k += WAVES * STEP) g(k); }",
    ),
    (
        "min(BAND, tiles_m - first_m)",
        "BAND",
        "template <int BAND> void f(int tiles_m, int tiles_n, int group) {\n  const int per = BAND * tiles_n;\n"
        "  const int first_m = group * BAND;\n  const int height = min(BAND, tiles_m - first_m);\n"
        "  g(per, height); }",
    ),
    (
        "K - k0 < 16 ? K - k0 : 16",
        "16",
        "void f(int K, int first) { const int k0 = 16 * first;\n  const int rows = K - k0 < 16 ? K - k0 : 16;\n"
        "  g(rows); }",
    ),
    (
        "n0 / 32 + j;",
        "n0 / 32;",
        "void f(int n0) { for (int j = 0; j < 2; ++j) {\n  const int nb = n0 / 32 + j;\n  c[j] += s[nb]; } }",
    ),
    (
        "w[2 * t + which]",
        "w[2 * t]",
        "void f(float* w, int t, int which, int at) { if (which >= 0) { much[at] = w[2 * t + which]; } }",
    ),
    (
        "seq * pg.max_pages + p",
        "seq * pages + p",
        "struct Pages { int* table; int max_pages; };\nvoid f(Pages pg, int seq, int pages, int p) {"
        " const int page = pg.table[seq * pg.max_pages + p]; g(page, pages); }",
    ),
    (
        "(b * cv.T + t) * cv.O",
        "(b + t) * cv.O",
        "struct Conv { int T, O; };\nint g(Conv cv, int b, int t) { return (b * cv.T + t) * 4; }\n"
        "int f(Conv cv, int b, int t) { return (b * cv.T + t) * cv.O; }",
    ),
    ("wmma(-xr, yi, im)", "wmma(xr, yi, im)", "void f(v8 xr, v8 yi, v8 im) { im = wmma(-xr, yi, im); }"),
    ("[1,1,0]", "[1,0,0]", 'void f(v8 d) { asm volatile("v_wmma %0, %0, %0 neg_lo:[1,1,0]" : "+v"(d)); }'),
    (
        "q[j * s + k + e]",
        "q[(k + e) * s + j]",
        "void f(float* q, int j, int k, int e, int s) { g(q[j * s + k + e]); }",
    ),
    (
        "rs[row] * cs[col] +",
        "rs[col] * cs[row] +",
        "float f(float* rs, float* cs, int row, int col) { return rs[row] * cs[col] + bias[col]; }",
    ),
    (
        "v * gamma[c] + beta[c]",
        "v * beta[c] + gamma[c]",
        "float f(const float* gamma, const float* beta, float v, int c) { return v * gamma[c] + beta[c]; }",
    ),
    (
        "n / across * 16",
        "n / (total / across) * 16",
        "int f(int n, int total, int across) { const int m0 = n / across * 16; return m0 + n % across; }",
    ),
    (
        "(same ? left : right).v",
        "right.v",
        "struct Panel { float v[4]; };\nvoid f(bool same) { Panel left, right; h(left); if (!same) h(right);\n"
        "  g((same ? left : right).v); }",
    ),
    (
        "float part = float{};",
        "float part = total[j];",
        "void f(float* total, int j) { float part = float{};\n"
        "  for (int i = 0; i < 4; ++i) part += g(i); total[j] += part; }",
    ),
    (
        "is = ib; best = x;",
        "best = x;",
        "void f(float x, int e) { float best = 0, second = 0; int ib = 0, is = 0; if (x > best) {\n"
        "  second = best; is = ib; best = x; ib = e;\n} else {\n  second = x; is = e;\n} g(is); }",
    ),
    (
        "q += z * T; y",
        "y",
        "void f(float* x, int* q, float* y, int z, int T, int C) {\n"
        "  x += z * T * C; q += z * T; y += z * T * C; h(q); }",
    ),
    (
        "s.cut |= cut; }",
        "}",
        "struct Part { float sum; int cut; };\nvoid f(Part s) { const float left = up(s.sum);\n"
        "  const int cut = up(s.cut); if (left > 0) { s.sum += left; s.cut |= cut; } }",
    ),
    (
        "a.sum * w0 + b.sum * w1",
        "a.sum + b.sum",
        "struct Sums { float sum, top; };\nfloat f(Sums a, Sums b, float w0, float w1) {\n"
        "  const float z = a.sum * w0 + b.sum * w1;\n  return (a.top * w0 + b.top * w1) / z; }",
    ),
    (
        "4 * (lane >> 4) + v",
        "(lane >> 5) * 8 + v * 2",
        "int f(int m0, int lane, int v) { const int row = m0 + 4 * (lane >> 4) + v; return row; }",
    ),
    (
        "r + c + 32 < M) y",
        "r + c < M) y",
        "void f(int r, int c, int M, float x) { if (r + c < M) y[r + c] = x;\n"
        "  if (r + c + 32 < M) y[r + c + 32] = x; }",
    ),
    (
        "i < slots * waves",
        "i < slots",
        "void f(int n) { const int slots = n + 1, waves = blockDim.x / 32;\n"
        "  for (int i = threadIdx.x; i < slots * waves; i += blockDim.x) copies[i] = 0;\n"
        "  for (int w = 0; w < waves; ++w) h(w, slots); }",
    ),
    (
        "mask[bm * words",
        "mask[blockIdx.x * words",
        "void f(int words, int base, int K, int N) { const int bm = blockIdx.y, n0 = blockIdx.x * 32;\n"
        "  const unsigned bits = mask[bm * words + base / 32]; g(bm, n0, bits); }",
    ),
    (
        "for (auto& lp_each : acc) lp_each[v] *= fix;",
        "",
        "void f(v8 l, v8 s) { v8 acc[4] = {};\n  for (int v = 0; v < 8; ++v) {\n  const float fix = g(v);\n"
        "  l[v] = l[v] * fix + sum(s[v], [](float x) { return x; });\n"
        "  for (auto& lp_each : acc) lp_each[v] *= fix;\n}\n"
        "  for (int c = 0; c < 4; ++c) acc[c] = wmma(s, s, acc[c]); }",
    ),
    (
        "re = wmma(xi, yi, re);",
        "",
        "void f(v8 xr, v8 xi, v8 yr, v8 yi, v8 re) {\n  re = wmma(xr, yr, re);\n  re = wmma(xi, yi, re);\n  h(re); }",
    ),
    (
        "fmaxf(top[g], peak),",
        "peak,",
        "void f(float* top, int g, float peak) {\n"
        "  const float now = fmaxf(top[g], peak), fix = h(now); g(fix); top[g] = now; }",
    ),
    (
        "top[g] = now; }",
        "}",
        "void f(float* top, int g, float x) { top[g] = 0.0f; for (;;) {\n"
        "  const float now = fmaxf(top[g], x); h(now); top[g] = now; } }",
    ),
    (
        "b * w1 / z;",
        "b * w1;",
        "void f(float a, float b, float w1) { const float z = a + w1; y[0] = b * w1 / z; }",
    ),
    (
        "sa[0] * sb[0]",
        "sa[0]",
        "float f(const float* sa, const float* sb, float x) { const float scale = sa[0] * sb[0]; return x * scale; }",
    ),
    (
        "s[r].mean * s[r].scale",
        "s[r].mean",
        "struct Of { float mean, scale; };\nvoid g(Of* s, int r, float x) { s[r] = {x, x * x}; }\n"
        "void f(Of* s, int r, float x) { y[r] = x - s[r].mean * s[r].scale; }",
    ),
    (
        "begin + run < K ? begin + run : K",
        "begin + run",
        "void f(int run, int w, int K) {\n"
        "  const int begin = w * run, end = begin + run < K ? begin + run : K; h(begin, end); }",
    ),
    (
        "if (row < m) out",
        "out",
        "void f(float* out, int m, int m0, int v, float x) { const int row = m0 + v;\n  if (row < m) out[row] = x; }",
    ),
    (
        "second = best;",
        "best = second;",
        "void f(float x, float best, float second) {\n  second = best;\n  best = x; }",
    ),
    (
        "group * WORDS + s",
        "group + s",
        "enum { WORDS = 4 };\nvoid f(const int* codes, int group) {\n"
        "  for (int s = 0; s < WORDS; ++s) h(codes[group * WORDS + s]); }",
    ),
    (
        "% (n / 8) * 8;",
        "% (n / 8);",
        "void f(int n, int i) { const int r = i / (n / 8);\n  const int c = i % (n / 8) * 8;\n  h(r, c); }",
    ),
    (
        "p[n * 16 + half * 8]",
        "p[n * 16]",
        "void f(float* p, float* q, int n, int half, int d) {\n"
        "  g(q + n * 64 + d + half * 8);\n  h(p[n * 16 + half * 8]); }",
    ),
    (
        "fill(s ^ 1, k0 + STEP)",
        "fill(s ^ 1, k0)",
        "void f(int s, int k0, int K, int STEP) { if (k0 + STEP < K) fill(s ^ 1, k0 + STEP); }",
    ),
    ("t / 128", "t / 64 % 2", "void f(int t) { const int half = t / 128; g(half); }"),
    ("(1 << (SHIFT - 1))", "(1 << SHIFT)", "int f(int x, int SHIFT) { return x + (1 << (SHIFT - 1)); }"),
    (
        "h2{1024, 1024}",
        "h2{1032, 1032}",
        "h2 f(h2 x) { return x - h2{1024, 1024}; }",
    ),
    (
        "((lane ^ 8) << 2)",
        "lane ^ 8",
        "int f(int lane, int x) { const int to = ((lane ^ 8) << 2); return __builtin_amdgcn_ds_bpermute(to, x); }",
    ),
    ("[l / 4][l % 4]", "[l % 4][l / 4]", "float f(int l) { return tile[l / 4][l % 4]; }"),
    (
        "r * (K / GROUP) + g",
        "g * N + r",
        "int f(const int* s, int r, int g, int N, int K) { int n = K / GROUP; return n * s[r * (K / GROUP) + g]; }",
    ),
    (
        "px.x * s.stride + X[tap]",
        "px.x + X[tap]",
        "void f(P px, S s, int tap) { int y = px.y * s.stride + Y[tap], x = px.x * s.stride + X[tap]; g(y, x); }",
    ),
    ("^= 0x80008000u", "^= 0x00008000u", "void f(unsigned* u) { u[0] ^= 0x80008000u; }"),
    (
        "E2M1[(q >> 4) & 15]",
        "E2M1[(q >> 4) & 7]",
        "__constant__ float E2M1[16] = {0, 1, 2};\nfloat f(int q) { return E2M1[(q >> 4) & 15]; }",
    ),
    (
        "K0 * PITCH",
        "K0 * ROWS * VEC",
        "void f(int K0, int ROWS, int VEC) { const int PITCH = (ROWS + 1) * VEC; g(K0 * PITCH); }",
    ),
    (
        "mac(-a.re, b.im, c)",
        "mac(a.re, b.im, c)",
        "float f(C a, C b, float c) { return mac(-a.re, b.im, c); }",
    ),
    (
        "k0 + s + 8 * hi + i",
        "k0 + s + i",
        "void f(float* a, int k0, int s, int hi) { g(a[s + 8 * hi]);\n"
        "  for (int i = 0; i < 8; ++i) { const int kk = k0 + s + 8 * hi + i; g(kk); } }",
    ),
    (
        "(v >> 4) & 0x0F0F0F0F",
        "v >> 4",
        "void f(int v) { g(v & 0x0F0F0F0F); int high = (v >> 4) & 0x0F0F0F0F; g(high); }",
    ),
    ("wave = threadIdx.y", "wave = threadIdx.x / 32", "void f() { const int wave = threadIdx.y; g(wave); }"),
    (
        "load(x + (size_t)(id / top) * k)",
        "load(x + (size_t)id * k)",
        "float f(const float* x, int id, int k, int top) { return load(x + (size_t)(id / top) * k); }",
    ),
    (
        "m < m_len && k < k_len",
        "m < m_len",
        "using at_t = int;\n"
        "void f(at_t m, at_t m_len, at_t k, at_t k_len) { const bool valid = m < m_len && k < k_len; g(valid); }",
    ),
    ("(n + 15) >> 4", "n >> 4", "unsigned f(unsigned n) { return (n + 15) >> 4; }"),
    (
        "row < n && col <= row",
        "row < n && col < n",
        "void f(float* c, int row, int col, int n) { if (row < n && col <= row) c[row * n + col] = 0; }",
    ),
    ("add<0x141>(v)", "add<0x140>(v)", "int f(int v) { v = add<0x141>(v); return v; }"),
    (
        "4 * v + lane / 16",
        "2 * v + lane / 16",
        "void f(int lane, int m0) { for (int v = 0; v < 4; ++v) h(m0 + 4 * v + lane / 16); }",
    ),
    (
        "order == Order::Columns",
        "order == Order::Rows",
        "enum class Order : int { Rows = 0, Columns };\nbool f(Order order) { return order == Order::Columns; }",
    ),
    (
        "Sum<Sign::Off, 4> sum, rest;",
        "Sum<Sign::On, 4> sum, rest;",
        "enum class Sign { On, Off };\nvoid f(int n) { Sum<Sign::Off, 4> sum, rest;\n  sum(n); rest(n); }",
    ),
    (
        "const View a{x, k, 1}, b{y, 1, n};",
        "const View a{x, k, 1}, b{y, 1, k};",
        "void f(float* x, float* y, int n, int k) {\n  const View a{x, k, 1}, b{y, 1, n};\n  g(a, b, n); }",
    ),
    (
        "r.full[t] = r.empty[t] = 0;",
        "r.full[t] = 0;",
        "struct Ring { float x[4]; unsigned full[4], empty[4]; };\n"
        "void f(Ring& r, int t) {\n  if (t < 4) r.full[t] = r.empty[t] = 0;\n  g(&r.full[t], &r.empty[t]); }",
    ),
    (
        "(size_t)min(n0 + lane, N - 1) * K",
        "(size_t)(n0 + lane) * K",
        "void f(float* p, float* q, int m0, int n0, int lane, int M, int N, int K) {\n"
        "  p += (size_t)min(m0 + lane, M - 1) * K;\n  q += (size_t)min(n0 + lane, N - 1) * K;\n"
        "  if (n0 + lane < N) h(p, q); }",
    ),
    (
        "row = min(m0 + lane, M - 1);",
        "row = m0 + lane;",
        "int f(int m0, int lane, int M) {\n  const int row = min(m0 + lane, M - 1);\n"
        "  g(min(lane, 2));\n  if (m0 + lane < M) h(); return row; }",
    ),
    (
        "(r < rows ? r : rows - 1) * K",
        "r * K",
        "void f(float* p, int r, int rows, int K) {\n  p += (r < rows ? r : rows - 1) * K;\n  if (r < rows) h(p); }",
    ),
    (
        "k += 8, turn ^= 1)",
        "k += 8)",
        "void f(int K) {\n  for (int k = 0, turn = 0; k < K; k += 8, turn ^= 1) {\n    g(turn ^ 1);\n  }\n}",
    ),
    (
        "r < end && c < n",
        "r < r0 + BM && c < n",
        "void f(int r0, int r, int c, int end, int n) {\n  if (r0 >= end) return;\n"
        "  if (r < end && c < n) h(r, c); }",
    ),
    (
        "fill(s ^ 1, k + 8)",
        "fill(s ^ 1, k)",
        "void f(int s, int k, int n) { while (k < n) { fill(s ^ 1, k + 8); k += 8; g(s, k); } }",
    ),
    (
        "k -= Tile::depth;",
        "k -= Tile::pitch;",
        "struct Tile { static constexpr int pitch = 16, rows = 4, depth = 8; };\n"
        "void f(int a, int b, int c, int d, int e, int k, int m, int n, int o) {\n"
        "  g(a, b, c, d, e, m, n, o, Tile::pitch);\n  k -= Tile::depth;\n  g(a, b, c, d, e, m, n, o, k); }",
    ),
    (
        "*q = x, *r = y;",
        "*q = x, *r = x;",
        "void f(float* x, float* y) {\n  float *q = x, *r = y;\n  g(q, r, x); }",
    ),
    (
        "g(q, r);",
        "g(q, q);",
        "void f(float* x, float* y) {\n  float *q = x, *r = y;\n  r += 1;\n  q += 2;\n  g(q, r); }",
    ),
    (
        "total = total * keep + part",
        "total = total + part",
        "float total;\nvoid f(float part, float m) {\n"
        "  const float keep = exp2f(m);\n  total = total * keep + part; }",
    ),
    (
        "s = s * keep + part",
        "s += part",
        "void f(float part, float m) {\n  float s = 0, keep = m;\n  s = s * keep + part;\n  g(s, keep); }",
    ),
    (
        "i / BN, n = i % BN",
        "i / BK, n = i % BK",
        "namespace n { template <int BM, int BN, int BK> struct P {\n"
        "  template <typename T> void f(T& t, int* w) const {\n"
        "    for (int i = 0; i < BN * BK; i += 32) {\n"
        "      const int k = i / BN, n = i % BN;\n      t.at(n, k) = w[i];\n"
        "    } } }; }",
    ),
    (
        "i += gridDim.x",
        "i += blockDim.x",
        "void f(int n) { for (int i = blockIdx.x; i < n; i += gridDim.x) { g(i); } }",
    ),
    (
        "done(v, col)",
        "done(v, row)",
        "void f(float v, int row, int n) {\n"
        "  auto done = [&](float x, int c) { return x + n * c; };\n  int col = n * 3;\n"
        "  g(row, col);\n  g(row * n + col, done(v, col)); }",
    ),
    (
        "n * groups() + g",
        "n * words() + g",
        "struct W { int K; const float* s;\n  int groups() const { return K / 32; }\n"
        "  int words() const { return (groups() + 7) / 8; }\n"
        "  float scale(int n, int g) const { return s[n * groups() + g]; } };",
    ),
    (
        "((int)(word << (28 - 4 * i)) >> 28)",
        "(int)((word << (28 - 4 * i)) >> 28)",
        "int sign4(unsigned word, int i) { return ((int)(word << (28 - 4 * i)) >> 28); }",
    ),
    (
        "(int)((word << 3) >> 28)",
        "(int)(word << 3) >> 28",
        "int high(unsigned word) { return (int)((word << 3) >> 28); }",
    ),
    ("run<true, false>", "run<false, true>", "void f(float* a) { run<true, false>(a, K); }"),
    (
        "*(const long*)(p + n * K + k)",
        "*((const long*)(p + n * K) + k)",
        "long f(const char* p, int n, int k, int K) { return *(const long*)(p + n * K + k); }",
    ),
    (
        "*((const long*)p + k)",
        "*(const long*)(p + k)",
        "long f(const char* p, int k) { return *((const long*)p + k); }",
    ),
    (
        "scales[at], zeros[at]",
        "zeros[at], scales[at]",
        "float f(int w, int at) { return unpack(words[w], scales[at], zeros[at]); }",
    ),
    (
        "turn ^= 1; } while",
        "} while",
        "void f(int k, int n) {\n  int turn = 0;\n  do { g(turn ^ 1); k += 4; turn ^= 1; } while (k < n);\n}",
    ),
    (
        "n * (part + 1) / parts",
        "first + n / parts",
        "int f(int n, int part, int parts) { int first = n * part / parts, end = n * (part + 1) / parts; g(first); }",
    ),
    (
        "load(a, K, k_end)",
        "load(a, K, K)",
        "void load(int a, int K, int k_end) { a += k_end; }\nvoid f(int a, int k_end) { load(a, K, k_end); }",
    ),
    (
        "row >= end",
        "row >= offs[n]",
        "void f(const int* offs, float* y, int n, int row, int end) { if (row >= end) return; y[row] = 1; g(end); }",
    ),
    ("-__builtin_inff()", "__FLT_MIN__", "float f(float x) { return fmaxf(x, -__builtin_inff()); }"),
    ("::lowest()", "::min()", "float f(float x) { return fmaxf(x, limits<float>::lowest()); }"),
    (
        "oy0 * STRIDE - PAD",
        "oy0 - PAD",
        "void f(int oy0, int ox0) { const int y0 = oy0 * STRIDE - PAD, x0 = ox0 * STRIDE - PAD; g(y0, x0); }",
    ),
    (
        "max(max(a.x, a.y), max(a.z, a.w))",
        "max(max(v.x, v.y), max(v.z, v.w))",
        "float f(float4 v) { float4 a = abs4(v); return max(max(a.x, a.y), max(a.z, a.w)); }",
    ),
    (
        "(q_heads + kv_heads) *",
        "2 * q_heads *",
        "int f(int q_heads, int kv_heads, int dim) { int at = (q_heads + kv_heads) * dim; return at - kv_heads; }",
    ),
    (
        "off() + (is_label ? on() : 0)",
        "is_label ? on() : off()",
        "float f(bool is_label) { return off() + (is_label ? on() : 0); }",
    ),
    (
        "affine(x[i], c + i)",
        "affine(x[i], c)",
        "void f(float* x, int c) {\n  for (int i = 0; i < 4; ++i) x[i] = affine(x[i], c + i);\n}",
    ),
)
"""The same for more kinds of mistakes, each in a function of its own."""


@pytest.mark.parametrize(("right", "wrong", "function"), SMALL)
def test_the_right_text_of_a_small_function_is_offered(right: str, wrong: str, function: str) -> None:
    assert function.count(right) == 1
    text = HEAD + function
    mistaken = text.replace(right, wrong)
    source = Source(mistaken)
    within = {
        source.around(i)
        for i, token in enumerate(source.tokens)
        if token.start >= len(HEAD) and token.text != ";"
    }
    found = [Spot(source, one, [source], ("K",)) for one in within if len(one)]
    assert any(words(one.apply(mistaken)) == words(text) for spot in found for one in offered(spot)[:FIRST])


def test_a_mean_is_over_an_extent_that_the_kernel_is_given() -> None:
    text = (
        HEAD
        + "float f(int K, float s, float eps) { for (int i = 0; i < K; ++i) s += g(i); return rsqrtf(s / K + eps); }"
    )
    wrong = text.replace("s / K", "s / blockDim.x")
    found = [words(one.apply(wrong)) for one in offered(spot_of(wrong, wrong.index("rsqrtf")))]
    assert words(text) in found[:16]


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


def test_coordinates_that_are_always_0_are_not_offered() -> None:
    spot = spot_of(KERNEL, KERNEL.index("blockIdx.y * TILE"))
    texts = " ".join(one.text for one in offered(replace(spot, axes=("blockIdx.x",))))
    assert "blockIdx.x" in texts
    assert "blockIdx.z" not in texts
    assert "blockIdx.z" in " ".join(one.text for one in offered(spot))


def test_switches_of_the_preprocessor_are_no_numbers() -> None:
    """A switch that is off is 0, and 0 in a product mends much by chance."""
    text = KERNEL.replace(
        "constexpr int TILE", "#define TRANSPOSED 0\n#if TRANSPOSED\n#endif\nconstexpr int TILE"
    )
    texts = " ".join(one.text for one in offered(spot_of(text, text.index("lane * STRIDE"))))
    assert "STRIDE" in texts or "TILE" in texts
    assert "TRANSPOSED" not in texts
    plain = text.replace("#if TRANSPOSED\n#endif\n", "")
    assert "TRANSPOSED" in " ".join(one.text for one in offered(spot_of(plain, plain.index("lane * STRIDE"))))


@pytest.mark.parametrize(
    ("statement", "never"),
    [
        ("Pipe<BM, BN> pipe;", ("Pipe<=BM", "BN>=pipe")),
        ("pipe.fill(0, A + 1);", ("pipe.0", "pipe.A")),
        ("for (int j = 0; j < n; ++j) g(j);", ("(intj=0;j<n;++j)g",)),
        ("fill(0, x);", ("intwhich", "floatx")),
        ("y[0] = threadIdx.x * alpha;", ("threadIdx.alpha",)),
        ("each(n, [&](int i, int j) { g(i); });", ("inti*", "intj*", "inti+", "intj+")),
        ("y[0] = n * g(3);", ("load*", "*load", "load+")),
    ],
)
def test_what_no_compiler_takes_is_not_offered(statement: str, never: tuple[str, ...]) -> None:
    """A template's brackets, an object without its call, a loop's head alone, parameters, a lambda as a number."""
    body = f"auto load = [](int i) {{ return i; }};\n  {statement}"
    text = (
        f"void fill(int which, float x);\nvoid f(float* y, int n, float alpha, float* A) {{\n  {body}\n}}\n"
    )
    found = ["".join(one.apply(text).split()) for one in offered(spot_of(text, text.index(statement)))]
    assert found
    assert not [new for new in found for bad in never if bad in new and bad not in "".join(text.split())]


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("CHUNK = 48", "CHUNK = 32", (47, 48)),
        ("g(x, N + 8)", "g(x, N)", (8, 32)),
        ("r * (N + 8)", "r * N", (8,)),
        ("key += 0xbb67ae85u", "key += 0xbb67ae58u", (0x9E3779B9, 0xBB67AE85)),
        ("key *= 1664525", "key *= 1664252", (1664525,)),
    ],
)
def test_numbers_of_the_launch_and_of_pitches_are_offered(
    right: str, wrong: str, told: tuple[int, ...]
) -> None:
    """They are in the manifest: of a grid, a block, or the distance of rows; keys are in the reference."""
    text = f"void f(float* x, int r, int N) {{\n  {right};\n}}\n".replace(right, wrong)
    spot = replace(spot_of(text, text.index(wrong)), told=told)
    found = ["".join(one.apply(text).split()) for one in rewrites(spot, "told")]
    assert any("".join(right.split()) in one for one in found)
    assert not rewrites(spot_of(text, text.index(wrong)), "told")


def test_what_is_declared_together_has_its_own_sort_each() -> None:
    source = Source(
        "void f() { float buf[2][16], best = 1, *at = buf[0]; int *p = q, n = 3; for (int i = 0, j = 1;;) g(); }"
    )
    found = {source.tokens[i].text: sort for i, sort in declarations(source)}
    kinds = {"buf": "pointer", "best": "real", "at": "pointer", "p": "pointer", "n": "integer"}
    assert found == {**kinds, "i": "integer", "j": "integer"}


@pytest.mark.parametrize(
    "head", ["f(int k) const {", "f(int k) const noexcept {", "f(int k) -> float {", "f(int k) {"]
)
def test_a_function_begins_with_its_head(head: str) -> None:
    """Whatever stands between its parameters and its body, and a block that it begins with is none."""
    spot = spot_of(text := f"struct P {{ auto {head} for (;;) {{ x = k; }} }} }};", text.index("x = k"))
    assert spot.body.startswith(f"auto {head}")
    assert "k" in spot.names


def test_variables_are_declared_with_braces_and_constructors() -> None:
    source = Source(
        "struct V { int a; V(int x) {} void set(int); };\n"
        "void f(int n) { V a{n}, b{1}; V c(n), d(2); g(n); return h(n); }"
    )
    found = [source.tokens[i].text for i, sort in declarations(source) if sort == "V"]
    assert found == ["a", "b", "c", "d"]
