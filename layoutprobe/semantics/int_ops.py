"""Integer, bit and move instructions of the vector ALU. Source: RDNA3.5 ISA guide, chapter 16."""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutprobe.machine.registers import Array
from layoutprobe.semantics.definedness import (
    Transport,
    Upward,
    and_or,
    bit_insert,
    bitwise_and,
    bitwise_or,
    carry_upward,
    or3,
    select,
    union,
)
from layoutprobe.semantics.op import Compute
from layoutprobe.semantics.valu import vop

U = np.uint32


def _swapped(function: Compute) -> Compute:
    return lambda a, b: function(b, a)


# Moves and bit logic. They move undefined bits without spreading them.


for _name, _kind, _bits in (("v_mov_b32", "u32", "b32"), ("v_mov_b16", "u16", "b16")):
    vop(_name, _kind, _bits, np.positive, union)
vop("v_not_b32", "u32", "u32", np.bitwise_not, union)
vop("v_not_b16", "u16", "u16", np.bitwise_not, union)
for _bits, _kind in (("b32", "u32"), ("b16", "u16")):
    _two = f"{_kind} {_kind}"
    vop(f"v_and_{_bits}", _kind, _two, np.bitwise_and, bitwise_and)
    vop(f"v_or_{_bits}", _kind, _two, np.bitwise_or, bitwise_or)
    vop(f"v_xor_{_bits}", _kind, _two, np.bitwise_xor, union)
    vop(f"v_cndmask_{_bits}", _kind, f"{_bits} {_bits} mask", lambda a, b, m: np.where(m, b, a), select)
vop("v_xnor_b32", "u32", "u32 u32", lambda a, b: ~(a ^ b), union)
vop("v_xor3_b32", "u32", "u32 u32 u32", lambda a, b, c: a ^ b ^ c, union)
vop("v_or3_b32", "u32", "u32 u32 u32", lambda a, b, c: a | b | c, or3)
vop("v_and_or_b32", "u32", "u32 u32 u32", lambda a, b, c: (a & b) | c, and_or)
vop("v_bfi_b32", "u32", "u32 u32 u32", lambda m, a, b: (m & a) | (~m & b), bit_insert)


