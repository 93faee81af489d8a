"""Brackets elsewhere: around neighbours, in calls and choices, and out of them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import callee, text_behind
from layoutprobe.source.tree import BINDING, COMBINED, JOINED, Node, bare


def brackets(spot: Spot) -> Iterator[Rewrite]:
    """Brackets left out, put around neighbours or an argument of a macro; a term moved into a call or out of it."""
    yield from _of_arguments(spot)
    for node in spot.tree.walk():
        if node.kind in BINDING:
            for part in node.parts:
                if part.kind == "group" and len(part.parts) == 1 and part.parts[0].kind in COMBINED:
                    yield spot.replace(part.first, part.last, spot.text(part.parts[0]), "brackets")
        if node.kind == "sum":
            yield from _into_call(spot, node)
            yield from _around(spot, node)
            yield from _under_a_mask(spot, node)
        if node.kind == "product":
            yield from _of_one_term(spot, node)
            yield from _factor_into_call(spot, node)
        if node.kind in JOINED:
            yield from _into_choice(spot, node)
        if node.kind == "choice" and len(node.parts) == len(("asked", "one", "other")):
            yield from _out_of_choice(spot, node)
        if node.kind == "product" and len(node.parts) > 2:
            for one, other in zip(node.parts[1:], node.parts[2:], strict=False):
                yield spot.replace(
                    one.first, other.last, f"({spot.source.slice(one.first, other.last)})", "brackets"
                )
        for call in node.parts:
            first = callee(spot.source, call.first) if call.kind == "call" else None
            if first is not None:
                yield from (
                    _out_of_call(spot, first, call, part)
                    for part in call.parts
                    if part.kind in ("sum", "product")
                )


def _into_choice(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(c ? a ^ x : b)` and `(c ? a : b ^ x)` for `(c ? a : b) ^ x`."""
    choice, source = bare(node.parts[0]), spot.source
    if choice.kind != "choice" or len(choice.parts) != len(("asked", "one", "other")):
        return
    more = text_behind(source, node.parts[0].last, node.last)
    for part in choice.parts[1:]:
        text = f"{source.slice(choice.first, part.last)}{more}{text_behind(source, part.last, choice.last)}"
        yield spot.replace(node.first, node.last, f"({text})", "brackets")


