"""Bit patterns at which instructions go wrong: signs, limits, halfway cases, odd floats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F16 = (0x0000, 0x8000, 0x3C00, 0xBC00, 0x3800, 0x3E00, 0x4100, 0xC500, 0x0001, 0x83FF, 0x0400, 0x8400, 0x7BFF,
       0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE01, 0x3BFF, 0x3C01, 0x6800, 0x67FF, 0x5640)  # fmt: skip
F32 = (
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x3F000000, 0xBF000000, 0x3FC00000, 0x40200000, 0xC0A00000,
    0x00000001, 0x807FFFFF, 0x00800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
    0x7F800001, 0xFFC00001, 0x3F7FFFFF, 0x3F800001, 0x4B800000, 0x4B7FFFFF, 0x4F000000, 0x4EFFFFFF, 0xCF000000,
    0xCF000001, 0x4F800000, 0x4F7FFFFF, 0x477FE000, 0x477FF000, 0x477FEFFF, 0x33000000, 0x33000001, 0x387FE000,
    0x38800000, 0x38801000, 0x3EFFFFFF, 0x3E22F983, 0x42FE0000, 0xC3160000, 0x42B17218, 0x437F8000, 0xC2C80000,
)  # fmt: skip
"""Among them 65504 and the values around its rounding limits, 2**31, 2**32, and powers for exp."""
F64 = (
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FE0000000000000,
    0x4004000000000000, 0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
    0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001,
    0x3FEFFFFFFFFFFFFF, 0x3FF0000000000001, 0x41DFFFFFFFC00000, 0x41E0000000000000, 0xC1E0000000000000,
    0x41EFFFFFFFE00000, 0x41F0000000000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x36A0000000000000,
    0x3690000000000000, 0x3810000000000000, 0x5FE0000000000000, 0x2000000000000000, 0xE0B0000000000001,
)  # fmt: skip
INTEGERS = {
    width: tuple(
        dict.fromkeys(
            v & (1 << width) - 1
            for v in (
                0, 1, 2, 3, -1, -2, 1 << width - 1, (1 << width - 1) - 1, (1 << width - 1) + 1, width - 1, width,
                width + 1, 1 << width // 2, (1 << width // 2) - 1, 0x5555_5555_5555_5555, 0x8000_0001_7FFF_FFFE,
                0x00FF_00FF_8000_FFFF, 0xFF80_0000_0080_0000, 100,
            )
        )
    )
    for width in (8, 16, 24, 32, 64)
}  # fmt: skip
SELECTORS = (0x07060504, 0x03020100, 0x0C0B0A09, 0x080D0F0C, 0x00040105, 0xFF102030, 0x060C010C)
"""Byte selectors of V_PERM."""


DOUBLE_ROUNDING = {
    "f16": (0x3C01, 0x3E00, 0x8001),
    "f32": (0x3F800001, 0x3FC00000, 0x80000001),
    "f64": (0x3FF0000000000001, 0x3FF8000000000000, 0x8000000000000001),
}
"""Sources of an fma: the product is a tie, the addend is too small for any wider format and decides it."""


def patterns(fmt: str, bits: int) -> tuple[int, ...]:
    """Edge values of a number format as AMD's tables name it, as raw bits."""
    if fmt in ("F16", "F32", "F64"):
        return {"F16": F16, "F32": F32, "F64": F64}[fmt]
    if fmt in ("PK2_F16",):
        return tuple(a | F16[-i] << 16 for i, a in enumerate(F16))
    if fmt == "PK2_BF16":
        return tuple(a >> 16 | F32[-i] & 0xFFFF0000 for i, a in enumerate(F32))
    if fmt.startswith("PK2"):
        values = INTEGERS[16]
        return tuple(a | values[-i] << 16 for i, a in enumerate(values))
    if fmt == "B32":
        return tuple(dict.fromkeys(INTEGERS[32] + SELECTORS + F32[:20]))
    return INTEGERS[bits if bits in INTEGERS else 32]


def draw(rng: np.random.Generator, fmt: str, bits: int, shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Values for a source: edges, random bits, and for floats also moderate numbers."""
    pool = np.array(patterns(fmt, bits), np.uint64)
    edges = pool[rng.integers(0, len(pool), shape)]
    mask = np.uint64((1 << bits) - 1)
    noise = rng.integers(0, 1 << 64, shape, np.uint64) & mask
    tame = _moderate(rng, fmt, shape)
    choice = rng.integers(0, 4, shape)
    return np.where(choice < 2, edges, np.where(choice == 2, noise, noise if tame is None else tame))


def _moderate(rng: np.random.Generator, fmt: str, shape: tuple[int, ...]) -> NDArray[np.uint64] | None:
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    match fmt:
        case "F16":
            return values.astype(np.float16).view(np.uint16).astype(np.uint64)
        case "F32":
            return values.astype(np.float32).view(np.uint32).astype(np.uint64)
        case "F64":
            return values.astype(np.float64).view(np.uint64)
        case "PK2_F16":
            pair = np.stack([values, values[..., ::-1]], -1).astype(np.float16)
            return pair.view(np.uint32)[..., 0].astype(np.uint64)
    return None
