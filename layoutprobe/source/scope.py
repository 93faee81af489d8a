"""The names that a statement of a function may use, and of which sort they are, as far as their declarations tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from layoutprobe.source.declarations import KEYWORDS, declarations, declared_in, sort_of_words, structure_of
from layoutprobe.source.enumerations import enumerations
from layoutprobe.source.statements import Source, words
from layoutprobe.source.tree import template_end

BUILTIN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n\\]+)$", re.MULTILINE)
_IF = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[ \t]+([^\n]{1,400})", re.MULTILINE)


class Operand(Struct, frozen=True):
    """A name with what it is a member of: `a.S`, `threadIdx.x`, `K`.

    Attributes:
        first, last: its tokens, the last one excluded.
        text: as it is written.
        sort: "integer", "real", "pointer", "function", or its type; "" where nothing tells.
    """

    first: int
    last: int
    text: str
    sort: str


class Scope(Struct, frozen=True):
    """What a function knows.

    Attributes:
        ranges: where in it each name is known, and its sort, by its declarations.
        operands: all that stand in it, in order.
        unused: names that are declared and never used.
        fields: of each structure, with their sorts.
        outside: constants outside of functions, and how often each stands in the file.
        own: what the structure holds that the function is a member of, with sorts.
        elements: of arrays and pointers that are known, the sort of what they hold.
    """

    ranges: tuple[tuple[str, range, str], ...]
    operands: tuple[Operand, ...]
    unused: frozenset[str]
    fields: Mapping[str, Mapping[str, str]]
    outside: Mapping[str, int]
    own: Mapping[str, str]
    elements: Mapping[str, str]

    def at(self, index: int) -> dict[str, str]:
        """Names that are known at a token, with their sorts."""
        return {name: sort for name, where, sort in self.ranges if index in where}


Outer = tuple[tuple[str, str], ...]
"""Names with their sorts that a body of a macro knows where it is used."""


@lru_cache(maxsize=32)
def scope(source: Source, start: int, stop: int, outer: Outer = ()) -> Scope:
    """Of the function at some tokens."""
    function = range(start, stop)
    inside = [(i, sort) for i, sort in declarations(source) if i in function]
    outside = _defined(source)
    outside |= {name: "integer" for one in enumerations(source) if not one.scoped for name in one.constants}
    outside |= {
        source.tokens[i].text: sort
        for i, sort in declarations(source)
        if _is_outside(source, i) and _reaches(source, i, function)
    }
    fields = _fields(source)
    holds = _own(source, start, fields)
    found = [(name, function, sort) for name, sort in {**dict(outer), **outside, **holds}.items()]
    found += [(source.tokens[i].text, _known(source, i, stop), sort) for i, sort in inside]
    members = {name: sort for of_one in fields.values() for name, sort in of_one.items()}
    own = Counter(source.tokens[i].text for i in function if source.tokens[i - 1].text not in (".", "->"))
    everywhere, names = _words(source), {source.tokens[i].text for i, _ in inside}
    begun = _begun(source)
    often = {name: (own if name in names else everywhere)[name] for name, *_ in found}
    once = {name for name, n in often.items() if n - (name in holds and begun[name]) == 1}
    unused = frozenset(once - _of_macros(source))
    operands = tuple(_operands(source, function, {name: sort for name, _, sort in found}, members))
    constants = {name: everywhere[name] for name in outside}
    return Scope(tuple(found), operands, unused, fields, constants, holds, _elements(source))


@lru_cache(maxsize=32)
def _fields(source: Source) -> Mapping[str, Mapping[str, str]]:
    """Structures and what they hold."""
    found: dict[str, dict[str, str]] = {}
    for i, sort in declarations(source):
        name = structure_of(source, source.parent[i])
        if name:
            found.setdefault(name, {})[source.tokens[i].text] = sort
    return found


def _own(source: Source, start: int, fields: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """What a function may use as it is a member of a structure."""
    found, brace = dict[str, str](), source.parent[start] if start < len(source.parent) else -1
    while brace > 0:
        found = {**fields.get(structure_of(source, brace), {}), **found}
        brace = source.parent[brace]
    return found


@lru_cache(maxsize=32)
def _elements(source: Source) -> Mapping[str, str]:
    """Arrays and pointers that are declared somewhere in a file, and the sort of what they hold."""
    found, held = dict[str, str](), ""
    for i, sort in declarations(source):
        begin = i
        while sort == "pointer" and begin and source.tokens[begin - 1].text not in _BEFORE_TYPES:
            begin -= 1
        if sort == "pointer":
            written = [token.text for token in source.tokens[begin:i] if token.text != "*"]
            held = sort_of_words(written) if written else held  # beside another one
            found.setdefault(source.tokens[i].text, held)
        else:
            held = sort
    return found


_BEFORE_TYPES = ("(", ")", ",", ";", "{", "}", "<", "=")


def _known(source: Source, i: int, stop: int) -> range:
    """Where a name is known that a token declares: to the end of its block, or of the loop."""
    opened = source.parent[i]
    if opened >= 0 and source.tokens[opened].text == "[":  # `auto [a, b] = ...`
        opened = source.parent[opened]
    if opened < 0 or opened not in source.partner:
        return range(i + 1, stop)
    close = source.partner[opened]
    if source.tokens[opened].text != "(":
        return range(i + 1, close)
    after = min(close + 1, len(source.tokens) - 1)
    if source.tokens[after].text == "{" and after in source.partner:
        return range(i + 1, source.partner[after])
    return (
        range(i + 1, source.around(after).stop)
        if source.tokens[opened - 1].text == "for"
        else range(i + 1, stop)
    )


@lru_cache(maxsize=32)
def _words(source: Source) -> Counter[str]:
    """How often each word stands in a file; in what is defined as macros, too."""
    return Counter(words(source.text))


@lru_cache(maxsize=32)
def idle(source: Source) -> frozenset[str]:
    """Members of structures that stand nowhere but where they are declared."""
    often = Counter(token.text for token in source.tokens)
    members = {member for of_one in _fields(source).values() for member in of_one}
    return frozenset(name for name in members if often[name] == 1) - _of_macros(source)


@lru_cache(maxsize=32)
def idle_constants(source: Source) -> frozenset[str]:
    """Numbers that are macros, and stand nowhere but where they are defined: in no other macro either."""
    used = {token.text for token in source.tokens} | _of_macros(source)
    return frozenset(_defined(source)) - used


@lru_cache(maxsize=32)
def _begun(source: Source) -> Counter[str]:
    """How often a word has its first value behind the head of a constructor: `: rows(n), left(n - 1) {`."""
    tokens, found = source.tokens, Counter[str]()
    for i, token in enumerate(tokens[:-1]):
        if token.text == ":" and tokens[i - 1].text == ")" and i:
            at = i + 1
            while at + 1 < len(tokens) and tokens[at].kind == "name" and at + 1 in source.partner:
                found[tokens[at].text] += 1
                at = source.partner[at + 1] + 1
                if at >= len(tokens) or tokens[at].text != ",":
                    break
                at += 1
    return found


@lru_cache(maxsize=32)
def _of_macros(source: Source) -> frozenset[str]:
    """Words of what macros stand for: a function may use them by a macro's name. A macro's own name is none."""
    bodies = re.findall(
        r"^[ \t]*#[ \t]*define[ \t]+\w+((?:[^\n\\]|\\.)*)", source.text, re.MULTILINE | re.DOTALL
    )
    return frozenset(word for body in bodies for word in words(body.partition("//")[0]))


def _is_outside(source: Source, i: int) -> bool:
    """A constant or variable outside of functions and structures; a template's parameter."""
    brace = source.parent[i]
    while brace >= 0 and source.tokens[brace].text == "{":
        words = [token.text for token in source.tokens[max(brace - 2, 0) : brace]]
        if "namespace" not in words and not (brace and source.tokens[brace - 1].kind == "text"):
            return False
        brace = source.parent[brace]
    return brace < 0


