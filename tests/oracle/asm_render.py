"""One vocabulary for an instruction of the assembly text and a decoded one, so that both can be compared.

Either side becomes a `Fields`: mnemonic, operands in the order of the text, and every modifier that is
not at its default. Nothing here looks at the other side: what a line of text means is taken from the
LLVM syntax ("User Guide for AMDGPU Backend", operands and modifiers of GFX11), what a decoded
instruction means from `layoutprobe.isa.inst`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from layoutprobe.arch.isa import HARDWARE
from layoutprobe.isa.inst import EXEC_LO, VCC_LO, Inst
from layoutprobe.isa.inst import Operand as Decoded
from layoutprobe.isa.kind import Kind

from .asm_fields import WAITCNT, Pieces, delay_alu, dpp_ctrl, sdwa, swizzle_offset, waitcnt
from .asm_text import AsmInst, AsmSyntax, Operand

_SCALARS = {VCC_LO: "vcc_lo", 107: "vcc_hi", 124: "null", 125: "m0", EXEC_LO: "exec_lo", 127: "exec_hi"}
_SCALARS_64 = {VCC_LO: "vcc", EXEC_LO: "exec"}
_CONSTANTS = {
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    253: "scc",
    **{240: "0.5", 241: "-0.5", 242: "1.0", 243: "-1.0", 244: "2.0", 245: "-2.0", 246: "4.0", 247: "-4.0"},
    248: "0.15915494",
}
_TWO_ADDRESSES = re.compile(r"2addr|(read|write|wrxchg)2")
_ALIASES = {"flat_scratch_lo": "s102", "flat_scratch_hi": "s103", "flat_scratch": "s[102:103]"}
"""Scalar registers that have two names."""
_HWREGS = {"HW_REG_MODE": 1, "HW_REG_SHADER_CYCLES": 29}
_MESSAGES = {"MSG_INTERRUPT": 1, "MSG_DEALLOC_VGPRS": 3, "MSG_RTN_GET_REALTIME": 0x83}
_MIX = ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16")
_BITS_OF_F64 = ("neg",)
_BITS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi")

Place = Callable[[str], int]
"""Value of a symbol expression such as `table@rel32@lo+4`, or address of a label."""


class Fields(Struct, frozen=True):
    """One instruction.

    Attributes:
        mnemonic: without encoding suffix; a VOPD pair has both names, joined by " :: ".
        operands: in one spelling; for a VOPD pair those of X, then those of Y.
        modifiers: name -> value, those that are not at their default.
    """

    mnemonic: str
    operands: tuple[str, ...]
    modifiers: dict[str, int]

    def __str__(self) -> str:
        shown = " ".join(f"{k}:{v:#x}" for k, v in sorted(self.modifiers.items()))
        return f"{self.mnemonic} {', '.join(self.operands)} {shown}".rstrip()


# The text.


def from_text(
    inst: AsmInst, encoding: str, place: Place, waits: dict[str, Pieces] = WAITCNT["gfx11"]
) -> Fields:
    """What a line of the text says.

    Args:
        inst: the line.
        encoding: of the binary, in words ("SOPP", "SMEM"): it tells which field a bare number fills.
        place: resolves symbols and labels.
        waits: fields of s_waitcnt.
    """
    if inst.half2 is not None:
        x, y = (from_text(half, "VOPD half", place, waits) for half in (_first_half(inst), inst.half2))
        return Fields(f"{x.mnemonic} :: {y.mnemonic}", x.operands + y.operands, x.modifiers | y.modifiers)
    modifiers = _text_modifiers(inst, encoding)
    if encoding in ("SOPP", "SOPK") or inst.mnemonic.startswith("s_sendmsg_rtn"):
        operands = _text_scalar_immediate(inst, modifiers, place, waits)
    else:
        operands = [_text_operand(o, place) for o in inst.normal]
    if encoding == "SMEM" and len(operands) == 3:
        last = inst.normal[2]
        if last.kind == "int":
            modifiers["offset"] = int(last.value)
        if last.kind == "int" or last.name == "null":
            operands.pop()
    return Fields(inst.mnemonic, tuple(operands), {k: v for k, v in modifiers.items() if v})


def _first_half(inst: AsmInst) -> AsmInst:
    return AsmInst(inst.mnemonic, inst.operands, inst.modifiers, inst.line)


def _text_operand(operand: Operand, place: Place) -> str:
    if operand.kind == "ttmp":
        name = _registers("s", 108 + operand.index, operand.count)
    elif operand.kind in ("vgpr", "sgpr", "a"):
        name = _registers(operand.name, operand.index, operand.count) + (".h" if operand.half == "h" else "")
    elif operand.kind == "int":
        name = _number(int(operand.value))
    elif operand.kind == "float":
        name = repr(operand.value)
    elif operand.kind == "label" or operand.name.startswith("sendmsg("):
        name = f"{place(operand.name) & 0xFFFFFFFF:#x}"
    else:
        name = _ALIASES.get(operand.name, operand.name)
    return _signed(f"sext({name})" if operand.sext else name, operand.neg, operand.abs)


def _number(value: int) -> str:
    """A number that fits no inline constant is a literal, 32 bits wide."""
    return f"{value}" if -16 <= value <= 64 else f"{value & 0xFFFFFFFF:#x}"


def _registers(file: str, index: int, count: int) -> str:
    return f"{file}{index}" if count == 1 else f"{file}[{index}:{index + count - 1}]"


def _signed(name: str, neg: bool, absolute: bool) -> str:
    name = f"|{name}|" if absolute else name
    return f"-{name}" if neg else name


def _text_modifiers(inst: AsmInst, encoding: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, text in inst.modifiers.items():
        if name in _BITS:
            found[name] = sum(int(bit) << i for i, bit in enumerate(text.strip("[]").split(",")))
        elif name == "dpp8":
            lanes = text.strip("[]").split(",")
            found[name] = sum(int(lane) << 3 * i for i, lane in enumerate(lanes))
        elif name in _BITS_OF_F64:
            found["blgp"] = sum(int(bit) << i for i, bit in enumerate(text.strip("[]").split(",")))
        elif name == "bound_ctrl":  # GFX9 spells the bit that is set as 0
            found[name] = 1
        elif name == "mul":
            found["omod"] = {"2": 1, "4": 2}[text]
        elif name == "div":
            found["omod"] = 3
        elif name == "offset" and inst.mnemonic == "ds_swizzle_b32":
            found[name] = swizzle_offset(inst)
        elif name in _OWN_FIELD:
            found[name] = int(text, 0) if text else 1
        elif name not in (*_DPP_WORDS, *_SDWA_WORDS) and inst.mnemonic not in ("s_waitcnt", "s_delay_alu"):
            raise AsmSyntax(f"line {inst.line}: modifier {name}:{text}")
    if inst.encoding == "sdwa":
        found |= sdwa(inst)
    control = dpp_ctrl(inst)
    if control is not None:
        found["dpp_ctrl"] = control + 1  # quad_perm:[0,0,0,0] is 0, and no default
    if encoding == "VOP3PX2":
        found["abid"] = 1  # the scales are used
        found |= {name: found.get(name, 0) & 3 for name in ("op_sel", "op_sel_hi")}
    if encoding == "VOP3":
        found["op_sel"] = _selected(inst, found["op_sel"]) if "op_sel" in found else _halves(inst)
    if encoding == "VOP3P":
        found.setdefault("op_sel_hi", 0 if inst.mnemonic in _MIX else (1 << len(inst.operands) - 1) - 1)
    return found


_OWN_FIELD = (
    *("offset", "offset0", "offset1", "gds", "glc", "slc", "dlc", "tfe", "offen", "idxen"),
    *("clamp", "row_mask", "bank_mask", "fi", "sc0", "sc1", "nt", "lds", "cbsz", "abid", "blgp", "bitop3"),
)
_SDWA_WORDS = ("dst_sel", "dst_unused", "src0_sel", "src1_sel")
_DPP_WORDS = (
    *("quad_perm", "row_shl", "row_shr", "row_ror", "row_share", "row_xmask"),
    *("row_mirror", "row_half_mirror", "row_bcast", "row_newbcast"),
    *("wave_shl", "wave_shr", "wave_rol", "wave_ror"),
)


def _selected(inst: AsmInst, bits: int) -> int:
    """op_sel that is spelled as a list: one bit a source, and the last for the destination, which is bit 3."""
    listed = inst.modifiers["op_sel"].count(",") + 1
    sources = len(inst.operands) - 1
    if listed > sources + 1:
        return bits
    low = (1 << sources) - 1
    return bits & low | (8 if listed > sources and bits >> sources else 0)


def _halves(inst: AsmInst) -> int:
    """op_sel of a VOP3 instruction that spells its halves `.l` and `.h`: bit i for source i, bit 3 for
    the destination."""
    target, *sources = inst.normal if inst.operands else [Operand("none")]
    if inst.mnemonic.startswith("v_cmpx"):
        target, sources = Operand("none"), [target, *sources]
    bits = sum(1 << i for i, source in enumerate(sources) if source.half == "h")
    return bits | (8 if target.half == "h" else 0)


def _text_scalar_immediate(
    inst: AsmInst, modifiers: dict[str, int], place: Place, waits: dict[str, Pieces]
) -> list[str]:
    """Operands of SOPP and SOPK other than the 16-bit immediate, which becomes a modifier."""
    if inst.mnemonic in ("s_waitcnt", "s_delay_alu"):
        modifiers.clear()
        modifiers["simm16"] = waitcnt(inst, waits) if inst.mnemonic == "s_waitcnt" else delay_alu(inst)
        return []
    operands = []
    for operand in inst.normal:
        if operand.kind == "int" and "simm16" not in modifiers:
            modifiers["simm16"] = int(operand.value) & 0xFFFF
            if "etreg" in inst.mnemonic:
                modifiers["hwreg"] = _hardware(int(operand.value) & 63)
        elif operand.kind == "label":
            modifiers["target"] = place(operand.name)
        elif operand.name.startswith("hwreg("):
            register, offset, size = (w.strip() for w in operand.name[6:-1].split(","))
            modifiers["simm16"] = _HWREGS[register] | int(offset) << 6 | int(size) - 1 << 11
            modifiers["hwreg"] = _hardware(_HWREGS[register])
        elif operand.name.startswith("sendmsg("):
            modifiers["simm16"] = message(operand.name)
        else:
            operands.append(_text_operand(operand, place))
    return operands


def _hardware(number: int) -> int:
    """The decoder's place of a hardware register of GFX11, by the name that the assembler gives its number."""
    names = {number: name.removeprefix("HW_REG_") for name, number in _HWREGS.items()}
    return HARDWARE.index(names[number]) if number in names else len(HARDWARE)


