"""Floating-point instructions of the vector ALU. Source: RDNA3.5 ISA guide, chapter 16.

Transcendentals are rounded from f64; the hardware is allowed one ulp, so results of real silicon
may differ in the last bit.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from layoutprobe.machine.registers import Array
from layoutprobe.semantics import floats, powers
from layoutprobe.semantics.definedness import OnlyBits
from layoutprobe.semantics.op import Compute
from layoutprobe.semantics.operands import DTYPES
from layoutprobe.semantics.valu import vop

_FMA = {"f16": floats.fma16, "f32": floats.fma32, "f64": floats.fma64}

for _kind in ("f16", "f32", "f64"):
    _two, _three = f"{_kind} {_kind}", f"{_kind} {_kind} {_kind}"
    vop(f"v_add_{_kind}", _kind, _two, np.add)
    vop(f"v_mul_{_kind}", _kind, _two, np.multiply)
    vop(f"v_min_{_kind}", _kind, _two, floats.minimum)
    vop(f"v_max_{_kind}", _kind, _two, floats.maximum)
    vop(f"v_fma_{_kind}", _kind, _three, _FMA[_kind])
    vop(f"v_floor_{_kind}", _kind, _kind, np.floor)
    vop(f"v_ceil_{_kind}", _kind, _kind, np.ceil)
    vop(f"v_trunc_{_kind}", _kind, _kind, np.trunc)
    vop(f"v_rndne_{_kind}", _kind, _kind, np.rint)
    vop(f"v_fract_{_kind}", _kind, _kind, floats.fract)
    vop(f"v_frexp_mant_{_kind}", _kind, _kind, floats.mantissa)
vop("v_frexp_exp_i16_f16", "i16", "f16", partial(floats.exponent, dtype=np.int16))
vop("v_frexp_exp_i32_f32", "i32", "f32", partial(floats.exponent, dtype=np.int32))
vop("v_frexp_exp_i32_f64", "i32", "f64", partial(floats.exponent, dtype=np.int32))
vop("v_ldexp_f16", "f16", "f16 i16", floats.ldexp)
vop("v_ldexp_f32", "f32", "f32 i32", floats.ldexp)
vop("v_ldexp_f64", "f64", "f64 i32", floats.ldexp)

for _kind in ("f16", "f32"):
    _two, _three = f"{_kind} {_kind}", f"{_kind} {_kind} {_kind}"
    _fma = _FMA[_kind]
    vop(f"v_sub_{_kind}", _kind, _two, np.subtract)
    vop(f"v_subrev_{_kind}", _kind, _two, lambda a, b: b - a)
    vop(f"v_fmac_{_kind}", _kind, _two, _fma, implicit=_kind)
    vop(f"v_fmaak_{_kind}", _kind, _three, _fma)
    vop(f"v_fmamk_{_kind}", _kind, _three, _fma)
    vop(f"v_min3_{_kind}", _kind, _three, lambda a, b, c: floats.minimum(floats.minimum(a, b), c))
    vop(f"v_max3_{_kind}", _kind, _three, lambda a, b, c: floats.maximum(floats.maximum(a, b), c))
    vop(f"v_med3_{_kind}", _kind, _three, floats.median)
    vop(f"v_maxmin_{_kind}", _kind, _three, lambda a, b, c: floats.minimum(floats.maximum(a, b), c))
    vop(f"v_minmax_{_kind}", _kind, _three, lambda a, b, c: floats.maximum(floats.minimum(a, b), c))


# The legacy products of DirectX 9: zero times anything is zero.


def _dx9(a: Array, b: Array, product: Array, otherwise: Array) -> Array:
    return np.where((a == 0) | (b == 0), otherwise, product)


vop("v_mul_dx9_zero_f32", "f32", "f32 f32", lambda a, b: _dx9(a, b, a * b, np.zeros(1, a.dtype)))
vop("v_fma_dx9_zero_f32", "f32", "f32 f32 f32", lambda a, b, c: _dx9(a, b, floats.fma32(a, b, c), c))
vop(
    "v_fmac_dx9_zero_f32",
    "f32",
    "f32 f32",
    lambda a, b, c: _dx9(a, b, floats.fma32(a, b, c), c),
    implicit="f32",
)


def from64(function: Compute) -> Compute:
    """Evaluate in f64 and round to the type of the source."""
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


TRANSCENDENTALS: dict[str, Compute] = {
    "exp": powers.exp2,
    "log": powers.log2,
    "rcp": np.reciprocal,
    "rsq": lambda a: 1.0 / np.sqrt(a),
    "sqrt": np.sqrt,
    "sin": powers.sine,
    "cos": powers.cosine,
}
for _name, _function in TRANSCENDENTALS.items():
    for _kind in ("f16", "f32"):
        vop(f"v_{_name}_{_kind}", _kind, _kind, from64(_function))
for _name in ("rcp", "rsq", "sqrt"):
    vop(f"v_{_name}_f64", "f64", "f64", from64(TRANSCENDENTALS[_name]))
vop("v_rcp_iflag_f32", "f32", "f32", from64(np.reciprocal))

# Conversions. Integer results saturate; NaN gives 0.

vop("v_cvt_f32_i32", "f32", "i32", lambda a: a.astype(np.float32))
vop("v_cvt_f32_u32", "f32", "u32", lambda a: a.astype(np.float32))
vop("v_cvt_f64_i32", "f64", "i32", lambda a: a.astype(np.float64))
vop("v_cvt_f64_u32", "f64", "u32", lambda a: a.astype(np.float64))
vop("v_cvt_f64_f32", "f64", "f32", lambda a: a.astype(np.float64))
vop("v_cvt_f32_f64", "f32", "f64", lambda a: a.astype(np.float32))
vop("v_cvt_f32_f16", "f32", "f16", lambda a: a.astype(np.float32))
vop("v_cvt_f16_f32", "f16", "f32", lambda a: a.astype(np.float16))
vop("v_cvt_f16_u16", "f16", "u16", lambda a: a.astype(np.float16))
vop("v_cvt_f16_i16", "f16", "i16", lambda a: a.astype(np.float16))
for _to, _from in (
    ("i32", "f32"),
    ("u32", "f32"),
    ("i32", "f64"),
    ("u32", "f64"),
    ("i16", "f16"),
    ("u16", "f16"),
):
    vop(f"v_cvt_{_to}_{_from}", _to, _from, partial(floats.saturate, dtype=DTYPES[_to]))
vop(
    "v_cvt_nearest_i32_f32",
    "i32",
    "f32",
    lambda a: floats.saturate(np.floor(a + np.float32(0.5)), np.int32),
)
vop("v_cvt_floor_i32_f32", "i32", "f32", lambda a: floats.saturate(np.floor(a), np.int32))
for _i in range(4):
    vop(f"v_cvt_f32_ubyte{_i}", "f32", "u32",
        lambda a, i=_i: ((a >> np.uint32(8 * i)) & np.uint32(0xFF)).astype(np.float32),
        OnlyBits((0xFF << 8 * _i,)))  # fmt: skip


def _pack_bits(low: Array, high: Array) -> Array:
    low16, high16 = (x.view(np.uint16).astype(np.uint32) for x in (low, high))
    return low16 | high16 << np.uint32(16)


def _norm(limit: int, low: int, dtype: Any) -> Compute:
    def one(a: Array) -> Array:
        scaled = np.clip(np.nan_to_num(a.astype(np.float64)), -1.0 if low < 0 else 0.0, 1.0) * limit
        return np.rint(scaled).astype(dtype)

    return lambda a, b: _pack_bits(one(a), one(b))


vop("v_cvt_pk_rtz_f16_f32", "u32", "f32 f32",
    lambda a, b: _pack_bits(floats.f16_toward_zero(a), floats.f16_toward_zero(b)))  # fmt: skip
for _kind in ("f16", "f32"):
    vop(f"v_cvt_pk_norm_i16_{_kind}", "u32", f"{_kind} {_kind}", _norm(32767, -32767, np.int16))
    vop(f"v_cvt_pk_norm_u16_{_kind}", "u32", f"{_kind} {_kind}", _norm(65535, 0, np.uint16))
vop("v_cvt_pk_i16_f32", "u32", "f32 f32",
    lambda a, b: _pack_bits(floats.saturate(a, np.int16), floats.saturate(b, np.int16)))  # fmt: skip
vop("v_cvt_pk_u16_f32", "u32", "f32 f32",
    lambda a, b: _pack_bits(floats.saturate(a, np.uint16), floats.saturate(b, np.uint16)))  # fmt: skip


def _cvt_pk_u8(a: Array, place: Array, old: Array) -> Array:
    shift = (place & np.uint32(3)) * np.uint32(8)
    value = floats.saturate(np.rint(a), np.uint8).astype(np.uint32)
    return (old & ~(np.uint32(0xFF) << shift)) | value << shift


vop("v_cvt_pk_u8_f32", "u32", "f32 u32 u32", _cvt_pk_u8)