def _out_of_choice(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`((c ? a : b) ^ x)` for `(c ? a ^ x : b)` and for `(c ? a : b ^ x)`."""
    source = spot.source
    for part in node.parts[1:]:
        if part.kind in JOINED:
            last = part.parts[-2].last
            more = text_behind(source, last, part.last)
            rest = text_behind(source, part.last, node.last)
            yield spot.replace(
                node.first, node.last, f"(({source.slice(node.first, last)}{rest}){more})", "brackets"
            )


def _under_a_mask(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`((a + b) & MASK)` for `a + (b & MASK)`, and so with `%`."""
    for nth, part in enumerate(node.parts):
        inner = part.parts[0] if part.kind == "group" and len(part.parts) == 1 else part
        sign = spot.operator(inner, len(inner.parts) - 1) if inner.kind in ("and", "product") else ""
        if sign not in ("&", "%") or len(inner.parts) != 2:
            continue
        own, mask = (spot.text(one) for one in inner.parts)
        first = spot.start(node)
        before, behind = spot.source.slice(first, part.first), spot.source.slice(part.last, node.last)
        text = " ".join(one for one in (before if nth else "", own, behind) if one)
        yield spot.replace(first, node.last, f"(({text}) {sign} {mask})", "brackets")


def _of_arguments(spot: Spot) -> Iterator[Rewrite]:
    """`(k) * TILE` for `k * TILE` in a macro: what it is given may be a sum."""
    tokens, given = spot.source.tokens, {name for name, sort in spot.outer if not sort}
    for i in spot.within:
        beside = {tokens[j].text for j in (i - 1, i + 1) if 0 <= j < len(tokens)}
        if tokens[i].text in given and beside & _BINDING_SIGNS:
            yield replace(spot.replace(i, i + 1, f"({tokens[i].text})", "brackets"), rank=-1.0)


_BINDING_SIGNS = frozenset(("*", "/", "%", "-", "<<", ">>", "&"))


def _into_call(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`f(a + b, c)` and `f(a, c + b)` for `f(a, c) + b`; and `f(a, c + 1)`, which is the next one."""
    source = spot.source
    for one, other in zip(node.parts, node.parts[1:], strict=False):
        call = one.parts[-1] if one.parts else None
        if call is not None and call.kind == "call" and call.parts and call.last == one.last:
            added = text_behind(source, one.last, other.last)
            for more in dict.fromkeys((added, f" {spot.operator(node, node.parts.index(other))} 1")):
                for at in [part.last for part in call.parts[:1] + call.parts[:0:-1]]:
                    text = source.slice(one.first, at) + more + source.slice(at, one.last)
                    yield spot.replace(one.first, other.last, text, "brackets")


def _factor_into_call(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`f((a + b) * c)` for `f(a + b) * c`."""
    source = spot.source
    for one, other in zip(node.parts, node.parts[1:], strict=False):
        call = one.parts[-1] if one.parts else None
        if call is not None and call.kind == "call" and len(call.parts) == 1 and call.last == one.last:
            inner, factor = call.parts[0], text_behind(source, one.last, other.last)
            text = spot.text(inner)
            whole = f"({text})" if inner.kind in BINDING and inner.kind != "product" else text
            new = f"{source.slice(one.first, inner.first)}{whole}{factor})"
            yield spot.replace(one.first, other.last, new, "brackets")


def _out_of_call(spot: Spot, first: int, call: Node, part: Node) -> Rewrite:
    """`(f(a, c) + b)` for `f(a + b, c)`."""
    source, terms = spot.source, part.parts
    kept = source.text[source.tokens[first].start : source.tokens[terms[-2].last - 1].end]
    moved = text_behind(source, terms[-2].last, terms[-1].last)
    rest = text_behind(source, terms[-1].last, call.last)
    return spot.replace(first, call.last, f"({kept}{rest}{moved})", "brackets")


def _around(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`a * (b + c)` for `a * b + c`, `(a + b) * c` for `a + b * c`."""
    for one, other in zip(node.parts, node.parts[1:], strict=False):
        if one.kind == "product":
            first = one.parts[-1].first
            yield spot.replace(first, other.last, f"({spot.source.slice(first, other.last)})", "brackets")
        if other.kind == "product":
            last = other.parts[0].last
            yield spot.replace(one.first, last, f"({spot.source.slice(one.first, last)})", "brackets")


def _of_one_term(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`a * c + b` and `a + b * c` for `(a + b) * c`; so with more terms."""
    for nth, part in enumerate(node.parts[:_MOST_FACTORS]):
        first = spot.start(node)
        bracket = part.parts[-1] if part.kind == "leaf" and part.parts and not nth else part
        inner = bracket.parts[0] if bracket.kind == "group" and len(bracket.parts) == 1 else None
        if inner is None or inner.kind != "sum" or (nth and spot.operator(node, nth) != "*"):
            continue
        before, behind = spot.source.slice(first, bracket.first), spot.source.slice(bracket.last, node.last)
        signs = ["", *(f" {spot.operator(inner, n)} " for n in range(1, len(inner.parts)))]
        terms = [spot.text(part) for part in inner.parts]
        for at in range(len(terms)):
            scaled = " ".join(text for text in (before, terms[at], behind) if text)
            rest = (
                f"{sign}{scaled if n == at else term}"
                for n, (sign, term) in enumerate(zip(signs, terms, strict=True))
            )
            yield spot.replace(first, node.last, f"({''.join(rest)})", "brackets")


_MOST_FACTORS = 3
