"""Carriers: how a code becomes the bits of a matrix element, and whether it does so exactly.

A code that is not exact in its carrier names the wrong element in silence: row*256 + col as an
f16 *value* is rounded above 2048, as raw 16-bit *bits* it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import UsageError

MAX_SCALE = 1 << 20
_EXACT_FLOAT64 = 1 << 53


@dataclass(frozen=True)
class Carrier:
    """One way of holding a code in a matrix element.

    Attributes:
        name: "raw16" (bits), or the numeric dtype.
        bits: width of an element.
        kind: "raw" stores the code's bits, the others store the number code/scale.
        low, high: range of the integers that fit (raw and int only).
    """

    name: str
    bits: int
    kind: Literal["raw", "int", "float"]
    low: int = 0
    high: int = 0

    @property
    def storage(self) -> np.dtype[np.unsignedinteger]:
        """Smallest unsigned dtype that holds an element."""
        return np.dtype(f"uint{max(8, self.bits)}")

    def encode(
        self, code: NDArray[np.int64], scale: int = 1
    ) -> tuple[NDArray[np.unsignedinteger], NDArray[np.bool_]]:
        """Raw bits of every code, and where they are exact (elsewhere the bits mean nothing).

        Args:
            code: any shape.
            scale: denominator of the number, 1 to MAX_SCALE; raw carriers ignore it.
        """
        if self.kind == "float":
            raw, exact = _encode_float(self.name, code, scale)
            return raw.astype(self.storage), exact
        whole = code if self.kind == "raw" else code // scale
        exact = (whole >= self.low) & (whole <= self.high)
        if self.kind == "int":
            exact &= code % scale == 0
        return (whole & ((1 << self.bits) - 1)).astype(self.storage), exact


def _encode_float(
    name: str, code: NDArray[np.int64], scale: int
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.bool_]]:
    value = code / scale
    with np.errstate(over="ignore"):
        if name == "f16":
            half = value.astype(np.float16)
            raw: NDArray[np.unsignedinteger] = half.view(np.uint16)
            held = half.astype(np.float64)
        else:
            bits = value.astype(np.float32).view(np.uint32)
            if name == "bf16":
                bits = bits & np.uint32(0xFFFF0000)
            held = bits.view(np.float32).astype(np.float64)
            raw = bits >> np.uint32(16) if name == "bf16" else bits
    # held has at most 24 significant bits and scale at most 21, so that the product is exact.
    return raw, (held * scale == code) & (np.abs(code) < _EXACT_FLOAT64)


def _integer(name: str, bits: int, signed: bool) -> Carrier:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return Carrier(name, bits, "int", low, high)


CARRIERS: dict[str, Carrier] = {
    carrier.name: carrier
    for carrier in (
        *(Carrier(f"raw{bits}", bits, "raw", 0, (1 << bits) - 1) for bits in (8, 16, 32)),
        Carrier("f16", 16, "float"),
        Carrier("bf16", 16, "float"),
        Carrier("f32", 32, "float"),
        _integer("i8", 8, True),
        _integer("u8", 8, False),
        _integer("i4", 4, True),
        _integer("u4", 4, False),
        _integer("i32", 32, True),
    )
}

DTYPE_CARRIERS: dict[str, tuple[str, ...]] = {
    "f16": ("raw16", "f16"),
    "bf16": ("raw16", "bf16"),
    "f32": ("raw32", "f32"),
    "i32": ("raw32", "i32"),
    "iu8": ("raw8", "u8"),
    "i8": ("raw8", "i8"),
    "u8": ("raw8", "u8"),
    "iu4": ("u4",),
    "i4": ("u4", "i4"),
    "u4": ("u4",),
}
"""Carriers whose bits fit an element of a dtype, best first."""


def carrier_of(name: str) -> Carrier:
    """The carrier of that name.

    Raises:
        UsageError: no such carrier.
    """
    try:
        return CARRIERS[name]
    except KeyError:
        raise UsageError(f"Unknown carrier {name!r}", hint="known: " + ", ".join(CARRIERS)) from None
