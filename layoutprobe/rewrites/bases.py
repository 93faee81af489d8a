"""Where the part of a workgroup begins: an index within a tile, where one within all is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.statements import Source, free_words
from layoutprobe.source.tree import Node, bare, forest

_MOST = 4
"""Beginnings that are tried for an index."""


def based(spot: Spot) -> Iterator[Rewrite]:
    """`bias[n0 + d]` for `bias[d]`, where `n0 = blockIdx.x * TILE`; `n0 + d < n` for `d < n`."""
    made = _made_of(spot.source, spot.function.start, spot.function.stop)
    begins = [name for name in _beginnings(spot, made) if name in spot.names or "." in name]
    for node in _indices(spot):
        words = _all_words(spot.text(node), made)
        known = [name for name in begins if not free_words(name) <= words]
        for nth, name in enumerate(known[:_MOST]):
            first = spot.start(node)
            text = spot.source.slice(first, node.last)
            whole = f"{name} + {text}"
            joined = f"({whole})" if node.kind != "sum" and spot.source.word(node.last) == "*" else whole
            yield replace(spot.replace(first, node.last, joined, "based"), rank=0.2 * nth)


def _indices(spot: Spot) -> Iterator[Node]:
    """Indices of arrays in global memory, rows in them, places that are asked for, and sums that are named."""
    looped = spot.source.word(spot.within.start) == "for"
    for node in spot.tree.walk():
        for part in node.parts if node.kind in ("leaf", "product", "sum") else ():
            if part.kind == "index" and len(part.parts) == 1 and _is_global(spot, node.first, part.first):
                yield part.parts[0]
                yield from _rows(spot, part.parts[0])
        first = node.parts[0] if node.kind in ("comparison", "sum") else None
        if (
            first is not None
            and node.kind == "comparison"
            and not looped
            and spot.operator(node, 1)[0] == "<"
        ):
            yield from [first] if _is_integer(spot, first) else []
        if first is not None and node.kind == "sum" and spot.sorts(first) == {"pointer"}:
            yield from (part for part in node.parts[1:] if _is_integer(spot, part))
            yield from _rows(spot, node)
    for piece in spot.pieces:
        sign, _, value = spot.assignment(piece) or ("", piece, piece)
        if sign == "=" and value.kind == "sum" and _is_integer(spot, value):
            yield value


def _is_global(spot: Spot, first: int, last: int) -> bool:
    """Whether what is before an index is a pointer, and no array of the function's own."""
    head = [token.text for token in spot.source.tokens[first:last] if token.kind == "name"][-1:]
    known = spot.names.get(*head) if head else None
    return known is not None and known.sort == "pointer" and known.text not in _arrays(spot.source)


@lru_cache(maxsize=32)
def _arrays(source: Source) -> frozenset[str]:
    """Names that are declared as arrays."""
    return frozenset(source.tokens[i].text for i in declared_in(source) if source.word(i + 1) == "[")


def _rows(spot: Spot, index: Node) -> Iterator[Node]:
    """`row` of `row * pitch + column`."""
    for part in index.parts if index.kind == "sum" else (index,):
        first = bare(part.parts[0]) if part.kind == "product" and spot.operator(part, 1) == "*" else None
        if first is not None and _is_integer(spot, first):
            yield first


def _is_integer(spot: Spot, node: Node) -> bool:
    return spot.sorts(node) == {"integer"}


def _beginnings(spot: Spot, made: Mapping[str, frozenset[str]]) -> list[str]:
    """Names that are multiples of a coordinate of the workgroup, or of what is made of one; and those that have no
    name: `blockIdx.x * TILE`."""
    named = [
        name
        for name, value in spot.given
        if value.kind == "product" and spot.operator(value, 1) == "*" and "blockIdx" in made.get(name, ())
        if "threadIdx" not in made[name]
    ]
    terms = re.findall(r"\bblockIdx\.[xyz] \* [A-Za-z_][\w:]*(?![\w.(\[])", spot.body)
    own = {spot.text(value) for _, value in spot.given}
    return list(dict.fromkeys((*named, *(term for term in terms if term not in own))))


def _all_words(text: str, made: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Words of an expression, and those that its names are made of."""
    own = free_words(text)
    return frozenset(own).union(*(made.get(word, frozenset[str]()) for word in own))


@lru_cache(maxsize=32)
def _made_of(source: Source, start: int, stop: int) -> Mapping[str, frozenset[str]]:
    """Names of a function, and all words that go into their first values."""
    found = dict[str, frozenset[str]]()
    for tree in forest(source, start, stop):
        for piece in tree.parts if tree.kind == "list" else (tree,):
            if piece.kind == "assignment" and len(piece.parts) == len(("name", "value")):
                name = source.tokens[piece.parts[0].last - 1].text
                value = source.slice(piece.parts[1].first, piece.parts[1].last)
                found.setdefault(name, _all_words(value, found) | {name})
    return found
