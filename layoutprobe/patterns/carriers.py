"""Carriers: how a code becomes the bits of a matrix element, and whether it does so exactly.

A code that is not exact in its carrier names the wrong element in silence: row*256 + col as an
f16 *value* is rounded above 2048, as raw 16-bit *bits* it is not.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.numbers import ElementType, element_type

MAX_SCALE = 1 << 20
_EXACT_FLOAT64 = 1 << 53


class Carrier(Struct, frozen=True):
    """One way of holding a code in a matrix element.

    Attributes:
        name: "raw16" (bits), or the numeric element type.
        element: the type; of raw carriers unsigned integers of their width.
        raw: the code is stored itself; else the number code/scale.
    """

    name: str
    element: ElementType
    raw: bool = False

    @property
    def bits(self) -> int:
        """Width of an element."""
        return self.element.bits

    def encode(
        self, code: NDArray[np.int64], scale: int = 1
    ) -> tuple[NDArray[np.unsignedinteger], NDArray[np.bool_]]:
        """Raw bits of every code, and where they are exact (elsewhere the bits mean nothing).

        Args:
            code: any shape.
            scale: denominator of the number, 1 to MAX_SCALE; raw carriers ignore it.
        """
        if self.raw or scale == 1:
            return self.element.encode(code), self.element.holds(code) & (np.abs(code) < _EXACT_FLOAT64)
        raw = self.element.encode(code / scale)
        # What is held has at most 24 significant bits and scale at most 21: the product is exact.
        held = self.element.decode(raw)
        return raw, (held * scale == code) & (np.abs(code) < _EXACT_FLOAT64)


CARRIERS: dict[str, Carrier] = {
    **{f"raw{bits}": Carrier(f"raw{bits}", element_type(f"u{bits}"), raw=True) for bits in (4, 6, 8, 16, 32, 64)},
    **{name: Carrier(name, element_type(name))
       for name in ("f16", "bf16", "f32", "f64", "i8", "u8", "i4", "u4", "i32",
                    "fp8", "bf8", "fp8_fnuz", "bf8_fnuz")},
}  # fmt: skip


def _carriers_of(dtype: str) -> tuple[str, ...]:
    """Its bits themselves, and its numbers where patterns can be held in them; iu8 and iu4 as if they had no sign."""
    names = (f"raw{element_type(dtype).bits}", dtype.replace("iu", "u"))
    return tuple(name for name in names if name in CARRIERS)


DTYPE_CARRIERS: dict[str, tuple[str, ...]] = {
    dtype: _carriers_of(dtype)
    for dtype in (
        *("f16", "bf16", "f32", "xf32", "f64", "fp8", "bf8", "fp8_fnuz", "bf8_fnuz", "fp6", "bf6", "fp4"),
        *("i32", "iu8", "i8", "u8", "iu4", "i4", "u4"),
    )
}
"""Carriers whose bits fit an element of a dtype, best first."""


def carrier_of(name: str) -> Carrier:
    """The carrier of that name.

    Raises:
        UsageError: no such carrier.
    """
    if name not in CARRIERS:
        raise UsageError(
            f"Unknown carrier {name[:60]!r}",
            expected="one of " + ", ".join(CARRIERS),
            hint=did_you_mean(name, CARRIERS),
        )
    return CARRIERS[name]
