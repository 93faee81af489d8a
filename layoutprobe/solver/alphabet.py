"""How an element type carries the numbers of an experiment.

A letter is a positive number whose product with one is exact, in the element type and in the result
type alike: an output that shows a letter names it. Letters are never zero, so that no letter and
"nothing met" look alike. All are positive: sums of mixed signs are not exact on gfx1151 (ROCm/
rocm-systems issue 12056).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.numbers import NO_NUMBER, DigitCode, ElementType, element_type

Words = NDArray[np.unsignedinteger]


class Alphabet(Struct, frozen=True):
    """Letters of an element type: raw codes `one`, `one` + step, ..., ascending in value.

    Attributes:
        element: the type.
        step: from one letter's code to the next; above 1 where low bits do not count.
    """

    element: ElementType
    step: int = 1

    @property
    def bits(self) -> int:
        """Width of an element."""
        return self.element.bits

    @property
    def one(self) -> int:
        """Raw code of the number one."""
        return int(self.element.encode(1))

    @property
    def size(self) -> int:
        """How many letters there are, at most."""
        top = self.element.largest if self.element.is_float else self.element.exact
        return (int(self.element.encode(top)) - self.one) // self.step + 1

    @property
    def raw(self) -> type[np.uint32] | type[np.uint64]:
        """What raw codes are kept in."""
        return np.uint64 if self.bits > 32 else np.uint32

    def hot(self, where: NDArray[np.bool_]) -> Words:
        """Raw codes: one where that is set, else zero."""
        return np.where(where, self.raw(self.one), self.raw(0))

    def value(self, raw: NDArray[np.integer]) -> NDArray[np.float64]:
        """Numbers of raw codes."""
        return self.element.decode(raw)

    def letters(self, count: int) -> Words:
        """Raw codes of the first letters."""
        return (self.one + self.step * np.arange(count)).astype(self.raw)

    def integers(self, values: NDArray[np.integer]) -> Words:
        """Raw codes of small integers; floats have 0 to 8 exactly."""
        return self.element.encode(values).astype(self.raw)


_UNUSED_BITS = {"tf32": 13, "xf32": 13}
"""Low bits of an element that do not count."""


@cache
def alphabet_of(name: str) -> Alphabet:
    """Alphabet of an element type.

    Raises:
        UsageError: no such type.
    """
    return Alphabet(element_type(name), 1 << _UNUSED_BITS.get(name, 0))


def _code(count: int, alphabet: Alphabet) -> DigitCode:
    return DigitCode.of(count, min(alphabet.size, count))


def coded(count: int, alphabet: Alphabet) -> Words:
    """Raw letters that number `count` slots, [digit, slot], lowest digit first."""
    code, number = _code(count, alphabet), np.arange(count, dtype=np.int64)
    rows = [code.digit(number, place) - 1 for place in range(code.digits)]
    return np.asarray(alphabet.letters(code.base)[np.stack(rows)])


def decoded(value: NDArray[np.float64], count: int, alphabet: Alphabet) -> NDArray[np.int64]:
    """Numbers of slots from the letters that came back.

    Args:
        value: [digit, ...], what the outputs show.
        count: slots that were numbered.
        alphabet: which letters they were numbered with.

    Returns:
        Slot number; -1 where every digit shows zero, -2 where some digit shows no letter.
    """
    code = _code(count, alphabet)
    letters = alphabet.value(alphabet.letters(code.base))
    at = np.minimum(np.searchsorted(letters, value), code.base - 1)
    number = code.numbers(list(np.where(letters[at] == value, at + 1, 0)))
    sound = (number != NO_NUMBER) & (number < count)
    return np.asarray(np.where(sound, number, np.where((value == 0).all(axis=0), -1, -2)))
