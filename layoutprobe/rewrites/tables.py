"""Tables of integers: what one holds for a number is meant, or the number itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot

_MOST = 8


def tables(spot: Spot) -> Iterator[Rewrite]:
    """What a table of integers holds for a number, in its place: `list[b]` for `b`, `lengths[seq]` for `n`, and
    `list[first + i]` for `(first + i)`; and the reverse."""
    held = [name for name, sort in spot.scope.elements.items() if sort == "integer" and name in spot.names]
    members = [name for name in spot.names if re.search(r"\.|->", name) and _holds_integers(spot, name)]
    yield from _of_sums(spot, (*members, *held)[:_MOST])
    yield from _left_out(spot)
    for table in islice((*held, *members), _MOST):
        yield from _of_names(spot, table)


def inverse(spot: Spot) -> Iterator[Rewrite]:
    """`{0, 4, 1, 5, 2, 6, 3, 7}` for `{0, 2, 4, 6, 1, 3, 5, 7}`: where each number stands, for what stands there."""
    start = spot.source.tokens[spot.within.start].start
    for found in _NUMBERS.finditer(spot.source.slice(spot.within.start, spot.within.stop)):
        numbers = [int(number) for number in found[1].split(",")]
        if sorted(numbers) != [*range(len(numbers))]:
            continue
        places = [numbers.index(n) for n in range(len(numbers))]
        if places != numbers:
            first, last = start + found.start(1), start + found.end(1)
            yield Rewrite(first, last, ", ".join(map(str, places)), "inverse")


_NUMBERS = re.compile(r"\{\s*(\d+(?:\s*,\s*\d+){2,})\s*\}")


def _of_sums(spot: Spot, known: Sequence[str]) -> Iterator[Rewrite]:
    for node in spot.tree.walk():
        if node.kind == "group" and spot.sorts(node) == {"integer"} and node.parts[0].kind == "sum":
            for nth, table in enumerate(known):
                text = f"{table}[{spot.text(node.parts[0])}]"
                yield replace(spot.replace(node.first, node.last, text, "tables"), rank=0.1 * nth)


def _left_out(spot: Spot) -> Iterator[Rewrite]:
    """`f(slot)` for `f(columns[slot])`."""
    for node in spot.tree.walk():
        for part in node.parts if node.kind in ("call", "index", "group") else ():
            inner = re.fullmatch(r"(\w+)\s*\[\s*(\w+)\s*\]", spot.text(part))
            if inner and spot.scope.elements.get(inner[1]) in ("integer", None) and inner[2] in spot.names:
                yield spot.replace(part.first, part.last, inner[2], "tables")


def _of_names(spot: Spot, table: str) -> Iterator[Rewrite]:
    tokens, unused = spot.source.tokens, table in spot.scope.unused
    near = [one.text for one in spot.names.values() if one.sort == "integer" and "." not in one.text]
    for one in spot.scope.operands:
        if one.first not in spot.within or one.sort != "integer":
            continue
        behind = tokens[one.last].text if one.last < len(tokens) else ""
        inside = tokens[max(one.first - 2, 0)].text == table
        if inside or behind in ("[", "=", "++", "--") or spot.source.defines(one.last - 1):
            continue
        for nth, index in enumerate([one.text, *(near[:_MOST] if unused else ())]):
            new = spot.replace(one.first, one.last, f"{table}[{index}]", "tables")
            yield replace(new, rank=0.1 * nth + 0.8 * (not unused and not _asked(spot, table, index)))


def _holds_integers(spot: Spot, name: str) -> bool:
    """Whether a member is a pointer to integers."""
    last = re.split(r"\.|->", name)[-1]
    return re.search(rf"\b(?:int|unsigned|u?int32_t)\s*\*[\w\s]*\b{last}\b", spot.source.text) is not None


def _asked(spot: Spot, table: str, index: str) -> bool:
    """Whether the function reads a table at an index elsewhere."""
    return re.search(rf"\b{table}\s*\[\s*{re.escape(index)}\s*\]", spot.source.text) is not None
