"""Whether results are cut off to a narrower float, where they should be rounded to the nearest one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.numbers.types import element_type, rounded

Doubles = NDArray[np.float64]


def cut_off(right: Doubles, observed: Doubles, dtype: str) -> NDArray[np.bool_]:
    """Elements that would be rounded up and are cut off instead; none, unless nearly all such elements of an output
    are, and all others are rounded down: as by `bits >> 16`, and by no error of what was computed before.

    Args:
        right, observed: what should be there, not rounded, and what is.
        dtype: of the output.
    """
    nearest, size = rounded(right, dtype), np.abs(right)
    with np.errstate(all="ignore"):
        known = np.isfinite(right) & np.isfinite(nearest)
        unit = np.ldexp(1.0, np.frexp(size)[1] - element_type(dtype).precision)
        gap = (np.abs(nearest) - size) / unit
        up = known & (gap > _CLEAR) & (gap < _HALFWAY)
        down = known & (gap < -_CLEAR) & (gap > -_HALFWAY)
        less = (np.abs(observed) < size) & (size - np.abs(observed) < unit)
    # One number at many places is one witness. And of f32 there is none: what f32 computes is off by as much.
    if (
        element_type(dtype).precision >= _OF_F32
        or np.unique(size[up]).size < _ENOUGH
        or less[up].mean() < _NEARLY_ALL
        or not down.any()
        or (observed == nearest)[down].mean() < _NEARLY_ALL
    ):
        return np.zeros(right.shape, np.bool_)
    return np.asarray(up & less)


def cut_off_in_words(dtype: str) -> str:
    """What `cut_off` has found."""
    return f"the result is cut off, not rounded to the nearest {dtype}"


_ENOUGH, _NEARLY_ALL = 8, 0.97
"""So many numbers that are cut off, and such a share of elements, are no accident."""
_OF_F32 = 24
"""Bits of an f32, the first one included."""
_CLEAR, _HALFWAY = 0.02, 0.45
"""How far from a number, and from the middle of two, a result is at most, so that what f32 has lost decides nothing:
in units of its last place."""
