"""Sums that go on as others do: terms that follow, or come before, what two of them have in common."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from layoutprobe.rewrites.known import is_value, known_here
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.statements import Source, free_words
from layoutprobe.source.tree import Node, forest


def gone_on(spot: Spot) -> Iterator[Rewrite]:
    """`wx + i * 16 + 2 * v + half` for `wx + i * 16 + lane`, as a sum elsewhere goes on behind `i * 16`."""
    seen = set[str]()
    for node in spot.tree.walk():
        own = _terms(spot.source, node)
        for other in _sums(spot.source) if own else ():
            for text in _joined(own, other):
                if text not in seen and known_here(spot, frozenset(free_words(text))):
                    seen.add(text)
                    new = spot.replace(spot.start(node), node.last, text, "gone_on")
                    yield replace(new, rank=0.02 * len(seen))


def _joined(own: tuple[str, ...], other: tuple[str, ...]) -> Iterator[str]:
    """A sum with the terms of another one behind what they have in common, or before."""
    shared = [(i, j) for i, one in enumerate(own) for j, its in enumerate(other) if one == its]
    for i, j in shared[-1:]:
        if own[i + 1 :] != other[j + 1 :] and (i + 1 < len(own) or j + 1 < len(other)):
            yield " + ".join((*own[: i + 1], *other[j + 1 :]))
    for i, j in shared[:1]:
        if own[:i] != other[:j] and i + j:
            yield " + ".join((*other[:j], *own[i:]))


@lru_cache(maxsize=32)
def _sums(source: Source) -> tuple[tuple[str, ...], ...]:
    """The terms of each sum of a file."""
    found = (_terms(source, node) for tree in forest(source, 0, len(source.tokens)) for node in tree.walk())
    return tuple(dict.fromkeys(one for one in found if one))


def _terms(source: Source, node: Node) -> tuple[str, ...]:
    """The terms of a sum that only adds, as they are written; none of what is no such sum, or a long one."""
    if node.kind != "sum" or not is_value(source, node):
        return ()
    if any(source.tokens[part.first - 1].text != "+" for part in node.parts[1:]):
        return ()
    first = node.first + (source.tokens[node.first].text == "return")
    head = source.slice(first, node.parts[0].last)
    terms = (head, *(source.slice(part.first, part.last) for part in node.parts[1:]))
    return terms if len(terms) <= _MOST_TERMS else ()


_MOST_TERMS = 8
