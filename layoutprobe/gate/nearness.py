"""From a statement to those that what it computes comes of, and to those that take it: how far each is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path

from msgspec import Struct

from layoutprobe.source.declarations import declarations, declared_in, is_headed
from layoutprobe.source.expressions import function_around, heads_around
from layoutprobe.source.scope import Outer, scope
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import ASSIGNMENTS


class Near(Struct, frozen=True):
    """A statement: how far it is from what is wrong, from where in the file on it is meant, what it knows; for one of
    a macro, what uses that."""

    far: float
    file: Path
    source: Source
    within: range
    offset: int
    outer: Outer = ()
    used: Near | None = None


def bare(source: Source) -> Iterator[int]:
    """Tokens that heads of branches and loops begin with, and calls that stand alone."""
    tokens = source.tokens
    for i, token in enumerate(tokens):
        if token.text in _HEADS:
            yield i
        elif token.text == ";" and i and tokens[i - 1].text == ")":
            first = source.around(i - 1).start
            if tokens[first].kind == "name" and tokens[first + 1].text in ("(", ".", "->", "<", "::"):
                yield first


def known_at(here: Near, names: Iterable[str]) -> Iterator[tuple[Path, Source, int]]:
    """Where names of a statement are given their values: before it, or where the macro is used that it is of."""
    for near in (here, here.used) if here.used is not None else (here,):
        source, stop = near.source, near.within.start
        around = function_around(source, stop)
        given = {i for i in range(stop) if source.defines(i)} | _variables(source, stop)
        defined = {source.tokens[i].text: i for i in sorted(given)}
        for name in names:
            at = defined.get(name)
            if at is not None and (at in around or not in_function(source, at)):
                yield near.file, source, at


def changed_at(here: Near, names: Collection[str]) -> list[int]:
    """Where names of a statement are added to before it, in its function: a compiler makes one of all that."""
    tokens, around = here.source.tokens, function_around(here.source, here.within.start)
    found = (
        i
        for i in range(here.within.start - 1, around.start, -1)
        if tokens[i].text in names and tokens[i + 1].text in ASSIGNMENTS and tokens[i + 1].text != "="
    )
    return list(islice(found, _MOST_CHANGES))


def carried_at(here: Near, names: Collection[str]) -> list[int]:
    """Where names of a statement are given another value behind it, in a loop around both: for its next pass."""
    source, tokens, stop = here.source, here.source.tokens, here.within.stop
    for head, _, block in heads_around(source, here.within.start):
        if head in ("for", "while"):
            stop = max(stop, block[1])
    assigned = (
        i
        for i in range(here.within.stop, min(stop, len(tokens)))
        if tokens[i].text in names and tokens[i + 1].text in ASSIGNMENTS and i not in declared_in(source)
    )
    return list(islice(assigned, _MOST_CHANGES))


_MOST_CHANGES = 4
_HEADS = ("if", "for", "while")


def in_function(source: Source, at: int) -> bool:
    """Whether a name is declared in a function, and not for all of a file, namespace or structure."""
    block = source.block_around(at)
    while block is not None and block[0] and not is_headed(source, block[0]):
        block = source.block_around(block[0])
    return block is not None and block[0] > 0


def _variables(source: Source, stop: int) -> set[int]:
    """Names before a token that are declared, but no parameters: `View a{p, k};`, `Tile t(p);`, `Acc x;`."""
    found = {i for i, _ in declarations(source) if i < stop}
    return {i for i in found if source.parent[i] < 0 or _is_local(source, i)}


def _is_local(source: Source, i: int) -> bool:
    return source.is_block(source.parent[i]) and in_function(source, i)


def inside(here: Near) -> Iterator[Near]:
    """Statements of the lambda that a call goes on with, as what a wrapper calls may have the wrapper's line alone;
    and of a loop whose head is told."""
    source, brace = here.source, here.within.stop
    if brace + 1 >= len(source.tokens) or not source.is_block(brace):
        return
    behind = source.partner.get(brace - 1, 0) - 1 if source.tokens[brace - 1].text == ")" else brace - 1
    told = here.far <= _OF_HEADS and source.tokens[behind].text in ("for", "while")
    if told or source.tokens[behind].text == "]":
        body = islice(source.statements(brace + 1, source.partner[brace]), _LONGEST_BODY)
        for n, within in enumerate(body):
            yield Near(here.far + FARTHER + n * FARTHER / 4, here.file, source, within, 0)


def head_of(here: Near) -> Iterator[Near]:
    """The head of the branch or loop that a statement is in: what is done too seldom is asked too much there."""
    source = here.source
    block = source.block_around(here.within.start)
    if block is None or not block[0]:
        return
    within = source.around(block[0] - 1)
    far = {"if": FARTHER, "for": DEFINED, "while": DEFINED}.get(source.tokens[within.start].text)
    if far is not None and within != here.within:
        yield Near(here.far + far, here.file, source, within, 0, here.outer, here.used)


def returns_beside(here: Near) -> Iterator[Near]:
    """Other ways out of the function of a `return`: a compiler makes one select of them, at one line."""
    source = here.source
    if here.used is not None or all(source.tokens[i].text != "return" for i in here.within):
        return
    others = (
        i
        for i in function_around(source, here.within.start)
        if source.tokens[i].text == "return" and i not in here.within
    )
    for n, i in enumerate(islice(others, _RETURNS)):
        yield Near(here.far + FARTHER + n * FARTHER / 4, here.file, source, source.around(i), 0)


_RETURNS = 4


def readers(here: Near) -> Iterator[Near]:
    """Statements that read the array which one that is told stores to: what is lost in it may be so there."""
    source, tokens = here.source, here.source.tokens
    stores = [
        i
        for i in here.within
        if tokens[i].kind == "name"
        and source.defines(i)
        and tokens[i + 1].text == "["
        and _is_stored(source, i)
    ]
    if here.far > _OF_HEADS or not stores:
        return
    name, around = tokens[stores[0]].text, function_around(source, here.within.start)
    uses = [
        i
        for i in around
        if tokens[i].text == name and i not in here.within and i not in _variables(source, i + 1)
    ]
    found = dict.fromkeys(source.around(i) for i in uses if not _is_stored(source, i))
    for n, within in enumerate(islice(found, _MOST_CHANGES)):
        yield Near(here.far + DEFINED + n * FARTHER, here.file, source, within, 0)


def _is_stored(source: Source, i: int) -> bool:
    """Whether an element of an array is what is assigned to."""
    last = i + 1
    while last in source.partner and source.tokens[last].text == "[":
        last = source.partner[last] + 1
    return last < len(source.tokens) and source.tokens[last].text in ASSIGNMENTS


def known_names(here: Near) -> Outer:
    """Names that a statement may use, with their sorts, those first that stand near it: so may the bodies of its
    macros."""
    around = function_around(here.source, here.within.start)
    known = scope(here.source, around.start, around.stop, here.outer).at(
        max(here.within.stop - 1, here.within.start)
    )
    far = dict[str, int]()
    for i in around:
        text, away = here.source.tokens[i].text, abs(i - here.within.start)
        far[text] = min(far.get(text, away), away)
    return tuple(sorted(known.items(), key=lambda one: far.get(one[0], len(far) + around.stop)))


_OF_HEADS = 0.15
"""How far from what is told the head of a loop is at most, for what is in it to be as near."""
_LONGEST_BODY, LONGEST_MACRO = 12, 48
"""Statements of a function that is called, and of a macro, which may be a whole kernel."""


def body_of(source: Source, name: str) -> Iterator[range]:
    """Statements of a short function; its head, where that has more than parameters, or one with a sign or none."""
    for opened in _brackets(source).get(name, ()):
        close = source.partner[opened]
        brace = _brace(source, close + 1)
        if brace is None:
            continue
        head = source.slice(opened, close)
        if source.tokens[close + 1].text == ":" or "=" in head or SIGNED.search(head):
            yield source.around(opened)
        if source.is_block(brace):
            yield from islice(source.statements(brace + 1, source.partner[brace]), _LONGEST_BODY)


@lru_cache(maxsize=32)
def _brackets(source: Source) -> Mapping[str, list[int]]:
    """Names of what is called or declared, and the brackets behind them."""
    found = defaultdict[str, list[int]](list)
    for name, opened in source.calls(range(len(source.tokens))):
        found[name].append(opened)
    return found


def _brace(source: Source, first: int) -> int | None:
    """The brace of a function's body, behind its parameters and what its members begin with; None for a call."""
    tokens, i, initialises = source.tokens, first, source.tokens[first : first + 1]
    members = bool(initialises) and initialises[0].text == ":"
    while i < min(first + _LONGEST_HEAD, len(tokens)) and (members or tokens[i].text not in (",", ")", "}")):
        if tokens[i].text == "{" and not (members and tokens[i - 1].kind == "name"):
            return i if i in source.partner else None
        if tokens[i].text in (";", "="):
            return None
        i = source.partner.get(i, i) + 1 if tokens[i].text in ("(", "{") else i + 1
    return None


_LONGEST_HEAD = 80
SIGNED = re.compile(r"\b(?:un)?signed\b|\bu?int(?:8|16|32)_t\b|\bchar\b")


FARTHER, DEFINED = 0.05, 0.12
