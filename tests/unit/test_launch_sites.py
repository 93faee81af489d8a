"""Launches as host code writes them, read from its text."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from layoutprobe.drafting.chained import handed_on
from layoutprobe.drafting.launch_sites import LaunchSite, launch_sites, sites_in

SITE = ("(N + 15) / 16", "M / 64", "1"), ("128", "1", "1"), "0", ("M", "N")
WRITTEN = {
    "numbers and constants": """
        #define CEIL(a, b) (((a) + (b) - 1) / (b))
        constexpr int TILE = 16, THREADS = 128;
        void f(int M, int N) { k<<<dim3(CEIL(N, TILE), M / (4 * TILE)), THREADS>>>(M, N); }""",
    "a function, named extents": """
        inline int cdiv(int a, int b) { return (a + b - 1) / b; }
        void f(int M, int N) { dim3 g{cdiv(N, 16), (unsigned)M / 64u}; dim3 b(128); k<<<g, b, 0, s>>>(M, N); }""",
    "members, a cast, the C++ library's names": """
        void f(int M, int N) { dim3 g; g.x = static_cast<unsigned>(N + 15) / 16; g.y = M / 64;
          const std::size_t t = 128;
          hipLaunchKernelGGL(HIP_KERNEL_NAME(k<64, float>), g, dim3(t, 1, 1), 0, 0, M, N); }""",
    "a template and its instance": """
        template <int BM, typename T, int BN = 16> void f(int M, int N) {
          auto grid = dim3((N + BN - 1) / BN, M / BM);
          ns::k<T, BM><<<grid, dim3(2 * BM)>>>(M, N); }
        void g(int a, int b) { f<64, float, 16>(a, b); }""",
    "members of a policy": """
        struct Large { static constexpr int N = 512, M = 512, T = 1024; };
        struct Small { static constexpr int N = 16, M = 4 * N; static constexpr unsigned T = 128; };
        template <typename Policy> void f(int M, int N) {
          const dim3 grid((N + Policy::N - 1) / Policy::N, M / Policy::M);
          k<Policy><<<grid, dim3(Policy::T)>>>(M, N); }
        void g(int a, int b) { f<Small>(a, b); }""",
    "an instance of a policy's template, which has one of a tile's": """
        template <int M_, int N_, int Waves = 2> struct Shape {
          static constexpr int M = M_, N = N_; static constexpr int Threads = Waves * 64; };
        template <typename S, bool Big> struct Rules { using Tile = S; };
        using Policy = ns::Rules<Shape<64, 16>, false>;
        void f(int M, int N) {
          dim3 grid((N + Policy::Tile::N - 1) / Policy::Tile::N, M / Policy::Tile::M);
          hipLaunchKernelGGL((k<Policy>), grid, dim3(Policy::Tile::Threads), 0, 0, M, N); }""",
    "a module": """
        void f(hipFunction_t fn, int M, int N) { void* args[] = {&M, &N};
          hipModuleLaunchKernel(fn, (N + 15) / 16, M / 64, 1, 128, 1, 1, 0, stream, args, nullptr); }""",
    "comments, another block's names": """
        // k<<<1, 1>>>(M, N); and "k<<<2, 2>>>(M, N)"
        void other() { int M = 3; const int t = 5; }
        void f(int M, int N) { const int t = 128; /* dim3 g(7); */
          dim3 g = dim3((N + 15) / 16, M / 64); k<<<g, t>>>(M, N); }""",
    "sizes that a tensor says, and a program's constants": """
        int main() { const int M = x.size(0); const int N = 96;
          k<<<dim3((N + 15) / 16, M / 64), 128>>>(M, N); }""",
}


def _simple(text: str) -> str:
    """With the tile's arithmetic done: forms differ in how they write 15 and 64."""
    for long, short in (("16 - 1", "15"), ("(4 * 16)", "64"), ("2 * 64", "128")):
        text = text.replace(long, short)
    return text


