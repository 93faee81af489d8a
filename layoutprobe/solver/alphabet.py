"""How an element type carries the numbers of an experiment.

A letter is a positive number whose product with one is exact, in the element type and in the result
type alike: an output that shows a letter names it. Letters are never zero, so that no letter and
"nothing met" look alike. All are positive: sums of mixed signs are not exact on gfx1151 (ROCm/
rocm-systems issue 12056).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.numbers.digits import digits_of

Words = NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class Alphabet:
    """Letters of an element type: raw codes `one`, `one` + step, ..., ascending in value.

    Attributes:
        name: element type.
        bits: width of an element.
        one: raw code of the number one.
        size: how many letters there are, at most.
        exponent: exponent bits of a float, 0 for an integer.
        bias: of the exponent.
        step: from one letter's code to the next; above 1 where low bits do not count.
    """

    name: str
    bits: int
    one: int
    size: int
    exponent: int = 0
    bias: int = 0
    step: int = 1

    @property
    def raw(self) -> type[np.uint32] | type[np.uint64]:
        """What raw codes are kept in."""
        return np.uint64 if self.bits > 32 else np.uint32

    def hot(self, where: NDArray[np.bool_]) -> Words:
        """Raw codes: one where that is set, else zero."""
        return np.where(where, self.raw(self.one), self.raw(0))

    def value(self, raw: NDArray[np.integer]) -> NDArray[np.float64]:
        """Numbers of raw codes; only of codes that are zero or positive and finite."""
        raw = np.asarray(raw, np.int64)
        if not self.exponent:
            return raw.astype(np.float64)
        fraction = self.bits - 1 - self.exponent
        field, low = raw >> fraction & (1 << self.exponent) - 1, raw & (1 << fraction) - 1
        normal = field > 0
        mantissa = np.where(normal, low + (1 << fraction), low).astype(np.float64)
        return np.asarray(np.ldexp(mantissa, (np.maximum(field, 1) - self.bias - fraction).astype(np.int32)))

    def letters(self, count: int) -> Words:
        """Raw codes of the first letters."""
        return (self.one + self.step * np.arange(count)).astype(self.raw)

    def integers(self, values: NDArray[np.integer]) -> Words:
        """Raw codes of small integers; floats have 0 to 8 exactly."""
        whole = np.asarray(values, np.int64)
        if not self.exponent:
            return whole.astype(self.raw)
        fraction = self.bits - 1 - self.exponent
        mantissa, exponent = np.frexp(whole.astype(np.float64))
        low = np.ldexp(2 * mantissa - 1, fraction).astype(np.int64)
        raw = np.where(whole == 0, 0, (exponent.astype(np.int64) - 1 + self.bias << fraction) + low)
        return raw.astype(self.raw)


def _float(name: str, bits: int, exponent: int, bias: int, top: int, step: int = 1) -> Alphabet:
    one = bias << bits - 1 - exponent
    return Alphabet(name, bits, one, (top - one) // step + 1, exponent, bias, step)


ALPHABETS = {
    alphabet.name: alphabet
    for alphabet in (
        _float("f16", 16, 5, 15, 0x7BFF),
        _float("bf16", 16, 8, 127, 0x7F7F),
        _float("fp8", 8, 4, 7, 0x7E),  # 0x7F is a NaN, and there are no infinities
        _float("bf8", 8, 5, 15, 0x7B),
        _float("f32", 32, 8, 127, 0x7F7FFFFF),
        _float("f64", 64, 11, 1023, 0x7FEFFFFFFFFFFFFF),
        _float("tf32", 32, 8, 127, 0x7F7FE000, 1 << 13),  # an f32 whose low 13 bits do not count
        Alphabet("iu8", 8, 1, 255),
        Alphabet("i8", 8, 1, 127),
        Alphabet("iu4", 4, 1, 15),
        Alphabet("i4", 4, 1, 7),
        Alphabet("i32", 32, 1, (1 << 31) - 1),
    )
}


def alphabet_of(name: str) -> Alphabet:
    """Alphabet of an element type.

    Raises:
        UsageError: no such type.
    """
    if name not in ALPHABETS:
        raise UsageError(f"no element type named {name[:80]!r}", expected="one of: " + ", ".join(ALPHABETS))
    return ALPHABETS[name]


def coded(count: int, alphabet: Alphabet) -> Words:
    """Raw letters that number `count` slots, [digit, slot], lowest digit first."""
    base = min(alphabet.size, count)
    number = np.arange(count, dtype=np.int64)
    rows = [number // base**place % base for place in range(digits_of(count, base))]
    return np.asarray(alphabet.letters(base)[np.stack(rows)])


def decoded(value: NDArray[np.float64], count: int, alphabet: Alphabet) -> NDArray[np.int64]:
    """Numbers of slots from the letters that came back.

    Args:
        value: [digit, ...], what the outputs show.
        count: slots that were numbered.
        alphabet: which letters they were numbered with.

    Returns:
        Slot number; -1 where every digit shows zero, -2 where some digit shows no letter.
    """
    base = min(alphabet.size, count)
    letters = alphabet.value(alphabet.letters(base))
    at = np.minimum(np.searchsorted(letters, value), base - 1)
    known = letters[at] == value
    number = (at * base ** np.arange(len(value)).reshape(-1, *[1] * (value.ndim - 1))).sum(axis=0)
    sound = known.all(axis=0) & (number < count)
    return np.asarray(np.where(sound, number, np.where((value == 0).all(axis=0), -1, -2)))
