"""Of changes with which everything holds, which one leads."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from layoutprobe.gate.holding import Held, is_padding, likeliest, of_text
from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.manifest.model import KernelCase
from layoutprobe.observe.work import Work
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import Unlisted
from layoutprobe.rewrites.spot import Rewrite

CASE = cast("KernelCase", SimpleNamespace(sizes=({"M": 48},)))
FINDING = Finding(Rule("numerics/wrong-values", "", "", ""), "C is wrong")


def held(
    text: str,
    work: int,
    *,
    longest: int = 0,
    longer: bool = False,
    unlisted: int = 0,
    rank: float = 0.0,
    kind: str = "names",
    start: int = 0,
    length: int = 1,
    plainer: bool = False,
) -> Held:
    edit = SourceEdit(Path("kernel.hip"), Rewrite(start, start + length, text, kind), rank, FINDING)
    none = tuple(cast("Unlisted", None) for _ in range(unlisted))
    return Held(edit, none, longer, work=work, longest=longest, plainer=plainer)


def leading(*found: Held, usual: Work | None = None) -> list[str]:
    return [one.edit.rewrite.text for one in likeliest(found, CASE, usual)]


def test_one_word_everywhere_comes_behind_another_change_at_one_of_its_places() -> None:
    everywhere = replace(held("tm * n, h = tm", 10, length=14), old="GROUP * n, h = GROUP")
    alone = replace(held("min(tm - g, GROUP)", 10, start=8, length=5, rank=1.0, kind="shorter"), old="GROUP")
    several = replace(held("n * GROUP, h = tm", 10, length=14), old="GROUP * n, h = GROUP")
    assert leading(everywhere, alone)[0] == alone.edit.rewrite.text
    assert leading(several, alone)[0] == several.edit.rewrite.text


def test_what_does_more_than_it_has_to_comes_behind() -> None:
    """A tile more than there are hides that the last one is counted wrongly."""
    assert leading(held("more", 1400), held("right", 1000), held("other", 1050)) == ["right", "other", "more"]


def test_what_does_less_than_the_kernel_as_it_is_comes_before_nothing_for_that() -> None:
    """A test around a call leaves out all that it does; beside the store that goes astray it is as good."""
    usual = Work(1000, 100, {})
    assert leading(held("at the store", 1000), held("around it", 800), usual=usual) == [
        "at the store",
        "around it",
    ]
    assert leading(held("more", 1200), held("right", 1000), usual=usual) == ["right", "more"]


def test_the_likeliest_leads_whenever_it_was_found() -> None:
    assert leading(held("late", 1000, rank=3.0), held("likely", 1000, rank=2.5)) == ["likely", "late"]


def test_what_leaves_one_wave_alone_with_the_work_comes_behind() -> None:
    """Without a division the first workgroup does all, and the others nothing: less in the whole, and not meant."""
    assert leading(held("alone", 900, longest=800), held("right", 1000, longest=450)) == ["right", "alone"]


def test_what_goes_wrong_elsewhere_comes_behind_whatever_it_does() -> None:
    assert leading(held("less", 1000, unlisted=1), held("right", 1400)) == ["right", "less"]


def test_what_is_doubted_is_told_where_there_is_nothing_else() -> None:
    assert leading(held("longer", 10, longer=True), held("right", 1000)) == ["right"]
    assert leading(held("of 48", 10), held("right", 1000)) == ["right"]
    assert leading(held("longer", 10, longer=True)) == ["longer"]


def test_a_number_that_was_there_before_is_no_new_one() -> None:
    there = replace(held("low & 48 : high", 10), old="high : low & 48")
    assert not there.is_doubtful(CASE)
    assert replace(there, old="high : low & 64").is_doubtful(CASE)


def test_a_name_comes_before_its_number_in_one_statement() -> None:
    """`- padding` for what a reference told as `- 1`; elsewhere the number is as likely."""
    number, name = held("- 1", 1000, kind="steps"), held("- padding", 1000, rank=2.0, start=40)
    assert leading(number, name) == ["- padding", "- 1"]
    far = held("- padding", 1000, rank=2.0, start=900)
    assert leading(number, far) == ["- 1", "- padding"]


def test_a_swizzle_that_is_taken_away_is_doubted() -> None:
    """Where one side lacks it, the other one is right without it, too."""
    assert leading(held("", 1000, plainer=True), held("^ row", 1000, rank=4.0)) == ["^ row"]


def test_others_are_looked_for_longer_where_one_may_be_beaten() -> None:
    assert held("- 1", 1000, kind="steps").may_be_beaten
    assert held("n", 1000, unlisted=1).may_be_beaten
    assert not held("n", 1000).may_be_beaten


def test_one_place_comes_before_several_of_which_it_is_one() -> None:
    every = held("(true, w, true", 1000, kind="words", length=16, rank=1.0)
    one = held("true", 1000, kind="words", start=11, length=5, rank=2.0)
    assert leading(every, one) == ["true", "(true, w, true"]
    elsewhere = held("true", 1000, kind="words", start=80, length=5, rank=2.0)
    assert leading(every, elsewhere) == ["(true, w, true", "true"]


def test_a_padding_is_a_term_of_a_constant() -> None:
    assert is_padding("#define ROW (TILE_K + 4)", " + 4", "")
    assert is_padding("static constexpr int row = tile_k + PAD;", "+ PAD", "")
    assert not is_padding("const int at = row * pitch + 4;", " + 4", "")
    assert not is_padding("#define ROW (TILE_K + 4)", "4", "8")


SWIZZLED = """\
__device__ int swizzled(int row, int chunk) { return row * 32 + (chunk ^ (row >> 1 & 3)) * 8; }
__device__ float loaded(const float* tile, int row) { return tile[swizzled(row, 0) + 8]; }
__global__ void filled(const float* x, float* y) {
  __shared__ float tile[512];
  tile[swizzled(threadIdx.x, 0)] = x[threadIdx.x];
  y[threadIdx.x] = loaded(tile, threadIdx.x);
  y[threadIdx.x + 32] = loaded(tile, threadIdx.x + 32);
}
"""


@pytest.mark.parametrize("rule", ["swizzle/lds-offset", "swizzle/collision"])
def test_what_loads_and_stores_both_go_through_is_doubted_where_they_do_not_agree(rule: str) -> None:
    def changed(old: str, new: str) -> Held:
        start = SWIZZLED.index(old)
        rewrite = Rewrite(start, start + len(old), new, "numbers")
        finding = Finding(Rule(rule, "", "", ""), "they do not agree")
        return of_text(SourceEdit(Path("kernel.hip"), rewrite, 0.0, finding), SWIZZLED)

    assert changed("row >> 1", "row >> 2").is_doubtful(CASE) == (rule == "swizzle/lds-offset")
    assert not changed("0) + 8", "1)").is_doubtful(CASE)


def test_a_number_more_stands_behind_a_name() -> None:
    text = "static constexpr int mask = 7 << S;"
    at = text.index("S;")

    def of(new: str) -> Held:
        return of_text(SourceEdit(Path("k.hip"), Rewrite(at, at + 1, new, "counts"), 0.0, FINDING), text)

    number, name = of("(8 * S)"), of("(M + S)")
    assert number.may_be_beaten
    assert not name.may_be_beaten
    assert leading(number, name) == ["(M + S)", "(8 * S)"]


HELPED = """\
template <bool Left, bool Right> __device__ int both(int a, int b, int by) { return mul(Left, a, Right, b) / by; }
extern "C" __global__ void kernel(const int* x, int* y, int n) {
  y[0] = both<true, true>(x[0], x[n], 2); y[1] = x[1];
}
"""


def changed(old: str, new: str) -> Held:
    assert HELPED.count(old) == 1
    start = HELPED.index(old)
    rewrite = Rewrite(start, start + len(old), new, "names")
    return of_text(SourceEdit(Path("kernel.hip"), rewrite, 0.0, FINDING), HELPED)


@pytest.mark.parametrize(
    ("old", "new", "doubted"),
    [
        ("Right, b", "Left, b", True),
        ("/ by", "/ 2", True),
        ("a, Right", "b, Right", True),
        ("x[n]", "x[4]", False),
    ],
)
def test_what_leaves_a_parameter_of_a_helper_unread_is_doubted(old: str, new: str, doubted: bool) -> None:
    """A kernel may be given what it does not need."""
    assert changed(old, new).is_doubtful(CASE) == doubted


def test_a_change_of_several_statements_stands_behind_one_of_one() -> None:
    several = changed("x[n], 2); y[1] = x[1]", "x[1], 2); y[1] = x[n]")
    one = changed("<true, true>", "<false, true>")
    assert several.may_be_beaten
    assert not one.may_be_beaten
    assert leading(several, one) == [one.edit.rewrite.text, several.edit.rewrite.text]


@pytest.mark.parametrize(
    ("old", "new", "uneven"),
    [("16", "15", True), ("16", "32", False), ("16", "18", True), ("17", "16", False)],
)
def test_an_uneven_tile_leads_nothing(old: str, new: str, uneven: bool) -> None:
    """Data that repeats may be right with 15 rows, and nobody means it."""
    text = f"#define ROWS {old}\nconstexpr int N = {old};\n"
    for at in (text.index(old), text.rindex(old)):
        edit = SourceEdit(Path("k.hip"), Rewrite(at, at + len(old), new, "numbers"), 0.0, FINDING)
        one = of_text(edit, text)
        assert one.is_doubtful(CASE) == uneven
        assert one.may_lead([FINDING]) != uneven


@pytest.mark.parametrize(
    ("rule", "found", "leads"),
    [
        ("numerics/never-defined", "numerics/wrong-values", True),
        ("numerics/never-defined", "numerics/never-defined", False),
        ("numerics/wrong-values", "numerics/wrong-values", False),
        ("epilogue/never-written", "epilogue/written-twice", True),
        ("epilogue/out-of-bounds", "epilogue/written-twice", False),
        ("memory/load-out-of-bounds", "numerics/wrong-values", True),
    ],
)
def test_what_bears_no_larger_size_may_lead(rule: str, found: str, leads: bool) -> None:
    """A kernel for at most 16 heads of a group stores no 17th, whatever else was wrong with it."""
    finding = Finding(Rule(found, "", "", ""), "C is wrong")
    unlisted = Unlisted(f"goes wrong above G = 16: {rule} at G=17, which is not listed", rule)
    assert replace(held("<", 10), unlisted=(unlisted,)).may_lead([finding]) == leads


@pytest.mark.parametrize(
    ("text", "old", "new", "neutral"),
    [
        ("y = n / 2;", "2", "1", True),
        ("y = n - 1;", "1", "0", True),
        ("y = n << 3u;", "3u", "0u", True),
        ("y = n - 2;", "2", "1", False),
        ("y = n & 3;", "3", "0", False),
        ("y = n / 2;", "n / 2", "(n + 1) / 2", False),
        ("y[n] = 2;", "2", "0", False),
    ],
)
def test_a_number_without_effect_comes_behind(text: str, old: str, new: str, *, neutral: bool) -> None:
    rewrite = Rewrite(text.index(old), text.index(old) + len(old), new, "numbers")
    found = of_text(SourceEdit(Path("kernel.hip"), rewrite, 0.0, FINDING), text)
    assert found.neutral == neutral
    other = held("(n + 1) / 2", 1000, rank=3.0, kind="rounding", start=90)
    assert leading(replace(found, work=1000), other)[0] == (other.edit.rewrite.text if neutral else new)


@pytest.mark.parametrize(
    ("old", "new", "plainer"),
    [("row", "TK", True), ("row", "col", False), ("ch", "0", False), ("CPR", "TK", False), ("1", "2", False)],
)
def test_what_is_xored_with_a_constant_is_a_swizzle_taken_away(old: str, new: str, *, plainer: bool) -> None:
    text = "#define SWZ(row, ch) ((ch) ^ (((row) >> 1) & (CPR - 1))) * VEC\n"
    at = text.index(old, text.index("((ch)") if old == "ch" else text.index("^"))
    edit = SourceEdit(Path("kernel.hip"), Rewrite(at, at + len(old), new, "names"), 0.0, FINDING)
    assert of_text(edit, text).plainer == plainer


@pytest.mark.parametrize(
    ("old", "new", "doubtful"), [("=", "+=", False), ("e < n", "e < n + 8", False), ("", "+ 8", True)]
)
def test_a_loop_that_goes_further_is_doubted_and_what_it_does_is_not(
    old: str, new: str, *, doubtful: bool
) -> None:
    text = "void f(float* x, int n) {\n  for (int e = 0; e < n; ++e) sum = x[e];\n}\n"
    at = text.index("; ++e") if not old else text.index(old, text.index("sum" if old == "=" else "for"))
    edit = SourceEdit(Path("kernel.hip"), Rewrite(at, at + len(old), new, "more"), 0.0, FINDING)
    assert of_text(edit, text).is_doubtful(CASE) == doubtful


@pytest.mark.parametrize(
    ("old", "new", "doubtful"), [("float", "_Float16", True), ("1.44f", "1.4427f", False)]
)
def test_a_change_that_widens_its_own_tolerance_is_doubted(old: str, new: str, *, doubtful: bool) -> None:
    text = "constexpr float LOG2_E = 1.44f;\n"
    edit = SourceEdit(
        Path("k.hip"), Rewrite(text.index(old), text.index(old) + len(old), new, "words"), 0.0, FINDING
    )
    assert of_text(edit, text).is_doubtful(CASE) == doubtful


@pytest.mark.parametrize(
    ("text", "old", "new", "leads"),
    [
        ("int tiles = (p.m + 31) / 32;", "p.m", "p.m + p.n", False),
        ("int steps = (K + 31) / 32;", "K", "(K + N)", False),
        ("int tiles = (p.m + TILE - 1) / TILE;", "- 1", "- 1 + p.n", False),
        ("int tiles = (p->m + TILE - 1) / TILE;", "TILE -", "p->n -", False),
        ("int at = (m + p) * N + n;", "+ n", "+ k", True),
        ("int n = M - 1;", "- 1", "+ N", False),
        ("int h = H + R - 1; int w = W;", "W;", "H + R;", True),
        ("int at = m * N;", "N", "(N + pad)", True),
        ("int at = k;", "k", "m * K + k", True),
        ("int left = min(4, N - m);", "N", "M", True),
        ("int up = (n / P::Block + 1);", "n / P::Block + 1", "(n + P::Block - 1) / P::Block", True),
        ("int left = min(4, N - m);", "N - m", "M + m - n", False),
    ],
)
def test_a_sum_of_two_extents_leads_nothing(text: str, old: str, new: str, *, leads: bool) -> None:
    at = text.rindex(old)
    edit = SourceEdit(Path("k.hip"), Rewrite(at, at + len(old), new, "more"), 0.0, FINDING)
    assert of_text(edit, text).may_lead([FINDING]) == leads


@pytest.mark.parametrize(
    ("beside", "many"), [((), False), (("m = UP(m, 4);",), False), (("m = UP(UP(m, 2), 4);",), True)]
)
def test_what_stands_at_several_places_is_not_changed_for_one(beside: tuple[str, ...], many: bool) -> None:
    """A macro of a header that is used at several places of the kernel's files."""
    text = "#define UP(a, b) (((a) + (b) - 1) / (b))\n"
    at = text.index(" / (b)")
    edit = SourceEdit(Path("k.h"), Rewrite(at, at + 6, "", "terms"), 0.0, FINDING)
    held = of_text(edit, text, beside)
    assert held.of_many == many
    assert held.may_be_beaten == many


