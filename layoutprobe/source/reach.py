"""Which names of a file are types, and which a function cannot use by themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from layoutprobe.source.declarations import declared_in, structure_of
from layoutprobe.source.expressions import body_behind
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import TYPES

_TYPED = ("struct", "class", "union", "enum", "typename", "using")

_NUMBERS = re.compile(r"u?int\d+_t|[iu](?:8|16|32|64)|\w*b?f(?:loat)?16(?:_t)?|\w+_t")


@lru_cache(maxsize=32)
def types_of(source: Source) -> frozenset[str]:
    """Names of types that a file makes, and those of the language."""
    tokens, found = source.tokens, set(TYPES)
    found |= {token.text for token in tokens if _NUMBERS.fullmatch(token.text)}
    found -= {tokens[i].text for i in declared_in(source)}
    for i, token in enumerate(tokens[:-1]):
        if token.text in _TYPED and tokens[i + 1].kind == "name" and tokens[i + 1].text not in _TYPED:
            found.add(tokens[i + 1].text)
        elif token.text == "typedef" and (within := source.around(i)):
            last = tokens[within.stop - 1]
            found |= {last.text} if last.kind == "name" else set()
    return frozenset(found - {"namespace"})


@lru_cache(maxsize=256)
def foreign(source: Source, function: range) -> frozenset[str]:
    """Names that a function cannot use alone: parameters of other templates, functions of other structures."""
    if function.start >= len(source.tokens):
        return frozenset()
    templates = _of_templates(source)
    named = {name for name, where in templates if function.start not in where}
    known = {name for name, where in templates if function.start in where}
    methods, own = _methods(source), {-1, *source.blocks_at(source.tokens[function.start].start)}
    if _is_of_structure(source, function):
        return frozenset(named - known)
    others = {name for brace, names in methods.items() if brace not in own for name in names}
    return frozenset((named - known) | (others - {name for brace in own for name in methods.get(brace, ())}))


def parameters_of_templates(source: Source, function: range) -> frozenset[str]:
    """Those of the template that a function is."""
    return frozenset(name for name, where in _of_templates(source) if where.start == function.start)


@lru_cache(maxsize=32)
def types_of_templates(source: Source) -> frozenset[str]:
    """Types that are parameters of templates: of numbers, as far as anybody can tell."""
    return types_of(source).intersection(name for name, _ in _of_templates(source))


def _is_of_structure(source: Source, function: range) -> bool:
    """Whether a function is a member of what its head names: `void Gemm::run() {`."""
    head = [token.text for token in source.tokens[function.start : function.start + _LONGEST]]
    return "(" in head and "::" in head[: head.index("(")]


@lru_cache(maxsize=32)
def _of_templates(source: Source) -> tuple[tuple[str, range], ...]:
    """Parameters of templates, and where each is known."""
    tokens, found = source.tokens, list[tuple[str, range]]()
    for i in (i for i, token in enumerate(tokens[:-1]) if token.text == "template"):
        deep, names = 0, list[str]()
        for at in range(i + 1, min(i + _LONGEST, len(tokens))):
            text = tokens[at].text
            deep += (text == "<") - (text == ">")
            if text in (",", "=", ">") and tokens[at - 1].kind == "name" and deep <= 1:
                names.append(tokens[at - 1].text)
            if not deep:
                found += [(name, range(i, _end_behind(source, at))) for name in names]
                break
    return tuple(found)


_LONGEST = 120
"""Words of a head."""


def _end_behind(source: Source, at: int) -> int:
    """Where a declaration ends that stands behind a token: its body, or its semicolon."""
    tokens = source.tokens
    while at < len(tokens) and tokens[at].text != ";":
        end = source.partner.get(at, at) if tokens[at].text in ("(", "[", "{") else at
        if end > at and source.is_block(at):
            return end
        at = end + 1
    return at


@lru_cache(maxsize=32)
def _methods(source: Source) -> Mapping[int, frozenset[str]]:
    """Functions that have a body, by the brace of the structure that they are members of; -1: all may call them."""
    tokens, found = source.tokens, dict[int, set[str]]()
    bases = {
        tokens[i].text
        for i in range(_BASES, len(tokens))
        if tokens[i].kind == "name" and ":" in [token.text for token in tokens[i - _BASES : i]]
    }
    for i in (i for i, token in enumerate(tokens) if i and token.text == "(" and i in source.partner):
        begins = i > 1 and tokens[i - 2].text in (",", ":")  # a member, in what makes one
        if tokens[i - 1].kind != "name" or begins or body_behind(source, i) is None:
            continue
        brace = source.parent[i]
        space = "namespace" in [token.text for token in tokens[max(brace - 2, 0) : max(brace, 0)]]
        name = "" if space else structure_of(source, brace)
        if name != tokens[i - 1].text:  # what makes one is called by its name
            of_it = name and name not in bases
            found.setdefault(brace if of_it else -1, set()).add(tokens[i - 1].text)
    return {brace: frozenset(names) for brace, names in found.items()}


_BASES = 2
"""Words between a colon and the name of a base, with it: `: public Base`."""
