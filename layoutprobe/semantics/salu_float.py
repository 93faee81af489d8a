"""Scalar floating-point instructions, new in RDNA3.5. Source: RDNA3.5 ISA guide, chapter 16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from layoutprobe.machine.registers import Array
from layoutprobe.semantics import floats
from layoutprobe.semantics.compare_ops import FLOAT
from layoutprobe.semantics.salu import sop

for _kind in ("f32", "f16"):
    for _name, _predicate in FLOAT.items():
        if _name not in ("f", "t"):
            sop(f"s_cmp_{_name}_{_kind}", "", f"{_kind} {_kind}", _predicate, scc="only")


def f16_result(function: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar f16 goes to the low half of its register, the high half is zero: what to register instead."""
    return lambda *s: function(*s).astype(np.float16).view(np.uint16).astype(np.uint32)


_FLOAT2: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": floats.minimum,
    "max": floats.maximum,
}
_FLOAT1: dict[str, Callable[..., Any]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "rndne": np.rint,
}
for _name, _function in _FLOAT2.items():
    sop(f"s_{_name}_f32", "f32", "f32 f32", _function)
    sop(f"s_{_name}_f16", "u32", "f16 f16", f16_result(_function))
for _name, _function in _FLOAT1.items():
    sop(f"s_{_name}_f32", "f32", "f32", _function)
    sop(f"s_{_name}_f16", "u32", "f16", f16_result(_function))
for _name in ("fmac", "fmaak", "fmamk"):
    sop(f"s_{_name}_f32", "f32", "f32 f32 f32", floats.fma32)
sop("s_fmac_f16", "u32", "f16 f16 f16", f16_result(floats.fma16))
sop("s_cvt_f32_i32", "f32", "i32", lambda a: a.astype(np.float32))
sop("s_cvt_f32_u32", "f32", "u32", lambda a: a.astype(np.float32))
sop("s_cvt_i32_f32", "i32", "f32", lambda a: floats.saturate(a, np.int32))
sop("s_cvt_u32_f32", "u32", "f32", lambda a: floats.saturate(a, np.uint32))
sop("s_cvt_f16_f32", "u32", "f32", f16_result(lambda a: a.astype(np.float16)))
sop("s_cvt_f32_f16", "f32", "f16", lambda a: a.astype(np.float32))
sop(
    "s_cvt_hi_f32_f16",
    "f32",
    "u32",
    lambda a: (a >> np.uint32(16)).astype(np.uint16).view(np.float16).astype(np.float32),
)


def _rtz_pair(a: Array, b: Array) -> Array:
    low, high = (floats.f16_toward_zero(x).view(np.uint16).astype(np.uint32) for x in (a, b))
    return low | high << np.uint32(16)


sop("s_cvt_pk_rtz_f16_f32", "u32", "f32 f32", _rtz_pair)
