"""Division: V_DIV_SCALE, V_RCP, a chain of V_FMA, V_DIV_FMAS and V_DIV_FIXUP.

AMD's pseudocode of these contradicts itself: DIV_SCALE scales by 2**64 (f32) and DIV_FMAS undoes
2**32, always upwards. What holds is the purpose: the whole chain, as compilers emit it, rounds
correctly, subnormals and overflow included. The tests divide through the chain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutprobe.machine.registers import Array
from layoutprobe.semantics import floats
from layoutprobe.semantics.op import Compute
from layoutprobe.semantics.valu import vop


def _biased(a: Array) -> Array:
    """Biased exponent field."""
    if a.dtype == np.float32:
        return ((a.view(np.uint32) >> np.uint32(23)) & np.uint32(0xFF)).astype(np.int64)
    return ((a.view(np.uint64) >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.int64)


def _subnormal(a: Array) -> Array:
    result: Array = (np.abs(a) < np.finfo(a.dtype).tiny) & (a != 0)
    return result


def _scale(step: int, near_max: int, tiny: int) -> Compute:
    """V_DIV_SCALE: scales numerator or denominator (source 0 is one of them) out of trouble.

    The flag asks V_DIV_FMAS to scale the quotient back.
    """

    def compute(s0: Array, denominator: Array, numerator: Array) -> tuple[Array, Array]:
        x, d, n = np.broadcast_arrays(s0, denominator, numerator)
        up, down = floats.ldexp(x, np.array(step)), floats.ldexp(x, np.array(-step))
        small_inverse, small_quotient = _subnormal(x.dtype.type(1) / d), _subnormal(n / d)
        cases = [
            ((d == 0) | (n == 0), np.full(x.shape, np.nan, x.dtype), False),
            (_biased(n) - _biased(d) >= near_max, np.where(x == d, up, x), True),
            (_subnormal(d), up, False),
            (small_inverse & small_quotient, np.where(x == d, down, x), True),
            (small_inverse, down, False),
            (small_quotient, np.where(x == n, up, x), True),
            (_biased(n) <= tiny, up, False),
        ]
        conditions = [condition for condition, _, _ in cases]
        scaled = np.select(conditions, [value for _, value, _ in cases], x)
        flags = [np.full(x.shape, flag) for _, _, flag in cases]
        return scaled, np.select(conditions, flags, False)

    return compute


def _power(step: int, one: int, c: Array, flag: Array) -> Array:
    """V_DIV_FMAS scales a large quotient up and a small one down."""
    return np.where(flag, np.where(_biased(c) > one, step, -step), 0)


def _fmas_f32(a: Array, b: Array, c: Array, flag: Array) -> Array:
    exact = floats.add_to_odd(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    return np.ldexp(exact, _power(64, 127, c, flag)).astype(np.float32)


def _fmas_f64(a: Array, b: Array, c: Array, flag: Array) -> Array:
    return floats.fma64(a, b, c, _power(128, 1023, c, flag))


def _fixup(dtype: Any, underflow: int, overflow: int) -> Compute:
    """V_DIV_FIXUP: special cases of the quotient in source 0; denominator, numerator follow.

    Args:
        underflow, overflow: differences of the exponents beyond which the quotient is 0 or infinite
            whatever the chain made of it; 0 for f16, whose chain runs in f32.
    """

    def compute(quotient: Array, denominator: Array, numerator: Array) -> Array:
        q, d, n = np.broadcast_arrays(quotient, denominator, numerator)
        negative = np.signbit(d) ^ np.signbit(n)

        def signed(magnitude: Array) -> Array:
            return np.where(negative, -magnitude, magnitude)

        infinite, zero = (d == 0) | np.isinf(n), np.isinf(d) | (n == 0)
        if overflow:
            difference = _biased(n) - _biased(d)
            infinite, zero = infinite | (difference > overflow), zero | (difference < -underflow)
        undecided = ((d == 0) & (n == 0)) | (np.isinf(d) & np.isinf(n))
        cases = [np.isnan(n), np.isnan(d), undecided, infinite, zero]
        values = [n, d, np.full(q.shape, np.nan, dtype), signed(dtype(np.inf)), signed(dtype(0))]
        return np.select(cases, values, signed(np.abs(q)))

    return compute


vop("v_div_scale_f32", "f32 mask", "f32 f32 f32", _scale(64, 96, 23))
vop("v_div_scale_f64", "f64 mask", "f64 f64 f64", _scale(128, 768, 53))
vop("v_div_fmas_f32", "f32", "f32 f32 f32 mask", _fmas_f32)
vop("v_div_fmas_f64", "f64", "f64 f64 f64 mask", _fmas_f64)
vop("v_div_fixup_f16", "f16", "f16 f16 f16", _fixup(np.float16, 0, 0))
vop("v_div_fixup_f32", "f32", "f32 f32 f32", _fixup(np.float32, 150, 128))
vop("v_div_fixup_f64", "f64", "f64 f64 f64", _fixup(np.float64, 1075, 1024))
