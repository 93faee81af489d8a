"""An element type: its width, the numbers it holds, and how its bits become numbers and back.

numpy converts its own types, ml_dtypes the small floats, this module the rest: integers, and the
f32 of which only the upper 19 bits count.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from layoutprobe.errors import UsageError

Raw = NDArray[np.unsignedinteger]
Doubles = NDArray[np.float64]
Floats = NDArray[np.float64] | NDArray[np.float32]

_UNUSED = 13
"""Low bits of a tf32 or xf32 that do not count."""


class ElementType(Struct, frozen=True):
    """A type of matrix elements.

    Attributes:
        name: as instructions and manifests call it.
        bits: width of an element.
        kind: "float", or "integer".
        signed: there are negative numbers.
        precision: significant bits; of floats the implicit one included.
        largest: the largest number.
        normal: the smallest normal number of a float; 1 for integers.
        nan: raw code of the NaN that `encode` writes; None for a type without one.
        storage: how numpy keeps an array of elements: its own type, or raw codes where it has none.
        library: name of the type in ml_dtypes; "" where numpy or this module converts.
    """

    name: str
    bits: int
    kind: Literal["float", "integer"]
    signed: bool
    precision: int
    largest: float
    normal: float
    nan: int | None
    storage: np.dtype[Any]
    library: str = ""

    @property
    def is_float(self) -> bool:
        """Whether the type has an exponent."""
        return self.kind == "float"

    @property
    def smallest(self) -> float:
        """The smallest number above zero."""
        return self.normal * 2.0 ** (1 - self.precision) if self.is_float else 1.0

    @property
    def low(self) -> int:
        """The lowest number of an integer type."""
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def exact(self) -> int:
        """The largest n such that the type holds every integer from 1 to n."""
        whole = 1 << self.precision
        return min(whole, int(self.largest)) if self.is_float else whole - 1

    @property
    def raw(self) -> np.dtype[np.unsignedinteger]:
        """The unsigned integers that hold raw codes: 8, 16, 32 or 64 bits."""
        return np.dtype(f"u{max(8, self.bits) // 8}")

    @property
    def mask(self) -> int:
        """The bits of an element."""
        return (1 << self.bits) - 1

    def decode(self, raw: NDArray[Any]) -> Doubles:
        """Numbers of raw codes: exact, but for integers beyond 2**53, which are rounded.

        Args:
            raw: unsigned integers, any shape; bits above those of an element do not count.
        """
        if self.bits <= 8:
            return _values(self)[np.asarray(raw) & self.mask]
        return _numbers(self, np.asarray(raw).astype(self.raw))

    def encode(self, values: ArrayLike) -> Raw:
        """Raw codes of the nearest numbers, in dtype `raw`; shape of the values.

        Rounds once, to nearest; a tie goes to the even significand. What is then beyond the largest
        number becomes infinity; NaN in a float without infinities; and the largest number in a type
        that has neither. Any NaN becomes `nan`. e8m0 holds powers of two alone: zero and negative
        numbers become its NaN. Integers (values of an integer dtype) of which an integer type has not
        all bits keep their low ones, as a store does it.

        Raises:
            UsageError: a NaN, and the type has none.
        """
        values = np.asarray(values)
        if self.kind == "integer" and values.dtype.kind in "iub":
            return (values.astype(np.uint64) & np.uint64(self.mask)).astype(self.raw)  # two's complement
        numbers = values if values.dtype == np.float32 else values.astype(np.float64)
        nan = np.isnan(numbers)
        if self.nan is None and nan.any():
            raise UsageError(f"{self.name} has no NaN", hint="give finite numbers")
        if self.kind == "integer":
            return _clipped(self, np.rint(numbers))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            raw = _codes(self, numbers)
        return raw if self.nan is None else np.where(nan, self.raw.type(self.nan), raw)

    def store(self, values: ArrayLike) -> NDArray[Any]:
        """As `encode`, in dtype `storage`; where that is numpy's own, a NaN keeps its sign and its bits."""
        stored = self.encode(values).view(self.storage)
        if self.storage.kind != "f" or not np.isnan(stored).any():
            return stored
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.where(np.isnan(stored), np.asarray(values).astype(self.storage), stored)

    def load(self, stored: NDArray[Any]) -> NDArray[Any]:
        """The numbers that `store` stored, in numpy's own type; in f32 where it has none of that name."""
        stored = np.ascontiguousarray(stored)
        if self.is_float and self.storage.kind != "f":
            return self.decode(stored).astype(np.float32)
        return stored.copy()

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which numbers the type has exactly."""
        return np.asarray(self.decode(self.encode(values)) == values)

    def values(self) -> Doubles:
        """The number of every raw code, in their order; for types of at most 16 bits. Read only."""
        return _values(self)


@cache
def _values(kind: ElementType) -> Doubles:
    assert kind.bits <= 16
    table = _numbers(kind, np.arange(1 << kind.bits).astype(kind.raw))
    table.setflags(write=False)
    return table


def _library(kind: ElementType) -> np.dtype[Any]:
    import ml_dtypes  # takes 18 ms, which only those types are worth that need it

    return np.dtype(getattr(ml_dtypes, kind.library))


def _numbers(kind: ElementType, raw: Raw) -> Doubles:
    """Numbers of codes in the type's own dtype."""
    raw = np.ascontiguousarray(raw)
    with np.errstate(invalid="ignore"):  # among all bits are signalling NaNs
        if kind.kind == "integer":
            sign = kind.raw.type(1 << kind.bits - 1 if kind.signed else 0)
            whole = raw & kind.raw.type(kind.mask)
            if not kind.signed:
                return whole.astype(np.float64)
            signed = np.dtype(f"i{kind.raw.itemsize}")
            return np.asarray(((whole ^ sign) - sign).view(signed).astype(np.float64))
        if kind.library:
            return raw.view(_library(kind)).astype(np.float64)
        if kind.precision == 11 and kind.bits == 32:
            return (raw >> np.uint32(_UNUSED) << np.uint32(_UNUSED)).view(np.float32).astype(np.float64)
        return raw.view(kind.storage).astype(np.float64)


