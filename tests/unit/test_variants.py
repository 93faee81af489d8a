"""Many changes of a source in one text: each is chosen as a whole, as an expression or as a statement."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.gate.build import build
from layoutprobe.gate.copies import SourceCopy
from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.gate.variants import Variants, _meant, _refused, _to_blame
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.rewrites.spot import Rewrite
from layoutprobe.rewrites.variants import combined, region_of
from layoutprobe.rewrites.wording import worded
from layoutprobe.source.macros import macros, storing
from layoutprobe.source.statements import Source

TEXT = """\
void f(float* y, const float* x, int n, Args a) {
  const int row = n / 4, chunk = n % 4 * 8;
  __shared__ float tile[16][40];
  for (int k = 0; k < n; k += 16) {
    if (row < n && k < a.K) y[row * a.N + k] = x[chunk] * 2.0f;
    tile[row][chunk] = x[k];
  }
  g(row, chunk);
}
"""


def change(old: str, new: str, near: str = "") -> Rewrite:
    start = TEXT.index(near) + near.index(old) if near else TEXT.index(old)
    return Rewrite(start, start + len(old), new, "names")


@pytest.mark.parametrize(
    ("old", "new", "near", "chosen"),
    [
        ("4", "8", "n / 4", "n / 4"),
        ("<", "<=", "k < n", "k < n"),
        ("16", "8", "k += 16", "16"),
        ("a.N", "a.K", "row * a.N", "row * a.N + k"),
        ("* 2.0f", "", "] * 2.0f", "x[chunk] * 2.0f"),
        ("&&", "||", "n && k", "row < n && k < a.K"),
        ("[row][chunk]", "[chunk][row]", "tile[row][chunk]", "tile[row][chunk] = x[k];"),
        ("row, chunk", "chunk, row", "g(row, chunk)", "g(row, chunk)"),
    ],
)
def test_the_smallest_that_can_be_chosen_is(old: str, new: str, near: str, chosen: str) -> None:
    region = region_of(Source(TEXT), change(old, new, near))
    assert region is not None
    assert TEXT[region.start : region.end] == chosen


@pytest.mark.parametrize(
    ("at", "text"), [("tile[row", "y = {}; "), ("\n  }\n  g", "\n    h();"), ("const int row", "h();\n  ")]
)
def test_a_statement_more_is_chosen_by_itself(at: str, text: str) -> None:
    """Also before a declaration, and a loop with a block: neither can be chosen."""
    start = TEXT.index(at)
    added = Rewrite(start, start, text, "series")
    region = region_of(Source(TEXT), added)
    assert region is not None
    assert (region.start, region.end, region.is_statement) == (start, start, True)
    new = combined(TEXT, {7: added, 8: change("n / 4", "n / 8")})
    assert new.chosen == {7, 8}
    assert f"if (lp_variant() == 7) {{ {text} }}" in new.text


def test_a_declaration_is_not_chosen_as_a_whole() -> None:
    assert region_of(Source(TEXT), change("const int row", "const long row")) is None


def test_changes_of_one_expression_are_chosen_together_and_each_has_a_line_of_its_own() -> None:
    changes = {
        1: change("4", "8", "n / 4"),
        2: change("/", "%", "n / 4"),
        5: change("a.N", "a.K", "row * a.N"),
    }
    found = combined(TEXT, changes)
    assert found.chosen == {1, 2, 5}
    lines = ["".join(line.split()) for line in found.text.split("\n")]
    for number, text in ((1, "n/8"), (2, "n%4"), (5, "row*a.K+k")):
        (at,) = (
            n
            for n, line in enumerate(lines, 1)
            if f"lp_variant()=={number}?__builtin_choose_expr(lp_how<lp_t,decltype(({text}))>" in line
        )
        assert found.lines[at] == {number}


@pytest.mark.parametrize(
    ("old", "new", "near", "says"),
    [
        ("4", "8", "n / 4", "with `8` in place of `4`"),
        ("a.N", "a.K", "row * a.N", "with `a.K` in place of `a.N`"),
        ("<", "<=", "k < n", "with `k <= n` in place of `k < n`"),
        ("*", "/", "row * a.N", "with `row / a.N` in place of `row * a.N`"),
        (" * 2.0f", "", "] * 2.0f", "without `* 2.0f`"),
        ("row < n", "row < n && row < 3", "(row < n", "with `&& row < 3` added"),
        ("x[chunk]", "chunk[x]", "x[chunk] *", "with `x` and `chunk` exchanged"),
        (
            "row < n && k",
            "col < n && k < col",
            "(row < n && k",
            "with `col < n && k < col` in place of `row < n && k`",
        ),
    ],
)
def test_words_quote_the_smallest_piece_that_is_otherwise(old: str, new: str, near: str, says: str) -> None:
    assert worded(TEXT, change(old, new, near)).says == says


def test_a_long_block_is_quoted_by_what_changes_in_it() -> None:
    body = "".join(f"  f{n}(a, b, c);\n" for n in range(9))
    text = f"void k(int a, int b, int c) {{ for (int i = 0; i < a; ++i) {{\n{body}}} g(a); }}\n"
    at = text.index("} g(a)")
    says = worded(text, Rewrite(at, at + 1, "h(a); } if (b) {", "")).says
    assert says == "with `h(a); } if (b) {` in place of `}`"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("(v) * 2.0f", "v", "without `* 2.0f`"),
        ("3.0f / (w)", "w", "without `3.0f /`"),
        ("(v) * 2.0f", "w", "with `w` in place of `(v) * 2.0f`"),
    ],
)
def test_brackets_that_go_with_what_stood_beside_them_are_no_change(old: str, new: str, says: str) -> None:
    text = "void f() { y = (v) * 2.0f + 3.0f / (w); }"
    assert worded(text, Rewrite(text.index(old), text.index(old) + len(old), new, "")).says == says


def test_an_argument_that_may_have_to_be_constant_is_chosen_with_the_whole_call() -> None:
    text = "void f() { acc[t] = __builtin_dot(true, a, false, b, acc[t + 1]) + g(x, 1); }"
    source = Source(text)

    def chosen(old: str) -> str:
        region = region_of(source, Rewrite(text.index(old), text.index(old) + len(old), "x", "words"))
        assert region is not None
        return text[region.start : region.end]

    whole = "__builtin_dot(true, a, false, b, acc[t + 1]) + g(x, 1)"
    assert [chosen(old) for old in ("false", "t + 1", "x")] == [whole, "t + 1", "x"]


def test_errors_behind_text_that_is_no_expression_are_not_held_against_what_stands_there() -> None:
    one, two, three = (frozenset((n,)) for n in (1, 2, 3))
    errors = [
        (one, "use of undeclared identifier 'q'"),
        (two, "expected ')'"),
        (three, "use of undeclared 'i'"),
    ]
    beside = [frozenset((1, 2, 3))]
    assert _meant(errors, beside) == errors[:2]
    assert _meant(errors, [frozenset((1, 2)), three]) == errors


def test_a_loop_behind_a_pragma_is_not_chosen_as_a_whole() -> None:
    """What chooses would stand between the two, and all that is in the loop would be lost with it."""
    text = (
        "void f(float* y, int n) {\n#pragma unroll\n  for (int e = 0; e < 16; ++e) y[e] = e < n ? 1 : 0;\n}\n"
    )
    start, end = text.index("e < 16"), text.index("e < n")
    whole, part = (
        Rewrite(start, end, text[start:end].replace("e", "n"), "exchange"),
        Rewrite(end + 2, end + 3, "<=", "names"),
    )
    assert region_of(Source(text), whole) is None
    assert region_of(Source(text), part) is not None
    assert region_of(Source(text.replace("#pragma unroll", " " * 14)), whole) is not None


def test_macros_that_a_compiler_must_know_are_not_asked_for() -> None:
    """With one of them no program compiles, and the error names no change."""
    head = "#define PITCH (WIDE + 8)\n#define WIDE 32\n#define STEP 16\n"
    body = "void f(float* y, int n) {\n  __shared__ float t[16][PITCH];\n  y[n * STEP] = t[n][WIDE - 1];\n}\n"
    text = head + body
    numbers = {n: text.index(old) for n, old in enumerate(("8)", "32", "16\n"))}
    changes = {n: Rewrite(at, at + 1 + (n > 0), "4", "numbers") for n, at in numbers.items()}
    assert combined(text, changes).chosen == {2}


LAMBDAS = """\
template <int N> struct Pipe { void fill(int); };
void f(float* y, int n) {
  Pipe<16> pipe;
  each(n, [&](int i, int j) { y[i * n + j] = i; });
}
"""


@pytest.mark.parametrize(
    ("old", "new", "chosen"),
    [
        ("16", "8", None),
        ("int i", "unsigned i", "each(n, [&](int i, int j) { y[i * n + j] = i; });"),
        ("n,", "n + 1,", "n"),
        ("i * n", "j * n", "i * n + j"),
    ],
)
def test_arguments_of_templates_are_not_chosen_and_lambdas_by_whole_statements(
    old: str, new: str, chosen: str | None
) -> None:
    """Each lambda has a type of its own, and a template's argument must be known to the compiler."""
    source = Source(LAMBDAS)
    start = LAMBDAS.index(old, LAMBDAS.index("Pipe<16>"))
    old, new = old.rstrip(","), new.rstrip(",")
    region = region_of(source, Rewrite(start, start + len(old), new, "names"))
    assert (region and LAMBDAS[region.start : region.end]) == chosen


