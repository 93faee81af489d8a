"""Vector compares: one bit per lane into VCC, an SGPR, or (cmpx) EXEC."""

from __future__ import annotations

import numpy as np

from layoutprobe.machine.registers import Array
from layoutprobe.semantics import floats
from layoutprobe.semantics.op import Compute
from layoutprobe.semantics.valu import vop


def _ordered(a: Array, b: Array) -> Array:
    result: Array = ~(np.isnan(a) | np.isnan(b))
    return result


def _never(a: Array, b: Array) -> Array:
    return np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_)


def _always(a: Array, b: Array) -> Array:
    return np.ones(np.broadcast_shapes(a.shape, b.shape), np.bool_)


_INTEGER: dict[str, Compute] = {
    "f": _never, "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater, "ne": np.not_equal,
    "ge": np.greater_equal, "t": _always,
}  # fmt: skip
FLOAT: dict[str, Compute] = {
    "f": _never, "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater,
    "lg": lambda a, b: (a < b) | (a > b), "ge": np.greater_equal, "o": _ordered,
    "u": lambda a, b: ~_ordered(a, b), "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b), "nle": lambda a, b: ~(a <= b), "neq": np.not_equal,
    "nlt": lambda a, b: ~(a < b), "t": _always,
}  # fmt: skip
"""Float predicates; the n-forms are true for unordered operands."""

for _prefix in ("v_cmp", "v_cmpx"):
    for _kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
        for _name, _function in _INTEGER.items():
            if _kind.endswith("16") and _name in ("f", "t"):
                continue  # not encoded for 16 bits
            vop(f"{_prefix}_{_name}_{_kind}", "mask", f"{_kind} {_kind}", _function)
    for _kind in ("f16", "f32", "f64"):
        for _name, _function in FLOAT.items():
            vop(f"{_prefix}_{_name}_{_kind}", "mask", f"{_kind} {_kind}", _function)
        vop(
            f"{_prefix}_class_{_kind}",
            "mask",
            f"{_kind} {'u16' if _kind == 'f16' else 'u32'}",
            floats.classify,
        )
