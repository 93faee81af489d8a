"""Bodies of macros as sources of their own: what stands in them is changed as any statement is.

A body keeps its place: everything else of the file is blank, and so are the marks at the end of a line that goes on
and between words that become one. A change of it is a change of the file, as long as it goes over no end of a line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from layoutprobe.source.statements import Source, words
from layoutprobe.source.tree import ASSIGNMENTS

_DEFINE = re.compile(r"^[ \t]*\#[ \t]*define[ \t]+(\w+)(\([^()\n]*\))?((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE)
_MOST, _LONGEST, _DEEPEST = 200, 4000, 8
"""Macros of a file, characters of one, and how deep one may be in others."""


class Macro(Struct, frozen=True):
    """One of them.

    Attributes:
        name: what it is called.
        parameters: names that it is used with.
        place: where its body stands in the file.
        body: a source in which that stands alone.
    """

    name: str
    parameters: tuple[str, ...]
    place: range
    body: Source


def macros(text: str) -> list[Macro]:
    """Those of a text that have a body, in order."""
    found = []
    for m in list(_DEFINE.finditer(text))[:_MOST]:
        body = m[3]
        if body.strip() and len(body) <= _LONGEST:
            once = re.sub(r"\\\r?\n|##?", lambda mark: " " * len(mark[0]), body)
            found.append(
                Macro(m[1], tuple(words(m[2] or "")), range(*m.span(3)), Source(" " * m.start(3) + once))
            )
    return found


def storing(bodies: Sequence[Macro]) -> frozenset[str]:
    """Macros that assign to one of their parameters, or take where it is: they must be given what has a place."""
    return frozenset(
        one.name
        for one in bodies
        if any(_is_stored(one.body, i, one.parameters) for i in range(len(one.body.tokens)))
    )


def _is_stored(body: Source, i: int, parameters: Sequence[str]) -> bool:
    if body.tokens[i].text not in parameters:
        return False
    last = i + 1
    while body.word(last) in (")", "[", ".", "->"):
        last = (
            body.partner.get(last, last) + 1
            if body.word(last) == "["
            else last + 1 + (body.word(last) != ")")
        )
    before = i - 1
    while body.word(before) == "(":
        before -= 1
    unary = body.word(before) == "&" and body.word(before - 1) in _BEFORE_UNARY
    return unary or body.word(before) in _STEPS or body.word(last) in (*ASSIGNMENTS, *_STEPS)


_STEPS = ("++", "--")
_BEFORE_UNARY = ("", "(", ",", "=", ";", "{", "return", "?", ":")


def expansions(text: str) -> list[tuple[range, int]]:
    """Bodies of macros, as places in a text, and how often each comes into the file: a macro that others use as often
    as theirs do."""
    bodies = macros(text)
    own = Counter(token.text for token in Source(text).tokens)
    inside = {one.name: Counter(token.text for token in one.body.tokens) for one in bodies}
    users = {
        name: [(user, used[name]) for user, used in inside.items() if used[name] and user != name]
        for name in inside
    }
    often = {name: own[name] for name in inside}
    for _ in range(_DEEPEST):  # each time those count that are in one macro more
        often = {
            name: min(own[name] + sum(often[user] * times for user, times in users[name]), _LONGEST)
            for name in inside
        }
    return [(one.place, often[one.name]) for one in bodies]


def source_at(whole: Source, bodies: Sequence[Macro], offset: int) -> Source:
    """The body of the macro that stands there, or else the whole text."""
    return next((one.body for one in bodies if one.place.start <= offset <= one.place.stop), whole)