@pytest.mark.parametrize(
    ("old", "chosen"),
    [
        ("ROWS", "T::load<T::ROWS, 8>(tile, x)"),
        ("8", "T::load<T::ROWS, 8>(tile, x)"),
        ("4", "g<4>(x) * 3"),
        ("int", "n + static_cast<int>(x[n])"),
        ("16", None),
        ("32", None),
    ],
)
def test_arguments_of_a_template_that_is_called_are_chosen_with_the_call(
    old: str, chosen: str | None
) -> None:
    """But for functions with LDS: each instance would have its own."""
    text = (
        "template <int N> void whole(float* x) { __shared__ float tile[N]; }\n"
        "void f(float* x, int n) {\n  whole<32>(x);\n  T::load<T::ROWS, 8>(tile, x);\n  x[0] = g<4>(x) * 3;\n"
        "  x[1] = n + static_cast<int>(x[n]);\n  Tile<16> t(n);\n}\n"
    )
    start = text.index(old, text.index("void f(float* x, int n)") + 24)
    region = region_of(Source(text), Rewrite(start, start + len(old), "2", "numbers"))
    assert (region and text[region.start : region.end]) == chosen


INITIAL = """\
struct Loader {
  const float* from;
  int left;
  __device__ Loader(const float* p, int m, int n) : from(p + n * 8), left(m < n ? m : n - 1) {}
};
void f(float* y, int n) {
  if (n) { y[0] = n; }
  store<4>(y, n);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "chosen"),
    [
        ("n * 8", "m * 8", "p + n * 8"),
        ("n - 1", "m - 1", "n - 1"),
        ("m : n", "n : m", "m < n ? m : n - 1"),
        ("int m", "int n", None),
        ("", "if (n < 4) ", "store<4>(y, n)"),
    ],
)
def test_what_members_begin_with_is_chosen_and_a_test_before_a_call(
    old: str, new: str, chosen: str | None
) -> None:
    start = INITIAL.index(old, INITIAL.index("Loader(")) if old else INITIAL.index("store<4>")
    region = region_of(Source(INITIAL), Rewrite(start, start + len(old), new, "names"))
    assert (region and INITIAL[region.start : region.end]) == chosen


def test_of_what_is_constructed_beside_something_else_arguments_alone_are_chosen() -> None:
    text = "void f(float* x, int m, int n) {\n  const Buffer a(x, m * 2), b(x, n * 2);\n  g(a, b);\n}\n"
    start = text.index("b(x")
    whole = Rewrite(start, start + len("b(x, n * 2)"), "x", "terms")
    part = Rewrite(text.index("2);"), text.index("2);") + 1, "4", "numbers")
    assert region_of(Source(text), whole) is None
    region = region_of(Source(text), part)
    assert region is not None
    assert text[region.start : region.end] == "n * 2"


def test_behind_a_broken_sentence_only_errors_that_name_one_change_count() -> None:
    """A brace that is lost leaves errors in all lines below it, whoever stands there."""
    broken = (frozenset({3}), "expected '}'")
    below = (frozenset({4, 5, 6}), "expected unqualified-id")
    named = (frozenset({9}), "use of undeclared identifier 'r'")
    assert _meant([broken, below, named], [frozenset({3})]) == [broken, named]


def test_what_a_loop_does_more_in_each_turn_is_chosen_with_what_it_does() -> None:
    """In place of the last word alone it would be part of what is added."""
    at = TEXT.index("16) {") + 2
    region = region_of(Source(TEXT), Rewrite(at, at, ", turn ^= 1", "omitted"))
    assert region is not None
    assert TEXT[region.start : region.end] == "k += 16"
    at = TEXT.index("row, chunk)") + len("row, chunk")
    assert region_of(Source(TEXT), Rewrite(at, at, ", 1", "borrow")) is None


def test_a_name_that_none_of_them_brings_is_held_against_no_change() -> None:
    """The declaration of `pipe` is spoilt by somebody else: all who use it are refused with it."""
    texts = {1: "k0 + BK", 2: "pipe.b", 3: "BN>"}
    unknown, spoilt = "use of undeclared identifier 'pipe'", "expected '>'"
    one, two, three = (frozenset((n,)) for n in (1, 2, 3))
    errors = [(one, unknown), (two, unknown), (three, spoilt)]
    assert _to_blame(errors, texts) == errors[1:]
    assert _to_blame(errors[:1], texts) == errors[:1]


def test_what_is_no_constant_where_one_is_needed_is_the_change_that_a_note_names() -> None:
    said = (
        "k.hip:9:17: error: constexpr variable 'n' must be initialized by a constant expression\n"
        "k.hip:4:10: note: subexpression not valid in a constant expression\n"
        "k.hip:9:21: note: in call to 'half(64)'\n"
        "k.hip:12:3: error: use of undeclared identifier 'm'\n"
    )
    found = _refused(said, {"k.hip": {4: frozenset((7,)), 12: frozenset((8,))}})
    assert [numbers for numbers, _ in found] == [{7}, {8}]


CONSTANT = """\
#include <hip/hip_runtime.h>
__device__ constexpr int at(int row, int col, int pitch) { return row * pitch + col; }
__device__ constexpr int half(int n) { return n / 2; }
extern "C" __global__ void copied(const float* x, float* y, int M, int N) {
  constexpr int most = half(64);
  __shared__ float kept[most];
  const int row = blockIdx.x, col = threadIdx.x;
  if (col < most) kept[col] = x[at(row, col, N)];
  if (col < most) y[at(row, col, N)] = kept[col];
}
"""
COPIED = """\
[[kernel]]
name = "copied"
source = "kernel.hip"
arch = ["gfx1151"]
grid = ["M"]
block = [32]
sizes = [{ M = 3, N = 32 }]
contract = { kind = "none" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"] },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]
"""


def test_a_function_that_may_be_a_constant_is_chosen_in_and_one_that_must_be_is_not(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text(CONSTANT)
    (tmp_path / "layoutprobe.toml").write_text(COPIED)
    case = read_manifest(tmp_path / "layoutprobe.toml").kernels[0]
    finding = Finding(Rule("numerics/wrong-values", "", "", ""), "y is wrong")

    def edit(old: str, new: str) -> SourceEdit:
        start = CONSTANT.index(old)
        return SourceEdit(case.file.resolve(), Rewrite(start, start + len(old), new, "names"), 0.0, finding)

    edits = [edit("row * pitch + col", "row + col"), edit("n / 2", "n / 4"), edit("col < most", "row < most")]
    program = Variants(SourceCopy(case, "gfx1151", tmp_path / "copy"), edits)
    assert program.runs
    assert [one in program for one in edits] == [True, False, True]


def test_how_long_an_array_is_is_not_chosen_at_run_time(tmp_path: Path) -> None:
    """Else it has another place in memory, and all other changes of the program are wrong with it."""
    text = CONSTANT.replace("most = half(64)", "most = 32")
    text = text.replace("__shared__ float kept[most]", "float kept[half(64)]")
    (tmp_path / "kernel.hip").write_text(text)
    (tmp_path / "layoutprobe.toml").write_text(COPIED)
    case = read_manifest(tmp_path / "layoutprobe.toml").kernels[0]
    finding = Finding(Rule("numerics/wrong-values", "", "", ""), "y is wrong")
    edits = [
        SourceEdit(case.file.resolve(), Rewrite(start, start + len(old), new, "names"), 0.0, finding)
        for old, new in (("half(64)", "half(128)"), ("col < most", "row < most"))
        for start in [text.index(old)]
    ]
    program = Variants(SourceCopy(case, "gfx1151", tmp_path / "copy"), edits)
    assert program.runs
    assert [one in program for one in edits] == [False, True]
    assert program.alone == edits[:1]


def test_a_vector_is_not_chosen_for_a_number(tmp_path: Path) -> None:
    """Else what is chosen is one for all changes of the program, and a test of it another one."""
    text = CONSTANT.replace("col < most) kept", "row + col < most && 1 < N) kept")
    text = text.replace("  const int row", "  typedef float two __attribute__((ext_vector_type(2)));\n"
                        "  const two left = {x[0], x[1]}, right = {x[1], x[0]};\n  const int row")  # fmt: skip
    (tmp_path / "kernel.hip").write_text(text)
    (tmp_path / "layoutprobe.toml").write_text(COPIED)
    case = read_manifest(tmp_path / "layoutprobe.toml").kernels[0]
    finding = Finding(Rule("numerics/wrong-values", "", "", ""), "y is wrong")
    start = text.index("row + col < most")
    edits = [
        SourceEdit(case.file.resolve(), Rewrite(start, start + 16, new, "names"), 0.0, finding)
        for new in ("left < right", "col < most", "row < most")
    ]
    program = Variants(SourceCopy(case, "gfx1151", tmp_path / "copy"), edits)
    assert program.runs
    assert [one in program for one in edits] == [False, True, True]


def test_a_kernel_and_its_header_are_changed_in_one_program(tmp_path: Path) -> None:
    """What choices need is made once: twice, no program of changes in both would compile."""
    (tmp_path / "shape.h").write_text(
        "#include <hip/hip_runtime.h>\n__device__ inline int twice(int n) { return n * 2; }\n"
    )
    source = CONSTANT.replace("const int row = blockIdx.x", "const int row = twice(blockIdx.x) / 2")
    (tmp_path / "kernel.hip").write_text('#include "shape.h"\n' + source)
    (tmp_path / "layoutprobe.toml").write_text(COPIED)
    case = read_manifest(tmp_path / "layoutprobe.toml").kernels[0]
    build(case, "gfx1151")  # its files are those that a compiler read last time
    copy = SourceCopy(case, "gfx1151", tmp_path / "copy")
    finding = Finding(Rule("numerics/wrong-values", "", "", ""), "y is wrong")
    edits = [
        SourceEdit(file, Rewrite(text.index(old), text.index(old) + len(old), new, "names"), 0.0, finding)
        for file, text in copy.texts.items()
        for old, new in (("n * 2", "n * 3"), ("row * pitch + col", "row + col"))
        if old in text
    ]
    assert {edit.file.name for edit in edits} == {"kernel.hip", "shape.h"}
    program = Variants(copy, edits)
    assert program.runs
    assert all(edit in program for edit in edits)


BRANCHES = """\
template <class T> struct Sum { T all; };
__device__ void f(float* y, const float* x, int n) {
  Sum<float> whole{0.f};
  if (n > 2) y[n] = x[n]; else y[n + 1] = 0.f;
  if (n > 4)
    y[2] = x[2];
  const float mean = whole.all / (float)n;
  whole.all += x[1];
  y[0] = whole.all + mean;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "near", "chosen"),
    [
        ("y[n] =", "y[n - 1] +=", "n > 2", "y[n] = x[n];"),
        ("y[n + 1] =", "y[n] +=", "else", "y[n + 1] = 0.f;"),
        ("y[2] =", "y[n] +=", "n > 4", "if (n > 4)\n    y[2] = x[2];"),
        ("Sum<float> whole{0.f}", "Sum<float> whole{}", "f(", None),
        ("float", "double", "mean", "whole.all / (float)n"),
        ("whole.all += x[1];", "", "mean", "whole.all += x[1];"),
    ],
)
def test_statements_are_chosen_within_branches_and_types_with_what_becomes_one(
    old: str, new: str, near: str, chosen: str | None
) -> None:
    """Braces around the first one of `if (a) b; else c;` would leave the `else` alone."""
    start = BRANCHES.index(old, BRANCHES.index(near))
    region = region_of(Source(BRANCHES), Rewrite(start, start + len(old), new, "names"))
    assert (region and BRANCHES[region.start : region.end]) == chosen


