"""Whether a size that a manifest does not list is one that it means.

A manifest with M = 16 and M = 200 means those between, as far as they are like the listed ones: of their common
divisors, and related as these are. What goes wrong there is a finding as at a listed size. Of all other sizes nobody
says that the kernel must bear them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import inf
from operator import add, mul

from msgspec import Struct

from layoutprobe.manifest.model import Sizes


class Meant(Struct, frozen=True):
    """What the listed sizes have in common.

    Attributes:
        listed: the sizes of the manifest.
        steps: an extent is a multiple of so many.
        apart: extents that have nothing to do with each other: those of a matrix product.
        is_ruled_out: the manifest says that nobody launches a size.
    """

    listed: Sequence[Sizes]
    steps: Mapping[str, int]
    apart: frozenset[str]
    is_ruled_out: Callable[[Sizes], bool]

    def __call__(self, sizes: Sizes) -> bool:
        """Whether a size is meant."""
        return (
            all(self._is_between(name, value) for name, value in sizes.items())
            and all(self._is_alike(name, sizes) for name in sizes)
            and not self.is_ruled_out(sizes)
        )

    def alone(self) -> Iterator[Sizes]:
        """Sizes that are meant, of which one extent is another than in a listed one: the small ones first."""
        small_first = sorted(self.listed, key=lambda sizes: sum(sizes.values()))
        every = {name: [sizes[name] for sizes in self.listed] for name in self.steps}
        for n in range(_MANY):
            for name, values in every.items():
                value = min(values) + n * self.steps[name]
                ways = ({**sizes, name: value} for sizes in small_first)
                yield from (sizes for sizes in ways if value not in values and self(sizes))

    def _is_between(self, name: str, value: int) -> bool:
        """Powers of two alone mean no other number."""
        values = [sizes[name] for sizes in self.listed]
        inside = min(values) <= value <= max(values) and value % self.steps[name] == 0
        return inside and (value.bit_count() == 1 or any(one.bit_count() != 1 for one in values))

    def _is_alike(self, name: str, sizes: Sizes) -> bool:
        """Whether an extent is related to all others, to sums and products of two, as in the listed sizes."""
        others = [other for other in sizes if other != name and not {name, other} <= self.apart]
        every = [(size[name], size) for size in self.listed]
        single = (_Relation([(own, size[other]) for own, size in every]) for other in others)
        if not all(
            one.is_like(sizes[name], sizes[other]) and one.has_between(sizes[name], sizes[other])
            for one, other in zip(single, others, strict=True)
        ):
            return False
        return all(
            _Relation([(own, of(size[a], size[b])) for own, size in every]).is_like(
                sizes[name], of(sizes[a], sizes[b])
            )
            for a, b in combinations(others, 2)
            for of in (add, mul)
        )


class _Relation(Struct, frozen=True):
    """How two numbers are related in all listed sizes."""

    pairs: Sequence[tuple[int, int]]

    def is_like(self, a: int, b: int) -> bool:
        """As large, larger or smaller as they have it, and a divisor where it is one in all."""
        order = [_sign(x - y) for x, y in self.pairs]
        return (
            min(order) <= _sign(a - b) <= max(order)
            and (_divides(a, b) or not all(_divides(x, y) for x, y in self.pairs))
            and (_divides(b, a) or not all(_divides(y, x) for x, y in self.pairs))
        )

    def has_between(self, a: int, b: int) -> bool:
        """Their quotient lies between those of the listed sizes."""
        quotients = [_quotient(x, y) for x, y in self.pairs]
        return min(quotients) <= _quotient(a, b) <= max(quotients)


_MANY = 64
"""Values of an extent that are tried."""


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _divides(a: int, b: int) -> bool:
    return a != 0 and b % a == 0


def _quotient(a: int, b: int) -> float:
    return a / b if b else inf
