"""Matrices as WMMA registers and back, written down from the published layout.

Layout: AMD matrix instruction calculator (rdna3, wave32) and the RDNA3 ISA guide, 7.9. Lane l holds row
l % 16 of A and column l % 16 of B, k ascending with bit position; D[2 * v + l // 16][l % 16] is in VGPR
v of lane l. An output lane takes A and B from its own half-wave. EXEC plays no part.
"""

from __future__ import annotations

import numpy as np
from emulator.lab import LANES, Array
from msgspec import Struct


class Form(Struct, frozen=True):
    """One instruction: registers of A and B, bits of an element, type of D."""

    name: str
    registers: int
    bits: int
    result: str


FORMS = {
    "f32_f16": Form("v_wmma_f32_16x16x16_f16", 8, 16, "f32"),
    "f32_bf16": Form("v_wmma_f32_16x16x16_bf16", 8, 16, "f32"),
    "f16_f16": Form("v_wmma_f16_16x16x16_f16", 8, 16, "f16"),
    "bf16_bf16": Form("v_wmma_bf16_16x16x16_bf16", 8, 16, "bf16"),
    "i32_iu8": Form("v_wmma_i32_16x16x16_iu8", 4, 8, "i32"),
    "i32_iu4": Form("v_wmma_i32_16x16x16_iu4", 2, 4, "i32"),
}
FLOATS = ("f32_f16", "f32_bf16", "f16_f16", "bf16_bf16")


def loads(first: int, count: int, pointer: int, part: int = 0) -> str:
    """Registers v[first:first+count-1] from dword [register][lane] of a pointer."""
    lines = [
        f"global_load_b32 v{first + i}, v1, s[{pointer}:{pointer + 1}] offset:{128 * (i + part)}"
        for i in range(count)
    ]
    return "\n".join([*lines, "s_waitcnt vmcnt(0)"])


def stores(first: int, count: int = 8, part: int = 0) -> str:
    return "\n".join(
        f"global_store_b32 v1, v{first + i}, s[4:5] offset:{128 * (i + part)}" for i in range(count)
    )


def pack(matrix: Array, bits: int) -> Array:
    """Elements [16 rows, 16 k] as raw codes -> uint32 [vgpr, 16 lanes], k ascending with bit position."""
    per = 32 // bits
    codes = matrix.astype(np.uint64).reshape(16, 16 // per, per) & np.uint64((1 << bits) - 1)
    shifts = np.uint64(bits) * np.arange(per, dtype=np.uint64)
    return (codes << shifts).sum(axis=2).astype(np.uint32).T


def replicated(lower: Array, upper: Array | None = None) -> Array:
    return np.concatenate([lower, lower if upper is None else upper], axis=1)


def to_rows(d: Array) -> Array:
    """D registers [vgpr, lane] -> [row, col]."""
    rows = np.empty((16, 16), d.dtype)
    for v in range(8):
        for lane in range(LANES):
            rows[2 * v + lane // 16, lane % 16] = d[v, lane]
    return rows


def from_rows(c: Array) -> Array:
    registers = np.empty((8, LANES), c.dtype)
    for v in range(8):
        for lane in range(LANES):
            registers[v, lane] = c[2 * v + lane // 16, lane % 16]
    return registers


def bf16_value(codes: Array) -> Array:
    return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def f16_value(codes: Array) -> Array:
    return codes.astype(np.uint16).view(np.float16).astype(np.float64)


def small_floats(form: str, seed: int) -> Array:
    """Codes of multiples of 1/8 up to 4: products and sums of 16 of them are exact in f32."""
    values = np.random.default_rng(seed).integers(-32, 33, (16, 16)) / 8.0
    if "bf16" in form:
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(np.float16).view(np.uint16)


def value(form: str, codes: Array) -> Array:
    return bf16_value(codes) if "bf16" in form else f16_value(codes)


def signed(codes: Array, bits: int) -> Array:
    codes = codes.astype(np.int64)
    return np.where(codes >> bits - 1 & 1, codes - (1 << bits), codes)


def expected(form: str, a: Array, b: Array, c: Array, upper: tuple[Array, Array] | None = None) -> Array:
    """[row, col] of A * B + C in f64; even rows from the lower copies, odd rows from the upper ones."""
    out = value(form, a) @ value(form, b).T + c
    if upper is not None:
        out[1::2] = (value(form, upper[0]) @ value(form, upper[1]).T + c)[1::2]
    return out


def accumulator(form: str, seed: int) -> tuple[Array, Array]:
    """C as exact values [row, col] and as registers."""
    values = np.random.default_rng(seed).integers(-40, 41, (16, 16)) / 4.0
    return values, from_rows(encoded(form, values))


def encoded(form: str, values: Array) -> Array:
    if form.startswith("f32"):
        return values.astype(np.float32).view(np.uint32)
    if form.startswith("f16"):
        return values.astype(np.float16).view(np.uint16).astype(np.uint32)
    bits = values.astype(np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def decoded(form: str, rows: Array) -> Array:
    if form.startswith("f32"):
        return rows.view(np.float32).astype(np.float64)
    return f16_value(rows & 0xFFFF) if form.startswith("f16") else bf16_value(rows & 0xFFFF)
