"""Indices and arguments exchanged, or as other calls of the function have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import between, body_behind, terms
from layoutprobe.source.statements import Source, words


def swap(spot: Spot) -> Iterator[Rewrite]:
    """Two indices, or two arguments, exchanged."""
    source = spot.source
    for i in spot.within:
        if source.tokens[i].text == "[" and i in source.partner:
            closed = source.partner[i]
            if closed + 1 in source.partner and source.tokens[closed + 1].text == "[":
                one, other = (i + 1, closed), (closed + 2, source.partner[closed + 1])
                yield from _exchanged(spot, one, other)
    for i in spot.within:
        if source.tokens[i].text in ("(", "{") and i in source.partner:
            parts = source.parts(i)
            if not 2 <= len(parts) <= 8:
                continue
            for one, other in sorted(combinations(parts, 2), key=lambda pair: pair[1][0] - pair[0][1]):
                same = _SAME * _of_one_shape(source, one, other) + _FLAGS * _are_flags(source, one, other)
                same += _PAIR * (len(parts) == 2)
                yield from (replace(new, rank=-same) for new in _exchanged(spot, one, other))


def diagonal(spot: Spot) -> Iterator[Rewrite]:
    """`at(first + t, first + t)` for `at(t, t)`: an element of the diagonal of a block, and not of the first one."""
    source = spot.source
    for i in spot.within:
        parts = source.parts(i) if source.tokens[i].text in ("(", "[") and i in source.partner else []
        names = [source.slice(a, b) for a, b in parts]
        if len(names) != len(("row", "column")) or names[0] != names[1] or not names[0].isidentifier():
            continue
        known = [name for name, one in spot.names.items() if one.sort == "integer" and name.isidentifier()]
        for nth, name in enumerate([name for name in known if name not in names][:_MOST_DIAGONAL]):
            text = f"{name} + {names[0]}"
            new = spot.replace(parts[0][0], parts[1][1], f"{text}, {text}", "diagonal")
            yield replace(new, rank=0.1 * nth)


_MOST_DIAGONAL = 16


def _of_one_shape(source: Source, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two arguments are written alike but for one word: `zeros[at], scales[at]`."""
    mine, theirs = ([token.text for token in source.tokens[a:b]] for a, b in (one, other))
    differ = sum(a != b for a, b in zip(mine, theirs, strict=False))
    return len(mine) == len(theirs) > 1 and differ == 1


def _are_flags(source: Source, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two arguments are `true` and `false`: signs of operands, as matrix instructions have them."""
    return {source.slice(*one), source.slice(*other)} == {"true", "false"}


_SAME, _FLAGS, _PAIR = 1.2, 2.4, 0.6
"""How much likelier such are exchanged."""


def _exchanged(spot: Spot, one: tuple[int, int], other: tuple[int, int]) -> Iterator[Rewrite]:
    """Two expressions exchanged, whole; their last terms; and all but the first ones, as `[j + x][i + y]` for
    `[j + y][i + x]`."""
    source = spot.source
    if one[0] == one[1] or other[0] == other[1]:
        return
    mine, theirs = (terms(source, *part) for part in (one, other))
    pairs = [(one, other), (mine[-1][1:], theirs[-1][1:])]
    if len(mine) > 1 < len(theirs) and mine[1][0] == theirs[1][0] == "+":
        pairs.append(((mine[1][1], one[1]), (theirs[1][1], other[1])))
    for (a, b), (c, d) in dict.fromkeys(pairs):
        first, second = source.slice(a, b), source.slice(c, d)
        if first != second:
            yield spot.replace(a, d, second + between(source, b, c) + first, "swap")


def borrow(spot: Spot) -> Iterator[Rewrite]:
    """An argument as other calls of the same function have it, or with the terms that it has there at the end."""
    source = spot.source
    for name, opened in source.calls(spot.within):
        own = source.parts(opened)
        for other, there in _other_calls(spot, name, opened, len(own)):
            for (a, b), (c, d) in zip(own, there, strict=True):
                mine, theirs = source.slice(a, b), other.slice(c, d)
                if mine == theirs or b <= a:
                    continue
                yield spot.replace(a, b, theirs, "borrow")
                for sign, e, f in terms(other, c, d)[1:]:
                    term = other.slice(e, f)
                    if term not in mine:
                        yield spot.replace(a, b, f"{mine} {sign} {term}", "borrow")
        for other, there in _other_calls(spot, name, opened, None):
            if 0 < len(own) < len(there) <= len(own) + 2:
                more = "".join(f", {other.slice(a, b)}" for a, b in there[len(own) :])
                yield spot.replace(
                    own[-1][1] - 1, own[-1][1], source.tokens[own[-1][1] - 1].text + more, "borrow"
                )


def called_so(spot: Spot) -> Iterator[Rewrite]:
    """`k_end` for the second `K` of `load(a, K, K)`, where that function calls it so."""
    source = spot.source
    for name, opened in source.calls(spot.within):
        own = source.parts(opened)
        called = [names for other in spot.others for names in _parameters(other).get((name, len(own)), ())]
        for parameters in called:
            for (a, b), parameter in zip(own, parameters, strict=True):
                text = source.slice(a, b)
                if parameter in spot.names and parameter not in words(text):
                    yield spot.replace(a, b, parameter, "called_so")


@lru_cache(maxsize=32)
def _parameters(source: Source) -> Mapping[tuple[str, int], list[list[str]]]:
    """What functions call their parameters, by the name of the function and how many it has."""
    found: dict[tuple[str, int], list[list[str]]] = {}
    for name, opened in source.calls(range(len(source.tokens))):
        parts = source.parts(opened)
        if all(last > first for first, last in parts) and body_behind(source, opened) is not None:
            names = [source.tokens[last - 1].text for _, last in parts]
            found.setdefault((name, len(parts)), []).append(names)
    return found


def _other_calls(
    spot: Spot, name: str, opened: int, count: int | None
) -> Iterator[tuple[Source, list[tuple[int, int]]]]:
    """Arguments of other calls of a function, with so many of them."""
    for source in spot.others:
        for other, there in source.calls(range(len(source.tokens))):
            parts = source.parts(there)
            if (
                other == name
                and count in (None, len(parts))
                and (source is not spot.source or there != opened)
                and not any(_declares(source, *part) for part in parts)
            ):
                yield source, parts


def _declares(source: Source, first: int, last: int) -> bool:
    """Whether a part between commas is a parameter, "int row": what a function's head has is no call."""
    return last > first + 1 and all(token.kind == "name" for token in source.tokens[first : first + 2])
