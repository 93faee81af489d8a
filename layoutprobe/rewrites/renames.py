"""One name for another: of the same sort, in the same function; and two names exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from math import log1p

from msgspec.structs import replace

from layoutprobe.rewrites.alike import alike, differ_in_a_letter
from layoutprobe.rewrites.likelihood import is_size, unlike
from layoutprobe.rewrites.spot import Known, Rewrite, Spot
from layoutprobe.source.declarations import FUNCTION, declared_in
from layoutprobe.source.scope import Operand
from layoutprobe.source.tree import ASSIGNMENTS, BINDING, JOINED

_MOST_NAMES = 10
"""That are tried in place of one."""


_MOST_EXCHANGES = 8


def names(spot: Spot) -> Iterator[Rewrite]:
    """Another name of the same sort: warp_m for warp_n, a.S for a.R, M for N, blockIdx.y for blockIdx.x.

    Those first that are like it, stand near, or are declared and never used.
    """
    found = list[tuple[float, Rewrite]]()
    for one in _own(spot):
        others = [other for other in spot.names.values() if _fits(one, other)]
        scored = sorted((unlike(spot, one, other), other.text) for other in others)
        for nth, (score, text) in enumerate(scored[:_MOST_NAMES]):
            found.append((score + _NEXT * log1p(nth), spot.replace(one.first, one.last, text, "names")))
    found.sort(key=lambda pair: pair[0])
    yield from (replace(one, rank=score) for score, one in found)


_NEXT = 0.6
"""How much unlikelier one of twice as many names is."""


def _own(spot: Spot) -> Iterator[Operand]:
    """Names of the statement that it does not declare; and numbers in place of which a name may be meant."""
    tokens = spot.source.tokens
    declared = declared_in(spot.source)
    yield from (one for one in spot.scope.operands if one.first in spot.within and one.first not in declared)
    for i in spot.within:
        if tokens[i].kind == "number" and (found := _NUMBER.fullmatch(tokens[i].text)):
            yield Operand(i, i + 1, tokens[i].text, "real" if found[1] else "integer")


_NUMBER = re.compile(r"\d+u?|0[xX][0-9a-fA-F]+u?|(\d+\.\d*f?|\.\d+f?)")


def _fits(one: Operand, other: Known) -> bool:
    unknown = (not other.sort or not one.sort) and FUNCTION not in (one.sort, other.sort)
    return other.text != one.text and (other.sort == one.sort or unknown)


def scalars(spot: Spot) -> Iterator[Rewrite]:
    """Another integer that the kernel is given, in place of one: of factors in an index first, as strides are."""
    tokens, declared = spot.source.tokens, declared_in(spot.source)
    own = (one for one in spot.scope.operands if one.first in spot.within and one.first not in declared)
    found = [one for one in own if _last(one) in spot.scalars]

    def is_stride(one: Operand) -> bool:
        near = {tokens[j].text for j in (one.first - 1, one.last) if 0 <= j < len(tokens)}
        return "*" in near or ("." in one.text and one.last < len(tokens) and tokens[one.last].text in "*+]")

    found.sort(key=lambda one: not is_stride(one))
    for name in spot.scalars:
        for one in (
            one for one in found if _last(one) != name and (one.last > one.first + 1 or name in spot.names)
        ):
            near = differ_in_a_letter(_last(one), name)
            yield replace(spot.replace(one.last - 1, one.last, name, "scalars"), rank=-_SAME_BUT_ONE * near)


_SAME_BUT_ONE = 1.5
"""How much likelier `ldb` is meant where `lda` stands."""


def _last(one: Operand) -> str:
    return re.split(r"\.|->|::", one.text)[-1]


def exchanges(spot: Spot) -> Iterator[Rewrite]:
    """Two names exchanged wherever they stand in the statement, or two such pairs at once: H with S, h with s."""
    tokens, declared = spot.source.tokens, declared_in(spot.source)
    own = [
        one
        for one in spot.scope.operands
        if one.first in spot.within
        and one.first not in declared
        and (one.last == len(tokens) or tokens[one.last].text not in ASSIGNMENTS)
    ]
    sorts = {one.text: one.sort for one in own}
    same = [(a, b) for a, b in combinations(sorts, 2) if sorts[a] == sorts[b]]
    pairs = [(a, b) for a, b in same if alike(a, b) or (len(a) == len(b) == 1 and a.isupper() == b.isupper())]
    arrays = spot.scope.elements
    indexed = {one.text for one in own if one.last < len(tokens) and tokens[one.last].text == "["}
    pairs += [
        (a, b)
        for a, b in same
        if (a, b) not in pairs and {a, b} <= indexed and arrays.get(a) == arrays.get(b)
    ]
    pairs.sort(key=lambda pair: is_size(spot, pair[0]) != is_size(spot, pair[1]))
    both = [
        (one, other)
        for one, other in combinations(pairs, 2)
        if [_folded(name) for name in one]
        in ([_folded(name) for name in other], [_folded(name) for name in other[::-1]])
    ]
    for group in (*both, *((pair,) for pair in pairs[:_MOST_EXCHANGES])):
        other = {a: b for pair in group for a, b in (pair, pair[::-1])}
        everywhere = [one for one in own if one.text in other]
        yield renamed(spot, everywhere, other)
        for inside in sorted(_in_one_index(spot, everywhere), key=lambda some: some[-1].last - some[0].first):
            yield replace(renamed(spot, inside, other), rank=-_IN_ONE)


def whole_alike(spot: Spot) -> Iterator[Rewrite]:
    """An expression of the function in place of one that is like it in every name: `OH * OW` for `H * W`."""
    shapes = dict[str, dict[str, tuple[str, ...]]]()
    for tree in spot.statements:
        for node in tree.walk():
            if node.kind in JOINED and node.last - node.first <= _LONGEST_ALIKE:
                text = spot.source.slice(spot.start(node), node.last)
                names = tuple(_NAMES.findall(text))
                if len(names) > 1:
                    shapes.setdefault(_NAMES.sub("_", text), {})[text] = names
    for node in spot.tree.walk():
        text = spot.source.slice(spot.start(node), node.last) if node.kind in JOINED else ""
        names = tuple(_NAMES.findall(text))
        for other, theirs in shapes.get(_NAMES.sub("_", text), {}).items() if text else ():
            pairs = [(a, b) for a, b in zip(names, theirs, strict=True) if a != b]
            if len(pairs) > 1 and all(alike(a, b) for a, b in pairs):
                yield spot.replace(spot.start(node), node.last, other, "whole_alike")


_LONGEST_ALIKE = 15


_NAMES = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)\w+)*")


def mixed(spot: Spot) -> Iterator[Rewrite]:
    """Two integers exchanged in one expression: `4 * half + v` for `4 * v + half`. What is only added or multiplied
    is the same so."""
    integers = [one for one in spot.scope.operands if one.first in spot.within and one.sort == "integer"]
    inside = set[int]()
    for node in spot.tree.walk():
        if node.kind not in JOINED or id(node) in inside:
            continue
        inside.update(id(below) for part in node.parts for below in part.walk() if part.kind in BINDING)
        here = [one for one in integers if node.first <= one.first < node.last]
        direct = {part.first for part in node.parts if part.last - part.first == 1}
        for a, b in islice(combinations(dict.fromkeys(one.text for one in here), 2), _MOST_PAIRS):
            both = [one for one in here if one.text in (a, b)]
            if not all(one.first in direct for one in both) or node.kind == "shift":
                yield replace(renamed(spot, both, {a: b, b: a}), kind="mixed")


_MOST_PAIRS = 15
"""Pairs of an expression."""


_IN_ONE = 1.6
"""How much likelier two names are mistaken for each other in one index than wherever they stand."""


def _in_one_index(spot: Spot, own: Sequence[Operand]) -> Iterator[list[Operand]]:
    """Those of some operands that stand in one of several indices, or among the arguments of one of several calls:
    `x[j * n + i]` of `t[i][j] = x[i * n + j]`, `at(k + row, j + col)` of a test of both."""
    for node in spot.tree.walk():
        if node.kind == "index" or (node.kind == "call" and len(node.parts) > 1):
            inside = [one for one in own if node.first <= one.first < node.last]
            if len({one.text for one in inside}) > 1 and len(inside) < len(own):
                yield inside


def _folded(name: str) -> str:
    return name.lower()


def renamed(spot: Spot, own: list[Operand], other: dict[str, str]) -> Rewrite:
    """Some operands under their other names, in one change."""
    first, last = own[0], own[-1]
    start, end = spot.source.tokens[first.first].start, spot.source.tokens[last.last - 1].end
    text, at = "", start
    for one in own:
        text += spot.source.text[at : spot.source.tokens[one.first].start] + other[one.text]
        at = spot.source.tokens[one.last - 1].end
    return Rewrite(start, end, text, "exchange")
