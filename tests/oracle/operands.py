"""Operands and modifiers, read a second time from the ISA guide's rules, in plain Python.

Nothing here uses layoutprobe's own readers, DPP tables or output modifiers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.isa.inst import NULL, SCC, Inst, Operand
from oracle.harness import Image, Where, exact
from oracle.pcode import softfloat as sf
from oracle.pcode.lanes import Ints, each

MASKS = ("M32", "M64")
"""Formats of lane masks."""
FORMATS = {"F16": sf.F16, "F32": sf.F32, "F64": sf.F64}
_INLINE_FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0,
                  248: 0.15915494}  # fmt: skip
_PACK = {16: "<e", 32: "<f", 64: "<d"}
_INV_2PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
FLOAT_MODIFIERS = ("F16", "F32", "F64", "B16", "B32")
"""Formats whose operands take neg and abs: floats, and bits of a move (V_MOV, V_CNDMASK)."""


def width_of(operand: Operand) -> int:
    """Bits that an operand occupies in registers."""
    return 32 if operand.bits == 24 else operand.bits


def constant(operand: Operand) -> int:
    """An inline constant or literal at the operand's width (RDNA3 ISA guide, "inline constants", "literals")."""
    width, code = width_of(operand), operand.index
    mask = (1 << width) - 1
    if operand.kind == "literal":
        if operand.fmt == "F64":
            return operand.value << 32
        if operand.fmt == "I64":
            return operand.value | (0xFFFFFFFF << 32 if operand.value >> 31 else 0)
        return operand.value & mask
    if code <= 192:
        return code - 128
    if code <= 208:
        return (192 - code) & mask
    if operand.fmt in ("PK2_F16", "PK2_F32"):
        width = int(operand.fmt[5:])
    if code == 248:
        return _INV_2PI[width]
    return int.from_bytes(struct.pack(_PACK[width], _INLINE_FLOATS[code]), "little")