def _byte(data: Array, selector: Array) -> Array:
    """One byte of an 8-byte value by v_perm's selector: 0..7 bytes, 8..11 signs, 12 zero, 13.. ones."""
    plain = (data >> ((selector & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
    sign_at = ((selector & np.uint64(3)) * np.uint64(16)) + np.uint64(15)
    sign = ((data >> sign_at) & np.uint64(1)) * np.uint64(0xFF)
    special = np.where(selector == 12, np.uint64(0), np.uint64(0xFF))
    return np.where(selector < 8, plain, np.where(selector < 12, sign, special))


def _perm(high: Array, low: Array, selectors: Array) -> Array:
    first = int(selectors.flat[0])
    if selectors.shape[-1] == 1 and (selectors == first).all() and not first & 0xF8F8F8F8:
        return _perm_uniform(high, low, first)
    data = (high.astype(np.uint64) << np.uint64(32)) | low
    result: Array = np.zeros(np.broadcast_shapes(data.shape, selectors.shape), np.uint64)
    for i in range(4):
        selector = ((selectors >> U(8 * i)) & U(0xFF)).astype(np.uint64)
        result = result | _byte(data, selector) << np.uint64(8 * i)
    return result.astype(np.uint32)


def _perm_uniform(high: Array, low: Array, selector: int) -> Array:
    """All lanes select the same bytes: runs of neighbouring bytes move together."""
    result: Array | None = None
    at = 0
    while at < 4:
        source = selector >> 8 * at & 7
        length = 1
        while (
            at + length < 4 and selector >> 8 * (at + length) & 7 == source + length and (source + length) % 4
        ):
            length += 1
        run = (high if source >= 4 else low) >> U(8 * (source % 4))
        run = (run & U((1 << 8 * length) - 1)) << U(8 * at) if length < 4 else run
        result = run if result is None else result | run
        at += length
    return high if result is None else result


def picked_bytes(values: Any, shadows: Any, widths: Any) -> Any:
    """Rule of V_PERM_B32."""
    # Constant selectors (12 and up) produce defined bytes whatever the data.
    moved = _perm(shadows[0], shadows[1], values[2])
    for i in range(4):
        constant = ((values[2] >> U(8 * i)) & U(0xFF)) >= 12
        moved = np.where(constant, moved & ~U(0xFF << 8 * i), moved)
    return [np.where(shadows[2] != 0, U(0xFFFFFFFF), moved)]


vop("v_perm_b32", "u32", "u32 u32 u32", _perm, picked_bytes)


def _align(step: int, mask: int) -> Compute:
    def compute(high: Array, low: Array, amount: Array) -> Array:
        wide = (high.astype(np.uint64) << np.uint64(32)) | low
        return (wide >> ((amount & U(mask)) * U(step)).astype(np.uint64)).astype(np.uint32)

    return compute


for _name, _function in (("v_alignbit_b32", _align(1, 31)), ("v_alignbyte_b32", _align(8, 3))):
    vop(_name, "u32", "u32 u32 u16", _function, Transport(_function, (0, 1)))


# Shifts. The "rev" forms take the amount first.


def _shifts(name: str, kind: str, mask: int, function: Compute) -> None:
    dtype = {
        "u32": np.uint32,
        "i32": np.int32,
        "u16": np.uint16,
        "i16": np.int16,
        "u64": np.uint64,
        "i64": np.int64,
    }
    amount_kind = {"u16": "u16", "i16": "u16"}.get(kind, "u32")
    convert = dtype[kind]

    def compute(amount: Array, data: Array) -> Array:
        return function(data, (amount & amount.dtype.type(mask)).astype(convert))

    vop(name, kind, f"{amount_kind} {kind}", compute, Transport(compute, (1,)))


_shifts("v_lshlrev_b32", "u32", 31, np.left_shift)
_shifts("v_lshrrev_b32", "u32", 31, np.right_shift)
_shifts("v_ashrrev_i32", "i32", 31, np.right_shift)
_shifts("v_lshlrev_b16", "u16", 15, np.left_shift)
_shifts("v_lshrrev_b16", "u16", 15, np.right_shift)
_shifts("v_ashrrev_i16", "i16", 15, np.right_shift)
_shifts("v_lshlrev_b64", "u64", 63, np.left_shift)
_shifts("v_lshrrev_b64", "u64", 63, np.right_shift)
_shifts("v_ashrrev_i64", "i64", 63, np.right_shift)


def _bfe_u32(data: Array, offset: Array, width: Array) -> Array:
    return (data >> (offset & U(31))) & ((U(1) << (width & U(31))) - U(1))


def _bfe_i32(data: Array, offset: Array, width: Array) -> Array:
    # The shift is arithmetic: a field that reaches beyond bit 31 is filled with the sign.
    bits = width & U(31)
    field = (data >> (offset & U(31)).astype(np.int32)).view(np.uint32) & ((U(1) << bits) - U(1))
    sign = np.where(bits == 0, U(0), (field >> ((bits - U(1)) & U(31))) & U(1))
    return np.where(sign != 0, field | ~((U(1) << bits) - U(1)), field)


vop("v_bfe_u32", "u32", "u32 u32 u32", _bfe_u32, Transport(_bfe_u32, (0,)))
vop("v_bfe_i32", "u32", "i32 u32 u32", _bfe_i32, Transport(_bfe_i32, (0,)))
vop("v_bfm_b32", "u32", "u32 u32", lambda a, b: ((U(1) << (a & U(31))) - U(1)) << (b & U(31)))


def _lshl_or(a: Array, b: Array, c: Array) -> Array:
    return (a << (b & U(31))) | c


vop("v_lshl_or_b32", "u32", "u32 u32 u32", _lshl_or, Transport(_lshl_or, (0, 2)))
vop("v_lshl_add_u32", "u32", "u32 u32 u32", lambda a, b, c: (a << (b & U(31))) + c, Upward((0, 2)))
vop("v_add_lshl_u32", "u32", "u32 u32 u32", lambda a, b, c: (a + b) << (c & U(31)), Upward((0, 1)))
vop("v_xad_u32", "u32", "u32 u32 u32", lambda a, b, c: (a ^ b) + c, carry_upward)

# Sums, with and without carry.


def _saturating(low: int, high: int, function: Compute) -> Compute:
    def compute(*sources: Array) -> Array:
        exact = function(*(s.astype(np.int64) for s in sources))
        return np.clip(exact, low, high)

    return compute


_SUMS = (
    ("u32", 0, 2**32 - 1),
    ("i32", -(2**31), 2**31 - 1),
    ("u16", 0, 2**16 - 1),
    ("i16", -(2**15), 2**15 - 1),
)
for _kind, _low, _high in _SUMS:
    for _verb, _ufunc in (("add", np.add), ("sub", np.subtract)):
        vop(f"v_{_verb}_nc_{_kind}", _kind, f"{_kind} {_kind}", _ufunc, carry_upward,
            saturate=_saturating(_low, _high, _ufunc))  # fmt: skip
vop("v_subrev_nc_u32", "u32", "u32 u32", _swapped(np.subtract), carry_upward,
    saturate=_saturating(0, 2**32 - 1, _swapped(np.subtract)))  # fmt: skip
vop("v_add3_u32", "u32", "u32 u32 u32", lambda a, b, c: a + b + c, carry_upward)


def _add_co(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    return total, total < a


def _add_co_ci(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    total = a + b
    result = total + carry
    return result, (total < a) | (result < total)


def _sub_co(a: Array, b: Array) -> tuple[Array, Array]:
    return a - b, b > a


def _sub_co_ci(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    return a - b - borrow, (b > a) | ((b == a) & borrow)


vop("v_add_co_u32", "u32 mask", "u32 u32", _add_co, carry_upward)
vop("v_sub_co_u32", "u32 mask", "u32 u32", _sub_co, carry_upward)
vop("v_subrev_co_u32", "u32 mask", "u32 u32", _swapped(_sub_co), carry_upward)
vop("v_add_co_ci_u32", "u32 mask", "u32 u32 mask", _add_co_ci, carry_upward)
vop("v_sub_co_ci_u32", "u32 mask", "u32 u32 mask", _sub_co_ci, carry_upward)
vop("v_subrev_co_ci_u32", "u32 mask", "u32 u32 mask", lambda a, b, m: _sub_co_ci(b, a, m), carry_upward)

# Products.


def _low24(kind: str) -> Compute:
    if kind == "u32":
        return lambda a: (a & U(0xFFFFFF)).astype(np.uint64)
    return lambda a: ((a << np.int32(8)) >> np.int32(8)).astype(np.int64)


for _kind, _suffix in (("u32", "u32_u24"), ("i32", "i32_i24")):
    _cut = _low24(_kind)
    vop(
        f"v_mul_{_suffix}",
        _kind,
        f"{_kind} {_kind}",
        lambda a, b, cut=_cut: (cut(a) * cut(b)).astype(a.dtype),
        carry_upward,
    )
    vop(f"v_mul_hi_{_suffix}", _kind, f"{_kind} {_kind}",
        lambda a, b, cut=_cut: ((cut(a) * cut(b)) >> cut(a).dtype.type(32)).astype(a.dtype))  # fmt: skip
    vop(f"v_mad_{_suffix}", _kind, f"{_kind} {_kind} {_kind}",
        lambda a, b, c, cut=_cut: (cut(a) * cut(b)).astype(a.dtype) + c, carry_upward)  # fmt: skip
vop("v_mul_lo_u32", "u32", "u32 u32", np.multiply, carry_upward)
vop("v_mul_hi_u32", "u32", "u32 u32",
    lambda a, b: ((a.astype(np.uint64) * b) >> np.uint64(32)).astype(np.uint32))  # fmt: skip
vop("v_mul_hi_i32", "i32", "i32 i32",
    lambda a, b: ((a.astype(np.int64) * b) >> np.int64(32)).astype(np.int32))  # fmt: skip
vop("v_mul_lo_u16", "u16", "u16 u16", np.multiply, carry_upward)
for _kind, _low, _high in _SUMS[2:]:
    vop(f"v_mad_{_kind}", _kind, f"{_kind} {_kind} {_kind}", lambda a, b, c: a * b + c, carry_upward,
        saturate=_saturating(_low, _high, lambda a, b, c: a * b + c))  # fmt: skip
vop("v_mad_u32_u16", "u32", "u16 u16 u32", lambda a, b, c: a.astype(np.uint32) * b + c, carry_upward)
vop("v_mad_i32_i16", "i32", "i16 i16 i32", lambda a, b, c: a.astype(np.int32) * b + c, carry_upward)


def _mad_u64(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    product = a.astype(np.uint64) * b
    total = product + c
    return total, total < product


def _mad_i64(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    product = a.astype(np.int64) * b
    total = product + c
    # Bit 64 of the 65-bit sum of two sign-extended values.
    signs = (product < 0).astype(np.int8) + (c < 0)
    carry = total.view(np.uint64) < product.view(np.uint64)
    return total, (signs + carry) % 2 != 0


vop("v_mad_u64_u32", "u64 mask", "u32 u32 u64", _mad_u64, carry_upward)
vop("v_mad_i64_i32", "i64 mask", "i32 i32 i64", _mad_i64, carry_upward)

# Smallest, largest, median.


def _med3(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


for _kind in ("u32", "i32", "u16", "i16"):
    _two, _three = f"{_kind} {_kind}", f"{_kind} {_kind} {_kind}"
    vop(f"v_min_{_kind}", _kind, _two, np.minimum)
    vop(f"v_max_{_kind}", _kind, _two, np.maximum)
    vop(f"v_min3_{_kind}", _kind, _three, lambda a, b, c: np.minimum(np.minimum(a, b), c))
    vop(f"v_max3_{_kind}", _kind, _three, lambda a, b, c: np.maximum(np.maximum(a, b), c))
    vop(f"v_med3_{_kind}", _kind, _three, _med3)
for _kind in ("u32", "i32"):
    _three = f"{_kind} {_kind} {_kind}"
    vop(f"v_maxmin_{_kind}", _kind, _three, lambda a, b, c: np.minimum(np.maximum(a, b), c))
    vop(f"v_minmax_{_kind}", _kind, _three, lambda a, b, c: np.maximum(np.minimum(a, b), c))

# Bit counting.


def reverse_bits(a: Array) -> Array:
    """Bits of a uint32 array in reverse order."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)):
        a = ((a >> U(shift)) & U(mask)) | ((a & U(mask)) << U(shift))
    return a


def leading_zeros(a: Array) -> Array:
    """Index of the highest set bit from the top; -1 (all ones) for zero."""
    _, exponent = np.frexp(a.astype(np.float64))
    return np.where(a == 0, U(0xFFFFFFFF), (32 - exponent).astype(np.uint32))


def trailing_zeros(a: Array) -> Array:
    """Index of the lowest set bit; -1 (all ones) for zero."""
    return leading_zeros(reverse_bits(a))


def leading_signs(a: Array) -> Array:
    """Number of leading bits that equal the sign, minus... see V_CLS_I32; -1 for 0 and -1."""
    bits = a.view(np.uint32)
    flipped = np.where(a < 0, ~bits, bits)
    return leading_zeros(flipped)


vop("v_bfrev_b32", "u32", "u32", reverse_bits, Transport(reverse_bits, (0,)))
vop("v_clz_i32_u32", "u32", "u32", leading_zeros)
vop("v_ctz_i32_b32", "u32", "u32", trailing_zeros)
vop("v_cls_i32", "u32", "i32", leading_signs)
vop("v_bcnt_u32_b32", "u32", "u32 u32", lambda a, b: np.bitwise_count(a).astype(np.uint32) + b)


# Byte sums.


def _bytes(a: Array) -> list[Array]:
    return [((a >> U(8 * i)) & U(0xFF)).astype(np.int64) for i in range(4)]


def _u32(a: Array) -> Array:
    return a.astype(np.uint32)


def _sad_u8(a: Array, b: Array, c: Array) -> Array:
    total: Any = sum(abs(x - y) for x, y in zip(_bytes(a), _bytes(b), strict=True))
    return _u32(c + total)


def _msad_u8(a: Array, b: Array, c: Array) -> Array:
    total: Any = sum(np.where(y == 0, 0, abs(x - y)) for x, y in zip(_bytes(a), _bytes(b), strict=True))
    return _u32(c + total)


def _sad_u16(a: Array, b: Array, c: Array) -> Array:
    low = abs((a & U(0xFFFF)).astype(np.int64) - (b & U(0xFFFF)))
    high = abs((a >> U(16)).astype(np.int64) - (b >> U(16)))
    return (c + low + high).astype(np.uint32)


def _lerp_u8(a: Array, b: Array, c: Array) -> Array:
    parts = zip(_bytes(a), _bytes(b), _bytes(c), strict=True)
    total: Any = sum(((x + y + (z & 1)) >> 1 & 0xFF) << 8 * i for i, (x, y, z) in enumerate(parts))
    return _u32(total)


vop("v_sad_u8", "u32", "u32 u32 u32", _sad_u8)
vop("v_msad_u8", "u32", "u32 u32 u32", _msad_u8)
vop("v_sad_u16", "u32", "u32 u32 u32", _sad_u16)
vop("v_sad_u32", "u32", "u32 u32 u32", lambda a, b, c: np.maximum(a, b) - np.minimum(a, b) + c)
vop("v_lerp_u8", "u32", "u32 u32 u32", _lerp_u8)

# Widening and packing of integers.

for _name, _to, _from, _wide in (
    ("v_cvt_i32_i16", "i32", "i16", np.int32),
    ("v_cvt_u32_u16", "u32", "u16", np.uint32),
):

    def _widen(a: Array, dtype: type[np.generic] = _wide) -> Array:
        return a.astype(dtype)

    vop(_name, _to, _from, _widen, Transport(_widen, (0,)))


def _pack(low: Array, high: Array) -> Array:
    return low.astype(np.uint32) & U(0xFFFF) | high.astype(np.uint32) << U(16)


vop(
    "v_cvt_pk_u16_u32",
    "u32",
    "u32 u32",
    lambda a, b: _pack(np.minimum(a, U(0xFFFF)), np.minimum(b, U(0xFFFF))),
)
vop(
    "v_cvt_pk_i16_i32",
    "u32",
    "i32 i32",
    lambda a, b: _pack(np.clip(a, -32768, 32767), np.clip(b, -32768, 32767)),
)
vop("v_pack_b32_f16", "u32", "b16 b16", _pack, Transport(_pack, (0, 1)))
