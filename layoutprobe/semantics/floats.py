"""Floating-point arithmetic that numpy does not offer, each rounded once as the hardware does."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

import numpy as np

from layoutprobe.machine.registers import Array

_UINT: dict[int, type[np.unsignedinteger]] = {2: np.uint16, 4: np.uint32, 8: np.uint64}
"""Unsigned type by bytes."""


def fma32(a: Array, b: Array, c: Array) -> Array:
    """f32 fused multiply-add.

    The product of two f32 is exact in f64. The sum is rounded to odd in f64, so that the second
    rounding, to f32, is correct (Boldo and Melquiond, "Emulation of FMA and correctly rounded
    sums", 2008).
    """
    return add_to_odd(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)).astype(np.float32)


def fma16(a: Array, b: Array, c: Array) -> Array:
    """f16 fused multiply-add."""
    return add_to_odd(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)).astype(np.float16)


def add_to_odd(x: Array, y: Array) -> Array:
    """Sum of f64 values, inexact results rounded to the neighbour with an odd last bit."""
    total = np.atleast_1d(x + y)
    back = total - x
    error = (x - (total - back)) + (y - back)
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error) & (bits & 1 == 0)
    if inexact.any():
        # An even result is one step from the odd neighbour on the side of the error.
        away = (error > 0) == (total > 0)
        bits = bits + np.where(inexact, np.where(away, 1, -1), 0)
    return bits.view(np.float64)


def fma64(a: Array, b: Array, c: Array, scale: Array | int = 0) -> Array:
    """f64 fused multiply-add, times 2**scale, rounded once (Boldo and Melquiond, as `fma32`).

    Lanes in which an intermediate result overflows, or may be inexact because it is subnormal, are
    computed again with fractions.
    """
    for symbol in (a, b, c) if isinstance(scale, int) and not scale else ():
        if hasattr(symbol, "fused"):  # one of the native engine's, whose C rounds once by itself
            return symbol.fused(a, b, c)
    a, b, c, scale = np.broadcast_arrays(a, b, c, scale)
    product = a * b
    split = 134217729.0  # 2**27 + 1, Veltkamp
    ah = a * split - (a * split - a)
    bh = b * split - (b * split - b)
    al, bl = a - ah, b - bh
    low = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    th = c + low
    tl = (c - (th - (th - c))) + (low - (th - c))
    vh = product + th
    vl = (product - (vh - (vh - product))) + (th - (vh - product))
    exact = vh + add_to_odd(np.asarray(tl), np.asarray(vl))
    # A product of zero is exact. Its low part is +0, which would take the sign from a sum of two -0.
    exact = np.where((a == 0) | (b == 0), product + c, exact)
    result = ldexp(exact, scale)
    fine = np.isfinite(low) & np.isfinite(exact) & ((abs(product) > 1e-270) | (a == 0) | (b == 0))
    fine &= (scale == 0) | (abs(result) > 1e-300)
    for at in map(tuple, np.argwhere(~fine)):
        result[at] = _fma64_exactly(float(a[at]), float(b[at]), float(c[at]), int(scale[at]))
    return result


def _fma64_exactly(a: float, b: float, c: float, scale: int) -> float:
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return c if isfinite(a) and isfinite(b) else float(np.float64(a) * b + c)
    from fractions import Fraction

    total = (Fraction(a) * Fraction(b) + Fraction(c)) * Fraction(2) ** scale
    if total == 0:  # of zeros the sign follows the sum's rule; exact cancellation gives +0
        return 0.0 if a and b else a * b + c
    try:
        return float(total)
    except OverflowError:
        return inf if total > 0 else -inf


def minimum(a: Array, b: Array) -> Array:
    """The smaller number; -0 is below +0, a quiet NaN loses, a signalling NaN gives NaN (IEEE mode)."""
    # Equal numbers differ at most in the sign of zero: its or is the smaller one.
    ties = (a.view(_UINT[a.itemsize]) | b.view(_UINT[b.itemsize])).view(a.dtype)
    return _or_signalled(a, b, np.where(a == b, ties, np.fmin(a, b)))


def maximum(a: Array, b: Array) -> Array:
    """The larger number; +0 is above -0, a quiet NaN loses, a signalling NaN gives NaN (IEEE mode)."""
    ties = (a.view(_UINT[a.itemsize]) & b.view(_UINT[b.itemsize])).view(a.dtype)
    return _or_signalled(a, b, np.where(a == b, ties, np.fmax(a, b)))


def minimum_number(a: Array, b: Array) -> Array:
    """The smaller number; -0 is below +0, and a number wins over any NaN, a signalling one included."""
    ties = (a.view(_UINT[a.itemsize]) | b.view(_UINT[b.itemsize])).view(a.dtype)
    return _but_numbers(a, b, np.where(a == b, ties, np.where(a < b, a, b)))


def maximum_number(a: Array, b: Array) -> Array:
    """The larger number; +0 is above -0, and a number wins over any NaN, a signalling one included."""
    ties = (a.view(_UINT[a.itemsize]) & b.view(_UINT[b.itemsize])).view(a.dtype)
    return _but_numbers(a, b, np.where(a == b, ties, np.where(a > b, a, b)))


def _but_numbers(a: Array, b: Array, picked: Array) -> Array:
    """The pick of two numbers, and where one is NaN the other. (C's fmin lets a signalling NaN win.)"""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, picked))


def minimum_or_nan(a: Array, b: Array) -> Array:
    """The smaller number; -0 is below +0, and any NaN wins."""
    return np.where(np.isnan(a) | np.isnan(b), a + b, minimum_number(a, b))


def maximum_or_nan(a: Array, b: Array) -> Array:
    """The larger number; +0 is above -0, and any NaN wins."""
    return np.where(np.isnan(a) | np.isnan(b), a + b, maximum_number(a, b))


def _or_signalled(a: Array, b: Array, result: Array) -> Array:
    if not np.isnan(a + b).any():
        return result
    return np.where(_signalling(a) | _signalling(b), a.dtype.type(np.nan), result)


def _signalling(a: Array) -> Array:
    uint = _UINT[a.itemsize]
    quiet = uint(1) << uint({2: 9, 4: 22, 8: 51}[a.itemsize])
    result: Array = np.isnan(a) & (a.view(uint) & quiet == 0)
    return result


def median(a: Array, b: Array, c: Array) -> Array:
    """The middle of three; with a NaN the smallest."""
    return _middle(minimum, maximum, a, b, c)


def median_number(a: Array, b: Array, c: Array) -> Array:
    """As `median`, of `minimum_number` and `maximum_number`."""
    return _middle(minimum_number, maximum_number, a, b, c)


def _middle(
    smaller: Callable[[Array, Array], Array],
    larger: Callable[[Array, Array], Array],
    a: Array,
    b: Array,
    c: Array,
) -> Array:
    """Word for word V_MED3_F32, for the sign of zero."""
    largest = larger(larger(a, b), c)
    middle = np.where(largest == a, larger(b, c), np.where(largest == b, larger(a, c), larger(a, b)))
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(nan, smaller(smaller(a, b), c), middle)


def saturate(value: Array, dtype: type[np.generic]) -> Array:
    """Float to integer by truncation; out of range clamps, NaN gives 0."""
    info = np.iinfo(np.dtype(dtype).name)
    whole = np.nan_to_num(np.trunc(value.astype(np.float64)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    inside = np.clip(whole, float(info.min), float(info.max))
    return inside.astype(np.int64).astype(dtype)


def fract(a: Array) -> Array:
    """a - floor(a), kept below 1."""
    below_one = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    return np.where(np.isnan(a) | np.isinf(a), a.dtype.type(np.nan), np.minimum(a - np.floor(a), below_one))


def mantissa(a: Array) -> Array:
    """Mantissa in [0.5, 1) with the sign of a; infinities and NaN unchanged."""
    part, _ = np.frexp(a)
    return np.where(np.isfinite(a), part, a).astype(a.dtype)


def exponent(a: Array, dtype: type[np.generic]) -> Array:
    """Exponent for `mantissa`; 0 for infinities and NaN."""
    _, power = np.frexp(a)
    return np.where(np.isfinite(a), power, 0).astype(dtype)


def ldexp(a: Array, power: Array) -> Array:
    """a * 2**power with one rounding; the power may be any integer."""
    limit = 5000
    bounded = np.clip(power.astype(np.int64), -limit, limit).astype(np.int32)
    if a.dtype == np.float64:
        return np.ldexp(a, bounded)
    return np.ldexp(a.astype(np.float64), bounded).astype(a.dtype)


def f16_toward_zero(a: Array) -> Array:
    """f32 -> f16 rounding toward zero."""
    nearest = a.astype(np.float16)
    too_far = np.abs(nearest.astype(np.float32)) > np.abs(a)
    bits = nearest.view(np.uint16) - too_far.astype(np.uint16)
    return bits.view(np.float16)


def classify(a: Array, mask: Array) -> Array:
    """V_CMP_CLASS: whether the class of a is selected by the 10 mask bits.

    Bits: 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal,
    8 +normal, 9 +inf.
    """
    bits = a.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize])
    fraction = {2: 10, 4: 23, 8: 52}[a.dtype.itemsize]
    quiet = (bits >> bits.dtype.type(fraction - 1)) & bits.dtype.type(1) != 0
    negative = np.signbit(a)
    subnormal = (np.abs(a) < np.finfo(a.dtype).tiny) & (a != 0)
    rank = np.select([np.isinf(a), subnormal, a == 0], [0, 2, 3], 1)
    place = np.where(np.isnan(a), np.where(quiet, 1, 0), np.where(negative, 2 + rank, 9 - rank))
    chosen: Array = (mask.astype(np.uint32) >> place.astype(np.uint32)) & np.uint32(1)
    return chosen != 0