def message(text: str) -> int:
    """Number of a `sendmsg(NAME)`."""
    return _MESSAGES[text.removeprefix("sendmsg(").removesuffix(")")]


# The decoded instruction.


def from_inst(inst: Inst) -> Fields:
    """What a decoded instruction says."""
    if inst.pair:
        names = " :: ".join("v_dual_" + half.name.removeprefix("v_") for half in inst.pair)
        if names != inst.name:
            return Fields(f"{inst.name}, made of {names}", (), {})
        return Fields(names, tuple(o for half in inst.pair for o in _decoded_operands(half)), {})
    modifiers = _decoded_modifiers(inst)
    return Fields(inst.name, tuple(_decoded_operands(inst)), {k: v for k, v in modifiers.items() if v})


def _decoded_operands(inst: Inst) -> list[str]:
    """Destinations and sources, less those that the text leaves unsaid."""
    destinations, sources = list(inst.dst), list(inst.src)
    if inst.name.startswith("v_cmpx") and destinations[-1].index == EXEC_LO:
        destinations.pop()  # GFX9 has the mask besides
    if inst.name.startswith("s_set_gpr_idx_"):
        destinations = []  # M0
    implied = inst.name.startswith("v_div_fmas") or (inst.encoding == "VOPD" and "cndmask" in inst.name)
    if implied and sources[-1].kind == "s" and sources[-1].index == VCC_LO:
        sources.pop()
    if inst.encoding == "SMEM" and sources and sources[-1].index == 124:
        sources.pop()
    if inst.encoding == "FLAT" and sources[-1].kind == "none":
        sources.pop()
    if inst.encoding == "MUBUF" and destinations and Kind.ATOMIC in inst.kind:
        destinations = []  # one operand is both
    if inst.encoding == "VOP3P" and inst.name in _MIX:
        return [_decoded(o, o.neg_hi) for o in (*destinations, *sources)]
    if inst.encoding == "VOP3P":  # the signs are modifiers: neg_lo and neg_hi
        return [_unsigned(o) for o in (*destinations, *sources)]
    shown = [_decoded(o, o.abs) for o in (*destinations, *sources)]
    for at, source in enumerate(sources):
        if inst.mods.get(f"src{at}_sext"):
            shown[len(destinations) + at] = _signed(f"sext({_unsigned(source)})", source.neg, source.abs)
    return shown