@pytest.mark.parametrize("name", WRITTEN)
def test_forms_of_one_launch(tmp_path: Path, name: str) -> None:
    source = tmp_path / "k.hip"
    source.write_text(WRITTEN[name])
    (site,) = launch_sites(source)
    assert site.kernel == ("" if name == "a module" else "k")
    grid, block, lds, arguments = SITE
    assert tuple(map(_simple, site.grid)) == grid
    assert tuple(map(_simple, site.block)) == block
    assert (site.dynamic_lds, site.arguments) == (lds, arguments)


def test_what_cannot_be_read_is_not_guessed(tmp_path: Path) -> None:
    source = tmp_path / "k.hip"
    source.write_text(
        "void f(int n) { k<<<dim3(n, 1, v.size()), 32>>>(p, n, n * 2, 1.5f); j<<<n, tuned(n)>>>(n); }"
    )
    (site,) = launch_sites(source)
    assert replace(site, block_at=0) == LaunchSite(
        "k", ("n", "1", "grid_z"), ("32", "1", "1"), "0", ("p", "n", "n * 2", "1.5f")
    )


def test_what_is_computed_of_the_command_line_is_no_size_of_its_own(tmp_path: Path) -> None:
    source = tmp_path / "k.hip"
    source.write_text(
        "int main(int c, char** v) { int m = c > 1 ? atoi(v[1]) : 9, n = 7, ld = 2 * m + n; dim3 g((n + 7) / 8, m);"
        " k<<<g, 32>>>(p, ld, m, n); }"
    )
    (site,) = launch_sites(source)
    assert (site.grid, site.arguments) == (("(n + 7) / 8", "m", "1"), ("p", "2 * m + n", "m", "n"))


def test_files_in_quotes_are_read_once_and_others_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "tile.h").write_text('#include "k.hip"\n#define TILE 32\n')
    source = tmp_path / "k.hip"
    source.write_text(
        '#include "tile.h"\n#include "nobody.h"\n#include <vector>\nvoid f(int n) { k<<<n / TILE, TILE>>>(n); }'
    )
    assert {site.grid[0] for site in launch_sites(source)} == {"n / 32"}


@pytest.mark.parametrize(
    "text",
    ["k<<<", "k<<<1,", "k<<<1, 2>>>", "k<<<(((, 2>>>((", "#define A B\n#define B A\nvoid f() { k<<<A, B>>>(A); }",
     "int a(int b) { return a(b); } void f() { k<<<a(1), 1>>>(); }", "k<<<" + "(" * 5000 + ", 1>>>()", "dim3 g" * 500,
     "".join(f"#define A{i} A{i + 1} + A{i + 1}\n" for i in range(60)) + "void f() { k<<<A0, 1>>>(); }",
     "void f() { int a = 1; } " * 500 + "k<<<a, b>>>(c);" * 50, "struct A {" * 40_000 + "k<<<A::b, 1>>>(c);",
     "struct A { " + "using B = A; " * 600 + "}; void f() { k<<<A::B::c, 1>>>(c); }",
     "template <class T> struct A { using B = A<A<" + "T," * 3000 + ">>; static const int c = " + "T+" * 300 + "T; };"
     "using C = A<C>; void f() { k<<<C::B::B::c, 1>>>(c); }"],
)  # fmt: skip
def test_text_that_means_harm_ends(tmp_path: Path, text: str) -> None:
    source = tmp_path / "k.hip"
    source.write_text(text)
    launch_sites(source)


