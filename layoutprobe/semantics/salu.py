"""Scalar ALU instructions. Source: RDNA3.5 ISA guide, chapter 16 (SOP1, SOP2, SOPC, SOPK)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, SCC, Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array, RegisterFile
from layoutprobe.semantics.definedness import (
    Rule,
    Transport,
    any_undefined,
    bitwise_and,
    bitwise_or,
    carry_upward,
    second_inverted,
    select,
    union,
)
from layoutprobe.semantics.int_ops import leading_signs, leading_zeros, reverse_bits, trailing_zeros
from layoutprobe.semantics.operands import (
    DTYPES,
    Reader,
    define,
    reader,
    register_mask,
    settle,
    write_shadow,
    writer,
)
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, register_binder

Scc = Literal["", "nonzero", "given", "only", "read", "read given"]
"""What an instruction does with SCC: leaves it; result != 0; the second result; the only result;
reads it as last source; reads it and gives it."""

_SCC_BIT = 1 << SCC


def sop(name: str, result: str, sources: str, compute: Callable[..., Any], rule: Rule = any_undefined,
        scc: Scc = "") -> None:  # fmt: skip
    """Register one scalar mnemonic; types are separated by spaces."""
    register_binder(name, partial(_bind, result, tuple(sources.split()), compute, rule, scc))


def _bind(
    result: str, kinds: tuple[str, ...], compute: Callable[..., Any], rule: Rule, scc: Scc, inst: Inst
) -> Executor:
    sources = list(inst.src)
    if "simm16" in inst.mods and len(sources) < len(kinds):
        signed = inst.mods["simm16"] - 0x10000 if inst.mods["simm16"] & 0x8000 else inst.mods["simm16"]
        value = inst.mods["simm16"] if kinds[-1].startswith("u") else signed & 0xFFFFFFFF
        sources.append(Operand("literal", value=value))
    if len(sources) < len(kinds):  # fmac and addk read their destination
        sources.append(inst.dst[0]) if not inst.mods else sources.insert(0, inst.dst[0])
    if len(sources) != len(kinds):
        raise UnsupportedFormError(f"{inst.name} with {len(sources)} sources")
    return ScalarExecution(inst, tuple(sources), result, kinds, compute, rule, scc)


class ScalarExecution:
    """One bound scalar instruction. Calling it executes it for a cohort.

    Attributes:
        inst: the instruction.
        sources, kinds: what it reads, and as which types; SCC comes behind them where `scc` says "read".
        target, result: what it writes, and its type; None, and "" or the type of what is compared.
        compute, rule, scc: as of `sop`.
    """

    def __init__(
        self,
        inst: Inst,
        sources: tuple[Operand, ...],
        result: str,
        kinds: tuple[str, ...],
        compute: Callable[..., Any],
        rule: Rule,
        scc: Scc,
    ) -> None:
        self.inst, self.sources, self.kinds, self.result = inst, sources, kinds, result
        self.compute, self.rule, self.scc = compute, rule, scc
        self.target = inst.dst[0] if inst.dst else None
        self._readers = [reader(s, k) for s, k in zip(sources, kinds, strict=True)]
        self._write = writer(self.target, result) if self.target else None
        self._touched = _SCC_BIT if scc else 0
        for operand in (*sources, *inst.dst):
            self._touched |= register_mask(operand)

    @cached_property
    def _shadows(self) -> list[Reader]:
        """Undefined bits of the sources: most instructions never ask."""
        return [reader(s, k, shadow=True) for s, k in zip(self.sources, self.kinds, strict=True)]

    def __call__(self, c: Cohort) -> None:
        """Execute the instruction for a cohort."""
        bad = self._undefined(c) if c.undef & self._touched else None
        value, flag = self.results(*self._gather(c.regs, self._readers, c.su[SCC] != 0))
        if value is not None and self._write is not None:
            self._write(c, value)
        if flag is not None:
            c.su[SCC][...] = flag
        if c.undef & self._touched:
            _track(c, self.target if value is not None else None, self.result, flag is not None, bad)

    def results(self, *values: Array) -> tuple[Array | None, Array | None]:
        """The value and SCC that the instruction writes, None for what it does not."""
        out = self.compute(*values)
        value, flag = out if isinstance(out, tuple) else (out, None)
        if self.scc == "nonzero":
            flag = value != 0
        elif self.scc == "only":
            value, flag = None, value
        return value, flag

    def _gather(self, registers: RegisterFile, read: list[Any], flag: Array) -> list[Array]:
        values = [r(registers) for r in read]
        return [*values, flag] if self.scc.startswith("read") else values

    def _undefined(self, c: Cohort) -> list[Array] | None:
        bits = self._gather(c.shadow, self._shadows, c.shadow.su[SCC] != 0)
        if not any(b.any() for b in bits):
            return None
        values = self._gather(c.regs, self._readers, c.su[SCC] != 0)
        width = {"": 32}.get(self.result) or DTYPES[self.result]().itemsize * 8
        return list(self.rule(values, bits, [width]))


def _track(c: Cohort, target: Operand | None, kind: str, wrote_scc: bool, bad: list[Array] | None) -> None:
    """Definedness of the results just written."""
    if bad is None:
        if target is not None:
            define(c, target)
        if wrote_scc:
            c.shadow.su[SCC][...] = 0
            settle(c, SCC)
        return
    if target is not None:
        write_shadow(c, target, kind, bad[0])
        if target.index in (EXEC_LO, EXEC_HI):
            refuse_undefined_exec(c)
    if wrote_scc:
        c.shadow.su[SCC][...] = (bad[0] != 0) * np.uint32(0xFFFFFFFF)
        settle(c, SCC)


def refuse_undefined_exec(c: Cohort) -> None:
    """EXEC decides which lanes run: it may not depend on an undefined value."""
    if c.undef >> EXEC_LO & 3:
        raise ExecutionError(
            "the set of active lanes depends on an undefined value", kind="undefined-control"
        )


U = np.uint32


def _shift(function: Callable[..., Any], mask: int) -> Callable[..., Any]:
    return lambda data, amount: function(data, (amount & U(mask)).astype(data.dtype))


for _bits, _kind, _signed, _mask in (("b32", "u32", "i32", 31), ("b64", "u64", "i64", 63)):
    _two = f"{_kind} {_kind}"
    sop(f"s_mov_{_bits}", _kind, _kind, np.positive, union)
    sop(f"s_not_{_bits}", _kind, _kind, np.bitwise_not, union, "nonzero")
    sop(f"s_and_{_bits}", _kind, _two, np.bitwise_and, bitwise_and, "nonzero")
    sop(f"s_or_{_bits}", _kind, _two, np.bitwise_or, bitwise_or, "nonzero")
    sop(f"s_xor_{_bits}", _kind, _two, np.bitwise_xor, union, "nonzero")
    sop(f"s_nand_{_bits}", _kind, _two, lambda a, b: ~(a & b), bitwise_and, "nonzero")
    sop(f"s_nor_{_bits}", _kind, _two, lambda a, b: ~(a | b), bitwise_or, "nonzero")
    sop(f"s_xnor_{_bits}", _kind, _two, lambda a, b: ~(a ^ b), union, "nonzero")
    sop(f"s_and_not1_{_bits}", _kind, _two, lambda a, b: a & ~b, second_inverted(bitwise_and), "nonzero")
    sop(f"s_or_not1_{_bits}", _kind, _two, lambda a, b: a | ~b, second_inverted(bitwise_or), "nonzero")
    sop(f"s_cselect_{_bits}", _kind, _two, lambda a, b, f: np.where(f, a, b),
        lambda v, s, w: select([v[1], v[0], v[2]], [s[1], s[0], s[2]], w), "read")  # fmt: skip
    for _verb, _dtype, _ufunc in (("lshl", _kind, np.left_shift), ("lshr", _kind, np.right_shift)):
        _function = _shift(_ufunc, _mask)
        sop(f"s_{_verb}_{_bits}", _kind, f"{_dtype} u32", _function, Transport(_function, (0,)), "nonzero")
    _function = _shift(np.right_shift, _mask)
    sop(f"s_ashr_{_signed}", _signed, f"{_signed} u32", _function, Transport(_function, (0,)), "nonzero")
    sop(f"s_bitcmp0_{_bits}", "", f"{_kind} u32",
        lambda a, b, m=_mask: (a >> (b & U(m)).astype(a.dtype)) & a.dtype.type(1) == 0, scc="only")  # fmt: skip
    sop(f"s_bitcmp1_{_bits}", "", f"{_kind} u32",
        lambda a, b, m=_mask: (a >> (b & U(m)).astype(a.dtype)) & a.dtype.type(1) != 0, scc="only")  # fmt: skip
    sop(f"s_bcnt1_i32_{_bits}", "u32", _kind, lambda a: np.bitwise_count(a).astype(np.uint32), scc="nonzero")
    sop(f"s_bcnt0_i32_{_bits}", "u32", _kind, lambda a: np.bitwise_count(~a).astype(np.uint32), scc="nonzero")


def _cmov(a: Array, old: Array, flag: Array) -> Array:
    return np.where(flag, a, old)


sop("s_cmov_b32", "u32", "u32 u32", _cmov, scc="read")
sop("s_cmov_b64", "u64", "u64 u64", _cmov, scc="read")
sop("s_abs_i32", "u32", "i32", lambda a: np.abs(a).view(np.uint32), scc="nonzero")


def _sign_extended(bits: int) -> Callable[[Array], Array]:
    shift = np.int32(32 - bits)
    return lambda a: (a.view(np.int32) << shift) >> shift


for _width in (8, 16):
    _extend = _sign_extended(_width)
    sop(f"s_sext_i32_i{_width}", "i32", "u32", _extend, Transport(_extend, (0,)))
sop("s_brev_b32", "u32", "u32", reverse_bits)
sop("s_brev_b64", "u64", "u64", lambda a: _pairwise(a, reverse_bits, swap=True))
sop("s_clz_i32_u32", "u32", "u32", leading_zeros)
sop("s_ctz_i32_b32", "u32", "u32", trailing_zeros)
sop("s_cls_i32", "u32", "i32", leading_signs)


def _low(a: Array) -> Array:
    return a.astype(np.uint32)


def _high(a: Array) -> Array:
    return (a >> np.uint64(32)).astype(np.uint32)


def _pairwise(a: Array, function: Callable[[Array], Array], *, swap: bool) -> Array:
    low, high = function(_low(a)), function(_high(a))
    if swap:
        low, high = high, low
    return high.astype(np.uint64) << np.uint64(32) | low


def _clz64(a: Array) -> Array:
    return np.where(_high(a) != 0, leading_zeros(_high(a)),
                    np.where(_low(a) != 0, leading_zeros(_low(a)) + U(32), U(0xFFFFFFFF)))  # fmt: skip


sop("s_clz_i32_u64", "u32", "u64", _clz64)
sop("s_ctz_i32_b64", "u32", "u64", lambda a: _clz64(_pairwise(a, reverse_bits, swap=True)))
sop("s_bitset0_b32", "u32", "u32 u32", lambda a, old: old & ~(U(1) << (a & U(31))))
sop("s_bitset1_b32", "u32", "u32 u32", lambda a, old: old | (U(1) << (a & U(31))))

# Sums and products. SCC is the carry of unsigned sums, the overflow of signed ones.


def _add_i32(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    return total, ((a < 0) == (b < 0)) & ((total < 0) != (a < 0))


def _sub_i32(a: Array, b: Array) -> tuple[Array, Array]:
    total = a - b
    return total, ((a < 0) != (b < 0)) & ((total < 0) != (a < 0))


def _addc(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    wide = a.astype(np.uint64) + b + carry
    return wide.astype(np.uint32), wide >> np.uint64(32) != 0


def _subb(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    need = b.astype(np.uint64) + borrow
    return a - need.astype(np.uint32), need > a


sop("s_add_u32", "u32", "u32 u32", lambda a, b: (a + b, a + b < a), carry_upward, "given")
sop("s_sub_u32", "u32", "u32 u32", lambda a, b: (a - b, b > a), carry_upward, "given")
sop("s_add_i32", "i32", "i32 i32", _add_i32, carry_upward, "given")
sop("s_sub_i32", "i32", "i32 i32", _sub_i32, carry_upward, "given")
sop("s_addk_i32", "i32", "i32 i32", _add_i32, carry_upward, "given")
sop("s_addc_u32", "u32", "u32 u32", _addc, scc="read given")
sop("s_subb_u32", "u32", "u32 u32", _subb, scc="read given")
sop("s_absdiff_i32", "u32", "i32 i32", lambda a, b: np.abs(a - b).view(np.uint32), scc="nonzero")
sop("s_mul_i32", "u32", "u32 u32", np.multiply, carry_upward)
sop("s_mulk_i32", "i32", "i32 i32", np.multiply, carry_upward)
sop(
    "s_mul_hi_u32",
    "u32",
    "u32 u32",
    lambda a, b: ((a.astype(np.uint64) * b) >> np.uint64(32)).astype(np.uint32),
)
sop(
    "s_mul_hi_i32", "i32", "i32 i32", lambda a, b: ((a.astype(np.int64) * b) >> np.int64(32)).astype(np.int32)
)
for _n in (1, 2, 3, 4):
    sop(f"s_lshl{_n}_add_u32", "u32", "u32 u32",
        lambda a, b, n=_n: _carry((a.astype(np.uint64) << np.uint64(n)) + b), scc="given")  # fmt: skip


def _carry(wide: Array) -> tuple[Array, Array]:
    return wide.astype(np.uint32), wide >> np.uint64(32) != 0


sop("s_min_i32", "i32", "i32 i32", lambda a, b: (np.minimum(a, b), a < b), scc="given")
sop("s_min_u32", "u32", "u32 u32", lambda a, b: (np.minimum(a, b), a < b), scc="given")
sop("s_max_i32", "i32", "i32 i32", lambda a, b: (np.maximum(a, b), a >= b), scc="given")
sop("s_max_u32", "u32", "u32 u32", lambda a, b: (np.maximum(a, b), a >= b), scc="given")


def _bfe(width_bits: int, signed: bool) -> Callable[..., Any]:
    def compute(data: Array, control: Array) -> Array:
        kind = np.uint64
        offset = (control & U(width_bits - 1)).astype(kind)
        width = ((control >> U(16)) & U(0x7F)).astype(kind)
        width = np.minimum(width, kind(width_bits))
        ones = np.where(width >= 64, kind(2**64 - 1), (kind(1) << (width & kind(63))) - kind(1))
        # A shift by 64 or more never happens: offset is below the register's width.
        if signed:  # the shift is arithmetic: a field beyond the last bit is filled with the sign
            field = (data.astype(np.int64) >> offset.astype(np.int64)).view(kind) & ones
        else:
            field = (data.astype(kind) >> offset) & ones
        if signed:
            sign = np.where(width == 0, kind(0), (field >> (np.maximum(width, kind(1)) - kind(1))) & kind(1))
            field = np.where(sign != 0, field | ~ones, field)
        return field.astype(np.uint32 if width_bits == 32 else kind)

    return compute


sop("s_bfe_u32", "u32", "u32 u32", _bfe(32, False), Transport(_bfe(32, False), (0,)), "nonzero")
sop("s_bfe_i32", "u32", "i32 u32", _bfe(32, True), scc="nonzero")
sop("s_bfe_u64", "u64", "u64 u32", _bfe(64, False), scc="nonzero")
sop("s_bfe_i64", "u64", "i64 u32", _bfe(64, True), scc="nonzero")
sop("s_bfm_b32", "u32", "u32 u32", lambda a, b: ((U(1) << (a & U(31))) - U(1)) << (b & U(31)))
sop("s_bfm_b64", "u64", "u32 u32", lambda a, b: (
    ((np.uint64(1) << (a & U(63)).astype(np.uint64)) - np.uint64(1)) << (b & U(63)).astype(np.uint64)))  # fmt: skip
for _name, _a, _b in (("ll", 0, 0), ("lh", 0, 1), ("hl", 1, 0), ("hh", 1, 1)):

    def _pack(a: Array, b: Array, x: int = _a, y: int = _b) -> Array:
        return ((a >> U(16 * x)) & U(0xFFFF)) | ((b >> U(16 * y)) & U(0xFFFF)) << U(16)

    sop(f"s_pack_{_name}_b32_b16", "u32", "u32 u32", _pack, Transport(_pack, (0, 1)))

sop("s_movk_i32", "i32", "i32", np.positive)
sop("s_cmovk_i32", "i32", "i32 i32", lambda old, a, f: np.where(f, a, old), scc="read")

# Compares.

_COMPARE = {"eq": np.equal, "lg": np.not_equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less,
            "le": np.less_equal}  # fmt: skip
for _name, _compare in _COMPARE.items():
    for _kind in ("i32", "u32"):
        sop(f"s_cmp_{_name}_{_kind}", "", f"{_kind} {_kind}", _compare, scc="only")
        sop(f"s_cmpk_{_name}_{_kind}", "", f"{_kind} {_kind}", _compare, scc="only")
    if _name in ("eq", "lg"):
        sop(f"s_cmp_{_name}_u64", "", "u64 u64", _compare, scc="only")