def _decoded(operand: Decoded, absolute: bool) -> str:
    return _signed(_unsigned(operand), operand.neg, absolute)


def _unsigned(operand: Decoded) -> str:
    if operand.kind in ("v", "a"):
        return _registers(operand.kind, operand.index, operand.regs) + (".h" if operand.hi else "")
    if operand.kind == "s":
        names = _SCALARS if operand.regs == 1 or operand.index == 124 else _SCALARS_64
        return names.get(operand.index) or _registers("s", operand.index, operand.regs)
    if operand.kind == "literal":
        return f"{operand.value:#x}"
    if operand.kind == "none":
        return "off"
    if 128 <= operand.index <= 208:
        return str(operand.index - 128 if operand.index <= 192 else 192 - operand.index)
    return _CONSTANTS.get(operand.index, f"constant {operand.index}")


def _decoded_modifiers(inst: Inst) -> dict[str, int]:
    found = dict(inst.mods)
    if Kind.BRANCH in inst.kind:
        found.pop("simm16")
        found["target"] = inst.branch_target
    if inst.encoding == "DS" and not _TWO_ADDRESSES.search(inst.name):
        found["offset"] = found.pop("offset0", 0) | found.pop("offset1", 0) << 8
    if "dpp_ctrl" in found:
        found["dpp_ctrl"] += 1
    if "sc0" in found:
        found.pop("glc", None)  # says the same of an atomic to the semantics
    for name in ("wave_wide", "fnuz", "src0_sext", "src1_sext"):  # for the semantics; shown by the operands
        found.pop(name, None)
    for old, new in (("opsel", "op_sel"), ("opsel_hi", "op_sel_hi")):
        if old in found:
            found[new] = found.pop(old)
    if inst.encoding == "VOP3P":
        _decoded_packed(inst, found)
    return found


def _decoded_packed(inst: Inst, found: dict[str, int]) -> None:
    """Operands carry the halves and signs, and the modifiers repeat the halves: both must say the same."""

    def bits(name: str) -> int:
        return sum(int(getattr(source, name)) << i for i, source in enumerate(inst.src))

    used = (1 << len(inst.src)) - 1
    said = found.get("op_sel", 0), found.get("op_sel_hi", 0) & used
    found["op_sel"], found["op_sel_hi"] = bits("sel"), bits("sel_hi")
    if said != (found["op_sel"], found["op_sel_hi"]):
        found["the operands and the modifiers disagree"] = 1
    if inst.name not in _MIX:
        found["neg_lo"], found["neg_hi"] = bits("neg"), bits("neg_hi")
