"""Coded inputs: every element of every input has a number of its own, which travels in digits.

Elements of all coded buffers are numbered through. Digits are exact in every dtype of the coded
buffers, and so survive loads, LDS, packing and conversions between them. One run carries one digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.numbers import NO_NUMBER, DigitCode, ElementType, digit_base, element_type

NOBODY = NO_NUMBER
"""What a value that is no code decodes to."""


LARGEST_BYTE = 119
"""Of an 8-bit float a coded run takes the bytes for digits: no kernel changes them on their way. From 1 to here all
are numbers, in every such type, and no two are the same."""


def is_small_float(dtype: str) -> bool:
    """A float of 8 bits."""
    kind = element_type(dtype)
    return kind.is_float and kind.bits == 8


def carried_as(dtype: str) -> ElementType:
    """The type in which elements carry their digits: their own, bytes for small floats."""
    return element_type("u8" if is_small_float(dtype) else dtype)


class Element(Struct, frozen=True):
    """An element of an input: buffer and logical index."""

    buffer: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return self.buffer + "".join(f"[{i}]" for i in self.index)


class Coding(Struct, frozen=True):
    """Numbers of all elements of some buffers.

    Attributes:
        shapes: buffer -> logical shape, in numbering order.
        code: how their numbers are written; one run a digit.
    """

    shapes: Mapping[str, tuple[int, ...]]
    code: DigitCode

    @classmethod
    def of(cls, buffers: Mapping[str, tuple[str, tuple[int, ...]]]) -> Coding:
        """The coding of buffers given as name -> (dtype, shape)."""
        types = {dtype for dtype, _ in buffers.values()}
        small = {dtype for dtype in types if is_small_float(dtype)}
        base = min(digit_base(types - small), LARGEST_BYTE) if small else digit_base(types)
        shapes = {name: shape for name, (_, shape) in buffers.items()}
        return cls(shapes, DigitCode.of(sum(map(prod, shapes.values())), base))

    @property
    def total(self) -> int:
        """How many elements have numbers."""
        return sum(map(prod, self.shapes.values()))

    def starts(self) -> dict[str, int]:
        """Buffer -> number of its first element."""
        starts, at = {}, 0
        for name, shape in self.shapes.items():
            starts[name] = at
            at += prod(shape)
        return starts

    def values(self, buffer: str, digit: int) -> NDArray[np.int64]:
        """What the elements of a buffer hold in the run of a digit (0 is the lowest)."""
        return self.code.digit(self.numbers(buffer), digit)

    def number(self, digits: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Numbers from what the same places held in each run, low digit first; NOBODY for no code.

        Args:
            digits: one array of values (any numeric type) per digit, all of one shape.
        """
        if len(digits) != self.code.digits:
            raise UsageError(f"a code of {self.code.digits} digits", observed=f"{len(digits)} runs")
        result = self.code.numbers(digits)
        return np.where(result < self.total, result, NOBODY)

    def numbers(self, buffer: str) -> NDArray[np.int64]:
        """The number of every element of a buffer, in its logical shape."""
        shape = self.shapes[buffer]
        count = prod(shape)
        return (self.starts()[buffer] + np.arange(count, dtype=np.int64)).reshape(shape)

    def element(self, number: int) -> Element | None:
        """Whose number it is."""
        for name, start in self.starts().items():
            shape = self.shapes[name]
            count = prod(shape)
            if start <= number < start + count:
                index = np.unravel_index(number - start, shape)
                return Element(name, tuple(int(i) for i in index))
        return None
