"""Heads of loops: where they begin and how far they step, a test that should be one, the grid's share of a step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.rewrites.known import CONSTANT, known_here
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.statements import Source, free_words
from layoutprobe.source.tree import Node


class Head(Struct, frozen=True):
    """`for (int i = first; i < end; i += step)`: tokens of what it begins with and of what it steps by.

    Attributes:
        name: of what is counted.
        first, step: ranges of tokens.
    """

    name: str
    first: range
    step: range


@lru_cache(maxsize=32)
def _heads(source: Source) -> tuple[Head, ...]:
    """All heads of a file that count one name on by a step."""
    found = list[Head]()
    for i, token in enumerate(source.tokens):
        if token.text == "for" and i + 1 in source.partner:
            head = _head(source, i + 1, source.partner[i + 1])
            found += [head] if head is not None else []
    return tuple(found)


def _head(source: Source, opened: int, closed: int) -> Head | None:
    ends = [i for i in range(opened, closed) if source.tokens[i].text == ";" and source.parent[i] == opened]
    if len(ends) != len(("first", "end")):
        return None
    equals = next((i for i in range(opened, ends[0]) if source.tokens[i].text == "="), 0)
    steps = [
        i for i in range(ends[1], closed) if source.tokens[i].text == "+=" and source.parent[i] == opened
    ]
    if not equals or len(steps) != 1 or source.tokens[steps[0] - 1].text != source.tokens[equals - 1].text:
        return None
    commas = [i for i in (*range(equals, ends[0]), *range(steps[0], closed)) if source.tokens[i].text == ","]
    if any(source.parent[i] == opened for i in commas):
        return None
    return Head(source.tokens[equals - 1].text, range(equals + 1, ends[0]), range(steps[0] + 1, closed))


def shares(spot: Spot) -> Iterator[Rewrite]:
    """`for (int e = threadIdx.x; ...; e += WAVES * 64)` for `e = lane` and `e += 64`, as another loop has both; all
    of the grid for a workgroup's step; a loop for a test that asks once; a share that ends where the next begins."""
    own = next((one for one in _heads(spot.source) if one.first.start in spot.within), None)
    if own is not None:
        yield from _as_others(spot, own)
    yield from _of_the_grid(spot)
    yield from _of_all_workgroups(spot)
    yield from _looped(spot)
    yield from _counted_on(spot)
    yield from _up_to_the_next(spot)


def _as_others(spot: Spot, own: Head) -> Iterator[Rewrite]:
    """Where it begins and its step, as another loop of the file has them."""
    source = spot.source
    first, step = source.written(own.first), source.written(own.step)
    pairs = dict.fromkeys(
        (other.written(one.first), other.written(one.step)) for other in spot.others for one in _heads(other)
    )
    for begins, by in pairs:
        if (begins, by) == (first, step) or not known_here(spot, frozenset(free_words(f"{begins} {by}"))):
            continue
        middle = source.text[source.tokens[own.first.stop - 1].end : source.tokens[own.step.start].start]
        both = begins != first and by != step
        new = spot.replace(own.first.start, own.step.stop, f"{begins}{middle}{by}", "shares")
        yield replace(new, rank=0.0 if both else 0.6)


def _of_the_grid(spot: Spot) -> Iterator[Rewrite]:
    """`gridDim.x * blockDim.x` for `blockDim.x`: how far threads are apart that all workgroups have."""
    for one in spot.scope.operands:
        begins = re.search(r"\bblockIdx\.([xyz])", spot.text(spot.tree))
        axis = begins[1] if begins else one.text[-1] if one.text.startswith("blockDim.") else "x"
        threads = (
            one.text.startswith("blockDim.") or CONSTANT.fullmatch(one.text.rpartition("::")[2]) is not None
        )
        if one.first not in spot.within or not threads or "gridDim" in spot.text(spot.tree):
            continue
        steps = spot.source.tokens[one.first - 1].text in ("=", "+=")
        if steps and one.first not in declared_in(spot.source):
            grid = f"gridDim.{axis}"
            if grid in spot.axes:
                yield spot.replace(one.first, one.last, f"{grid} * {one.text}", "shares")


