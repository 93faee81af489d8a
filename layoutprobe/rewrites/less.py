"""An expression without one of its parts, or with its parts the other way round; a statement that is left out."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import callee
from layoutprobe.source.tree import BINDING, COMBINED, Node


def less(spot: Spot) -> Iterator[Rewrite]:
    """An expression without one of its parts; one part of a call or choice; a statement without its test."""
    for node in sorted(spot.tree.walk(), key=lambda one: one.last - one.first):
        if node.kind in COMBINED:
            yield from (
                _without(spot, node, k)
                for k in reversed(range(len(node.parts)))
                if k or _may_begin(spot, node)
            )
        if node.kind == "choice":
            yield from (_instead(spot, node, part) for part in node.parts[1:])
        if node.kind == "sum" and len(node.parts) == 2 and spot.operator(node, 1) == "-":
            yield _instead(spot, node, node.parts[1])
        for call in node.parts:
            if call.kind == "call" and node.kind == "leaf":
                first = callee(spot.source, call.first)
                whole = Node("leaf", first or 0, call.last)
                yield from (_instead(spot, whole, part) for part in call.parts if first is not None)
        if node.kind in COMBINED and node.last - node.first > 3:
            inside = {one.text for one in spot.scope.operands if node.first <= one.first < node.last}
            if len(inside) == 1:
                yield spot.replace(node.first, node.last, inside.pop(), "terms")
    yield from _untested(spot)


def _may_begin(spot: Spot, node: Node) -> bool:
    """Whether an expression may go without its first part."""
    return spot.operator(node, 1) not in ("-", "/", "%", "<<", ">>")


def _without(spot: Spot, node: Node, k: int) -> Rewrite:
    tokens, part = spot.source.tokens, node.parts[k]
    if k == 0:
        return Rewrite(tokens[part.first].start, tokens[node.parts[1].first].start, "", "terms")
    return Rewrite(tokens[part.first - 2].end, tokens[part.last - 1].end, "", "terms")


def _instead(spot: Spot, node: Node, part: Node) -> Rewrite:
    """A part in place of all, in brackets where operators join it."""
    text, tokens = spot.text(part), spot.source.tokens
    bracketed = node.first > 0 and node.last < len(tokens) and tokens[node.first - 1].text == "("
    whole = bracketed and tokens[node.last].text == ")"
    return spot.replace(
        node.first, node.last, f"({text})" if part.kind in BINDING and not whole else text, "terms"
    )


def _untested(spot: Spot) -> Iterator[Rewrite]:
    tokens, first = spot.source.tokens, spot.within.start
    close = spot.source.partner.get(first + 1, first)
    if tokens[first].text == "if" and close + 1 < len(tokens):
        yield Rewrite(tokens[first].start, tokens[close + 1].start, "", "terms")


def turned(spot: Spot) -> Iterator[Rewrite]:
    """`a - b` for `b - a`, and so with quotients: which of the two is meant is easily mistaken. And `a - b + c` for
    `a + b - c`."""
    source, tokens = spot.source, spot.source.tokens
    for node in spot.tree.walk():
        signs = [spot.operator(node, nth) for nth in range(1, len(node.parts))] if node.kind == "sum" else []
        if set(signs) == {"+", "-"}:
            pairs = zip(signs, node.parts[1:], strict=True)
            rest = (f" {_OPPOSITE[sign]} {spot.text(part)}" for sign, part in pairs)
            first = spot.start(node)
            text = source.slice(first, node.parts[0].last) + "".join(rest)
            yield replace(spot.replace(first, node.last, text, "turned"), rank=0.2)
        for nth in range(1, len(node.parts)) if node.kind in ("sum", "product") else ():
            if spot.operator(node, nth) not in ("-", "/", "%"):
                continue
            one, other = node.parts[nth - 1 : nth + 1]
            if (
                spot.operator(node, nth) == "%"
                and "integer" in spot.sorts(one)
                and not spot.sorts(other) & {"real"}
            ):
                continue  # a place is no divisor
            first = one.first + (tokens[one.first].text == "return")
            sign = source.text[tokens[one.last - 1].end : tokens[other.first].start]
            text = f"{spot.text(other)}{sign}{source.slice(first, one.last)}"
            yield spot.replace(first, other.last, text, "turned")


_OPPOSITE = {"+": "-", "-": "+"}


def gone(spot: Spot) -> Iterator[Rewrite]:
    """No such statement: an early return, an addition."""
    tokens, own = spot.source.tokens, spot.within
    ended = own.stop < len(tokens) and tokens[own.stop].text == ";"
    leaves = tokens[own.start].text == "if" and tokens[own.stop - 1].text in ("return", "continue", "break")
    adds = spot.tree.kind == "assignment" and spot.operator(spot.tree, 1) in ("+=", "-=", "*=", "/=")
    if ended and (leaves or adds):
        yield spot.replace(own.start, own.stop, "", "gone")