def test_a_grid_that_is_a_size_and_numbers_with_a_point(tmp_path: Path) -> None:
    """`rows` goes to the kernel: that this host code gives it a number does not make the grid that number."""
    source = tmp_path / "k.hip"
    source.write_text(
        "int main() { const int rows = 32, d = 64; k<<<rows, 128>>>(x, rows, d, 1e-5f, .5f, 2.f / d, -3.0); }"
    )
    (site,) = launch_sites(source)
    assert site.grid == ("rows", "1", "1")
    assert site.arguments == ("x", "rows", "d", "1e-5f", ".5f", "", "-3.0")
    numbers = [site.number(i) for i in range(len(site.arguments))]
    assert numbers == [None, None, None, 1e-5, 0.5, None, -3.0]
    assert site.names == ("x", "rows", "d")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0f / sqrtf((float)HEAD)", 0.125),
        ("1.f / std::sqrt(static_cast<float>(HEAD))", 0.125),
        ("0.5f * (float)HEAD / 3", 32 / 3),
        ("HEAD / 3 * 2.0", 42.0),
        ("-1.5e-3f", -1.5e-3),
        ("HEAD / 3", None),
        ("2.0f * n", None),
        ("1.0f / 0", None),
        ("9.0 ** 9", None),
        ("expf(1e9f)", None),
        ("open(1.0)", None),
    ],
)
def test_numbers_that_constants_give(tmp_path: Path, text: str, value: float | None) -> None:
    """Integers divide as in C++; what depends on a size, or is no arithmetic, is not guessed."""
    source = tmp_path / "k.hip"
    source.write_text(
        f"constexpr int HEAD = 64;\nvoid f(int n) {{ const float s = {text}; k<<<n, 32>>>(x, n, s); }}"
    )
    (site,) = launch_sites(source)
    assert site.number(2) == value


def test_extents_that_only_a_tensor_knows_and_bytes_of_types(tmp_path: Path) -> None:
    source = tmp_path / "k.hip"
    source.write_text(
        "void f(at::Tensor t) { auto x = t.contiguous(); const auto rows = x.size(0); const int threads = 64;\n"
        "k<<<rows, threads, threads * sizeof(float)>>>(x, 3); }"
    )
    (site,) = launch_sites(source)
    assert (site.grid, site.block, site.dynamic_lds) == (("rows", "1", "1"), ("64", "1", "1"), "64 * 4")


def test_launches_of_one_block_of_code_are_known_as_such(tmp_path: Path) -> None:
    source = tmp_path / "k.hip"
    source.write_text("void f(int n) { k<<<n, 32>>>(ws, n); if (n) { j<<<n, 1>>>(p, n); } r<<<1, n>>>(n, ws); }"
                      " void g(int n) { r<<<1, n>>>(n, ws); }")  # fmt: skip
    k, j, r, other = launch_sites(source)
    assert (handed_on(k, 0, r), handed_on(k, 0, j), handed_on(k, 0, other), handed_on(k, 0, k)) == (
        1,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("called", "scale", "lds"),
    [("f<16, true>", "0.25", "7"), ("f<64, true>", "0.125", "7"), ("f<64, false>", "0.125", "0")],
)
def test_an_instance_is_launched_with_its_own_numbers(called: str, scale: str, lds: str) -> None:
    """Of a template whose calls differ: those of the first one were taken for all."""
    text = """template <int D, bool CAUSAL> __global__ void f(float* x, float scale);
template <int D> void launch(float* x, bool causal) {
  const float scale = 1.0f / sqrtf((float)D);
  if (causal) f<D, true><<<1, 32, 7>>>(x, scale);
  else f<D, false><<<1, 32>>>(x, scale);
}
void run(float* x, int d) { d == 16 ? launch<16>(x, true) : launch<64>(x, true); }
"""
    first = sites_in(text, called)[0]
    assert (first.arguments, first.dynamic_lds) == (("x", scale), lds)


def test_an_instance_says_what_a_macro_makes_of_its_parameters() -> None:
    """Numbers of a template that no call of the host's text names."""
    text = """template <int D> __global__ void f(float* x, float scale);
void run(float* x, int d) {
  SWITCH(d, DIM, [&] { f<DIM><<<1, 32>>>(x, 1.0f / sqrtf((float)DIM)); });
}
"""
    assert [site.arguments for site in sites_in(text, "f<64>")] == [("x", "0.125")]
