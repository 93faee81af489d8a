"""A factor that belongs to another statement: before a sum, or behind it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.tree import ASSIGNMENTS, BINDING, Node

_USES = 2
"""Places behind, to which a factor may belong."""


def handed(spot: Spot) -> Iterator[Rewrite]:
    """A factor in another statement: `v = alpha * sum; v += beta * c;` for `y = alpha * v;`, and the reverse."""
    for node in (node for piece in spot.pieces for node in piece.walk() if node.kind == "product"):
        signs = [spot.operator(node, n) for n in range(1, len(node.parts))]
        if len(node.parts) != len(("alpha", "v")) or signs != ["*"]:
            continue
        for one, other in (node.parts, node.parts[::-1]):
            known = spot.names.get(spot.text(one))
            if known is not None and known.sort in ("real", ""):
                yield from _handed_back(spot, node, spot.text(one), other)
                yield from _handed_on(spot, node, spot.text(one), other)


def _handed_back(spot: Spot, node: Node, factor: str, other: Node) -> Iterator[Rewrite]:
    """To where the other one got its value."""
    name, source = spot.text(other), spot.source
    before = [value for given, value in spot.given if given == name and value.last <= spot.within.start]
    for value in before[-1:]:
        start, end = source.tokens[value.first].start, source.tokens[node.last - 1].end
        between = source.text[source.tokens[value.last - 1].end : source.tokens[node.first].start]
        yield Rewrite(start, end, f"{factor} * {_as_factor(spot, value)}{between}{name}", "handed")


def _handed_on(spot: Spot, node: Node, factor: str, other: Node) -> Iterator[Rewrite]:
    """To the next use of what it is assigned to."""
    source, assigned = spot.source, spot.assignment(spot.tree)
    if (
        assigned is None
        or assigned[2].first != node.first
        or source.tokens[assigned[1].last - 1].kind != "name"
    ):
        return
    name = source.tokens[assigned[1].last - 1].text
    uses = (
        i
        for i in range(spot.within.stop, spot.function.stop)
        if source.tokens[i].text == name
        and not source.defines(i)
        and source.tokens[i + 1].text not in ASSIGNMENTS
    )
    for i in islice(uses, _USES):
        start, end = source.tokens[node.first].start, source.tokens[i].end
        between = source.text[source.tokens[node.last - 1].end : source.tokens[i].start]
        yield Rewrite(start, end, f"{spot.text(other)}{between}({factor} * {name})", "handed")


def _as_factor(spot: Spot, node: Node) -> str:
    return f"({spot.text(node)})" if node.kind in BINDING and node.kind != "product" else spot.text(node)
