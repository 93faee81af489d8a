"""exp2, log2, and sine and cosine of turns, for f32 and f16.

They go through the host's double precision, whose error is some 2**-29 of an f32 ulp; rounding to
the format happens once. The hardware promises 1 ulp, so this is far more than a test needs.
"""

from __future__ import annotations

import math

from .softfloat import Format, from_float, is_nan, quieted, to_float


def exp2(fmt: Format, bits: int) -> int:
    """2 ** x."""
    if is_nan(fmt, bits):
        return quieted(fmt, bits)
    try:
        return from_float(fmt, math.exp2(to_float(fmt, bits)))
    except OverflowError:
        return fmt.inf


def log2(fmt: Format, bits: int) -> int:
    """log2(x): NaN below zero, -infinity at either zero."""
    if is_nan(fmt, bits):
        return quieted(fmt, bits)
    value = to_float(fmt, bits)
    if value == 0:
        return fmt.sign | fmt.inf
    return fmt.nan if value < 0 else from_float(fmt, math.log2(value))


def sin_turns(fmt: Format, bits: int) -> int:
    """sin(2 * pi * x): the unit of V_SIN is one turn, so the reduction is exact."""
    value = to_float(fmt, bits)
    if is_nan(fmt, bits) or math.isinf(value):
        return quieted(fmt, bits)
    if value == 0:
        return bits
    half_turns = round(2 * math.fmod(value, 1.0))
    rest = math.fmod(value, 1.0) - half_turns / 2
    sine = _sin_quarter(rest)
    return from_float(fmt, -sine if half_turns & 1 else sine)


def cos_turns(fmt: Format, bits: int) -> int:
    """cos(2 * pi * x)."""
    value = to_float(fmt, bits)
    if is_nan(fmt, bits) or math.isinf(value):
        return quieted(fmt, bits)
    half_turns = round(2 * math.fmod(value, 1.0))
    rest = math.fmod(value, 1.0) - half_turns / 2
    # Near a quarter turn the cosine is a sine of a small, exactly known angle.
    cosine = _sin_quarter(0.25 - abs(rest)) if abs(rest) > 0.125 else math.cos(2 * math.pi * rest)
    return from_float(fmt, -cosine if half_turns & 1 else cosine)


def _sin_quarter(turns: float) -> float:
    """sin(2 * pi * turns) for |turns| <= 1/4."""
    if abs(turns) > 0.125:
        return math.copysign(math.cos(2 * math.pi * (0.25 - abs(turns))), turns)
    return math.sin(2 * math.pi * turns)
