"""Numbers of inputs that are not usual, made of usual ones; and which inputs can be so. See `unusual.py`.

A fill takes normal numbers, their buffer, and whether they are of the input that the kind is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.manifest.binding import BoundBuffer

Values = NDArray[Any]
SHIFT, _SPREAD = 256, 16
LEVEL, _LEVEL_SPREAD = 120.0, 8
"""No exponential of such a number is one of f32, nor of its negative; bf16 holds whole numbers up to 256."""
DEEP = 30_000
"""Such a score is less than many a number that stands for none at all."""
MEAN = 8192
"""A mean beside which a spread of 1 is lost where squares are summed in f32, and not where it is taken away first."""
NEAR_EPSILON = 2.0**-10
"""Squares of such numbers are smaller than the constants that are added to a variance."""
_HALVES, _CODES = 8, 7
_WIDE = 16
"""Bits of floats that hold such numbers without much rounding."""
_PEAKS = (32, 4.0), (256, 16.0), (1024, 64.0)
"""One element in how many is how large: f32 holds the exponential of each."""
_WAVE, _RUNS = 32, 8
"""Elements that are alike, and how often others come."""
LARGE, ANY = 1 << 22, (1 << 62) - 1
"""Whole numbers whose sums 32 bits hold, and any."""
BELOW = -16
"""Its exponential is small, and much larger than none."""
_BELOW_F16 = 2.0**-24
"""Of such a number f16 keeps no digit, and f32 all of them."""
_BF16, _F16 = 8, 11
"""Bits of a number of these, with the one that is not written."""
_SMALL = 8
"""Bits of floats that kernels may take apart by themselves."""
_REACH = 1e6
"""Types whose largest number lies below this overflow in practice: f16, and floats of 8 bits."""
NANS = np.array([0xFFF8 << 48, 0x7FFFFFFFE << 28, 0x7FF8 << 48, 0xFFFFFFFFE << 28], np.uint64).view(
    np.float64
)
"""NaN as x86 makes it, with the sign, with all bits that an f32 has (to round that by hand overflows), and as others
make it."""
_MANY = 16
"""Elements of which it matters whether they are all alike."""


def shifted(by: int, spread: int = _SPREAD) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Large numbers of one sign, where all others are positive: so are, or are not, the sums of their products."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        if not buffer.element.is_float:
            return usual
        return np.asarray(spread * usual + by if mine else np.abs(usual))

    return fill


def at_level(level: float) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Small whole numbers, and as many more in all: types of 16 bits hold the sums exactly."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        return np.clip(np.rint(2 * usual), -_LEVEL_SPREAD, _LEVEL_SPREAD) + level if mine else usual

    return fill


def blank(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Of a vector every third element: beside a row that is zero there are others that are not."""
    if not buffer.element.is_float or not usual.ndim:
        return usual
    if usual.ndim < 2:
        return np.where(np.arange(usual.size) % 3 == 0, 0.0, usual)
    zero = np.arange(usual.shape[-2]) % 2 == 0
    return np.where(zero[:, None], 0.0, usual)


