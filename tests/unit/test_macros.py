"""Bodies of macros: each is a source of its own, whose places are those of the file."""

from __future__ import annotations

from itertools import pairwise

import pytest

from layoutprobe.gate.variants import _AS_CHOSEN, _refused
from layoutprobe.rewrites.registry import offered
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.rewrites.variants import combined
from layoutprobe.rewrites.wording import worded
from layoutprobe.source.macros import expansions, macros

TEXT = """\
#include <hip/hip_runtime.h>
#define LIMIT 448.0f
#define ROW(v, half) (m0 + v * 2 + half)
  #define STORE(i)                      \\
    if (row < M) {                      \\
      y[row * N + i] = alpha * acc[i];  \\
    }
#define NOTHING
#define LIMIT 240.0f
#ifdef LIMIT
void f() {}
#endif
"""


def test_each_body_is_found_where_it_stands() -> None:
    found = {one.name: one.body for one in macros(TEXT)}
    assert {name: " ".join(t.text for t in body.tokens) for name, body in found.items()} == {
        "LIMIT": "240.0f",
        "ROW": "( m0 + v * 2 + half )",
        "STORE": "if ( row < M ) { y [ row * N + i ] = alpha * acc [ i ] ; }",
    }
    for body in found.values():
        assert all(TEXT[token.start : token.end] == token.text for token in body.tokens)
    assert len(list(found["STORE"].statements(0, len(found["STORE"].tokens)))) == 2


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("LIMIT", "#define LIMIT 240.0f", "#define LIMIT 448.0f"),
        ("ROW", "(m0 + v * 2 + half)", "(m0 + v + 8 * half)"),
        ("STORE", "row < M", "row <= M"),
        ("STORE", "alpha * acc[i]", "acc[i]"),
    ],
)
def test_a_change_of_a_body_is_one_of_the_file(name: str, wrong: str, right: str) -> None:
    body = {one.name: one.body for one in macros(TEXT)}[name]
    found = [
        one for within in body.statements(0, len(body.tokens)) for one in offered(Spot(body, within, [body]))
    ]
    assert TEXT.replace(wrong, right) in {one.apply(TEXT) for one in found}
    made = [one.apply(TEXT) for one in found if "\n" not in one.text]  # who tries them makes blanks of lines
    assert all(
        text.count("\\\n") == TEXT.count("\\\n") for text in made if text.count("\n") == TEXT.count("\n")
    )


def edit(old: str, new: str) -> Rewrite:
    start = TEXT.index(old)
    return Rewrite(start, start + len(old), new, "")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("row < M", "row <= M", "with `row <= M` in place of `row < M`"),
        ("alpha * ", "", "without `alpha *`"),
        ("240.0f", "448.0f", "with `448.0f` in place of `240.0f`"),
    ],
)
def test_a_change_of_a_body_is_told_in_its_words(old: str, new: str, says: str) -> None:
    assert worded(TEXT, edit(old, new)).says == says


def test_changes_of_a_body_are_chosen_there() -> None:
    """The body still is one: each of its lines but the last ends with a mark."""
    changes = {n: edit(*texts) for n, texts in enumerate((("row < M", "row <= M"), ("alpha * ", "")), 1)}
    found = combined(TEXT, changes)
    assert found.chosen == {1, 2}
    (body,) = [one.body for one in macros(found.text) if one.name == "STORE"]
    words = " ".join(token.text for token in body.tokens)
    assert (
        "lp_variant ( ) == 1 ? __builtin_choose_expr ( lp_how < lp_t , decltype ( ( row <= M ) ) >" in words
    )
    assert words.endswith("}")
    number = next(n for n, line in enumerate(found.text.split("\n"), 1) if "lp_variant() == 1" in line)
    assert found.lines[number] == {1}


def test_an_error_in_a_body_is_about_the_change_that_stands_there() -> None:
    said = (
        "/tmp/a.hip:9:3: error: use of undeclared identifier 'q'\n"
        "/tmp/a.hip:4:7: note: expanded from macro 'STORE'\n"
        "/tmp/a.hip:12:1: error: expected expression\n"
    )
    lines = {"a.hip": {4: frozenset((1,)), 9: frozenset((2,)), 12: frozenset((3,))}}
    assert [numbers for numbers, _ in _refused(said, lines)] == [{1}, {3}]


def test_hostile_directives_end() -> None:
    assert macros("#define A" + "(" * 100_000) == []
    assert len(macros("".join(f"#define A{n} {n}\n" for n in range(1000)))) == 200
    assert macros("#define " + "x" * 100_000 + " " + "\\\n" * 50_000) == []


def test_a_macro_stands_as_often_as_those_that_use_it() -> None:
    text = (
        "#define BYTE(k) p[k]\n#define WORD(k) (BYTE(k) | BYTE((k) + 1) << 8)\n"
        "#define LOAD(v) v.x = WORD(0); v.y = WORD(2)\n#define LOOP LOOP + 1\n#define UNUSED BYTE(0)\n"
        "void f() { LOAD(a); LOAD(b); x = BYTE(0) + LOOP; }\n"
    )
    often = {one.name: count for one, (_, count) in zip(macros(text), expansions(text), strict=True)}
    assert often == {"BYTE": 9, "WORD": 4, "LOAD": 2, "LOOP": 1, "UNUSED": 0}


def test_macros_that_all_use_each_other_are_counted_in_bounds() -> None:
    """Each of ten rows of macros uses all of the next one: ways through them are not followed one by one."""
    rows = [[f"M{row}_{n}" for n in range(12)] for row in range(10)]
    lines = [f"#define {name} {' + '.join(below)}" for own, below in pairwise(rows) for name in own]
    text = "\n".join([*lines, *(f"#define {name} 1" for name in rows[-1]), "int x = M0_0;", ""])
    often = {one.name: count for one, (_, count) in zip(macros(text), expansions(text), strict=True)}
    assert (often["M0_0"], often["M0_1"], often["M1_5"], often["M2_5"], often["M8_0"]) == (1, 0, 1, 12, 4000)


def test_what_stands_behind_a_mark_that_joins_words_is_read() -> None:
    """A whole kernel may."""
    text = "#define KERNEL(name, type) \\\n  void run_##name(type* x) { x[0] = 1; \\\n    x[1] = 2; }\n"
    (one,) = macros(text)
    place = next(token for token in one.body.tokens if token.text == "2")
    assert text[place.start : place.end] == "2"


def test_where_a_template_is_used_may_not_be_to_blame_for_what_is_wrong_in_it() -> None:
    """A change there is compiled by itself, and not given up."""
    said = (
        "k.hip:10:3: error: no member named 'mean' in 'Sum'\n"
        "k.hip:40:5: note: in instantiation of function template specialization 'f<64>' requested here\n"
    )
    ((numbers, why),) = _refused(said, {"k.hip": {40: frozenset((7,))}})
    assert numbers == {7}
    assert _AS_CHOSEN.search(why)
    ((numbers, why),) = _refused(said, {"k.hip": {10: frozenset((3,)), 40: frozenset((7,))}})
    assert numbers == {3}
    assert not _AS_CHOSEN.search(why)