def _clipped(kind: ElementType, whole: NDArray[Any]) -> Raw:
    """Codes of whole floats, the nearest one for those out of range."""
    low, high = kind.low, kind.exact
    under, over = whole <= low, whole >= high
    inside = np.where(under | over, 0, whole).astype(np.uint64 if not kind.signed else np.int64)
    ends = (np.uint64(end & (1 << 64) - 1) for end in (low, high))
    code = np.select([under, over], list(ends), inside.astype(np.uint64))
    return np.asarray(code & np.uint64(kind.mask)).astype(kind.raw)


def _codes(kind: ElementType, numbers: Floats) -> Raw:
    """Codes of floats; those of NaN mean nothing."""
    if not kind.signed:
        return _powers(kind, numbers)
    if kind.library:
        return _to_odd(numbers).view(np.float32).astype(_library(kind)).view(kind.raw)
    if kind.precision == 11 and kind.bits == 32:
        bits = _to_odd(numbers)
        half = np.uint32((1 << _UNUSED - 1) - 1) + (bits >> np.uint32(_UNUSED) & np.uint32(1))
        return bits + half >> np.uint32(_UNUSED) << np.uint32(_UNUSED)
    return numbers.astype(kind.storage).view(kind.raw)


def _powers(kind: ElementType, numbers: Floats) -> Raw:
    """Codes of e8m0. ml_dtypes rounds the lowest of them up wherever they lie between two."""
    fraction, exponent = np.frexp(numbers)
    code = np.maximum(exponent - 1 + (fraction >= 0.75) - int(np.log2(kind.normal)), 0)
    known = (numbers > 0) & np.isfinite(numbers) & (code < kind.mask)
    return np.where(known, code, kind.mask).astype(kind.raw)


def _to_odd(numbers: Floats) -> NDArray[np.uint32]:
    """Bits of f32, inexact ones cut off and made odd, so that rounding them again is right.

    ml_dtypes converts a float64 by way of f32, which alone would round twice (Boldo and Melquiond,
    "Emulation of FMA and correctly rounded sums", 2008).
    """
    single = np.asarray(numbers, np.float32)
    if numbers.dtype == np.float32:
        return single.view(np.uint32)
    back = single.astype(np.float64)
    inexact = back != numbers
    bits = single.view(np.uint32)
    if not inexact.any():
        return bits
    cut = bits - (np.abs(back) > np.abs(numbers))
    return np.where(inexact, cut | 1, bits).astype(np.uint32)