def halves(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Codes are small, so that sums of their products lie at ties, and are not saturated."""
    if is_code(buffer):
        return np.fmod(usual, 3)
    return np.clip(np.rint(4 * usual), -_HALVES, _HALVES) / 2 if buffer.element.is_float else usual


def subnormal(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Small multiples of the smallest number of its type."""
    if not mine:
        return usual
    return np.clip(np.rint(3 * usual), -_CODES, _CODES) * buffer.element.smallest


def times(narrow: float, wide: float) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Numbers of another magnitude: by one factor in types that reach no further than f16, by another in others."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        return usual * (narrow if buffer.element.largest < _REACH else wide) if mine else usual

    return fill


def vast(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Huge, where it is a float with rows."""
    return HUGE(usual, buffer, is_wide(buffer))


def faint(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """About 0.001, where it is a float with rows."""
    return usual * NEAR_EPSILON if is_wide(buffer) else usual


def sunk(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Far below 0, where it is a float."""
    return np.asarray(_SPREAD * usual - SHIFT) if is_float(buffer) else usual


def saturated(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """The largest number and the smallest one of its type."""
    kind = buffer.element
    if not mine:
        return usual
    least = -kind.largest if kind.is_float else np.iinfo(kind.storage).min
    return np.where(usual > 0, kind.largest if kind.is_float else np.iinfo(kind.storage).max, least)


def holding(*numbers: float) -> Callable[[Values, BoundBuffer, bool], Values]:
    """One element of two rows of three, at another place in each: none of the rows between has one. Where there are
    several numbers, each row has the next one."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        if not mine or not buffer.element.is_float:
            return usual
        lines = np.array(usual, np.float64)
        rows = lines.reshape(-1, lines.shape[-1])
        at = np.flatnonzero(np.arange(len(rows)) % 3) if len(rows) > 1 else np.arange(1)
        rows[at, (at + lines.shape[-1] // 2) % lines.shape[-1]] = np.resize(numbers, len(at))
        return lines

    return fill


def zeros(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Every other element is a zero, of one sign or the other by turns that no row has like the one before."""
    if not mine:
        return usual
    flat = np.array(usual, np.float64).reshape(-1)
    at = np.arange(len(flat))
    rest = np.where(_rows(usual).reshape(-1) % 2 == 0, flat, -np.abs(flat))  # of some a zero is the largest
    return np.where(at % 2 == 0, np.where(at // 2 % 3 == 1, 0.0, -0.0), rest).reshape(usual.shape)


def ties(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Half-way between two numbers of bf16 in every other element, of f16 in the others."""
    if not mine:
        return usual
    parts, power = np.frexp(np.asarray(usual, np.float64))
    bits = np.where(np.arange(parts.size).reshape(parts.shape) % 2 == 0, _BF16, _F16)
    return np.ldexp(np.trunc(np.ldexp(parts, bits)) + np.copysign(0.5, parts), power - bits)


def extreme(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Rows of the largest number and of the smallest one by turns, and all other codes as large as they can be: sums
    of their products go as far as they can."""
    if not is_code(buffer):  # by which sums are scaled to what outputs hold
        return usual * NEAR_EPSILON if buffer.element.is_float else usual
    held = np.iinfo(buffer.element.storage)
    less = (
        np.arange(usual.size).reshape(usual.shape) % 3 == 1
    )  # so that sums are odd, and need all their bits
    return np.where((_rows(usual) % 2 == 0) | (not mine), held.max - less, held.min)


def _rows(values: Values) -> NDArray[np.int64]:
    """The number of the row that each element is in."""
    return np.arange(values.size).reshape(values.shape) // values.shape[-1]


def is_code(buffer: BoundBuffer) -> bool:
    """Integers of 8 bits, which may hold codes."""
    return not buffer.element.is_float and buffer.element.bits <= _SMALL


def void(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Every third row has nothing but -infinity, as where all is masked."""
    if not mine:
        return usual
    return np.where(_rows(usual) % 3 == 1, -np.inf, usual)


def same(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """One number throughout."""
    return np.full(usual.shape, usual.flat[0]) if mine and usual.size else usual


def bounded(most: int) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Whole numbers of any size, up to one."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        if not mine:
            return usual
        held = np.iinfo(buffer.element.storage)
        low, high = max(held.min, -most), min(held.max, most)
        return np.random.default_rng(usual.size).integers(low, high, usual.shape, np.int64, endpoint=True)

    return fill


def in_runs(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """As many elements as a wave has are alike, and then others."""
    if not mine or not usual.size:
        return usual
    at = np.arange(usual.size) // _WAVE % _RUNS
    return np.resize(usual.reshape(-1)[:_RUNS], _RUNS)[at].reshape(usual.shape)


def shuffled(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """As the manifest gives them, they may repeat themselves where a kernel takes one for the other."""
    if not mine:
        return usual
    return np.random.default_rng(usual.size).permutation(usual.reshape(-1)).reshape(usual.shape)


def as_flags(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """What is true need not be 1."""
    if not mine or not np.isin(usual, (0, 1)).all() or not usual.any():
        return usual
    return np.where(usual == 0, 0, np.resize((2, 64, 1), usual.shape))


def none(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """What holds a 0 somewhere, as offsets do, has shown what comes of it."""
    return np.zeros_like(usual) if mine and usual.all() else usual


def peaked(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Few elements are much larger than all about them, most of them negative, fewer the larger: of many a block one
    element is the largest by far, and what misses that one tells."""
    if not mine:
        return usual
    chance = np.random.default_rng(usual.size)
    drawn, found = chance.random(usual.shape), usual / 4
    for apart, size in _PEAKS:
        found = np.where(drawn < 1 / apart, size, found)
    return np.where((np.abs(found) > 2) & (chance.random(usual.shape) < 0.75), -np.abs(found), found)


def slight(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Numbers of which f16 keeps no digit."""
    return usual * _BELOW_F16 if mine else usual


def is_wide(buffer: BoundBuffer) -> bool:
    """Floats of 16 bits and more, with rows."""
    return is_float(buffer) and len(buffer.shape) > 1


def is_float(buffer: BoundBuffer) -> bool:
    """Floats of 16 bits and more."""
    return buffer.element.is_float and buffer.element.bits >= _WIDE


def is_precise(buffer: BoundBuffer) -> bool:
    """Floats of more than 16 bits, with rows."""
    return is_wide(buffer) and buffer.element.bits > _WIDE


def is_long(buffer: BoundBuffer) -> bool:
    """So many elements that it matters whether they are alike."""
    return prod(buffer.shape) > _MANY


def is_listed(buffer: BoundBuffer) -> bool:
    """Whole numbers, and many of them."""
    return is_long(buffer) and is_whole(buffer)


def is_whole(buffer: BoundBuffer) -> bool:
    """Integers of more than 8 bits."""
    return not buffer.element.is_float and buffer.element.bits > _SMALL


def is_widest(buffer: BoundBuffer, inputs: Sequence[BoundBuffer]) -> bool:
    """Some other one has fewer bits."""
    return buffer.element.bits > min(other.element.bits for other in inputs)


def saturates(buffer: BoundBuffer) -> bool:
    """The largest number of its type may come in practice."""
    return is_code(buffer) or (buffer.element.is_float and buffer.element.largest < _REACH)


def is_small(buffer: BoundBuffer) -> bool:
    """Floats of 8 bits that have subnormals."""
    kind = buffer.element
    return kind.is_float and kind.bits <= _SMALL and kind.precision > 1


HUGE = times(2.0**10, 2.0**40)


def at(numbers: Sequence[float]) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Every third element is one of some numbers; of all other inputs some rows are zero, as in sums with them."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        if not mine or not numbers:
            return blank(usual, buffer, mine)
        at = np.arange(usual.size).reshape(usual.shape)
        return np.where(at % 3 == 0, np.take(numbers, at // 3 % len(numbers)), usual)

    return fill
