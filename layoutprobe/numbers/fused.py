"""Sums of products as a chain of fused multiply-adds: D = C, then one product after the other, k ascending.

Each step rounds once, to nearest even. The order is fixed, so that a result does not depend on a library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.numbers.types import element_type

Floats = NDArray[Any]

_SAFE = 300
"""Between 2**-300 and 2**300 no part of a product of doubles is lost."""
_SPLIT = 2.0**27 + 1


class FusedChain(Struct, frozen=True):
    """One fused multiply-add for each k, beginning with the accumulator."""

    def __str__(self) -> str:
        return "one fused multiply-add for each k, k ascending, beginning with C"

    def total(self, kinds: tuple[str, str], a: Floats, b: Floats, c: Floats) -> Floats:
        """A * B + C.

        Args:
            kinds: element types of A and of B.
            a: [run, row, k], numbers of that type; in float64 any that are exact.
            b: [run, k, col], the same.
            c: [run, row, col]; in float32 or float64, which is the type of the accumulator.

        Returns:
            as `c`.
        """
        total = np.ascontiguousarray(c)
        if c.dtype == np.float32 and _exact(kinds, a, b):
            single, other = a.astype(np.float32, copy=False), b.astype(np.float32, copy=False)
            found = None if _negative_zero(total) else _without_order(kinds, single, other, total)
            return _exact_products(single, other, total) if found is None else found
        step = _fma64 if c.dtype == np.float64 else _fma32
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
        with np.errstate(all="ignore"):
            for k in range(a.shape[2]):
                total = step(a[:, :, k, None], b[:, None, k, :], total)
        return total


FUSED = FusedChain()
EXACT_SUMS = 2.0**24
"""Up to here f32 has every integer."""
_NARROW = ("f16", "fp8", "bf8")
"""Types of which f32 has every product."""


def from_zero(kinds: tuple[str, str], a: Floats, b: Floats) -> Floats:
    """A * B as that chain adds it up from 0: float32, the same on every machine, whatever its BLAS does.

    Args:
        kinds, a, b: as of `FusedChain.total`.
    """
    if not all(kind in _NARROW for kind in kinds):
        return FUSED.total(kinds, a, b, np.zeros((len(a), a.shape[1], b.shape[2]), np.float32))
    # einsum goes along rows of B, one k after the other.
    rows = np.ascontiguousarray(b)
    return np.asarray(np.einsum("wik,wkj->wij", a, rows, dtype=np.float32, casting="same_kind"))


def largest_integer(x: Floats) -> float:
    """The largest size of numbers that are all integers; infinite if one is none."""
    return float(np.abs(x).max(initial=0)) if (np.rint(x) == x).all() else np.inf


def _exact(kinds: tuple[str, str], a: Floats, b: Floats) -> bool:
    """Whether f32 has every product of these numbers, and the numbers themselves."""
    bits = sum(element_type(kind).precision for kind in kinds)
    if bits > 24:
        return False
    least_a, most_a = _range(a)
    least_b, most_b = _range(b)
    lowest = least_a * least_b * 2.0**-bits
    numbers = min(least_a, least_b) >= 2.0**-126 and max(most_a, most_b) < 2.0**128
    return bool(numbers and lowest >= 2.0**-149 and most_a * most_b < 2.0**128)


def _range(numbers: Floats) -> tuple[float, float]:
    """The smallest above zero and the largest, of sizes; the largest is infinite where one is no number."""
    size = np.abs(numbers)
    most = float(size.max(initial=0.0))
    least = float(size.min(initial=np.inf, where=size > 0))
    return least, most if np.isfinite(most) else np.inf


def _negative_zero(c: Floats) -> bool:
    """The sign of a zero sum depends on the order where C has such a zero."""
    return bool((c.view(np.uint32) == np.uint32(1 << 31)).any())


def _without_order(kinds: tuple[str, str], a: Floats, b: Floats, c: Floats) -> Floats | None:
    """The chain where the order of its sums changes nothing; None where it may.

    That is so where an output has at most one product that is not zero, and where all of them are of one
    size, so few that their sums are exact, and C is zero: whatever asks which slots meet.
    """
    in_a, in_b = a != 0, b != 0
    if int(in_a.sum(axis=2, dtype=np.int32).max(initial=0)) <= 1:
        k = in_a.argmax(axis=2)[:, :, None]
        return np.asarray(np.take_along_axis(a, k, axis=2) * np.take_along_axis(b, k, axis=1) + c)
    if int(in_b.sum(axis=1, dtype=np.int32).max(initial=0)) <= 1:
        k = in_b.argmax(axis=1)[:, None, :]
        return np.asarray(np.take_along_axis(a, k, axis=2) * np.take_along_axis(b, k, axis=1) + c)
    bits = sum(element_type(kind).precision for kind in kinds) + a.shape[2].bit_length()
    alike = all(least == most for least, most in map(_range, (a, b)))
    return np.matmul(a, b) if bits <= 24 and alike and not c.any() else None


def _exact_products(a: Floats, b: Floats, c: Floats) -> Floats:
    """The chain where f32 has every product: only sums are rounded."""
    total, product = c.copy(), np.empty_like(c)
    with np.errstate(over="ignore"):
        for k in range(a.shape[2]):
            np.multiply(a[:, :, k, None], b[:, None, k, :], out=product)
            total += product
    return total


def _fma32(a: Floats, b: Floats, c: Floats) -> Floats:
    """Of numbers of f32, as doubles: their product is exact, and their sum rounded to odd."""
    return to_odd(a * b, c.astype(np.float64)).astype(np.float32)


def _two_sum(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Sum and error of the sum (Knuth)."""
    total = x + y
    there = total - x
    return total, (x - (total - there)) + (y - there)


