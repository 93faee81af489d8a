"""Other instructions in place of one: its neighbours, another distance between lanes, one more, or none."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.isa.edit import Edit, Known, edit, role, with_source
from layoutprobe.isa.edits_of_constants import LOG2E, number, real
from layoutprobe.isa.inst import EXEC_LO, VCC_LO, Inst
from layoutprobe.isa.kind import Kind

_PAIRS = (
    ("v_add_nc_u32", "v_sub_nc_u32"), ("s_add_i32", "s_sub_i32"), ("s_add_u32", "s_sub_u32"),
    ("v_add_nc_u16", "v_sub_nc_u16"), ("v_and_b32", "v_or_b32"), ("s_and_b32", "s_or_b32"),
    ("s_and_b64", "s_or_b64"), ("v_or_b32", "v_xor_b32"), ("v_xor_b32", "v_and_b32"),
    ("s_or_b32", "s_xor_b32"), ("v_xor_b32", "v_add_nc_u32"), ("v_max_f32", "v_min_f32"),
    ("v_max_i32", "v_min_i32"), ("v_max_u32", "v_min_u32"), ("s_max_i32", "s_min_i32"),
    ("s_max_u32", "s_min_u32"), ("v_max_num_f32", "v_min_num_f32"), ("v_max_f16", "v_min_f16"),
    ("v_add_f32", "v_mul_f32"), ("v_add_f32", "v_max_f32"), ("v_floor_f32", "v_ceil_f32"),
    ("v_floor_f32", "v_rndne_f32"), ("v_floor_f32", "v_trunc_f32"), ("v_trunc_f32", "v_rndne_f32"),
    ("v_trunc_f32", "v_ceil_f32"), ("v_ashrrev_i32", "v_lshrrev_b32"), ("v_bfe_i32", "v_bfe_u32"),
    ("s_bfe_i32", "s_bfe_u32"), ("s_ashr_i32", "s_lshr_b32"), ("global_load_u8", "global_load_i8"),
    ("global_load_d16_u8", "global_load_d16_i8"), ("global_load_d16_hi_u8", "global_load_d16_hi_i8"),
    ("global_load_u16", "global_load_i16"), ("ds_load_u8", "ds_load_i8"), ("ds_load_u16", "ds_load_i16"),
    ("v_cvt_f32_i32", "v_cvt_f32_u32"), ("v_cvt_i32_f32", "v_cvt_u32_f32"),
    ("v_cvt_f32_ubyte0", "v_cvt_f32_ubyte1"), ("v_cvt_f32_ubyte2", "v_cvt_f32_ubyte3"),
    ("v_cvt_f32_ubyte0", "v_cvt_f32_ubyte2"), ("v_cvt_f32_ubyte0", "v_cvt_f32_ubyte3"),
    ("v_mul_i32_i24", "v_mul_u32_u24"), ("v_rcp_f32", "v_rsq_f32"), ("v_rsq_f32", "v_sqrt_f32"),
    ("v_rcp_f32", "v_sqrt_f32"), ("s_and_not1_b32", "s_and_b32"), ("v_sub_nc_u32", "v_xor_b32"),
    ("v_lshlrev_b32", "v_lshrrev_b32"), ("v_dot4_i32_iu8", "v_dot4_u32_u8"),
)  # fmt: skip
_OTHERS: dict[str, list[str]] = {}
for _one, _other in _PAIRS:
    _OTHERS.setdefault(_one, []).append(_other)
    _OTHERS.setdefault(_other, []).append(_one)


def names(inst: Inst, _: Known) -> Iterator[Edit]:
    """One that is often taken for it."""
    for other in _OTHERS.get(inst.name, ()):
        says = f"{other} in place of {inst.name}"
        yield edit(("name", other), says, 1.6, replace(inst, name=other))


def rounding(inst: Inst, _: Known) -> Iterator[Edit]:
    """Rounded to the nearest integer before it becomes one."""
    if inst.name in ("v_cvt_i32_f32", "v_cvt_u32_f32"):
        (source,), (to,) = inst.src, inst.dst
        if to.kind == "v":
            before = replace(
                inst, name="v_rndne_f32", encoding="VOP3", dst=(replace(to, fmt="F32"),), mods={}
            )
            after = with_source(inst, 0, replace(to, fmt=source.fmt))
            yield edit(
                ("nearest",), "rounding to the nearest integer before the conversion", 1.5, before, after
            )


def base(inst: Inst, _: Known) -> Iterator[Edit]:
    """e to the power, and not 2: a factor in front."""
    if inst.name == "v_exp_f32" and inst.src[0].kind == "v" and inst.dst[0].kind == "v":
        factor = real(LOG2E, inst.src[0])
        if factor is not None:
            before = replace(
                inst, name="v_mul_f32", encoding="VOP2", dst=inst.dst, src=(factor, inst.src[0]), mods={}
            )
            after = with_source(inst, 0, replace(inst.dst[0], fmt=inst.src[0].fmt))
            yield edit(
                ("base",), "the exponent multiplied by log2(e): 2^x is taken for e^x", 1.5, before, after
            )


def lanes(inst: Inst, _: Known) -> Iterator[Edit]:
    """Another distance of an exchange between lanes."""
    if "dpp_ctrl" in inst.mods:
        old = inst.mods["dpp_ctrl"]
        base = old & ~0xF
        steps = [0x160 | n for n in (1, 2, 4, 8)] if base == 0x160 else [base | n for n in range(1, 16)]
        steps = [0xB1, 0x4E, 0x1B] if old < 0x100 else steps
        for other in steps:
            if other != old:
                made = replace(inst, mods=inst.mods | {"dpp_ctrl": other})
                yield edit(("dpp", other), f"dpp_ctrl {other:#x} in place of {old:#x}", 2.5, made)
    if inst.name.startswith("ds_swizzle") and "offset" in inst.mods:
        old = inst.mods["offset"]
        for n in (1, 2, 4, 8, 16):
            other = old & ~(0x1F << 10) | n << 10
            if other != old:
                made = replace(inst, mods=inst.mods | {"offset": other})
                says = f"an exchange over {n} lanes in place of {old >> 10 & 31}"
                yield edit(("swizzle", n), says, 2, made)


def halves(inst: Inst, _: Known) -> Iterator[Edit]:
    """The other half of a register."""
    for at, operand in enumerate(inst.src):
        if operand.kind == "v" and operand.bits == 16 and operand.fmt in ("F16", "U16", "I16", "B16", "BF16"):
            made = with_source(inst, at, replace(operand, hi=not operand.hi))
            half = "low" if operand.hi else "high"
            yield edit(("half", at), f"the {half} half of {role(inst, at)}", 2.5, made)


def offsets(inst: Inst, _: Known) -> Iterator[Edit]:
    """Another constant offset of an access."""
    if not inst.kind & (Kind.LOAD | Kind.STORE) or inst.name.startswith("ds_swizzle"):
        return
    size = next((n // 8 for n in (128, 96, 64, 32) if f"b{n}" in inst.name), 2 if "16" in inst.name else 1)
    for key in ("offset", "offset0"):
        if key == "offset0" and key not in inst.mods and "offset1" not in inst.mods:
            continue
        old = inst.mods.get(key, 0)
        for by in (size, -size):
            step = by if key == "offset" else by // abs(by)
            change = {key: old + step}
            if key == "offset0":
                change["offset1"] = inst.mods.get("offset1", 0) + step
            if min(change.values()) < 0:
                continue
            says = f"addresses {abs(by)} bytes {'further on' if by > 0 else 'further back'}"
            yield edit(("offset", step), says, 4, replace(inst, mods=inst.mods | change))


def dropped(inst: Inst, _: Known) -> Iterator[Edit]:
    """Nothing done: the destination keeps what it had."""
    plain = inst.name.startswith(
        ("v_", "s_and_b", "s_or_b", "s_add", "s_sub", "s_mul", "s_min", "s_max", "s_lshl")
    )
    writes_mask = any(o.kind == "s" and o.index in (VCC_LO, EXEC_LO) for o in inst.dst)
    if plain and inst.dst and not writes_mask and Kind.MATRIX not in inst.kind:
        yield edit(("nothing",), "nothing done here", 4.5)


def one_more(inst: Inst, _: Known) -> Iterator[Edit]:
    """One added to the result."""
    if len(inst.dst) != 1 or not inst.name.startswith(_WHOLE) or inst.dst[0].regs != 1:
        return
    to = inst.dst[0]
    if to.kind != "v":
        return
    for value in (1, -1):
        add = Inst(
            inst.pc,
            inst.size,
            "v_add_nc_u32",
            "VOP2",
            (to,),
            (number(value, replace(to, fmt="U32")), replace(to, fmt="U32")),
        )
        says = "1 added to the result" if value > 0 else "1 subtracted from the result"
        yield edit(("more", value), says, 3, inst, add)


_WHOLE = (
    "v_add_nc_u32",
    "v_lshl_add_u32",
    "v_lshl_or_b32",
    "v_and_b32",
    "v_bfe_u32",
    "v_lshrrev_b32",
    "v_sub_nc_u32",
    "v_mul_lo_u32",
    "v_mbcnt",
    "v_mad_u32",
    "v_add3_u32",
    "v_or_b32",
    "v_min_i32",
    "v_max_i32",
    "v_min_u32",
)
