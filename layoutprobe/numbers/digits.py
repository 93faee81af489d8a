"""The digit code: numbers that travel through a kernel in digits, one digit a run.

A digit is an integer from 1 to the base, exact in every type that it passes. 0 is no digit: it is
what cleared registers and memory hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.numbers.types import element_type

Ints = NDArray[np.int64]

NO_NUMBER = -1
"""What digits decode to that no number has."""

_LARGEST_BASE = (1 << 24) - 1
"""All digits survive an f32, whatever the types of the buffers are."""
_SCRAMBLES = (1_000_003, 7_368_787)  # primes: coprime to every base that is not a multiple of them


def digit_base(types: Iterable[str]) -> int:
    """The base for digits that pass all of these element types.

    It is odd, as sizes of tiles are powers of two: in a base that is one too, elements a tile
    apart would share their low digits.

    Raises:
        UsageError: no such type.
    """
    exact = min((element_type(name).exact for name in types), default=_LARGEST_BASE)
    return min(exact - 1 | 1, _LARGEST_BASE) if exact > 2 else 2


def digits_of(count: int, base: int) -> int:
    """How many digits of that base number `count` things: the fewest with base ** digits >= count."""
    digits = 1
    while base**digits < count:
        digits += 1
    return digits


class DigitCode(Struct, frozen=True):
    """Numbers from 0 in digits.

    Attributes:
        base: digits are 1..base.
        digits: how many a number has, and so how many runs it takes.
        scrambled: numbers are spread, so that with several digits each of them alone already varies
            among neighbours; otherwise the high ones are the same for thousands of them.
        turned: every digit is so much higher, and begins anew behind the base, and numbers are spread
            otherwise: other digits for the same numbers.
    """

    base: int
    digits: int
    scrambled: bool = False
    turned: int = 0

    @classmethod
    def of(cls, count: int, base: int, *, scrambled: bool = False) -> DigitCode:
        """As many digits as `count` numbers need."""
        return cls(base, digits_of(count, base), scrambled)

    @property
    def capacity(self) -> int:
        """Numbers that have digits."""
        return min(self.base**self.digits, 1 << 62)

    def digit(self, number: Ints, place: int) -> Ints:
        """One digit of each number: 1..base.

        Args:
            number: 0 to capacity - 1, any shape.
            place: 0 is the lowest digit.
        """
        if self.scrambled and self.digits > 1:
            number = self._modulo(number, self._scramble)
        # Division of whole numbers is slow, and with one digit there is nothing to divide.
        lower = number // self.base**place if place else number
        own = lower % self.base if place < self.digits - 1 else lower
        return np.asarray(((own + self.turned) % self.base if self.turned else own) + 1)

    def numbers(self, digits: Sequence[NDArray[Any]]) -> Ints:
        """The numbers whose digits these are; NO_NUMBER where one of them is no digit.

        Args:
            digits: arrays of values of any numeric type, one a digit, lowest first, all of one shape.
        """
        assert len(digits) == self.digits
        good = np.ones(np.shape(digits[0]), np.bool_)
        number = np.zeros(good.shape, np.int64)
        for place, values in enumerate(digits):
            with np.errstate(invalid="ignore"):  # any bits may be held, a signalling NaN too
                held = np.asarray(values, np.float64)
                here = (held >= 1) & (held <= self.base) & (held == np.floor(held))
            own = np.where(here, held, 1).astype(np.int64) - 1
            number += ((own - self.turned) % self.base if self.turned else own) * self.base**place
            good &= here
        if self.scrambled and self.digits > 1:
            number = self._modulo(number, pow(self._scramble, -1, self.capacity))
        return np.where(good, number, NO_NUMBER)

    @property
    def _scramble(self) -> int:
        return _SCRAMBLES[bool(self.turned)]

    def _modulo(self, number: Ints, factor: int) -> Ints:
        overflows = int(number.max(initial=0)) * factor >= 1 << 63
        wide = number.astype(object) if overflows else number
        return np.asarray(wide * factor % self.capacity, np.int64)