def to_odd(x: Floats, y: Floats) -> Floats:
    """x + y as a double; one that is not exact becomes that of its two neighbours whose last bit is odd.

    What is then rounded to a type with fewer bits is rounded as if once (Boldo and Melquiond, "Emulation
    of FMA and correctly rounded sums", 2008).
    """
    total, error = _two_sum(x, y)
    bits = np.ascontiguousarray(total).view(np.int64)
    even = (bits & 1 == 0) & (error != 0) & np.isfinite(total)
    if not even.any():
        return total
    away = (error > 0) == (total > 0)
    return np.asarray(np.where(even, bits + np.where(away, 1, -1), bits).view(np.float64))


def _fma64(a: Floats, b: Floats, c: Floats) -> Floats:
    """Of doubles: exact product and sum as pairs of doubles; fractions where a part could be lost."""
    a, b, c = np.broadcast_arrays(a, b, c)
    high = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    low = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2
    upper, lower = _two_sum(c, low)
    total, rest = _two_sum(high, upper)
    found = np.asarray(total + to_odd(rest, lower))
    wild = ~(_tame(a) & _tame(b) & _tame(c))
    if wild.any():
        found[wild] = [_exactly(*xyz) for xyz in zip(a[wild], b[wild], c[wild], strict=True)]
    return found


def _halves(x: Floats) -> tuple[Floats, Floats]:
    """Upper and lower bits of a double (Veltkamp)."""
    scaled = _SPLIT * x
    upper = scaled - (scaled - x)
    return upper, x - upper


def _tame(x: Floats) -> NDArray[np.bool_]:
    size = np.abs(x)
    return np.asarray((x == 0) | ((size > 2.0**-_SAFE) & (size < 2.0**_SAFE)))


def _exactly(a: float, b: float, c: float) -> float:
    if not np.isfinite([a, b, c]).all():  # of finite factors the product is finite, however large
        return float(a * b + c) if not np.isfinite([a, b]).all() else float(c)
    from fractions import Fraction  # only a sum that doubles cannot hold needs it

    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return float(a * b + c)
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else -float("inf")
