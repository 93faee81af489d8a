"""Typed values of the pseudocode.

Integers are mathematical: an expression such as `S0.u32 + S1.u32` does not wrap, and a carry is
there for whoever compares it with 0x100000000ULL. Wrapping happens where the text says so: at a
typed view (`tmp.u32`), a cast, a slice, and an assignment to something with a width. Floating-point
values are bit patterns of their format.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np

from . import softfloat as sf
from .errors import PcodeFault, PcodeSyntax
from .lanes import Ints, Test, each, same


class Value(NamedTuple):
    """One value: `kind` is U, I, B (bits), F, BF, or DENORM (the class that `== DENORM.f32` asks for).

    `payload` is the number for U, I and B, and the bit pattern for F and BF; of one lane, or of many.
    """

    kind: str
    width: int
    payload: Ints

    @property
    def is_float(self) -> bool:
        """Whether the payload is a bit pattern of `float_format(self)`."""
        return self.kind in ("F", "BF")

    @property
    def bits(self) -> Ints:
        """The lowest `width` bits, unsigned."""
        return self.payload & ((1 << self.width) - 1)


class Type(NamedTuple):
    """`u32`, `i24`, `f16`, `bf16`, `b128`: kind and width in bits."""

    kind: str
    width: int


_TYPE = re.compile(r"(bf|[buif])(\d+)")
_FORMATS = {("F", 16): sf.F16, ("F", 32): sf.F32, ("F", 64): sf.F64, ("BF", 16): sf.BF16}


@cache
def parse_type(name: str) -> Type:
    """The type that a member access names.

    Raises:
        PcodeSyntax: if the name is no type.
    """
    match = _TYPE.fullmatch(name)
    if match is None:
        raise PcodeSyntax(f".{name} is no type")
    return Type(match[1].upper(), int(match[2]))


def float_format(value: Value | Type) -> sf.Format:
    """The format of a floating-point value or type."""
    try:
        return _FORMATS[value.kind, value.width]
    except KeyError:
        raise PcodeFault(f"no floating-point format {value.kind}{value.width}") from None


def boolean(test: Ints) -> Value:
    """The value of a comparison."""
    if isinstance(test, np.ndarray):
        return Value("U", 1, (test != 0).astype(int).astype(object))
    return Value("U", 1, 1 if test else 0)


def unsigned(width: int, number: Ints) -> Value:
    """An unsigned value, wrapped to its width."""
    return Value("U", width, number & ((1 << width) - 1))


def wrap(kind: str, width: int, number: Ints) -> Value:
    """A number cut to `width` bits, read as signed if the kind is I."""
    bits = number & ((1 << width) - 1)
    if kind == "I":
        bits = bits - (bits >> (width - 1) << width)
    return Value(kind, width, bits)


def view(value: Value, kind: str, width: int) -> Value:
    """`value.type`: the same bits under another type; but a float seen as a float is converted."""
    if value.kind == "DENORM":
        return value
    if value.is_float and kind in ("F", "BF"):
        return recast_float(value, kind, width)
    return wrap(kind, width, value.payload)


def cast(value: Value, kind: str, width: int, is_hex: bool = False) -> Value:
    """`width'kind(value)`. To F, an integer is converted, except a hex literal, which stands for bits."""
    if kind != "F":
        return wrap(kind, width, value.payload)
    if value.is_float:
        return recast_float(value, kind, width)
    if is_hex or value.kind == "B":
        return wrap(kind, width, value.payload)
    fmt = float_format(Type("F", width))
    return Value("F", width, each(lambda number: sf.from_int(fmt, number), value.payload))


def recast_float(value: Value, kind: str, width: int) -> Value:
    """A float in another format. A signalling NaN stays one: the text asks `isSignalNAN(64'F(S0.f32))`."""
    if (value.kind, value.width) == (kind, width):
        return value
    source, target = float_format(value), float_format(Type(kind, width))

    def convert(bits: int) -> int:
        change = sf.reformat_nan if sf.is_nan(source, bits) else sf.convert
        return change(source, target, bits)

    return Value(kind, width, each(convert, value.payload))


def truth(value: Value) -> Test:
    """Whether a condition holds."""
    test: Test = value.payload != 0
    return test


def bit_slice(value: Value, high: Ints, low: Ints) -> Value:
    """Bits high..low; with high < low the bits are reversed, as in `S0.u32[0 : 31]`."""
    count = same(high - low) + 1
    if count > 0:
        return unsigned(count, value.payload >> low)
    count = 2 - count
    bits = value.payload >> high & ((1 << count) - 1)
    return Value("U", count, each(lambda number: int(f"{number:0{count}b}"[::-1], 2), bits))


def concat(parts: list[Value]) -> Value:
    """`{ high, ..., low }`."""
    width: int = 0
    bits: Ints = 0
    for part in parts:
        bits = bits << part.width | part.bits
        width += part.width
    return Value("B", width, bits)