@pytest.mark.parametrize(
    ("text", "old", "new", "doubted"),
    [
        ("int end = min(n, first + TILE);", "first", "TILE", True),
        ("int end = min(n, first + TILE);", "first + TILE", "n", True),
        ("int end = min(n, first + TILE);", "first", "begin", False),
        ("if (row < n && col < n) y[row] = a;", "col < n", "row < n", True),
        ("y[row] = a * b;", "b", "a", False),
        ("y[row] = a + a + b;", "b", "c", False),
    ],
)
def test_what_makes_something_of_two_equal_operands_is_doubted(
    text: str, old: str, new: str, doubted: bool
) -> None:
    """`TILE + TILE`, `min(n, n)`: nobody writes that but for a square; what was there before does not count."""
    start = text.index(old)
    edit = SourceEdit(Path("kernel.hip"), Rewrite(start, start + len(old), new, "names"), 0.0, FINDING)
    assert of_text(edit, text).is_doubtful(CASE) is doubted


HELPER = """template <int W> float largest(float x) {
  for (int o = W / 2; o > 0; o >>= 1) x = fmaxf(x, shuffle(x, o));
  return x;
}
"""
CALLER = "void f(float* y, float x) {\n  y[0] = largest<8>(x);\n  y[1] = x;\n}\n"


@pytest.mark.parametrize(("old", "new", "call_first"), [("8", "16", True), ("(x)", "(x + 1)", False)])
def test_of_a_helper_of_another_file_and_a_call_of_it_the_call_comes_first(
    old: str, new: str, *, call_first: bool
) -> None:
    """Where one word of the call is another one: what is added to an argument may make up for the helper."""

    def changed(file: str, text: str, old: str, new: str, rank: float) -> Held:
        start = text.index(old)
        edit = SourceEdit(Path(file), Rewrite(start, start + len(old), new, "terms"), rank, FINDING)
        return of_text(edit, text)

    helper = changed("common.h", HELPER, "W / 2", "W", 1.0)
    call = changed("kernel.hip", CALLER, old, new, 2.0)
    assert helper.within == "largest"
    assert leading(helper, call)[0] == (new if call_first else "W")


def test_a_word_beside_a_call_is_none_of_the_call() -> None:
    start = CALLER.rindex("x;")
    beside = SourceEdit(Path("kernel.hip"), Rewrite(start, start + 1, "y", "names"), 2.0, FINDING)
    assert of_text(beside, CALLER).called == frozenset()
