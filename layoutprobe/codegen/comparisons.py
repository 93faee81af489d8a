"""What a test compares: with another name that the statement has, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.codegen.expressions import Rewrite, Spot

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
