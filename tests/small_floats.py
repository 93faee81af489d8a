"""Floats of 8, 6 and 4 bits, from the definitions of their formats."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache
from math import inf, isnan, nan

import numpy as np

FORMATS = {
    "fp8": (4, 3, 7), "bf8": (5, 2, 15), "fp8_fnuz": (4, 3, 8), "bf8_fnuz": (5, 2, 16),
    "fp6": (2, 3, 1), "bf6": (3, 2, 3), "fp4": (2, 1, 1),
}  # fmt: skip
"""Bits of the exponent, of the fraction, and the bias (OCP 8-bit floating point and Microscaling specifications;
FNUZ: Graphcore, AMD and Qualcomm, arXiv 2206.02915: one zero, and one NaN where -0 would be)."""


def bits_of(name: str) -> int:
    """Width of an element."""
    exponents, fractions, _ = FORMATS[name]
    return 1 + exponents + fractions


@cache
def number(name: str, code: int) -> float:
    """What a code stands for."""
    exponents, fractions, bias = FORMATS[name]
    exponent, fraction = code >> fractions & (1 << exponents) - 1, code & (1 << fractions) - 1
    top = 1 << exponents + fractions
    sign = -1 if code & top else 1
    if name.endswith("_fnuz") and code == top:
        return nan
    if name == "bf8" and exponent == 31:
        return sign * inf if fraction == 0 else nan
    if name == "fp8" and code & 127 == 127:
        return nan
    if exponent == 0:
        return sign * float(Fraction(fraction, 1 << fractions) * Fraction(2) ** (1 - bias))  # -0 too
    return sign * float((1 + Fraction(fraction, 1 << fractions)) * Fraction(2) ** (exponent - bias))


@cache
def _finite(name: str) -> list[float]:
    """The numbers of the codes without a sign, up to the largest."""
    sizes = (number(name, code) for code in range(1 << bits_of(name) - 1))
    return [size for size in sizes if abs(size) < inf]


def nearest(name: str, value: float) -> int:
    """The code of the nearest number, of two equally near ones the even code."""
    top = 1 << bits_of(name) - 1
    fnuz = name.endswith("_fnuz")
    sign = top if np.signbit(value) else 0
    if isnan(value):
        return top if fnuz else sign | 127
    size = abs(value)
    finite = _finite(name)
    at = bisect_left(finite, size)
    if at == len(finite):  # beyond the largest: half a step further it would round away from it
        step = finite[-1] - finite[-2]
        if bits_of(name) < 8 or size < finite[-1] + step / 2:
            return sign | at - 1
        return top if fnuz else sign | at
    if at > 0 and finite[at] != size:
        low = Fraction(size) - Fraction(finite[at - 1])
        high = Fraction(finite[at]) - Fraction(size)
        at = at - 1 if low < high or (low == high and at % 2) else at
    return 0 if fnuz and at == 0 else sign | at
