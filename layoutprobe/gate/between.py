"""Sizes between those of a manifest that are unlike all of them: extents with other remainders, other numbers of
tiles, in another order of size. A kernel that reads four elements at once, or walks tiles in groups, goes wrong at
some of these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from math import prod
from random import Random
from statistics import mean

from layoutprobe.manifest.model import Sizes

_DRAWN = 400
"""Sizes of which the one is taken that differs most."""
_STEPS, _TILES, _GROUPS = (2, 4, 8), (16, 32, 64), (2, 4)
"""Of remainders, of tiles, and of how many tiles there are."""
_ORDER = 8
"""So much counts which of two extents is larger: some are heads, and others groups of heads; steps, and slices."""
_DEEP = 32
"""Elements of a step."""
_MANY = 4096
"""Elements of two extents together that several passes of a workgroup go through."""


def between(
    listed: Mapping[str, Sequence[int]],
    steps: Mapping[str, int],
    tried: Collection[Sizes],
    is_ruled_out: Callable[[Sizes], bool],
) -> Sizes | None:
    """The size that is most unlike those that were tried, within what the manifest lists; None where all are like
    one. It takes no more room than the listed ones do on average.

    Args:
        listed: each extent at all sizes of the manifest; one that never varies stays as it is.
        steps: an extent is a multiple of so many.
        tried: sizes, which it is not to be like.
        is_ruled_out: nobody launches that size.
    """
    if not listed:  # a kernel that has no sizes
        return None
    known = {trait for sizes in tried for trait in _traits(sizes, steps)}
    room = mean(map(prod, zip(*listed.values(), strict=True)))
    best: Sizes | None = None
    most = 0
    for drawn in _drawn(listed, steps):
        new = sum(weight for trait, weight in _traits(drawn, steps).items() if trait not in known)
        if new > most and prod(drawn.values()) <= room and not is_ruled_out(drawn):
            best, most = drawn, new
    return best


def _drawn(listed: Mapping[str, Sequence[int]], steps: Mapping[str, int]) -> Iterator[dict[str, int]]:
    random = Random(0)
    ranges = {name: _range(values, steps[name]) for name, values in listed.items()}
    for _ in range(_DRAWN):
        yield {name: random.choice(values) for name, values in ranges.items()}


def _range(values: Sequence[int], step: int) -> range:
    """From the smallest to the largest; one step further where all are powers of two, as no other may lie between."""
    further = step if len(set(values)) > 1 and all(map(_is_power, values)) else 0
    return range(min(values), max(values) + further + 1, step)


def _is_power(value: int) -> bool:
    return value.bit_count() == 1


def _traits(sizes: Sizes, steps: Mapping[str, int]) -> dict[tuple[object, ...], int]:
    """What tells sizes apart for a kernel that works in vectors, tiles and groups of tiles -> how much it counts."""
    found: dict[tuple[object, ...], int] = {}
    for name, value in sizes.items():
        if not _is_power(value):  # by which shifts and masks do not divide
            found[name, "no power"] = _ORDER
        found |= {(name, step, value // steps[name] % step): 1 for step in _STEPS}
        found |= {(name, tile, group, -(-value // tile) % group): 1 for tile in _TILES for group in _GROUPS}
    for one, other in combinations(sizes, 2):
        a, b = sizes[one], sizes[other]
        found[one, other, (a > b) - (a < b), min(a, b) == 1] = _ORDER
        found[one, other, "together", a * b % 4 != 0, a * b >= _MANY] = 1
    for one, other in permutations(sizes, 2):
        found[one, other, "steps", -(-sizes[one] // _DEEP) < sizes[other]] = _ORDER
    return found
