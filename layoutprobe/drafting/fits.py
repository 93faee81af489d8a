"""Expressions of the sizes that give the numbers that launches had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement, product
from math import prod

_LARGEST_TILE = 1024
_TILES = tuple(1 << bits for bits in range(3, 10))
_UNEVEN = 12
"""A tile that is no power of two is a multiple of this: what fits else is chance."""
_MOST_OFFSET = 64

Sizes = Sequence[Mapping[str, int]]


def fit(numbers: Sequence[int], sizes: Sizes, *, liked: Sequence[str] = ()) -> str | None:
    """The simplest expression that gives a number for each size: a constant, a size, or one of few forms of one or
    two sizes; None where nothing fits. A number that never varies is a size only where it is called like one.

    Args:
        numbers: what there was, launch by launch.
        sizes: of the same launches.
        liked: names in the order in which they are tried; all others come behind.
    """
    names = _names(sizes, liked)
    first = next((name for name in names if _gives(numbers, [size[name] for size in sizes])), None)
    if first is not None and (len(set(numbers)) > 1 or first in liked):
        return first
    if len(set(numbers)) == 1:
        return str(numbers[0])
    return next(_forms(numbers, sizes, names), None)


def fit_extent(numbers: Sequence[int], sizes: Sizes, liked: Sequence[str]) -> str | None:
    """As `fit`, for workgroups along an axis: those that tiles of one or two sizes need go first.

    With a single size a tile is a guess; one that is no power of two is none.
    """
    several = len({tuple(size.values()) for size in sizes}) > 1
    if len(set(numbers)) == 1 and (several or numbers[0] == 1):
        return str(numbers[0])
    names = _names(sizes, liked)
    for name in names:
        tile = _tile(numbers, [size[name] for size in sizes])
        if tile is not None and (several or tile in _TILES):
            return _tiles(name, tile)
    if several and (both := next(_two_tiles(numbers, sizes, names), "")):
        return both
    return fit(numbers, sizes, liked=liked)


def _names(sizes: Sizes, liked: Sequence[str]) -> list[str]:
    """Sizes that are never zero, as a flag may be; the liked ones first."""
    names = dict.fromkeys((*(name for name in liked if name in sizes[0]), *sizes[0]))
    return [name for name in names if all(size[name] for size in sizes)]


def _tile(numbers: Sequence[int], extents: Sequence[int]) -> int | None:
    """A tile of which each extent needs so many: a power of two where one fits."""
    fitting = [
        tile
        for tile in range(1, _LARGEST_TILE + 1)
        if all(-(-extent // tile) == number for number, extent in zip(numbers, extents, strict=True))
    ]
    return next((tile for tile in fitting if tile & tile - 1 == 0), fitting[0] if fitting else None)


def _tiles(name: str, tile: int) -> str:
    return f"({name} + {tile - 1}) / {tile}" if tile > 1 else name


def _forms(numbers: Sequence[int], sizes: Sizes, names: Sequence[str]) -> Iterator[str]:
    for one, other in combinations_with_replacement(names, 2):
        if _gives(numbers, [size[one] * size[other] for size in sizes]):
            yield f"{one} * {other}"
    if len({tuple(size.values()) for size in sizes}) > 1:
        yield from _monomials(numbers, sizes, names)
    tiles = [(name, _tile(numbers, [size[name] for size in sizes])) for name in names]
    yield from (_tiles(name, tile) for name, tile in tiles if tile and not tile & tile - 1)
    yield from (_tiles(name, tile) for name, tile in tiles if tile and not tile % _UNEVEN)
    for name in names:
        extents = [size[name] for size in sizes]
        if numbers[0] % extents[0] == 0 and _gives(numbers, [numbers[0] // extents[0] * e for e in extents]):
            yield f"{name} * {numbers[0] // extents[0]}"
        offset = numbers[0] - extents[0]
        if 0 < abs(offset) <= _MOST_OFFSET and _gives(numbers, [e + offset for e in extents]):
            yield f"{name} {'+' if offset > 0 else '-'} {abs(offset)}"
    if len({tuple(size.values()) for size in sizes}) > 1 and len(set(numbers)) > 1:
        yield from _padded(numbers, sizes, names)
        yield from _larger(numbers, sizes, names)
        yield from _two_tiles(numbers, sizes, names)


def _padded(numbers: Sequence[int], sizes: Sizes, names: Sequence[str]) -> Iterator[str]:
    """Rows with so many elements between them: from one matrix of a batch to the next."""
    for one, other in product(names, repeat=2):
        offset = numbers[0] // sizes[0][one] - sizes[0][other]
        if 0 < offset <= _MOST_OFFSET and _gives(numbers, [s[one] * (s[other] + offset) for s in sizes]):
            yield f"{one} * ({other} + {offset})"


def _larger(numbers: Sequence[int], sizes: Sizes, names: Sequence[str]) -> Iterator[str]:
    """So many for the larger of two sizes: a table that both look things up in."""
    for one, other in combinations(names, 2):
        extents = [max(size[one], size[other]) for size in sizes]
        by = numbers[0] // extents[0]
        if by and _gives(numbers, [extent * by for extent in extents]):
            larger = f"{one} if {one} > {other} else {other}"
            yield f"({larger}) * {by}" if by > 1 else larger


def _two_tiles(numbers: Sequence[int], sizes: Sizes, names: Sequence[str]) -> Iterator[str]:
    """Tiles of two sizes: workgroups of a plane, or a scale for each block or group of a matrix."""
    for (one, other), (a, b) in product(
        combinations_with_replacement(names, 2), product((*_TILES, 1), repeat=2)
    ):
        if _gives(numbers, [-(-size[one] // a) * -(-size[other] // b) for size in sizes]):
            yield f"{_bracketed(one, a)} * {_bracketed(other, b)}"


def _bracketed(name: str, tile: int) -> str:
    return f"({_tiles(name, tile)})" if tile > 1 else name


def _monomials(numbers: Sequence[int], sizes: Sizes, names: Sequence[str]) -> Iterator[str]:
    """Products of two to four sizes, times or divided by a constant."""
    for count in range(2, 5):
        for chosen in combinations(names, count):
            products = [prod(size[name] for name in chosen) for size in sizes]
            text = " * ".join(chosen)
            if numbers[0] and numbers[0] % products[0] == 0:
                factor = numbers[0] // products[0]
                if _gives(numbers, [one * factor for one in products]):
                    yield f"{text} * {factor}" if factor > 1 else text
            elif numbers[0] and products[0] % numbers[0] == 0:
                factor = products[0] // numbers[0]
                if _gives([number * factor for number in numbers], products):
                    yield f"{text} / {factor}"


def _gives(numbers: Sequence[int], found: Sequence[int]) -> bool:
    return list(numbers) == list(found)
