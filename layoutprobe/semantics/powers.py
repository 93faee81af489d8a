"""exp2, log2, sine and cosine in f64, of sums and products alone.

Libraries round these as they like. What is made of operations that IEEE 754 defines is the same bit by bit wherever
it is computed, so that C gives what numpy gives. The series end where their terms are below half a unit of the last
place of f64: rounded to f32 or f16, nearly all values are the nearest ones. Cards are off by about one unit of f32.
"""

from __future__ import annotations

from math import factorial, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
_LN2, _ROOT = np.float64(log(2)), np.float64(sqrt(0.5))
_BEYOND = 1100.0
"""Powers of two that f64 does not hold any more."""
_EXP = [1 / factorial(n) for n in range(15)]
_SIN = [(-1) ** n / factorial(2 * n + 1) for n in range(10)]
_COS = [(-1) ** n / factorial(2 * n) for n in range(10)]
_ATANH = [1 / (2 * n + 1) for n in range(13)]


def exp2(a: Any) -> Any:
    """2 to the power of `a`."""
    bounded = np.fmin(np.fmax(a, np.float64(-_BEYOND)), np.float64(_BEYOND))
    whole = np.rint(bounded)
    power = np.ldexp(_series(_EXP, (bounded - whole) * _LN2), whole.astype(np.int32))
    return np.where(np.isnan(a), a, power)


def log2(a: Any) -> Any:
    """Logarithm to base 2: of zero -inf, of what is less a NaN."""
    part, exponent = np.frexp(np.where(np.isfinite(a) & (a > 0), a, np.float64(1)))
    low = part < _ROOT
    part, exponent = np.where(low, part + part, part), np.where(low, exponent - 1, exponent)
    ratio = (part - 1) / (part + 1)
    found = exponent.astype(np.float64) + ratio * _series(_ATANH, ratio * ratio) * np.float64(2 / log(2))
    found = np.where(a == 0, np.float64(-np.inf), np.where(a < 0, np.float64(np.nan), found))
    return np.where(np.isnan(a) | (a == np.inf), a, found)


def sine(turns: Any) -> Any:
    """Sine of full turns."""
    return _wave(turns, np.int32(0))


def cosine(turns: Any) -> Any:
    """Cosine of full turns."""
    return _wave(turns, np.int32(1))


def _wave(turns: Any, quarters: Any) -> Any:
    """Sine of full turns and so many quarters; a NaN where they are infinite."""
    part = turns - np.floor(turns)
    quarter = np.rint(part * 4)
    angle = (part - quarter * 0.25) * np.float64(2 * pi)
    square = angle * angle
    at = np.where(np.isnan(quarter), np.float64(0), quarter).astype(np.int32) + quarters
    found = np.where((at & 1) == 0, angle * _series(_SIN, square), _series(_COS, square))
    return np.where((at & 2) == 0, found, -found)


def _series(terms: list[float], a: Any) -> Any:
    """The sum of terms times powers of `a`."""
    found = a * np.float64(terms[-1]) + np.float64(terms[-2])
    for term in terms[-3::-1]:
        found = found * a + np.float64(term)
    return found