def test_each_test_of_a_choice_asks_anew() -> None:
    """Of tests of one value a compiler makes a tree of branches, and clang 22 lost an assignment in one."""
    text = "__device__ void f(int* y, int a, int b) { y[0] = a * 2; y[1] = b * 4; y[2] = a + b; }"
    at = [text.index(word) for word in ("a * 2", "b * 4", "a + b")]
    found = combined(text, {n: Rewrite(start, start + 1, "7", "names") for n, start in enumerate(at, 1)})
    tests = [line.count("lp_variant()") for line in found.text.split("\n") if "<=" in line or "==" in line]
    assert found.chosen == {1, 2, 3}
    assert sum(tests) == 2 * len(at), "one for the place, and one for each change"


SWAPPED = """\
#define ROT(a, b, c) \\
  do { const float t_ = (a).x; (a) = f(b, c); b[1] = t_; } while (0)
#define SUM(a, b) ((a) + (b) == (a))
__global__ void k(float2* y, int i) {
  float2 v0, v1;
  ROT(v0, y, i);
  y[0].x = SUM(i, 2);
}
"""


@pytest.mark.parametrize(
    ("near", "old", "new", "whole"),
    [
        ("ROT(v0", "v0", "v1", "ROT(v0, y, i);"),
        ("i);", "i", "i ^ 1", "ROT(v0, y, i);"),
        ("SUM(i, 2)", "2", "3", "2"),
    ],
)
def test_what_a_macro_assigns_to_is_chosen_with_all_of_it(near: str, old: str, new: str, whole: str) -> None:
    """A choice of two structures may be assigned to, in vain: then no other change in the program would be right."""
    at = SWAPPED.index(old, SWAPPED.index(near))
    region = region_of(Source(SWAPPED), Rewrite(at, at + len(old), new, "names"), storing(macros(SWAPPED)))
    assert region is not None
    assert SWAPPED[region.start : region.end] == whole
