"""Whole statements: where they begin and end, with their blocks and other branches."""

from __future__ import annotations

from layoutprobe.source.statements import Source
from layoutprobe.source.whole import before, behind, end_of, start_of

TEXT = """\
void f(int* p, int n) {
  int a = 0;
  if (n > 1) { a = 1; } else if (n > 2) a = 2; else { for (int i = 0; i < n; ++i) a += p[i]; }
  for (int i = 0; i < n; ++i) {
    p[i] = a;
  }
  p[n] = a;
}
"""


def texts(source: Source, found: list[range]) -> list[str]:
    return [source.slice(one.start, one.stop)[:12] for one in found]


def test_statements_of_a_block_in_turn() -> None:
    source = Source(TEXT)
    first = next(i for i, token in enumerate(source.tokens) if token.text == "int" and source.parent[i] > 5)
    last = end_of(source, first)
    assert last is not None
    assert texts(source, list(behind(source, last))) == ["if (n > 1) {", "for (int i =", "p[n] = a;"]
    end = max(i for i, token in enumerate(source.tokens) if token.text == "p")
    assert texts(source, list(before(source, end))) == ["for (int i =", "if (n > 1) {", "int a = 0;"]


def test_each_end_is_that_of_its_beginning() -> None:
    source = Source(TEXT)
    for first in range(len(source.tokens)):
        if (last := end_of(source, first)) is not None and source.around(first).start == first:
            begins = start_of(source, last)
            assert begins == first or source.word(first) == "else"


def test_many_branches_end() -> None:
    source = Source("void f(int n) { " + "if (n) g(n); else " * 20_000 + "g(0); }")
    first = next(i for i, token in enumerate(source.tokens) if token.text == "if")
    last = end_of(source, first)
    assert last == len(source.tokens) - 2
    assert start_of(source, last) == first
