"""VOP3P: two 16-bit operations in one register, mixed-precision fma, and small dot products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array
from layoutprobe.semantics import floats, silicon
from layoutprobe.semantics.definedness import OnlyBits, any_undefined
from layoutprobe.semantics.op import Compute, Op
from layoutprobe.semantics.operands import DTYPES
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, register_binder
from layoutprobe.semantics.valu import OPS, bind_valu, vop

_LOW, _HIGH = np.uint32(0xFFFF), np.uint32(16)


def _half(word: Array, upper: bool) -> Array:
    """One 16-bit half of a uint32 array, as uint16."""
    return ((word >> _HIGH) if upper else (word & _LOW)).astype(np.uint16)


def _join(low: Array, high: Array) -> Array:
    low32 = low.view(np.uint16).astype(np.uint32)
    return low32 | high.view(np.uint16).astype(np.uint32) << _HIGH


def _operand_half(word: Array, operand: Operand, kind: str, high: bool) -> Array:
    """The half of a source that feeds the low or the high result, with its negation."""
    value = _half(word, operand.sel_hi if high else operand.sel).view(DTYPES[kind])
    negate = operand.neg_hi if high else operand.neg
    return -value if negate and kind == "f16" else value


def packed(name: str, kind: str, count: int, function: Compute, saturate: Compute | None = None) -> None:
    """Register a packed operation that applies `function` to the low and to the high halves."""

    def both(inst: Inst, apply: Compute) -> Compute:
        def compute(*words: Array) -> Array:
            halves = []
            for high in (False, True):
                sources = [_operand_half(w, o, kind, high) for w, o in zip(words, inst.src, strict=True)]
                result = apply(*sources)
                if inst.mods.get("clamp") and kind == "f16":
                    result = np.clip(np.nan_to_num(result, nan=0.0), np.float16(0), np.float16(1))
                halves.append(result.astype(DTYPES[kind]))
            return _join(*halves)

        return compute

    def rule(inst: Inst) -> Callable[..., Sequence[Array]]:
        def undefined(
            values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]
        ) -> Sequence[Array]:
            halves = []
            for high in (False, True):
                parts = [
                    _half(s, o.sel_hi if high else o.sel) for s, o in zip(shadows, inst.src, strict=True)
                ]
                lanes = parts[0] != 0
                for part in parts[1:]:
                    lanes = lanes | (part != 0)
                halves.append(np.where(lanes, np.uint16(0xFFFF), np.uint16(0)))
            return [_join(*np.broadcast_arrays(*halves))]

        return undefined

    def bind(inst: Inst) -> Executor:
        clamped = function if kind == "f16" else saturate
        op = Op(name, ("u32",), ("u32",) * count, both(inst, function), rule(inst),
                saturate=both(inst, clamped) if clamped else None)  # fmt: skip
        return bind_valu(op, inst)

    register_binder(name, bind)


def _clipped(function: Compute, dtype: Any) -> Compute:
    info = np.iinfo(dtype)
    return lambda *s: np.clip(function(*(x.astype(np.int64) for x in s)), info.min, info.max)


def _shift(function: Compute) -> Compute:
    return lambda amount, data: function(data, amount & amount.dtype.type(15))


for _sign, _dtype in (("u16", np.uint16), ("i16", np.int16)):
    packed(f"v_pk_add_{_sign}", _sign, 2, np.add, _clipped(np.add, _dtype))
    packed(f"v_pk_sub_{_sign}", _sign, 2, np.subtract, _clipped(np.subtract, _dtype))
    packed(
        f"v_pk_mad_{_sign}", _sign, 3, lambda a, b, c: a * b + c, _clipped(lambda a, b, c: a * b + c, _dtype)
    )
    packed(f"v_pk_min_{_sign}", _sign, 2, np.minimum)
    packed(f"v_pk_max_{_sign}", _sign, 2, np.maximum)
packed("v_pk_mul_lo_u16", "u16", 2, np.multiply)
packed("v_pk_lshlrev_b16", "u16", 2, _shift(np.left_shift))
packed("v_pk_lshrrev_b16", "u16", 2, _shift(np.right_shift))
packed("v_pk_ashrrev_i16", "i16", 2, _shift(np.right_shift))
packed("v_pk_add_f16", "f16", 2, np.add)
packed("v_pk_mul_f16", "f16", 2, np.multiply)
packed("v_pk_min_f16", "f16", 2, floats.minimum)
packed("v_pk_max_f16", "f16", 2, floats.maximum)
packed("v_pk_fma_f16", "f16", 3, floats.fma16)


# fma_mix: each source is f32, or a half of a register as f16. neg_hi means absolute value here.
# An inline float constant has the format that its source is read in: LLVM 24 multiplies an f16 by
# "1.0" with op_sel_hi set, and op_sel clear.


def _mixed(operand: Operand) -> Callable[[Array], Array]:
    def read(word: Array) -> Array:
        value = (
            _half(word, operand.sel).view(np.float16).astype(np.float32)
            if operand.sel_hi
            else word.view(np.float32)
        )
        if operand.neg_hi:
            value = np.abs(value)
        return -value if operand.neg else value

    return read


def _bind_mix(result: str, inst: Inst) -> Executor:
    reads = [_mixed(operand) for operand in inst.src]
    inst = replace(inst, src=tuple(replace(o, fmt="F16") if o.sel_hi else o for o in inst.src))

    def compute(*words: Array) -> Array:
        total = floats.fma32(*(read(word) for read, word in zip(reads, words, strict=True)))
        # The f16 forms round twice: the compiler makes them of an fma and a conversion.
        return total if result == "f32" else total.astype(np.float16)

    if inst.name == "v_fma_mixhi_f16":
        inst = replace(inst, dst=(replace(inst.dst[0], hi=True),))
    masks = [(0xFFFF0000 if o.sel else 0xFFFF) if o.sel_hi else 0xFFFFFFFF for o in inst.src]
    return bind_valu(Op(inst.name, (result,), ("u32", "u32", "u32"), compute, OnlyBits(tuple(masks))), inst)


register_binder("v_fma_mix_f32", partial(_bind_mix, "f32"))
register_binder("v_fma_mixlo_f16", partial(_bind_mix, "f16"))
register_binder("v_fma_mixhi_f16", partial(_bind_mix, "f16"))


# Dot products. Products are exact; the sum is rounded once (mode "ieee").


def f16_pair(word: Array) -> tuple[Array, Array]:
    """Both halves of a register as f64, from f16."""
    return _half(word, False).view(np.float16).astype(np.float64), _half(word, True).view(np.float16).astype(
        np.float64
    )


def bf16_pair(word: Array) -> tuple[Array, Array]:
    """Both halves of a register as f64, from bf16."""
    low = (word << _HIGH).view(np.float32).astype(np.float64)
    return low, (word & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


Pair = Callable[[Array], tuple[Array, Array]]


def _dot2(first: Pair, second: Pair) -> Compute:
    def compute(a: Array, b: Array, c: Array) -> Array:
        (a0, a1), (b0, b1) = first(a), second(b)
        return floats.add_to_odd(a0 * b0 + a1 * b1, c.astype(np.float64)).astype(np.float32)

    return compute


def _selected(pair: Pair, operand: Operand) -> Pair:
    """The halves as op_sel, neg_lo and neg_hi of the operand make them."""
    if not (operand.sel or not operand.sel_hi or operand.neg or operand.neg_hi):
        return pair

    def read(word: Array) -> tuple[Array, Array]:
        halves = pair(word)
        low, high = halves[operand.sel], halves[operand.sel_hi]
        return -low if operand.neg else low, -high if operand.neg_hi else high

    return read


def _bind_dot2(pair: Pair, inst: Inst) -> Executor:
    if inst.src[2].neg_hi:
        raise UnsupportedFormError(f"{inst.name} with neg_hi on the addend")
    first, second = _selected(pair, inst.src[0]), _selected(pair, inst.src[1])
    op = Op(inst.name, ("f32",), ("u32", "u32", "f32"), _dot2(first, second))
    return _in_either_arithmetic(op, first, second, inst)


def _in_either_arithmetic(op: Op, first: Pair, second: Pair, inst: Inst) -> Executor:
    step = silicon.Step(inst.name.rsplit("_", 1)[-1])

    def as_silicon(a: Array, b: Array, c: Array) -> Array:
        (a0, a1), (b0, b1) = first(a), second(b)
        return silicon.dot2(step, (a0, b0, a1, b1), c.view(np.uint32)).view(np.float32)

    return EitherArithmetic(bind_valu(op, inst), bind_valu(replace(op, compute=as_silicon), inst))


class EitherArithmetic(Struct, frozen=True):
    """A bound instruction that rounds as the launch's arithmetic says; see `LaunchFacts`."""

    ieee: Executor
    silicon: Executor

    def __call__(self, c: Cohort) -> None:
        """Execute the instruction for a cohort."""
        execute = self.silicon if c.machine.facts.arithmetic == "silicon" else self.ieee
        execute(c)


