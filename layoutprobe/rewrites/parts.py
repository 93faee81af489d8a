"""What is counted from the beginning of a part: its start is added; and parts of a number, taken otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.tree import Node

_LOOP = r"for\s*\([^;(){{}}]*\b{name}\s*=\s*0\s*;\s*{name}\s*<\s*([\w.:>-]+)\s*;"
_MOST = 5
"""Parts that a count may be of; divisors, and strides, that are tried."""
_BINDS = ("*", "/", "%", "<<", ">>", "&")


def parts(spot: Spot) -> Iterator[Rewrite]:
    """`group * count + i` for `i`, where i goes up to count; `[e / N][e % N]` for `[e % K][e / K]`; `a + i * S` for
    `a * M + i`."""
    yield from _starts(spot)
    yield from _divided(spot)
    yield from _spread(spot)
    yield from _bits(spot)


def _bits(spot: Spot) -> Iterator[Rewrite]:
    """The upper bits of a number for its lower ones, and the reverse: `head >> shift` for `head & MASK(shift)`."""
    for node in spot.tree.walk():
        if node.kind not in ("and", "shift") or len(node.parts) != 2:
            continue
        sign, first = spot.operator(node, 1), spot.start(node.parts[0])
        number, by = spot.source.slice(first, node.parts[0].last), spot.text(node.parts[1])
        mask = re.fullmatch(r"\w+\(([^()]+)\)|\(?\(1u? << ([^()]+)\) - 1\)?", by) if sign == "&" else None
        if mask is not None:
            yield spot.replace(first, node.last, f"{number} >> {mask[1] or mask[2]}", "parts")
        if sign == ">>":
            yield spot.replace(first, node.last, f"({number} & ((1 << {by}) - 1))", "parts")


def _starts(spot: Spot) -> Iterator[Rewrite]:
    """A loop's counter behind the start of the part that the loop is of."""
    tokens, body = spot.source.tokens, spot.body
    for one in spot.scope.operands:
        if one.first not in spot.within or one.sort != "integer" or one.last > one.first + 1:
            continue
        extent = re.search(_LOOP.format(name=re.escape(one.text)), body)
        if extent is None or tokens[spot.within.start].text == "for":
            continue
        numbers = [
            other.text
            for other in spot.names.values()
            if other.sort == "integer"
            and other.text.isidentifier()
            and other.text not in (one.text, extent[1])
            and not other.text.isupper()
            and re.search(rf"\b{re.escape(other.text)} \* ", body)
        ]
        bound = {spot.source.word(one.first - 1), spot.source.word(one.last)} & {*_BINDS}
        for nth, number in enumerate(numbers[:_MOST]):
            text = f"{number} * {extent[1]} + {one.text}"
            new = spot.replace(one.first, one.last, f"({text})" if bound else text, "parts")
            yield replace(new, rank=0.15 * nth)


def _divided(spot: Spot) -> Iterator[Rewrite]:
    """A quotient and a remainder of one number, each for the other, and by what else it is divided by."""
    found = [
        (node, spot.text(node.parts[0]), spot.operator(node, 1), spot.text(node.parts[1]))
        for node in spot.tree.walk()
        if node.kind == "product" and len(node.parts) == 2 and spot.operator(node, 1) in ("/", "%")
    ]
    for (one, number, sign, by), (other, same, its, divisor) in pairwise(found):
        if (number, by) != (same, divisor) or sign == its:
            continue
        first, last = sorted((one, other), key=lambda node: node.first)
        signs = (sign, its) if first is one else (its, sign)
        middle = spot.source.text[
            spot.source.tokens[first.last - 1].end : spot.source.tokens[last.first].start
        ]
        for nth, (signs_of, instead) in enumerate(
            [
                (signs[::-1], by),
                *((pair, text) for text in _divisors(spot, number, by) for pair in (signs[::-1], signs)),
            ]
        ):
            text = f"{number} {signs_of[0]} {instead}{middle}{number} {signs_of[1]} {instead}"
            yield replace(spot.replace(first.first, last.last, text, "parts"), rank=0.15 * nth)


def _divisors(spot: Spot, number: str, by: str) -> list[str]:
    """By what else a number of that name is divided in the file."""
    pattern = rf"(?<![\w.]){re.escape(number)}\s*[/%]\s*([A-Za-z_][\w.]*(?:::\w+)*|\d+)"
    return [text for text in dict.fromkeys(re.findall(pattern, spot.source.text)) if text != by][:_MOST]


def _spread(spot: Spot) -> Iterator[Rewrite]:
    """Elements that lie apart for such that lie beside each other."""
    for node in spot.tree.walk():
        if node.kind != "sum" or len(node.parts) != 2 or spot.operator(node, 1) != "+":
            continue
        for whole, count in (node.parts, node.parts[::-1]):
            if not _is_scaled(spot, whole) or count.kind in ("sum", "product", "group"):
                continue
            base, pitch = (spot.text(part) for part in whole.parts)
            for nth, stride in enumerate((pitch, *_pitches(spot, pitch))):
                text = f"{base} + {spot.text(count)} * {stride}"
                yield replace(spot.replace(node.first, node.last, text, "parts"), rank=0.6 + 0.15 * nth)


def _is_scaled(spot: Spot, node: Node) -> bool:
    return node.kind == "product" and len(node.parts) == 2 and spot.operator(node, 1) == "*"


def _pitches(spot: Spot, pitch: str) -> list[str]:
    """What else something is multiplied with in the file, as constants are."""
    found = re.findall(r"\* ([A-Z][A-Z0-9_]*|\w+::\w+)\b", spot.source.text)
    return [text for text in dict.fromkeys(found) if text != pitch and text in spot.names][:_MOST]
