"""Floating-point arithmetic that numpy does not offer, each rounded once as the hardware does."""

from __future__ import annotations

import numpy as np

from layoutprobe.machine.registers import Array

F32_BIAS = 127


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


def fma64(a: Array, b: Array, c: Array) -> Array:
    """f64 fused multiply-add, correct where no intermediate overflows or is subnormal."""
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
    fine = np.isfinite(low) & np.isfinite(exact)
    return np.where(fine, exact, product + c)


def minimum(a: Array, b: Array) -> Array:
    """The smaller number; a NaN loses, and -0 is below +0."""
    smaller = np.fmin(a, b)
    return np.where((a == 0) & (b == 0) & np.signbit(a), a, np.where((a == 0) & (b == 0), b, smaller))


def maximum(a: Array, b: Array) -> Array:
    """The larger number; a NaN loses, and +0 is above -0."""
    larger = np.fmax(a, b)
    return np.where((a == 0) & (b == 0) & np.signbit(a), b, np.where((a == 0) & (b == 0), a, larger))


def median(a: Array, b: Array, c: Array) -> Array:
    """The middle of three; with a NaN the smallest, as V_MED3_F32 states."""
    middle = maximum(minimum(a, b), minimum(maximum(a, b), c))
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(nan, minimum(minimum(a, b), c), middle)


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
