"""The index function that other accesses of an array go through, where one does without: a swizzle of one side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import parted, terms
from layoutprobe.source.statements import Source, free_words


def scheme(spot: Spot) -> Iterator[Rewrite]:
    """`t[slot(row, col)]` for `t[row * STRIDE + col]`, and `t[slot(id / CHUNKS, id % CHUNKS)]` for `t[id]`."""
    yield from _of_rows(spot)
    yield from _of_numbers(spot)
    yield from _of_pointers(spot)


def _of_rows(spot: Spot) -> Iterator[Rewrite]:
    """Where the index is row * STRIDE + column."""
    source = spot.source
    known = _index_functions(spot.others)
    for i in spot.within:
        if source.tokens[i].text != "[" or i not in source.partner:
            continue
        added = terms(source, i + 1, source.partner[i])
        for sign, a, b in added:
            factors = parted(source, a, b, {"*"})
            if sign == "-" or len(factors) != 2 or len(added) < 2:
                continue
            rest = " + ".join(source.slice(c, d) for _, c, d in added if c != a)
            (_, c, d), (_, e, f) = factors
            for row, stride in (((c, d), (e, f)), ((e, f), (c, d))):
                for name, count in known.items():
                    given = [source.slice(*row), rest, source.slice(*stride)][:count]
                    yield spot.replace(i + 1, source.partner[i], f"{name}({', '.join(given)})", "scheme")


def _index_functions(sources: Sequence[Source]) -> dict[str, int]:
    """Name -> arguments of the functions whose value is a whole index somewhere."""
    found: dict[str, int] = {}
    for name, count, whole in (one for source in sources for one in index_functions(source)):
        if whole and count in (2, 3):
            found.setdefault(name, count)
    return found


@lru_cache(maxsize=32)
def index_functions(source: Source) -> tuple[tuple[str, int, bool], ...]:
    """Functions and macros that say where something lies, at each of their calls: the name, how many arguments there
    are, and whether the value is a whole index there; else it mixes bits, and is added to a pointer."""
    found = list[tuple[str, int, bool]]()
    for name, opened in source.calls(range(len(source.tokens))):
        close, before = source.partner.get(opened), source.tokens[max(opened - 2, 0)].text
        if close is None:
            continue
        behind = source.tokens[close + 1].text if close + 1 < len(source.tokens) else ""
        whole = before == "[" and source.partner.get(opened - 2) == close + 1
        if whole or (before == "+" and behind == ")" and _mixes_bits(source, name)):
            found.append((name, len(source.parts(opened)), whole))
    return tuple(found)


def _mixes_bits(source: Source, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\([^;{{}}]*\)[^;]*\^", source.text) is not None


def _of_numbers(spot: Spot) -> Iterator[Rewrite]:
    """Where the index counts all elements: it is divided by what the function multiplies a row by."""
    tokens = spot.source.tokens
    for i in spot.within:
        plain = spot.source.partner.get(i) == i + 2 and tokens[i + 1].kind == "name"
        if tokens[i].text != "[" or not plain or spot.source.word(i + 3) == "[":
            continue
        number = tokens[i + 1].text
        known = {*re.findall(r"\w+::", spot.body)} | {"", *_objects(spot, i)}
        for source in spot.others:
            for name, _, pitch in _MULTIPLIES.findall(source.text):
                for nth, head in enumerate(sorted(known, key=lambda one: not one.endswith("."))):
                    by = f"{head}{pitch}"
                    text = f"{head}{name}({number} / {by}, {number} % {by})"
                    yield replace(spot.replace(i + 1, i + 2, text, "scheme"), rank=0.3 * nth)


def _of_pointers(spot: Spot) -> Iterator[Rewrite]:
    """`base + slot(row, col)` for `base + row * STRIDE + col`: a function of a row and a column, of their names or of
    what is multiplied and what is not."""
    known = [found for source in spot.others for found in _OF_TWO.findall(source.text)]
    for node in (node for node in spot.tree.walk() if node.kind == "sum" and len(node.parts) > _SIDES):
        rest = node.parts[1:]
        if spot.sorts(node.parts[0]) - {"pointer", ""} or any(
            spot.operator(node, n) == "-" for n in range(1, len(node.parts))
        ):
            continue
        words = free_words(spot.source.slice(rest[0].first, node.last))
        (row, *_), col = rest[0].parts or (rest[0],), rest[1]
        for name, one, other in dict.fromkeys(known):
            mine = (one, other) if {one, other} <= words else (spot.text(row), spot.text(col))
            text = f"{name}({mine[0]}, {mine[1]})"
            if name not in words:
                yield spot.replace(rest[0].first, node.last, text, "scheme")


_OF_TWO = re.compile(
    r"\b(\w+)\(\s*(?:const )?\w+ (\w+)\s*,\s*(?:const )?\w+ (\w+)\s*\)[^{};]{0,40}"
    r"\{\s*return\s+(?=[^;]*\b\2\b)(?=[^;]*\b\3\b)[^;]{0,200}\^[^;]{0,200};"
)
"""A function of two numbers whose value is of both, with an exclusive or."""
_SIDES = 2


def _objects(spot: Spot, opened: int) -> Iterator[str]:
    """What an array is a member of: `t.` of `t.cell[stage][id]`."""
    tokens, i = spot.source.tokens, opened - 1
    while i > 0 and tokens[i].text == "]":
        i = spot.source.partner.get(i, 0) - 1
    if i > 1 and tokens[i - 1].text in (".", "->") and tokens[i - 2].kind == "name":
        yield f"{tokens[i - 2].text}{tokens[i - 1].text}"


_MULTIPLIES = re.compile(
    r"\b(\w+)\(\s*(?:const )?\w+ (\w+)\s*,\s*(?:const )?\w+ \w+\s*\)[^{};]{0,40}"
    r"\{\s*return\s+\2 \* (\w+) \+ [^;]{0,200}\^"
)
"""A function of a row and a column whose value is row * PITCH + something with an exclusive or."""
