"""Arithmetic as gfx1151 does it: DOT2 and the WMMA built of it ("silicon", against "ieee").

The rules were derived from about 12 million cases on a gfx1151 card (ROCm/rocm-systems issue
12056). One step adds two products to an accumulator on a common grid; terms of the sign opposite
to the accumulator's are one's complements, so that sums of mixed signs are not exact even for small
integers. A WMMA with f32, f16 or bf16 results is eight such steps, k pairs (0,1), (2,3), ...

Integer forms are exact in both modes. For RDNA4 no such study is known: there is no silicon mode.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from layoutprobe.machine.registers import Array
from layoutprobe.numbers import element_type

NAN_OPERAND = np.uint32(0xFFC00A3D)
"""Result where an element of A or B is a NaN."""
INVALID = np.uint32(0xFFC00000)
"""Result of infinity times zero and of infinity minus infinity."""
_QUIET = np.uint32(0x00400000)
_PRODUCT_BITS, _TERM_BITS = 24, 26
_NONE = np.int64(-(1 << 20))
"""Exponent of a term that is zero: below every other."""
_SMALLEST_NORMAL = np.float64(2.0**-126)


class Step(Struct, frozen=True):
    """What differs between result types.

    Attributes:
        inputs: "f16" or "bf16", of A and B.
        result: "f32", "f16" or "bf16": the accumulator is narrowed to it after every step.
    """

    inputs: str
    result: str = "f32"


def _exponent(value: Array, floor: int) -> Array:
    """Exponent of each number as its format has it: subnormals have that of the smallest normal."""
    _, exponent = np.frexp(value)
    return np.where(value == 0, _NONE, np.maximum(exponent.astype(np.int64) - 1, floor))


def _lowest(kind: str) -> int:
    """Exponent of the smallest normal number of a type."""
    return int(np.log2(element_type(kind).normal))


def _flushed(value: Array) -> Array:
    return np.where(np.abs(value) < _SMALLEST_NORMAL, np.copysign(0.0, value), value)


def dot2(step: Step, pairs: tuple[Array, Array, Array, Array], bits: Array) -> Array:
    """a0 * b0 + a1 * b1 + c as the card does it.

    Args:
        step: types of the operands.
        pairs: a0, b0, a1, b1 as float64.
        bits: c, as uint32 bits of an f32.

    Returns:
        uint32 bits of an f32, representable in the result type.
    """
    a0, b0, a1, b1 = pairs
    floor = _lowest(step.inputs)
    if step.inputs == "bf16":
        a0, b0, a1, b1 = (_flushed(x) for x in (a0, b0, a1, b1))
    c = np.ascontiguousarray(bits).view(np.float32).astype(np.float64)
    c = c if step.result == "f16" else _flushed(c)
    negative = np.signbit(c)
    products = (a0 * b0, a1 * b1)
    grid = np.full(np.broadcast(products[0], c).shape, _NONE)
    for x, y in ((a0, b0), (a1, b1)):
        both = np.where((x == 0) | (y == 0), _NONE, _exponent(x, floor) + _exponent(y, floor))
        grid = np.maximum(grid, both - _PRODUCT_BITS)
    leading = _exponent(c, _lowest(step.result))
    for product in products:
        leading = np.maximum(leading, _exponent(product, -(1 << 12)))
    grid = np.maximum(grid, leading - _TERM_BITS)
    unit = np.where(grid < -(1 << 12), 0, grid).astype(np.int32)
    total = np.floor(np.ldexp(np.abs(c), -unit))
    for product in products:
        size = np.floor(np.ldexp(np.abs(product), -unit))
        opposite = (np.signbit(product) != negative) & (product != 0)
        total = total + np.where(opposite, -size - 1, size)
    value = np.ldexp(np.where(negative, -total, total), unit)
    return _special(step, pairs, products, c, bits, _narrowed(step.result, value))


def _narrowed(result: str, value: Array) -> Array:
    """float64 -> f32 bits of a number that the result type has."""
    single = value.astype(np.float32)
    single = np.where(np.abs(single) < np.float32(_SMALLEST_NORMAL), np.float32(0), single)
    if result == "f16":
        single = single.astype(np.float16).astype(np.float32)
    single = np.where(single == 0, np.float32(0), single)
    bits = np.ascontiguousarray(single).view(np.uint32)
    return bits & np.uint32(0xFFFF0000) if result == "bf16" else bits


def _special(
    step: Step, pairs: tuple[Array, ...], products: tuple[Array, Array], c: Array, c_bits: Array, bits: Array
) -> Array:
    """Infinities and NaN in place of what the grid makes of them."""
    finite = np.isfinite(products[0]) & np.isfinite(products[1]) & np.isfinite(c)
    if finite.all():
        return bits
    with np.errstate(invalid="ignore"):
        total = products[0] + products[1] + c
    bits = np.where(np.isinf(total), total.astype(np.float32).view(np.uint32), bits)
    bits = np.where(np.isnan(total), INVALID, bits)
    bits = np.where(np.isnan(c), np.broadcast_to(c_bits, bits.shape) | _QUIET, bits)
    operand = np.zeros(bits.shape, np.bool_)
    for value in pairs:
        operand |= np.isnan(value)
    bits = np.where(operand, NAN_OPERAND, bits)
    return bits.astype(np.uint32)


def multiply_add(step: Step, a: Array, b: Array, bits: Array) -> Array:
    """A * B + C in steps of two k.

    Args:
        step: types of the operands.
        a: [wave, row, k], numbers.
        b: [wave, k, col].
        bits: C, uint32 bits of f32: [wave, row, col].

    Returns:
        As `dot2`: [wave, row, col].
    """
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        for k in range(0, a.shape[2], 2):
            pairs = (
                a[:, :, k, None],
                b[:, None, k, :],
                a[:, :, k + 1, None],
                b[:, None, k + 1, :],
            )
            bits = dot2(step, pairs, bits)
    return bits
