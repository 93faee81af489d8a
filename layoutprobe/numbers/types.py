"""The table of element types, one for every room.

Sources: IEEE 754-2019 (f16, f32, f64); OCP 8-bit Floating Point
Specification 1.0 (fp8 is E4M3, bf8 is E5M2); OCP Microscaling Formats 1.0 (fp6 is E2M3, bf6 is E3M2,
fp4 is E2M1, e8m0); the CDNA3 ISA guide (the FNUZ forms, with one more in the exponent's bias, no
infinities and no negative zero; xf32).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.numbers.element import ElementType


def _float(
    name: str, bits: int, precision: int, lowest: int, largest: float, nan: int | None,
    storage: str = "", library: str = "",
) -> ElementType:  # fmt: skip
    kept = np.dtype(storage or f"u{max(8, bits) // 8}")
    signed = name != "e8m0"
    return ElementType(name, bits, "float", signed, precision, largest, 2.0**lowest, nan, kept, library)


def _integer(name: str, bits: int, signed: bool) -> ElementType:
    kept = np.dtype(f"{'i' if signed and bits >= 8 else 'u'}{max(8, bits) // 8}")
    precision = bits - signed
    return ElementType(name, bits, "integer", signed, precision, float((1 << precision) - 1), 1.0, None, kept)


_F32_MAX = float(np.finfo(np.float32).max)
_XF32_MAX = 2.0**127 * (2 - 2.0**-10)

TYPES: Mapping[str, ElementType] = {
    kind.name: kind
    for kind in (
        # name, bits, significant bits, exponent of the smallest normal number, largest number, NaN
        _float("f64", 64, 53, -1022, float(np.finfo(np.float64).max), 0x7FF8 << 48, "f8"),
        _float("f32", 32, 24, -126, _F32_MAX, 0x7FC00000, "f4"),
        _float("f16", 16, 11, -14, 65504.0, 0x7E00, "f2"),
        _float("bf16", 16, 8, -126, 2.0**127 * (2 - 2.0**-7), 0x7FC0, library="bfloat16"),
        # An f32 whose low 13 bits do not count: NVIDIA's name and AMD's.
        _float("tf32", 32, 11, -126, _XF32_MAX, 0x7FC00000),
        _float("xf32", 32, 11, -126, _XF32_MAX, 0x7FC00000),
        _float("fp8", 8, 4, -6, 448.0, 0x7F, library="float8_e4m3fn"),
        _float("bf8", 8, 3, -14, 57344.0, 0x7F, library="float8_e5m2"),
        _float("fp8_fnuz", 8, 4, -7, 240.0, 0x80, library="float8_e4m3fnuz"),
        _float("bf8_fnuz", 8, 3, -15, 57344.0, 0x80, library="float8_e5m2fnuz"),
        _float("fp6", 6, 4, 0, 7.5, None, library="float6_e2m3fn"),
        _float("bf6", 6, 3, -2, 28.0, None, library="float6_e3m2fn"),
        _float("fp4", 4, 2, 0, 6.0, None, library="float4_e2m1fn"),
        _float("e8m0", 8, 1, -127, 2.0**127, 0xFF, library="float8_e8m0fnu"),
        *(_integer(f"{'i' if signed else 'u'}{bits}", bits, signed)
          for bits in (4, 8, 16, 32, 64) for signed in (True, False)),
        _integer("u6", 6, False),  # the bits of fp6 and bf6
        # RDNA: whether an element has a sign stands in the instruction. Here as if it had none.
        _integer("iu8", 8, False),
        _integer("iu4", 4, False),
    )
}  # fmt: skip


def element_type(name: str) -> ElementType:
    """The element type of that name.

    Raises:
        UsageError: no such type.
    """
    if name not in TYPES:
        raise UsageError(
            f"no element type named {name[:80]!r}",
            expected="one of: " + ", ".join(TYPES),
            hint=did_you_mean(name, TYPES),
        )
    return TYPES[name]


def rounded(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Values as an element of that type holds them at best; integer types leave them as they are."""
    kind = element_type(name)
    return kind.decode(kind.encode(values)) if kind.is_float else values
