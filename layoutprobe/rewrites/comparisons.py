"""What a test compares: with another name that the statement has, the other way round, or what comes of its sides."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.tree import Node

_SIGNS = ("<", "<=", ">", ">=")


def comparisons(spot: Spot) -> Iterator[Rewrite]:
    """`j > i` for `j >= N` beside `i >= N`: a triangle's edge for a rectangle's."""
    found = [
        node
        for node in spot.tree.walk()
        if node.kind == "comparison" and len(node.parts) == 2 and spot.operator(node, 1) in _SIGNS
    ]
    sides = list(dict.fromkeys(spot.text(part) for node in found for part in node.parts))
    for node in found:
        left, right = (spot.text(part) for part in node.parts)
        sign = spot.operator(node, 1)
        like = [
            sign,
            *sorted((other for other in _SIGNS if other != sign), key=lambda one: one[0] != sign[0]),
        ]
        others = [text for text in sides if text not in (left, right)]
        for nth, (text, other) in enumerate((text, other) for text in others for other in like):
            new = spot.replace(node.first, node.last, f"{left} {other} {text}", "comparisons")
            yield replace(new, rank=0.1 * nth)


def bare_sides(spot: Spot) -> Iterator[Rewrite]:
    """`a >= b` for `(int)a >= (int)b`: large numbers without a sign are below zero with one."""
    for node in spot.tree.walk():
        if node.kind != "comparison" or len(node.parts) != _SIDES:
            continue
        sides = [spot.source.slice(spot.start(part), part.last) for part in node.parts]
        plain = [_CAST.sub("", side) for side in sides]
        if plain != sides:
            text = f"{plain[0]} {spot.operator(node, 1)} {plain[1]}"
            yield spot.replace(spot.start(node.parts[0]), node.last, text, "bare_sides")


_CAST = re.compile(r"^\((?:int|unsigned|unsigned int|long|u?int(?:32|64)_t|size_t)\)\s*")


def unsigned(spot: Spot) -> Iterator[Rewrite]:
    """`(unsigned)x < (unsigned)w` for `x < w`, which what is below 0 passes; and `x >= 0 && x < w`. So with `x >= w`,
    which asks for what is outside."""
    for node in spot.tree.walk():
        sign = spot.operator(node, 1) if node.kind == "comparison" and len(node.parts) == _SIDES else ""
        if sign not in _BOTH_ENDS or spot.sorts(node.parts[0]) - {"integer"}:
            continue
        first = spot.start(node.parts[0])
        left, right = spot.source.slice(first, node.parts[0].last), spot.text(node.parts[1])
        beyond, joined = _BOTH_ENDS[sign]
        if "unsigned" in left or re.search(rf"{re.escape(left)}\s*{beyond}", spot.text(spot.tree)):
            continue
        one, other = (text if re.fullmatch(r"[\w.]+", text) else f"({text})" for text in (left, right))
        casts = f"(unsigned){one} {sign} (unsigned){other}"
        asked = f"{left} {beyond} 0 {joined} {left} {sign} {right}"
        likely = (
            re.search(r"\(unsigned(?: int)?\)[^;&|]*<|\bunsigned\([^;&|]*<", spot.source.text) is not None
        )
        late = 0.0 if likely else _UNLIKELY
        yield replace(spot.replace(first, node.last, casts if likely else asked, "unsigned"), rank=late)
        yield replace(spot.replace(first, node.last, asked if likely else casts, "unsigned"), rank=late + 0.3)


_SIDES = 2
_BOTH_ENDS = {"<": (">=", "&&"), ">=": ("<", "||")}
"""What is asked at one end -> what at the other, and how both are joined."""
_UNLIKELY = 1.0
"""How much unlikelier it is where nothing in the file is compared so."""


def looser(spot: Spot) -> Iterator[Rewrite]:
    """`k + step < K` for `k + 2 * step <= K`: a test of a part that is whole, for one of a part that has begun."""
    for node in spot.tree.walk():
        if node.kind != "comparison" or len(node.parts) != 2 or spot.operator(node, 1) not in _SIGNS:
            continue
        left, right = (spot.text(part) for part in node.parts)
        sign = spot.operator(node, 1)
        other = sign[0] if len(sign) > 1 else f"{sign}="
        for mine, its in ((0, right), (1, left)):
            for nth, text in enumerate(_with_less(spot, node.parts[mine])):
                new = f"{text} {other} {its}" if mine == 0 else f"{its} {other} {text}"
                yield replace(spot.replace(spot.start(node), node.last, new, "looser"), rank=0.1 * nth)


def _with_less(spot: Spot, side: Node) -> Iterator[str]:
    """A side of a test without its last term, or without a factor of one."""
    if side.kind != "sum":
        return
    terms = list(side.parts)
    for nth, term in enumerate(terms[1:], 1):
        before = spot.source.slice(spot.start(side), term.first)
        behind = spot.source.slice(term.last, side.last)
        for part in term.parts if term.kind == "product" and len(term.parts) == 2 else ():
            yield f"{before.rstrip()} {spot.text(part)}{behind}"
        if nth == len(terms) - 1:
            yield spot.source.slice(spot.start(side), terms[nth - 1].last)


def derived(spot: Spot) -> Iterator[Rewrite]:
    """`row == col` for `threadIdx.y == threadIdx.x`, of which row and col are made: both sides at once."""
    values = {name: spot.text(value) for name, value in spot.given}
    for node in spot.tree.walk():
        if node.kind not in ("comparison", "equality") or len(node.parts) != 2:
            continue
        left, right = (
            [name for name in values if _is_made_of(spot, values[name], part)] for part in node.parts
        )
        for one, other in ((a, b) for a in left[:_MOST] for b in right[:_MOST] if a != b):
            if one in spot.names and other in spot.names:
                first = spot.start(node.parts[0])
                text = f"{one} {spot.operator(node, 1)} {other}"
                yield spot.replace(first, node.last, text, "derived")


_MOST = 3


def _is_made_of(spot: Spot, value: str, part: Node) -> bool:
    """Whether a value has an expression in it, and more."""
    text = "".join(spot.source.slice(spot.start(part), part.last).split())
    whole = "".join(value.split())
    return len(text) < len(whole) and re.search(rf"(?<![\w.]){re.escape(text)}(?![\w.])", whole) is not None
