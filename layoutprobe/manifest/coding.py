"""Coded inputs: every element of every input has a number of its own, which travels in digits.

Elements of all coded buffers are numbered through. A digit is stored as the integer 1..base, which
is exact in every dtype of the coded buffers, and so survives loads, LDS, packing and conversions
between them. One run carries one digit. 0 is no digit: it is what zero fill leaves, and decodes to
"no element".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import UsageError

NOBODY = -1
"""What a value that is no code decodes to."""

EXACT = {
    "f16": 2047, "bf16": 255, "f32": 1 << 20, "f64": 1 << 20, "i8": 127, "u8": 255,
    "i16": 32767, "u16": 65535, "i32": 1 << 20, "u32": 1 << 20, "i64": 1 << 20, "u64": 1 << 20,
}  # fmt: skip
"""dtype -> largest integer up to which every integer is exact (bounded at 2**20)."""


@dataclass(frozen=True)
class Element:
    """An element of an input: buffer and logical index."""

    buffer: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return self.buffer + "".join(f"[{i}]" for i in self.index)


@dataclass(frozen=True)
class Coding:
    """Numbers of all elements of some buffers.

    Attributes:
        shapes: buffer -> logical shape, in numbering order.
        base: digits are 1..base.
        digits: how many digits a number has, and so how many runs it takes.
    """

    shapes: Mapping[str, tuple[int, ...]]
    base: int
    digits: int

    @classmethod
    def of(cls, buffers: Mapping[str, tuple[str, tuple[int, ...]]]) -> Coding:
        """The coding of buffers given as name -> (dtype, shape)."""
        base = min((EXACT[dtype] for dtype, _ in buffers.values()), default=2)
        shapes = {name: shape for name, (_, shape) in buffers.items()}
        total = sum(int(np.prod(shape, dtype=np.int64)) for shape in shapes.values())
        digits = 1
        while base**digits < total:
            digits += 1
        return cls(shapes, base, digits)

    def starts(self) -> dict[str, int]:
        """Buffer -> number of its first element."""
        starts, at = {}, 0
        for name, shape in self.shapes.items():
            starts[name] = at
            at += int(np.prod(shape, dtype=np.int64))
        return starts

    def values(self, buffer: str, digit: int) -> NDArray[np.int64]:
        """What the elements of a buffer hold in the run of a digit (0 is the lowest)."""
        shape = self.shapes[buffer]
        count = int(np.prod(shape, dtype=np.int64))
        numbers = self.starts()[buffer] + np.arange(count, dtype=np.int64)
        return (numbers // self.base**digit % self.base + 1).reshape(shape)

    def number(self, digits: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Numbers from what the same places held in each run, low digit first; NOBODY for no code.

        Args:
            digits: one array of values (any numeric type) per digit, all of one shape.
        """
        if len(digits) != self.digits:
            raise UsageError(f"a code of {self.digits} digits", observed=f"{len(digits)} runs")
        total = sum(int(np.prod(shape, dtype=np.int64)) for shape in self.shapes.values())
        result = np.zeros(np.shape(digits[0]), np.int64)
        good = np.ones(result.shape, np.bool_)
        for place, values in enumerate(digits):
            with np.errstate(invalid="ignore"):  # any bits may be held, a signalling NaN too
                held = np.asarray(values, np.float64)
                good &= (held >= 1) & (held <= self.base) & (held == np.floor(held))
            result += (np.where(good, held, 1).astype(np.int64) - 1) * self.base**place
        return np.where(good & (result < total), result, NOBODY)

    def numbers(self, buffer: str) -> NDArray[np.int64]:
        """The number of every element of a buffer, in its logical shape."""
        shape = self.shapes[buffer]
        count = int(np.prod(shape, dtype=np.int64))
        return (self.starts()[buffer] + np.arange(count, dtype=np.int64)).reshape(shape)

    def element(self, number: int) -> Element | None:
        """Whose number it is."""
        for name, start in self.starts().items():
            shape = self.shapes[name]
            count = int(np.prod(shape, dtype=np.int64))
            if start <= number < start + count:
                index = np.unravel_index(number - start, shape)
                return Element(name, tuple(int(i) for i in index))
        return None