register_binder("v_dot2_f32_f16", partial(_bind_dot2, f16_pair))
register_binder("v_dot2_f32_bf16", partial(_bind_dot2, bf16_pair))
OPS["v_dot2acc_f32_f16"] = _DOT2ACC = Op(
    "v_dot2acc_f32_f16", ("f32",), ("u32", "u32"), _dot2(f16_pair, f16_pair), implicit=("f32",)
)
register_binder("v_dot2acc_f32_f16", partial(_in_either_arithmetic, _DOT2ACC, f16_pair, f16_pair))


def fields(word: Array, bits: int, signed: bool) -> list[Array]:
    """The 16-, 8- or 4-bit fields of a register, low first, as int64."""
    out = []
    for i in range(32 // bits):
        value = ((word >> np.uint32(bits * i)) & np.uint32((1 << bits) - 1)).astype(np.int64)
        out.append(value - ((value >> (bits - 1)) << bits) if signed else value)
    return out


def integer_dot(bits: int, signs: Sequence[bool], signed: bool) -> Compute:
    """The exact sum of products of fields, and of an accumulator of 32 bits: int64."""

    def exact(a: Array, b: Array, c: Array) -> Array:
        parts = zip(fields(a, bits, signs[0]), fields(b, bits, signs[1]), strict=True)
        accumulator = c.view(np.int32).astype(np.int64) if signed else c.astype(np.int64)
        total: Array = sum((x * y for x, y in parts), start=accumulator)
        return total

    return exact


def _halves_of(word: Array, operand: Operand) -> Array:
    """A register with its halves as op_sel has them."""
    return _join(_half(word, operand.sel), _half(word, operand.sel_hi))


def _bind_dot(bits: int, mixed: bool, inst: Inst) -> Executor:
    """With `mixed`, neg says which factors have a sign; else the name says it of both."""
    signed = "_i32_" in inst.name
    signs = [operand.neg if mixed else signed for operand in inst.src[:2]]
    product = integer_dot(bits, signs, signed)

    def exact(a: Array, b: Array, c: Array) -> Array:
        if bits == 16:
            a, b = (_halves_of(word, operand) for word, operand in zip((a, b), inst.src[:2], strict=True))
        return product(a, b, c)

    low, high = (-(2**31), 2**31 - 1) if signed else (0, 2**32 - 1)
    op = Op(
        inst.name, ("u32",), ("u32", "u32", "u32"),
        lambda a, b, c: exact(a, b, c).astype(np.uint32), any_undefined,
        saturate=lambda a, b, c: np.clip(exact(a, b, c), low, high).astype(np.uint32),
    )  # fmt: skip
    return bind_valu(op, inst)


register_binder("v_dot4_i32_iu8", partial(_bind_dot, 8, True))
register_binder("v_dot4_u32_u8", partial(_bind_dot, 8, False))
register_binder("v_dot8_i32_iu4", partial(_bind_dot, 4, True))
register_binder("v_dot8_u32_u4", partial(_bind_dot, 4, False))
for _kind, _bits, _terms in (("i16", 16, 2), ("u16", 16, 2), ("i8", 8, 4), ("i4", 4, 8)):  # CDNA
    register_binder(f"v_dot{_terms}_{_kind[0]}32_{_kind}", partial(_bind_dot, _bits, False))
    if _kind[0] == "i":
        _sum = integer_dot(_bits, (True, True), True)
        vop(f"v_dot{_terms}c_i32_{_kind}", "u32", "u32 u32",
            lambda a, b, c, exact=_sum: exact(a, b, c).astype(np.uint32), any_undefined, implicit="u32")  # fmt: skip
