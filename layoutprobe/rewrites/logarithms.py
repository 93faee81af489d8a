"""Logarithms to two bases in one sum."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot

_OF_TWO = re.compile(r"\b\w*(?:exp2|log2)f?\(|\b1\.4427?\d*f?\b|LOG2E")
_LOG = re.compile(r"\b\w*log2?f?\(")
_FACTORS = ("0.69314718f", "1.44269504f")
"""From base 2 to e, and back."""


def logarithms(spot: Spot) -> Iterator[Rewrite]:
    """`most * 0.69314718f + logf(sum)` for `most + logf(sum)`, where the function has powers of two."""
    if _LOG.search(spot.text(spot.tree)) is None or _OF_TWO.search(spot.source.text) is None:
        return
    for node in spot.tree.walk():
        for part in node.parts if node.kind == "sum" else ():
            own = spot.text(part)
            for nth, factor in enumerate(_FACTORS if _has_no_factor(own) else ()):
                text = f"({own}) * {factor}" if part.kind in ("choice", "sum") else f"{own} * {factor}"
                yield replace(spot.replace(part.first, part.last, text, "logarithms"), rank=0.1 * nth)


def _has_no_factor(text: str) -> bool:
    return re.search(r"\*|^\d", text) is None
