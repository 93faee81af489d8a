"""What CDNA names as GCN did and otherwise than RDNA, and what only it has, outside memory and matrix instructions.

Source: CDNA3 and CDNA4 ISA guides, chapter "Instructions". One name that does something else on the two is told
apart by the decoder (`Inst`): 16-bit results that clear the other half of their register name 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.registers import Array
from layoutprobe.numbers import element_type
from layoutprobe.semantics import (  # noqa: F401  (renamed here)
    compare_ops,
    division,
    float_ops,
    floats,
    packed_ops,
    salu_exec,
)
from layoutprobe.semantics.definedness import Transport, Upward, union
from layoutprobe.semantics.op import Compute, Op
from layoutprobe.semantics.operands import DTYPES
from layoutprobe.semantics.registry import Executor, register_alias, register_binder
from layoutprobe.semantics.salu import sop
from layoutprobe.semantics.valu import OPS, bind_valu, renamed, vop

U = np.uint32

# Renamed: CDNA -> RDNA3.

_SCALAR = {
    **{f"s_andn2_{b}": f"s_and_not1_{b}" for b in ("b32", "b64")},
    **{f"s_orn2_{b}": f"s_or_not1_{b}" for b in ("b32", "b64")},
    **{f"s_{v}n{n}_saveexec_b64": f"s_{v}_not{n - 1}_saveexec_b64" for v in ("and", "or") for n in (1, 2)},
    **{f"s_andn{n}_wrexec_b64": f"s_and_not{n - 1}_wrexec_b64" for n in (1, 2)},
    "s_ff1_i32_b32": "s_ctz_i32_b32",
    "s_ff1_i32_b64": "s_ctz_i32_b64",
    "s_flbit_i32_b32": "s_clz_i32_u32",
    "s_flbit_i32_b64": "s_clz_i32_u64",
    "s_flbit_i32": "s_cls_i32",
}
_VECTOR = {
    **{
        f"v_{verb}_{kind}": f"v_{verb}_nc_{kind}"
        for verb in ("add", "sub")
        for kind in ("u16", "i16", "u32", "i32")
    },
    "v_subrev_u32": "v_subrev_nc_u32",
    "v_addc_co_u32": "v_add_co_ci_u32",
    "v_subb_co_u32": "v_sub_co_ci_u32",
    "v_subbrev_co_u32": "v_subrev_co_ci_u32",
    **{f"v_mad_legacy_{kind}": f"v_mad_{kind}" for kind in ("u16", "i16")},
    "v_fma_legacy_f16": "v_fma_f16",
    "v_div_fixup_legacy_f16": "v_div_fixup_f16",
    "v_mul_legacy_f32": "v_mul_dx9_zero_f32",
    "v_ffbh_u32": "v_clz_i32_u32",
    "v_ffbl_b32": "v_ctz_i32_b32",
    "v_ffbh_i32": "v_cls_i32",
    "v_cvt_flr_i32_f32": "v_cvt_floor_i32_f32",
    "v_cvt_rpi_i32_f32": "v_cvt_nearest_i32_f32",
    "v_cvt_pkrtz_f16_f32": "v_cvt_pk_rtz_f16_f32",
    **{f"v_cvt_pknorm_{i}_{f}": f"v_cvt_pk_norm_{i}_{f}" for i in ("i16", "u16") for f in ("f16", "f32")},
    "v_dot2c_f32_f16": "v_dot2acc_f32_f16",
    **{f"v_accvgpr_{verb}_b32": "v_mov_b32" for verb in ("read", "write", "mov")},
}
for _new, _old in _SCALAR.items():
    register_alias(_new, _old)
for _new, _old in _VECTOR.items():
    renamed(_new, _old)
for _prefix in ("v_cmp", "v_cmpx"):
    for _kind in ("f16", "f32", "f64"):
        renamed(f"{_prefix}_tru_{_kind}", f"{_prefix}_t_{_kind}")
    for _kind in ("i16", "u16"):  # RDNA3 does not encode them
        for _name, _value in (("f", False), ("t", True)):
            vop(f"{_prefix}_{_name}_{_kind}", "mask", f"{_kind} {_kind}",
                lambda a, b, v=_value: np.full(np.broadcast_shapes(a.shape, b.shape), v))  # fmt: skip

# Scalars.

sop("s_bitset0_b64", "u64", "u32 u64", lambda a, old: old & ~(np.uint64(1) << (a & U(63)).astype(np.uint64)))
sop("s_bitset1_b64", "u64", "u32 u64", lambda a, old: old | np.uint64(1) << (a & U(63)).astype(np.uint64))

# 64 bits, and sums that RDNA3 has not.

vop("v_mov_b64", "u64", "b64", np.positive, union)
vop("v_fmac_f64", "f64", "f64 f64", floats.fma64, implicit="f64")
vop("v_lshl_add_u64", "u64", "u64 u32 u64",
    lambda a, amount, c: (a << (amount & U(7)).astype(np.uint64)) + c, Upward((0, 2)))  # fmt: skip
vop("v_subrev_u16", "u16", "u16 u16", lambda a, b: b - a, OPS["v_sub_nc_u16"].rule,
    saturate=lambda a, b: np.clip(b.astype(np.int64) - a, 0, 0xFFFF))  # fmt: skip

vop("v_prng_b32", "u32", "u32", lambda a: (a << U(1)) ^ np.where(a >> U(31), U(197), U(0)))

# Conversions of CDNA4, rounded to nearest even.

_BF16 = element_type("bf16")
vop("v_cvt_f32_bf16", "f32", "b16", lambda a: (a.astype(U) << U(16)).view(np.float32))
vop("v_cvt_pk_bf16_f32", "u32", "f32 f32",
    lambda a, b: _BF16.encode(a).astype(U) | _BF16.encode(b).astype(U) << U(16))  # fmt: skip
vop("v_cvt_pk_f16_f32", "u32", "f32 f32",
    lambda a, b: a.astype(np.float16).view(np.uint16).astype(U)
    | b.astype(np.float16).view(np.uint16).astype(U) << U(16))  # fmt: skip

# Packed pairs of 32 bits. op_sel and op_sel_hi choose the dword that feeds the low and the high result.


def _dword(pair: Array, upper: bool) -> Array:
    return ((pair >> np.uint64(32)) if upper else pair).astype(np.uint32)


def _pair(low: Array, high: Array) -> Array:
    return low.view(np.uint32).astype(np.uint64) | high.view(np.uint32).astype(np.uint64) << np.uint64(32)


def _bind_pair(function: Compute, inst: Inst) -> Executor:
    def side(pair: Array, operand: Operand, high: bool) -> Array:
        value = _dword(pair, operand.sel_hi if high else operand.sel).view(np.float32)
        return -value if (operand.neg_hi if high else operand.neg) else value

    def compute(*pairs: Array) -> Array:
        results = []
        for high in (False, True):
            value = function(*(side(p, o, high) for p, o in zip(pairs, inst.src, strict=True)))
            if inst.mods.get("clamp"):
                value = np.clip(np.nan_to_num(value, nan=0.0), np.float32(0), np.float32(1))
            results.append(value)
        return _pair(*results)

    def rule(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
        bad = [np.zeros((1, 1), np.bool_)] * 2
        for shadow, operand in zip(shadows, inst.src, strict=True):
            bad = [
                b | (_dword(shadow, s) != 0) for b, s in zip(bad, (operand.sel, operand.sel_hi), strict=True)
            ]
        return [_pair(*(np.where(b, U(0xFFFFFFFF), U(0)) for b in bad))]

    return bind_valu(Op(inst.name, ("u64",), ("u64",) * len(inst.src), compute, rule, saturate=compute), inst)


for _name, _function in (("add", np.add), ("mul", np.multiply), ("fma", floats.fma32)):
    register_binder(f"v_pk_{_name}_f32", partial(_bind_pair, _function))


def _bind_pair_move(inst: Inst) -> Executor:
    """The low result is a dword of source 0, the high one a dword of source 1; op_sel picks both."""
    low, high = (operand.sel for operand in inst.src)

    def move(a: Array, b: Array) -> Array:
        return _pair(_dword(a, low), _dword(b, high))

    return bind_valu(Op(inst.name, ("u64",), ("u64", "u64"), move, Transport(move, (0, 1))), inst)


register_binder("v_pk_mov_b32", _bind_pair_move)

# Any function of three bits. Its table stands in the fields of modifiers: omod, abs, neg (CDNA4 ISA guide).


def truth_table(inst: Inst) -> int:
    """Bit 4*a + 2*b + c is the result for bits a, b, c of the sources."""
    absolute = sum(operand.abs << i for i, operand in enumerate(inst.src))
    negative = sum(operand.neg << i for i, operand in enumerate(inst.src))
    return inst.mods.get("omod", 0) << 6 | absolute << 3 | negative


def _bind_bitop3(kind: str, inst: Inst) -> Executor:
    table, dtype = truth_table(inst), DTYPES[kind]
    ones = dtype(-1 & ((1 << 8 * dtype().itemsize) - 1))

    def reachable(value: int, values: Sequence[Array], shadows: Sequence[Array]) -> Array:
        """Bits that may come out as that value, whatever the undefined bits are."""
        found: Array = np.zeros((1, 1), dtype)
        for row in (row for row in range(8) if table >> row & 1 == value):
            fits: Array = np.full((1, 1), ones, dtype)
            for place, (source, shadow) in enumerate(zip(values, shadows, strict=True)):
                fits = fits & ((source if row >> 2 - place & 1 else ~source) | shadow)
            found = found | fits
        return found

    def compute(*sources: Array) -> Array:
        return reachable(1, sources, [np.zeros_like(s) for s in sources])

    def rule(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
        return [reachable(0, values, shadows) & reachable(1, values, shadows)]

    plain = {key: value for key, value in inst.mods.items() if key != "omod"}
    op = Op(inst.name, (kind,), (kind,) * 3, compute, rule)
    return bind_valu(op, Inst(inst.pc, inst.size, inst.name, inst.encoding, inst.dst, inst.src, plain))


register_binder("v_bitop3_b32", partial(_bind_bitop3, "u32"))
register_binder("v_bitop3_b16", partial(_bind_bitop3, "u16"))