def read(operand: Operand, image: Image, wave: Where, lane: Where) -> Ints:
    """An operand's bits, without neg and abs; of many waves and lanes where these are arrays."""
    width = width_of(operand)
    if operand.kind == "const" and operand.index == 253:
        return exact(image.s[SCC, wave])
    if operand.kind in ("const", "literal"):
        return constant(operand)
    if operand.kind == "v":
        bits = image.wide(operand.index, wave, lane, max(1, width // 32))
    elif operand.index == NULL:
        bits = 0
    else:
        bits = sum(exact(image.s[operand.index + j, wave]) << 32 * j for j in range(max(1, width // 32)))
    if width == 16:
        return bits >> 16 if operand.hi else bits & 0xFFFF
    return bits


def with_modifiers(operand: Operand, bits: Ints) -> Ints:
    """abs, then neg, of a float or of moved bits."""
    sign = 1 << width_of(operand) - 1
    if operand.abs:
        bits = bits & ~sign
    return bits ^ sign if operand.neg else bits


def _packed_source(operand: Operand, bits: Ints) -> Ints:
    """Both halves as op_sel picks and neg changes them."""
    low = bits >> 16 if operand.sel else bits & 0xFFFF
    high = bits >> 16 if operand.sel_hi else bits & 0xFFFF
    if operand.fmt == "PK2_F16" or operand.fmt == "PK2_BF16":
        low = low ^ 0x8000 * operand.neg
        high = high ^ 0x8000 * operand.neg_hi
    return low | high << 16


def _mix_source(operand: Operand, bits: Ints) -> Ints:
    """FMA_MIX: neg_hi means abs; the oracle itself picks the half that op_sel names."""
    if operand.kind == "const" and operand.sel_hi and operand.index in _INLINE_FLOATS:
        bits = constant(replace(operand, fmt="PK2_F16"))
    sign = (0x80000000 if operand.sel else 0x8000) if operand.sel_hi else 0x80000000
    if operand.neg_hi:
        bits = bits & ~sign
    return bits ^ sign if operand.neg else bits


def _dword_pair(operand: Operand, bits: Ints) -> Ints:
    """Both dwords as op_sel picks and neg changes them."""
    low, high = (bits >> 32 * s & 0xFFFFFFFF for s in (operand.sel, operand.sel_hi))
    return low ^ operand.neg << 31 | (high ^ operand.neg_hi << 31) << 32


_SDWA_FIELDS = {0: (0, 8), 1: (8, 8), 2: (16, 8), 3: (24, 8), 4: (0, 16), 5: (16, 16), 6: (0, 32)}


def sub_dword_source(inst: Inst, i: int, operand: Operand, register: Ints) -> Ints:
    """What SDWA takes out of a register, before abs and neg."""
    low, width = _SDWA_FIELDS[inst.mods[f"src{i}_sel"]]
    field = register >> low & (1 << width) - 1
    if inst.mods[f"src{i}_sext"]:
        field = signed(field, width)
    return field & (1 << width_of(operand)) - 1


def sub_dword_result(inst: Inst, value: Ints, old: Ints) -> Ints:
    """A register that holds a result of SDWA."""
    low, width = _SDWA_FIELDS[inst.mods["dst_sel"]]
    field = value & (1 << width) - 1
    match inst.mods["dst_unused"]:
        case 0:
            return field << low
        case 1:
            return signed(field, width) << low & 0xFFFFFFFF
    return old & ~((1 << width) - 1 << low) | field << low


def modified(inst: Inst, operand: Operand, bits: Ints) -> Ints:
    """A source as the operation sees it."""
    if inst.name.startswith("v_fma_mix"):
        return _mix_source(operand, bits)
    if operand.fmt == "PK2_F32":
        return _dword_pair(operand, bits)
    if operand.fmt == "PK2_B32":  # the text itself looks at OPSEL
        return bits
    if operand.fmt.startswith("PK2"):
        return _packed_source(operand, bits)
    if "bitop3" in inst.name:  # the fields of the modifiers hold its table
        return bits
    return with_modifiers(operand, bits) if operand.fmt in FLOAT_MODIFIERS else bits


# DPP, from the text of the ISA guide ("DPP16", "DPP8").


def dpp16_source(control: int, lane: int) -> int | None:
    """The lane that `lane` reads, None beyond the end of the row."""
    row, place, amount = lane // 16 * 16, lane % 16, control & 0xF
    if control < 0x100:
        return lane // 4 * 4 + (control >> 2 * (lane % 4) & 3)
    match control >> 4:
        case 0x10:
            return lane + amount if place + amount <= 15 else None
        case 0x11:
            return lane - amount if place - amount >= 0 else None
        case 0x12:
            return row + (place + 16 - amount) % 16
        case 0x13:  # wave_shl, wave_rol, wave_shr, wave_ror
            to = lane + (1 if amount < 8 else -1)
            return to % 64 if amount & 4 else to if 0 <= to < 64 else None
        case 0x14 if amount == 2:  # row_bcast15
            return lane // 16 * 16 - 1 if lane > 15 else None
        case 0x14 if amount == 3:  # row_bcast31
            return 31 if lane > 31 else None
        case 0x14:
            return row + (15 - place if amount == 0 else place // 8 * 8 + 7 - place % 8)
        case 0x15:
            return row + amount
        case 0x16:
            return row + (place ^ amount)
    raise AssertionError(f"dpp_ctrl {control:#x}")


class Fetch(Struct, frozen=True):
    """What DPP lets one lane do: whether it writes, and the lane it reads (None reads zero)."""

    writes: bool
    lane: int | None


def dpp_fetch(inst: Inst, active: list[bool], lane: int) -> Fetch:
    """DPP as one lane sees it; without DPP the lane reads itself."""
    if "dpp8" in inst.mods:
        source = lane // 8 * 8 + (inst.mods["dpp8"] >> 3 * (lane % 8) & 7)
        return Fetch(True, source if active[source] or inst.mods.get("fi") else None)
    if "dpp_ctrl" not in inst.mods:
        return Fetch(True, lane)
    mods = inst.mods
    enabled = mods["row_mask"] >> lane // 16 & 1 and mods["bank_mask"] >> lane % 16 // 4 & 1
    source16 = dpp16_source(mods["dpp_ctrl"], lane)
    if source16 is None or not (active[source16] or mods.get("fi")):
        return Fetch(bool(enabled and mods["bound_ctrl"]), None)
    return Fetch(bool(enabled), source16)


# Output modifiers. Integer clamp saturates the exact result (RDNA3 ISA guide, "output modifiers").

Exact = Callable[[Ints, Ints, Ints], Ints]
_EXACT: dict[str, Exact] = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "subrev": lambda a, b, c: b - a,
    "mad": lambda a, b, c: a * b + c,
}


def saturating(name: str) -> tuple[Exact, str] | None:
    """The exact function and the format, for integer operations that clamp saturates."""
    parts = name.split("_")
    verb = parts[2] if parts[1] == "pk" else parts[1]
    if verb not in _EXACT or not re.search(r"(_nc_[ui](16|32)|_pk_(add|sub|mad)_[ui]16|v_mad_[ui]16)$", name):
        return None
    return _EXACT[verb], parts[-1]


def signed(bits: Ints, width: int) -> Ints:
    """Two's complement."""
    return bits - (bits >> width - 1 << width)


def _saturated(function: Exact, kind: str, sources: Sequence[Ints]) -> Ints:
    width = int(kind[1:])
    mask = (1 << width) - 1
    numbers = [signed(s & mask, width) if kind[0] == "i" else s & mask for s in sources]
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "i" else (0, mask)
    return each(lambda number: max(low, min(high, number)), function(*[*numbers, 0, 0][:3])) & mask


def output_modifiers(inst: Inst, bits: Ints, sources: Sequence[Ints]) -> Ints:
    """A result after omod and clamp."""
    fmt = inst.dst[0].fmt
    omod, clamp = inst.mods.get("omod", 0), inst.mods.get("clamp", 0)
    if fmt in FORMATS:
        return modified_float(fmt, bits, omod, bool(clamp))
    if fmt == "PK2_F16":
        halves = (modified_float("F16", bits >> at & 0xFFFF, 0, bool(clamp)) for at in (0, 16))
        return sum(h << at for h, at in zip(halves, (0, 16), strict=True))
    known = saturating(inst.name)
    if known is not None:
        if "_pk_" in inst.name:
            low = _saturated(*known, [s & 0xFFFF for s in sources])
            return low | _saturated(*known, [s >> 16 for s in sources]) << 16
        return _saturated(*known, sources)
    return _saturated_dot(inst, sources)


def _saturated_dot(inst: Inst, sources: Sequence[Ints]) -> Ints:
    """Dot products of integers with clamp: the exact sum, saturated to 32 bits."""
    width = {"dot2": 16, "dot4": 8, "dot8": 4}[inst.name[2:6]]
    is_signed = "_i32_" in inst.name
    total = signed(sources[2], 32) if is_signed else sources[2]
    for at in range(0, 32, width):
        factors = [s >> at & (1 << width) - 1 for s in sources[:2]]
        signs = [is_signed and (o.neg or "_iu" not in inst.name) for o in inst.src[:2]]
        factors = [signed(f, width) if sign else f for f, sign in zip(factors, signs, strict=True)]
        total = total + factors[0] * factors[1]
    low, high = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, (1 << 32) - 1)
    return each(lambda number: max(low, min(high, number)), total) & 0xFFFFFFFF


def modified_float(fmt: str, bits: Ints, omod: int, clamp: bool) -> Ints:
    """omod multiplies by 2, 4 or 1/2; clamp brings into [0, 1] and makes 0 of NaN (DX10_CLAMP)."""
    kind = {"F16": np.float16, "F32": np.float32, "F64": np.float64}[fmt]
    uint = {"F16": np.uint16, "F32": np.uint32, "F64": np.uint64}[fmt]
    value = np.atleast_1d(np.array(bits, uint)).view(kind)
    with np.errstate(all="ignore"):
        if omod:
            value = np.asarray(value * kind({1: 2, 2: 4, 3: 0.5}[omod]), kind)
        if clamp:
            below = np.isnan(value) | (value <= 0)
            value = np.where(below, np.zeros_like(value), np.where(value > 1, np.ones_like(value), value))
    result = value.view(uint).astype(object)
    return result if isinstance(bits, np.ndarray) else result[0]
