"""Expressions of a statement that may be another one: its values, and what they are made of."""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.rewrites.known import is_value
from layoutprobe.rewrites.spot import Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.tree import JOINED, Node


def places(spot: Spot) -> Iterator[tuple[Node, str]]:
    """Expressions of a statement that may lack something, with the kind of what they are part of: values, terms,
    arguments and indices, sides of comparisons, factors."""
    declared = declared_in(spot.source)
    if spot.source.tokens[spot.within.start].text == "return" and is_value(spot.source, spot.tree):
        yield spot.tree, ""
    for node in spot.tree.walk():
        for nth, part in enumerate(node.parts):
            values = node.kind in ("call", "index", "comparison", "equality", "choice", "braces", "group")
            values |= node.kind == "assignment" and nth > 0
            if part.kind in ("call", "index", "cast", "braces", "list", "statements", "choice"):
                continue
            extent = node.kind == "index" and node.first - 1 in declared
            if extent or part.last <= part.first or not declared.isdisjoint((part.first, part.last - 1)):
                continue
            if not is_value(spot.source, part):
                continue
            if values or node.kind in JOINED:
                yield part, node.kind if node.kind in JOINED else ""
