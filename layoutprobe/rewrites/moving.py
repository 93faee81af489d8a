"""An expression with another value: what moves with it is what it goes into."""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.rewrites.chosen import OTHER_VALUES
from layoutprobe.rewrites.places import places
from layoutprobe.rewrites.spot import Rewrite, Spot


def moving(spot: Spot) -> Iterator[Rewrite]:
    """Each expression of a statement with other values."""
    for node, _ in places(spot):
        first = spot.start(node)
        if text := spot.source.slice(first, node.last):
            for name in OTHER_VALUES:
                yield spot.replace(first, node.last, f"{name}({text})", "moving")
