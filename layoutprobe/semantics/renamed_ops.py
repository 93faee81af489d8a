"""What RDNA4 adds or renames. Source: RDNA4 ISA guide, chapter 16.

An instruction that does what an RDNA3 one did under another name is an alias; one name that does
something else on the two is told apart by the decoder (`Inst.mods`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec.structs import replace

from layoutprobe.machine.registers import Array
from layoutprobe.semantics import floats
from layoutprobe.semantics.definedness import carry_upward
from layoutprobe.semantics.float_ops import TRANSCENDENTALS, from64
from layoutprobe.semantics.op import Compute
from layoutprobe.semantics.packed_ops import packed
from layoutprobe.semantics.registry import register_alias
from layoutprobe.semantics.salu import sop
from layoutprobe.semantics.salu_float import f16_result
from layoutprobe.semantics.valu import OPS, vop

# Renamed: new name -> name on RDNA3.


def _renamed() -> Iterator[tuple[str, str]]:
    for sign in ("u32", "i32"):
        yield f"s_add_co_{sign}", f"s_add_{sign}"
        yield f"s_sub_co_{sign}", f"s_sub_{sign}"
    yield "s_add_co_ci_u32", "s_addc_u32"
    yield "s_sub_co_ci_u32", "s_subb_u32"
    yield "s_addk_co_i32", "s_addk_i32"
    yield "v_mad_co_u64_u32", "v_mad_u64_u32"
    yield "v_mad_co_i64_i32", "v_mad_i64_i32"


for _new, _old in _renamed():
    register_alias(_new, _old)
    if _old in OPS:
        OPS[_new] = replace(OPS[_old], name=_new)

# The smaller and the larger number. "num": a number wins over any NaN, a signalling one included.
# The forms without it: any NaN wins, a signalling one first (IEEE 754-2019, minimum and minimumNumber).

Pick = Callable[[Array, Array], Array]


def _folded(*picks: Pick) -> Compute:
    """pick(pick(a, b), c)."""
    first, second = picks
    return lambda a, b, c: second(first(a, b), c)


for _kind in ("f16", "f32"):
    _two, _three = f"{_kind} {_kind}", f"{_kind} {_kind} {_kind}"
    _smaller, _larger = floats.minimum_number, floats.maximum_number
    vop(f"v_min3_num_{_kind}", _kind, _three, _folded(_smaller, _smaller))
    vop(f"v_max3_num_{_kind}", _kind, _three, _folded(_larger, _larger))
    vop(f"v_minmax_num_{_kind}", _kind, _three, _folded(_smaller, _larger))
    vop(f"v_maxmin_num_{_kind}", _kind, _three, _folded(_larger, _smaller))
    vop(f"v_med3_num_{_kind}", _kind, _three, floats.median_number)
    _smaller, _larger = floats.minimum_or_nan, floats.maximum_or_nan
    vop(f"v_minimum3_{_kind}", _kind, _three, _folded(_smaller, _smaller))
    vop(f"v_maximum3_{_kind}", _kind, _three, _folded(_larger, _larger))
    vop(f"v_minimummaximum_{_kind}", _kind, _three, _folded(_smaller, _larger))
    vop(f"v_maximumminimum_{_kind}", _kind, _three, _folded(_larger, _smaller))
for _kind in ("f16", "f32", "f64"):
    for _name, _function in (
        ("min_num", floats.minimum_number),
        ("max_num", floats.maximum_number),
        ("minimum", floats.minimum_or_nan),
        ("maximum", floats.maximum_or_nan),
    ):
        vop(f"v_{_name}_{_kind}", _kind, f"{_kind} {_kind}", _function)
        if _kind == "f32":
            sop(f"s_{_name}_f32", "f32", "f32 f32", _function)
        elif _kind == "f16":
            sop(f"s_{_name}_f16", "u32", "f16 f16", f16_result(_function))
            packed(f"v_pk_{_name}_f16", "f16", 2, _function)

# Transcendentals of scalars, 64-bit sums of scalars.

for _name in ("exp", "log", "rcp", "rsq", "sqrt"):
    _function = from64(TRANSCENDENTALS[_name])
    vop(f"v_s_{_name}_f32", "f32", "f32", _function)
    vop(f"v_s_{_name}_f16", "u32", "f16", f16_result(_function))
for _name, _ufunc in (("s_add_nc_u64", np.add), ("s_sub_nc_u64", np.subtract), ("s_mul_u64", np.multiply)):
    sop(_name, "u64", "u64 u64", _ufunc, carry_upward)
