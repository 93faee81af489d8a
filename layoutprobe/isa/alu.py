"""Vector and scalar ALU instructions, branches and waits: raw fields -> instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from layoutprobe.arch import MatrixForm
from layoutprobe.arch.isa import HARDWARE
from layoutprobe.isa.dialect import Dialect
from layoutprobe.isa.fields import NONE, Fields
from layoutprobe.isa.indexing import SETS_MODE
from layoutprobe.isa.inst import EXEC_LO, M0, Inst, Operand

_DUAL_PREFIX = "v_dual_"
_ALONE = ("v_nop", "v_pipeflush", "v_clrexcp")
"""Without operands."""
_CARRY_IN = (
    *("v_add_co_ci_", "v_sub_co_ci_", "v_subrev_co_ci_"),
    *("v_addc_co_", "v_subb_co_", "v_subbrev_co_"),
)
"""As RDNA and as GFX9 spell them; what else has a carry only writes one."""
_CARRY_OUT = ("v_add_co_", "v_sub_co_", "v_subrev_co_")


def dual(raw: Any, pc: int, dialect: Dialect) -> Inst:
    """A dual instruction: its two halves as instructions of their own."""
    literal = int(getattr(raw, "literal", 0))
    halves = []
    for side, op in (("x", raw.opx), ("y", raw.opy)):
        name = "v_" + op.name.lower().removeprefix(_DUAL_PREFIX)
        make = Fields(raw, {"literal": literal}, name, "VOPD", "", pc, dialect)
        fmt = "F32" if name.endswith("f32") else "B32"

        def reg(field: str, make: Fields = make, fmt: str = fmt) -> Operand:
            return make.register(getattr(raw, field).offset, 32, fmt)

        src0, src1 = reg(f"src{side}0"), reg(f"vsrc{side}1")
        constant = Operand("literal", 0, 1, 32, fmt, value=literal)
        sources = {
            "v_mov_b32": (src0,),
            "v_fmaak_f32": (src0, src1, constant),
            "v_fmamk_f32": (src0, constant, src1),
            "v_cndmask_b32": (src0, src1, make.mask()),
        }.get(name, (src0, src1))
        halves.append(Inst(pc, raw.size(), name, "VOPD", (reg(f"vdst{side}"),), sources))
    name = " :: ".join(_DUAL_PREFIX + half.name.removeprefix("v_") for half in halves)
    return Inst(pc, raw.size(), name, "VOPD", pair=tuple(halves))


def _vop1(f: Fields) -> Inst:
    if f.name in _ALONE:
        return f.inst((), ())
    source = f.first_source(neg=bool(f.mod("src0_neg")), abs=bool(f.mod("src0_abs")))
    return f.inst((f.operand("vdst"),), (source,), clamp=f.mod("clmp"), omod=f.mod("omod"))


def _vop2(f: Fields) -> Inst:
    dst = f.operand("vdst")
    src0 = f.first_source(neg=bool(f.mod("src0_neg")), abs=bool(f.mod("src0_abs")))
    src1 = f.second_source(neg=bool(f.mod("src1_neg")), abs=bool(f.mod("src1_abs")))
    constant = Operand("literal", 0, 1, dst.bits, dst.fmt, value=f.literal)
    output = {"clamp": f.mod("clmp"), "omod": f.mod("omod")}
    if f.name.startswith(_CARRY_IN):
        return f.inst((dst, f.mask()), (src0, src1, f.mask()), **output)
    if f.name.startswith(_CARRY_OUT):
        return f.inst((dst, f.mask()), (src0, src1), **output)
    if f.name.startswith(("v_fmaak", "v_madak")):
        return f.inst((dst,), (src0, src1, constant))
    if f.name.startswith(("v_fmamk", "v_madmk")):
        return f.inst((dst,), (src0, constant, src1))
    if f.name == "v_cndmask_b32":
        return f.inst((dst,), (src0, src1, f.mask()), **output)
    return f.inst((dst,), (src0, src1), **output)


def _compare_target(f: Fields) -> tuple[Operand, ...]:
    to_exec = f.name.startswith("v_cmpx_")
    if to_exec and not f.rules.both_masks:
        return (f.mask(EXEC_LO),)
    if f.mod("sd"):
        mask = f.mask(f.code("sdst"))
    elif f.encoding == "VOPC":
        mask = f.mask()
    else:  # with DPP the package calls this field a VGPR
        mask = f.mask(f.fields["vdst"].offset & 0xFF)
    return (mask, f.mask(EXEC_LO)) if to_exec else (mask,)


def _vopc(f: Fields) -> Inst:
    src0 = f.first_source(neg=bool(f.mod("src0_neg")), abs=bool(f.mod("src0_abs")))
    src1 = f.second_source(neg=bool(f.mod("src1_neg")), abs=bool(f.mod("src1_abs")))
    return f.inst(_compare_target(f), (src0, src1))


def _vop3(f: Fields) -> Inst:
    negs, abss, opsel = f.mod("neg"), f.mod("abs"), f.mod("opsel")
    sources = []
    for i in range(f.raw.num_srcs()):
        changes: dict[str, Any] = {"neg": bool(negs >> i & 1), "abs": bool(abss >> i & 1)}
        operand = f.first_source(**changes) if i == 0 else f.operand(f"src{i}", **changes)
        if operand.bits == 16 and opsel >> i & 1:
            operand = replace(operand, hi=True)
        sources.append(operand)
    if f.name.startswith("v_cmp"):
        return f.inst(_compare_target(f), tuple(sources), clamp=f.mod("clmp"), opsel=opsel)
    if f.name.startswith("v_div_fmas"):
        sources.append(f.mask())
    dst = f.operand("vdst") if "vdst" in f.raw.operands else NONE
    if dst.kind == "s" and dst.bits == 16:  # a scalar result fills its register
        dst = replace(dst, bits=32)
    elif dst.bits == 16 and opsel >> 3 & 1:
        dst = replace(dst, hi=True)
    if f.name in _ALONE:
        return f.inst((), ())
    return f.inst((dst,), tuple(sources), clamp=f.mod("clmp"), omod=f.mod("omod"), opsel=opsel)


def _vop3sd(f: Fields) -> Inst:
    negs = f.mod("neg")
    sources = []
    for i in range(f.raw.num_srcs()):
        neg = bool(negs >> i & 1)
        sources.append(f.first_source(neg=neg) if i == 0 else f.operand(f"src{i}", neg=neg))
    carry = f.mask(f.fields["sdst"].offset)
    return f.inst((f.operand("vdst"), carry), tuple(sources), clamp=f.mod("clmp"), omod=f.mod("omod"))


def _vop3p(f: Fields) -> Inst:
    neg, neg_hi, sel = f.mod("neg"), f.mod("neg_hi"), f.mod("opsel")
    sel_hi = f.mod("opsel_hi") | f.mod("opsel_hi2") << 2
    sources = []
    for i in range(f.raw.num_srcs()):
        changes: dict[str, Any] = {
            "neg": bool(neg >> i & 1),
            "neg_hi": bool(neg_hi >> i & 1),
            "sel": bool(sel >> i & 1),
            "sel_hi": bool(sel_hi >> i & 1),
        }
        sources.append(f.first_source(**changes) if i == 0 else f.operand(f"src{i}", **changes))
    dst = f.operand("vdst")
    if (form := f.dialect.isa.matrix.get(f.name)) is not None:
        dst, sources = _matrix_operands(form, f.mask_bits, dst, sources)
    return f.inst((dst,), tuple(sources), clamp=f.mod("clmp"), opsel=sel, opsel_hi=sel_hi)


def _matrix_operands(
    form: MatrixForm, wave: int, dst: Operand, sources: list[Operand]
) -> tuple[Operand, list[Operand]]:
    """The operands as wide as the wave's size makes them: AMD's tables have the registers of one size."""
    vgprs = form.vgprs(wave)
    names = ("A", "B", "index" if form.sparse else "C")
    wide = [
        replace(source, regs=vgprs[name], bits=32 * vgprs[name])
        for name, source in zip(names, sources, strict=True)
    ]
    return replace(dst, regs=vgprs["D"], bits=32 * vgprs["D"]), wide


def _sop1(f: Fields) -> Inst:
    dst = (f.operand("sdst"),) if "sdst" in f.raw.operands else _silent(f)
    if f.name.startswith("s_sendmsg_rtn"):  # the field is the message's number, of no register
        return replace(f.inst(dst, ()), mods={"simm16": f.code("ssrc0")})
    src = (f.operand("ssrc0"),) if "ssrc0" in f.raw.operands else ()
    return f.inst(dst, src)


def _sop2(f: Fields) -> Inst:
    sources: tuple[Operand, ...] = (f.operand("ssrc0"), f.operand("ssrc1"))
    if "sdst" not in f.raw.operands:
        return f.inst((), sources)
    dst = f.operand("sdst")
    constant = Operand("literal", 0, 1, 32, dst.fmt, value=f.literal)
    if f.name == "s_fmaak_f32":
        sources = (*sources, constant)
    elif f.name == "s_fmamk_f32":
        sources = (sources[0], constant, sources[1])
    return f.inst((dst,), sources)


def _sopc(f: Fields) -> Inst:
    return f.inst(_silent(f), (f.operand("ssrc0"), f.operand("ssrc1")))


def _silent(f: Fields) -> tuple[Operand, ...]:
    """What is written without a field that says so."""
    return (Operand("s", M0),) if f.name in SETS_MODE else ()


_REGISTER = 63
"""Bits of simm16 that number a hardware register."""


def _sopk(f: Fields) -> Inst:
    sdst = f.operand("sdst") if "sdst" in f.raw.operands else NONE
    mods = {"simm16": f.mod("simm16")}
    if f.name.startswith(("s_getreg", "s_setreg")):
        name = f.dialect.isa.encodings.hardware.get(mods["simm16"] & _REGISTER)
        mods["hwreg"] = HARDWARE.index(name) if name else len(HARDWARE)
    if f.variant == "LIT":
        return replace(f.inst((), (Operand("literal", 0, 1, 32, "B32", value=f.literal),)), mods=mods)
    reads = f.name.startswith(("s_cmpk", "s_setreg_b32", "s_waitcnt"))
    return replace(f.inst(() if reads else (sdst,), (sdst,) if reads else ()), mods=mods)


def _sopp(f: Fields) -> Inst:
    return replace(f.inst(_silent(f), ()), mods={"simm16": f.mod("simm16")})


ASSEMBLE: dict[str, Callable[[Fields], Inst]] = {
    "VOP1": _vop1,
    "VOP2": _vop2,
    "VOPC": _vopc,
    "VOP3": _vop3,
    "VOP3SD": _vop3sd,
    "VOP3P": _vop3p,
    "SOP1": _sop1,
    "SOP2": _sop2,
    "SOPC": _sopc,
    "SOPK": _sopk,
    "SOPP": _sopp,
}
"""By encoding."""
