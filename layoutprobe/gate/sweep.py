"""Many small sizes: every remainder of every extent, in as few runs as that takes.

A loop ends one step early where an extent leaves a certain remainder, or where two of them do together, as the keys
before a query and the queries of a tile. A handful of sizes, however well chosen, has few of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from math import gcd

from layoutprobe.checks.base import Check
from layoutprobe.checks.numerics import NAME
from layoutprobe.checks.value_rules import WRONG_VALUES
from layoutprobe.manifest.model import Gemm, Reference
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.products import plain_product
from layoutprobe.trace.references import compared_with
from layoutprobe.trace.subject import RunSpec, Subject
from layoutprobe.trace.ties import may_be_tied

_REMAINDERS = 32
"""Rows of the largest tile that is common, and lanes of a wave."""
_TILES = 3
"""So many of these an extent has at most."""
_STRIDES = (7, 13, 5, 11, 3, 9, 15, 1)
"""How far extents go on from one size to the next, one extent after the other: no two of them go together."""


def swept(listed: Mapping[str, Sequence[int]], steps: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes, without end: the first 32 have all remainders, as have the next.

    Args:
        listed: each extent at all sizes of the manifest; one that never varies stays as it is.
        steps: an extent is a multiple of so many.
    """
    ways = {
        name: _way(_values(values, steps[name]), _STRIDES[n % len(_STRIDES)], n)
        for n, (name, values) in enumerate(listed.items())
    }
    for n in count():
        yield {name: way(n) for name, way in ways.items()}


def _values(listed: Sequence[int], step: int) -> Sequence[int]:
    """Up to the largest that is listed; one that never varies has no other."""
    return range(min(step, *listed), max(listed) + 1, step) if len({*listed}) > 1 else listed[:1]


def _way(values: Sequence[int], stride: int, later: int) -> Callable[[int], int]:
    """The value of an extent in each size: all of the first ones in turn, and the next time those of another tile,
    beside other values of the other extents."""
    part = min(_REMAINDERS, len(values))
    tiles = min(_TILES, len(values) // part)
    while gcd(stride, part) != 1:
        stride += 2
    return lambda n: values[
        (n * stride + n // part * later) % part + part * ((n * stride + n // part) // part % tiles)
    ]


def _quick(subject: Subject) -> CheckResult:
    """Values of one run: small integers, or normal numbers, of which a softmax leaves more than one. Neighbours of
    what is right count for nothing: of so many sizes some have a tie that rounding decides."""
    contract = subject.contract
    if isinstance(contract, Gemm):
        compared = [plain_product(subject, contract)]
    elif isinstance(contract, Reference) and subject.reference is not None:
        compared = [*compared_with(subject, subject.run(RunSpec("normal")))]
    else:
        return QUICK.skipped("the contract says nothing about values")
    wrong = [c for c in compared if c.wrong.any() and not may_be_tied(c)]
    return QUICK.found(
        Finding(WRONG_VALUES, f"{c.name} is wrong", Place(kernel=subject.kernel.name)) for c in wrong
    )


QUICK = Check(NAME, "the values of one run, and not why they are wrong", "", _quick)
