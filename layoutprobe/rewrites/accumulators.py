"""Rows of an accumulator's elements, as matrix instructions have them: one layout is taken for another's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.tree import Node

_ROWS = (
    "{i} / 4 * 8 + {lane} / 32 * 4 + {i} % 4",  # MFMA of 32 rows
    "{lane} / 16 * 4 + {i}",  # MFMA of 16 rows
    "2 * {i} + {lane} / 16",  # WMMA of RDNA3
    "{lane} / 16 * 8 + {i}",  # WMMA of RDNA4
)
"""The row of element i in a lane's accumulators; AMD's matrix instruction calculator gives them, as `layoutprobe
instruction` does."""
_OF_HALVES = ("{half} * 8 + {i}", "2 * {i} + {half}", "{half} * 4 + {i}")
"""The same where a name says in which part of the wave the lane is."""
_LANE = re.compile(r"lane|tid|thread", re.I)


def accumulators(spot: Spot) -> Iterator[Rewrite]:
    """`i / 4 * 8 + lane / 32 * 4 + i % 4` for `lane / 32 * 16 + i`: what a sum has of a lane and a number."""
    for node in spot.tree.walk():
        if node.kind != "sum":
            continue
        names = [_names(spot, part) for part in node.parts]
        lanes = {name for found in names for name in found if _LANE.search(name)}
        counts = {name for found in names for name in found - lanes if f"[{name}]" in spot.body}
        for lane in sorted(lanes):
            for count in sorted(counts):
                forms = [rows.format(i=count, lane=lane) for rows in _ROWS]
                yield from _as_rows(spot, node, names, {lane, count}, forms)
        counts = {name for found in names for name in found if f"[{name}]" in spot.body}
        for half in sorted({name for found in names for name in found - counts if _is_half(spot, name)}):
            for count in sorted(counts):
                forms = [rows.format(i=count, half=half) for rows in _OF_HALVES]
                yield from _as_rows(spot, node, names, {half, count}, forms)


def _is_half(spot: Spot, name: str) -> bool:
    """Whether a name stands for the part of a wave that a lane is in."""
    return (
        re.search(rf"\b{re.escape(name)}\s*=[^;,]*(?:/\s*16u?|>>\s*4u?)\s*[;,)]", spot.source.text, re.I)
        is not None
    )


def _as_rows(
    spot: Spot, node: Node, names: list[set[str]], both: set[str], forms: Sequence[str]
) -> Iterator[Rewrite]:
    """The terms of a sum that are made of a lane and a number alone, where they stand beside each other."""
    own = [n for n, found in enumerate(names) if found and found <= both]
    used = set[str]().union(*(names[n] for n in own))
    if used != both or own != list(range(own[0], own[-1] + 1)):
        return
    if any(spot.operator(node, n) == "-" for n in own):
        return
    for nth, text in enumerate(forms):
        new = spot.replace(node.parts[own[0]].first, node.parts[own[-1]].last, text, "accumulators")
        yield replace(new, rank=0.1 * nth - _TOLD * (_SAYS in spot.said))


_SAYS, _TOLD = "half-waves store", 2.5
"""What a finding says of the rows of another generation, and how much likelier such rows are then."""


def _names(spot: Spot, part: Node) -> set[str]:
    """Names of a term, coordinates whole."""
    return set(re.findall(r"threadIdx\.[xyz]|\b[A-Za-z_]\w*", spot.text(part)))
