"""What goes wrong where lanes give each other values, and where a value is overwritten before it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.tree import Node

_SHIFT = re.compile(r"\b(\w+)\s*=\s*[^;=]*?\b__shfl_(up|down)(?:_sync)?\s*\(([^;]*)\)\s*;")
_LANE = re.compile(r"(?:\w*_|\w+\.)?(?:lane(?:_?id)?|lid|tid|laneId|li|l)", re.IGNORECASE)


def shifted(spot: Spot) -> Iterator[Rewrite]:
    """`if (lane >= d) sum += up;` for `sum += up;`, where `up` is of the lane d below: the first lanes have none."""
    tokens, first = spot.source.tokens, spot.within.start
    ends = spot.within.stop < len(tokens) and tokens[spot.within.stop].text == ";"
    if (
        not ends
        or tokens[first].text in ("if", "for", "while", "return", "else")
        or spot.tree.kind != "assignment"
    ):
        return
    value = spot.text(spot.tree)
    lanes = [name for name, one in spot.names.items() if one.sort == "integer" and _LANE.fullmatch(name)]
    for found in _SHIFT.finditer(spot.body):
        step = found[3].split(",")[1].strip() if "," in found[3] else ""
        if (
            not step
            or re.search(rf"=[^=]*\b{found[1]}\b", value) is None
            or re.search(rf"\b{found[1]}\s*=", value)
        ):
            continue
        for nth, lane in enumerate(lanes[:_MOST]):
            test = f"{lane} >= {step}" if found[2] == "up" else f"{lane} + {step} < warpSize"
            start = tokens[first].start
            yield Rewrite(start, start, f"if ({test}) ", "shifted", 0.1 * nth)


_MOST = 3


def overwritten(spot: Spot) -> Iterator[Rewrite]:
    """`x0 * s` for `*y0 * s`, where the statement before has given `*y0` another value: what it was is in a name."""
    written = [spot.text(target) for target in _targets_before(spot)]
    reals = [name for name, one in spot.names.items() if one.sort == "real" and name.isidentifier()]
    assigned = spot.assignment(spot.tree)
    if assigned is None or not written:
        return
    for node in assigned[2].walk():
        if node.kind == "leaf" and (text := spot.text(node)) in written and not text.isidentifier():
            for nth, name in enumerate(reals[:_MOST_NAMES]):
                yield replace(spot.replace(spot.start(node), node.last, name, "overwritten"), rank=0.15 * nth)


_MOST_NAMES = 6


def _targets_before(spot: Spot) -> Iterator[Node]:
    """What the two statements before this one assign to."""
    before = [tree for tree in spot.statements if tree.last <= spot.within.start][-_BEFORE:]
    yield from (found[1] for tree in before if (found := spot.assignment(tree)) is not None)


_BEFORE = 2