def _of_all_workgroups(spot: Spot) -> Iterator[Rewrite]:
    """`blockIdx.y * gridDim.x + blockIdx.x` for `blockIdx.x`: a place for each workgroup, and not for each column."""
    for one in spot.scope.operands:
        if one.first not in spot.within or one.text != "blockIdx.x" or "blockIdx.y" not in spot.axes:
            continue
        before = spot.source.tokens[one.first - 1].text
        if before in ("+", "[", "=", "(", ",") and "blockIdx.y" not in spot.text(spot.tree):
            text = "blockIdx.y * gridDim.x + blockIdx.x"
            yield spot.replace(one.first, one.last, text, "shares")


def _looped(spot: Spot) -> Iterator[Rewrite]:
    """`for (int i = threadIdx.x; i < n; i += THREADS) {` for `const int i = threadIdx.x; if (i < n) {`."""
    source, tokens, here = spot.source, spot.source.tokens, spot.within
    test = here.stop + 1
    if test + 1 >= len(tokens) or tokens[test].text != "if" or test + 1 not in source.partner:
        return
    found = _DECLARES.fullmatch(source.written(here))
    closed = source.partner[test + 1]
    asked = source.slice(test + 2, closed)
    if found is None or re.match(rf"{found[2]}\s*<", asked) is None:
        return
    steps = [other.written(one.step) for other in spot.others for one in _heads(other)]
    steps += [name for name in spot.names if CONSTANT.fullmatch(name)][:_CONSTANTS]
    for nth, step in enumerate(dict.fromkeys(["blockDim.x", *steps])):
        if known_here(spot, frozenset(free_words(step))):
            head = f"for ({found[1]}{found[2]} = {found[3]}; {asked}; {found[2]} += {step})"
            start, end = tokens[here.start].start, tokens[closed].end
            yield Rewrite(start, end, head, "shares", 0.1 * nth)


_DECLARES = re.compile(r"(?:const )?((?:int|unsigned|unsigned int|size_t|uint32_t) )(\w+) = ([^,;]+)")
_CONSTANTS = 4


def _up_to_the_next(spot: Spot) -> Iterator[Rewrite]:
    """`end = n * (blockIdx.z + 1) / shares` for `first + n / shares`, where `first` is `n * blockIdx.z / shares`."""
    tokens, text = spot.source.tokens, spot.source.text
    ends = [
        node
        for piece in spot.pieces
        for node in piece.walk()
        if node.kind == "sum" and spot.operator(node, 1) == "+" and len(node.parts) == len(("first", "size"))
    ]
    for name, value in spot.given if ends else ():
        divides = value.kind == "product" and "/" in spot.text(value)
        for one in (one for one in spot.scope.operands if divides and value.first <= one.first < value.last):
            first, last = tokens[value.first].start, tokens[value.last - 1].end
            at, to = tokens[one.first].start, tokens[one.last - 1].end
            following = f"{text[first:at]}({one.text} + 1){text[to:last]}"
            for node in ends:
                if spot.text(node.parts[0]) == name and value.last <= node.first:
                    rank = 0.0 if one.text.startswith("blockIdx") else 0.2
                    yield replace(spot.replace(node.first, node.last, following, "shares"), rank=rank)


def _counted_on(spot: Spot) -> Iterator[Rewrite]:
    """`row` for `begin + ty` in a loop that counts `row` on from there."""
    source = spot.source
    for head in _heads(source):
        begins = source.written(head.first)
        if head.first.start not in spot.function or head.name not in spot.names or _TRIVIAL.fullmatch(begins):
            continue
        for node in _values(spot.tree):
            if node.first > head.step.stop and source.slice(spot.start(node), node.last) == begins:
                yield spot.replace(spot.start(node), node.last, head.name, "shares")


def _values(tree: Node) -> Iterator[Node]:
    return (part for node in tree.walk() for part in node.parts)


_TRIVIAL = re.compile(r"\w+")