def _reaches(source: Source, i: int, function: range) -> bool:
    """Whether what is declared outside is known in a function: a template's parameter is in that template alone."""
    tokens = source.tokens
    before = next(
        (tokens[j].text for j in range(i, max(i - _LONGEST_HEAD, 0), -1) if tokens[j].text in _ENDS), ""
    )
    if before != "template":
        return True
    opened = next((j for j in range(i, len(tokens)) if tokens[j].text in ("{", ";")), i)
    return function.start <= source.partner.get(opened, opened) and i < function.stop


_ENDS, _LONGEST_HEAD = (";", "{", "}", "template"), 40


def _defined(source: Source) -> dict[str, str]:
    """Numbers that are macros, and what is made of such alone; none that parts of the code are chosen by."""
    found = dict[str, str]()
    chosen = {word for text in _IF.findall(source.text) for word in words(text)}
    for name, value in _DEFINE.findall(source.text):
        if name in chosen:
            continue
        made = {found.get(word, "") for word in words(value.split("//")[0])}
        if re.search(r"\d", value):
            found[name] = "real" if re.search(r"\d\.\d*|\df\b|INFINITY|FLT_", value) else "integer"
        elif made and "" not in made:
            found[name] = "real" if "real" in made else "integer"
    return found


def _operands(
    source: Source, within: range, sorts: dict[str, str], members: dict[str, str]
) -> Iterator[Operand]:
    tokens = source.tokens
    named = declared_in(source)
    i = within.start
    while i < within.stop:
        last = i + 1
        scoped = _scoped(source, i, within.stop) if tokens[i].kind == "name" else i
        if scoped > i + 1:
            tail = tokens[scoped - 1].text
            known = members.get(tail) or sorts.get(tail)
            if known in ("integer", "real"):
                yield Operand(i, scoped, source.slice(i, scoped), known)
                i = scoped
                continue
        if tokens[i].kind == "name" and (not i or tokens[i - 1].text not in (".", "->", "::")):
            while (
                last + 1 < within.stop
                and tokens[last].text in (".", "->")
                and tokens[last + 1].kind == "name"
            ):
                last += 2
            follows = tokens[last].text if last < len(tokens) else ""
            called = follows in ("(", "::") or (follows == "<" and template_end(source, last) is not None)
            if follows == "(" and last > i + 1:  # a function of what stands before it
                last, called = last - 2, False
            head, tail = tokens[i].text, tokens[last - 1].text
            known = (
                sorts.get(head) if last == i + 1 else "integer" if head in BUILTIN else members.get(tail, "")
            )
            if not called and known is not None and head not in KEYWORDS:
                yield Operand(i, last, source.slice(i, last), "" if i in named and last == i + 1 else known)
        i = last


def _scoped(source: Source, i: int, stop: int) -> int:
    """Where a constant ends that has names of what it is in before it, `P::FN`; the name's own token for none."""
    tokens, last = source.tokens, i + 1
    if i and tokens[i - 1].text in (".", "->", "::"):
        return i
    while last + 1 < stop and tokens[last].text == "::" and tokens[last + 1].kind == "name":
        last += 2
    follows = tokens[last].text if last < len(tokens) else ""
    called = follows in ("(", "{", "::") or (follows == "<" and template_end(source, last) is not None)
    names = called or (last < len(tokens) and tokens[last].kind == "name")  # a type
    return i if last == i + 1 or names else last
