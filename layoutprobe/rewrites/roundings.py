"""Quotients that are rounded up, or not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.tree import Node, bare


def rounding(spot: Spot) -> Iterator[Rewrite]:
    """A division that rounds up, and the reverse; also by a shift."""
    for node in spot.tree.walk():
        if node.kind == "shift" and len(node.parts) == 2 and spot.operator(node, 1) == ">>":
            yield from _rounded_shift(spot, node)
        if node.kind == "and" and len(node.parts) == 2:
            yield from _rounded_mask(spot, node)
        if node.kind == "sum" and len(node.parts) > 1:
            yield from _one_too_many(spot, node)
        if node.kind == "product" and "real" not in spot.sorts(node):
            yield from _rounded_quotients(spot, node)


def _rounded_quotients(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(n + s - 1) / s` for `n / s`, also where it is multiplied on, `n / s * s`; and the reverse."""
    first = spot.start(node)
    for nth in range(1, len(node.parts) - 1):  # `k` for `k / step * step`
        signs = spot.operator(node, nth), spot.operator(node, nth + 1)
        if signs == ("/", "*") and spot.text(node.parts[nth]) == spot.text(node.parts[nth + 1]):
            whole = spot.source.slice(first, node.parts[nth - 1].last)
            yield replace(spot.replace(first, node.parts[nth + 1].last, whole, "rounding"), rank=-0.2)
    for nth in (nth for nth in range(1, len(node.parts)) if spot.operator(node, nth) == "/"):
        below, text = node.parts[nth], spot.text(node.parts[nth])
        less = f"{int(text) - 1}" if text.isdigit() and int(text) > 1 else f"{text} - 1"
        above = node.parts[0] if nth == 1 else None
        inner = (
            above.parts[0] if above is not None and above.kind == "group" and len(above.parts) == 1 else above
        )
        if (
            inner is not None
            and inner.kind == "sum"
            and len(inner.parts) > 1
            and (
                text in spot.text(inner)
                or spot.text(inner).endswith("1")
                or spot.text(inner.parts[-1]) == less
            )
        ):
            whole = spot.source.slice(spot.start(inner.parts[0]), inner.parts[0].last)
            yield spot.replace(first, below.last, f"{whole} / {text}", "rounding")
        else:
            last = inner.last if inner is not None else node.parts[nth - 1].last
            whole = spot.source.slice(spot.start(inner) if inner is not None else first, last)
            yield spot.replace(first, below.last, f"({whole} + {less}) / {text}", "rounding")
            for name in _rounds_up(spot):
                yield spot.replace(first, below.last, f"{name}({whole}, {text})", "rounding")


def _one_too_many(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(n + s - 1) / s * s` for `n / s * s + s`, and `(n + s - 1) / s` for `n / s + 1`: what is whole is rounded up
    once too often."""
    one, other = node.parts[-2:]
    signs = [spot.operator(one, n) for n in range(1, len(one.parts))] if one.kind == "product" else []
    if spot.operator(node, len(node.parts) - 1) != "+" or signs[:1] != ["/"]:
        return
    above, below = spot.source.slice(spot.start(one), one.parts[0].last), spot.text(one.parts[1])
    more = " * " + spot.text(one.parts[2]) if signs == ["/", "*"] else ""
    if spot.text(other) == (below if more else "1"):
        text = f"({above} + {below} - 1) / {below}{more}"
        yield replace(spot.replace(spot.start(one), other.last, text, "rounding"), rank=-0.4)


def _rounded_shift(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(n + 15) >> 4` for `n >> 4`."""
    found = re.fullmatch(r"([1-8])[uU]?", spot.text(node.parts[1]))
    whole = node.parts[0]
    if found and whole.kind == "leaf" and not whole.parts and "integer" in spot.sorts(whole):
        first = spot.start(whole)
        text = f"({spot.source.slice(first, whole.last)} + {(1 << int(found[1])) - 1})"
        yield spot.replace(first, whole.last, text, "rounding")


def _rounded_mask(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(n + 3) & ~3` for `n & ~3`, with `-4` for `~3` as well; and the reverse."""
    found = _ROUNDED.fullmatch(spot.text(node.parts[1]))
    if found is None:
        return
    less = found[1] or (f"{int(found[3]) - 1}" if found[3] else f"{found[2] or found[4]} - 1")
    whole, first = bare(node.parts[0]), spot.start(node.parts[0])
    parts = [spot.text(part) for part in whole.parts] if whole.kind == "sum" else []
    if len(parts) > 1 and (parts[-1] == less or parts[-2:] == less.split(" - ")):
        text = spot.source.slice(spot.start(whole), whole.parts[-1 - less.count(" - ") - 1].last)
        yield spot.replace(first, node.parts[0].last, f"({text})", "rounding")
    else:
        text = spot.source.slice(spot.start(whole), whole.last)
        yield spot.replace(first, node.parts[0].last, f"({text} + {less})", "rounding")


_ROUNDED = re.compile(
    r"~\s*(\d+)[uUlL]*|~\s*\(\s*([A-Za-z_][\w:]*)\s*-\s*1[uUlL]*\s*\)|-\s*(\d{1,6})|-\s*([A-Za-z_][\w:]*)"
)
"""`~3`, `~(SIZE - 1)`, `-4`, `-SIZE`: multiples of a power of two."""


def _rounds_up(spot: Spot) -> list[str]:
    """Functions and macros of the file that are called as one that divides and rounds up is."""
    found = dict.fromkeys(
        re.findall(r"\b(\w*(?:ceil_?div|div_?up|cdiv|div_?ceil)\w*) *\(", spot.source.text, re.I)
    )
    return list(found)[:1]
