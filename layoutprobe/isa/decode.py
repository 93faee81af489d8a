"""Code bytes -> instructions, following the control flow from a kernel's entry.

The encodings come from the `tinygrad` package, which generates them from AMD's machine-readable
ISA. What it leaves to us: MUBUF, the 16-bit halves of VOP1/VOP2/VOPC (bit 7 of the register
number, RDNA3 ISA guide 7.3 "true16"), and a uniform order of operands.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError
from layoutprobe.isa.inst import EXEC_LO, NULL, VCC_LO, Inst, Operand

MAX_INSTRUCTIONS = 400_000
"""More than any kernel we know, by an order of magnitude: hostile code ends here."""

_NONE = Operand("none")
_DUAL_PREFIX = "v_dual_"
_TRUE16_ENCODINGS = ("VOP1", "VOP2", "VOPC")
_RESERVED = frozenset([*range(209, 235), 239, *range(249, 253), 254])
"""Encodings that name no source (RDNA3 ISA guide, "Operand encodings"); DPP markers are taken before."""
_SOURCE_0 = {"VOP1": 0, "VOP2": 0, "VOPC": 0, "VOP3": 4, "VOP3SD": 4, "VOP3P": 4}
"""Byte at which the nine bits of source 0 start."""
_DPP_MARKERS = {233: "DPP8", 234: "DPP8", 250: "DPP16"}
_ENDS = ("s_endpgm", "s_branch", "s_setpc_b64", "s_endpgm_saved")


def decode_kernel(code: CodeObject, kernel: Kernel) -> dict[int, Inst]:
    """Every instruction that control flow can reach from the kernel's entry, by address.

    Raises:
        CodeObjectError: unknown encoding, or control flow that leaves the code; names the PC and
            the words found there.
    """
    text = _executable_bytes(code, kernel.entry)
    found: dict[int, Inst] = {}
    pending = [kernel.entry]
    while pending:
        pc = pending.pop()
        while pc not in found:
            if len(found) >= MAX_INSTRUCTIONS:
                raise CodeObjectError(
                    f"the kernel has more than {MAX_INSTRUCTIONS} instructions", where={"kernel": kernel.name}
                )
            inst = decode_one(text(pc), pc, kernel.wavefront_size)
            found[pc] = inst
            if inst.name.startswith(("s_branch", "s_cbranch")):
                pending.append(inst.branch_target)
            if inst.name in _ENDS:
                break
            pc = inst.next_pc
    return dict(sorted(found.items()))


def _executable_bytes(code: CodeObject, entry: int) -> Callable[[int], bytes]:
    """Reads up to 16 bytes at an address of the segment that holds the entry."""
    segment = next(
        (s for s in code.segments if s.executable and s.address <= entry < s.address + len(s.data)), None
    )
    if segment is None:
        raise CodeObjectError("the kernel's entry is in no executable segment", where={"PC": f"{entry:#x}"})
    base, data = segment.address, segment.data

    def text(pc: int) -> bytes:
        at = pc - base
        if not 0 <= at <= len(data) - 4 or pc % 4:
            raise CodeObjectError(
                "control flow leaves the code",
                where={"PC": f"{pc:#x}"},
                expected=f"an address in {base:#x}..{base + len(data):#x}",
            )
        return data[at : at + 16]

    return text


def decode_one(data: bytes, pc: int, wave_size: int = 32) -> Inst:
    """The instruction at the start of `data`.

    Args:
        data: up to 16 bytes.
        pc: its address.
        wave_size: lanes of a wave, which decides how many registers a lane mask takes.

    Raises:
        CodeObjectError: unknown or truncated encoding.
    """
    try:
        raw = _raw(data)
        if raw.size() > len(data):
            raise ValueError("truncated")
        return _to_inst(raw, pc, wave_size)
    except (ValueError, AssertionError, KeyError, RuntimeError, AttributeError, TypeError) as error:
        words = " ".join(f"{w:08x}" for w in struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))
        raise CodeObjectError(
            "bytes that are no known instruction", where={"PC": f"{pc:#x}"}, observed=f"words {words}"
        ) from error


def _raw(data: bytes) -> Any:
    """The instruction as the package reads it.

    Two things it does not see by itself: MUBUF, and DPP in encodings other than VOP1, VOP2 and VOPC
    with a plain control. Source 0 then holds a marker (RDNA3 ISA guide, "DPP"): 250 for DPP16, 233
    and 234 for DPP8 without and with fetch-inactive, and the control follows in a word of its own.
    """
    from tinygrad.renderer.amd import detect_format
    from tinygrad.runtime.autogen.amd.rdna3 import ins

    if len(data) < 4:
        raise ValueError("truncated")
    if data[3] >> 2 == 0b111000:
        return ins.MUBUF.from_bytes(data)
    encoding = detect_format(data)
    family = encoding.__name__.partition("_")[0]
    if family in _SOURCE_0:
        at = _SOURCE_0[family]
        source = int.from_bytes(data[at : at + 2], "little") & 0x1FF
        if source in _DPP_MARKERS:
            encoding = getattr(ins, f"{family}_{_DPP_MARKERS[source]}")
        elif source in _RESERVED:
            raise ValueError(f"source encoding {source} is reserved")
    return encoding.from_bytes(data)


def _to_inst(raw: Any, pc: int, wave_size: int) -> Inst:
    class_name = type(raw).__name__
    encoding, _, variant = class_name.partition("_")
    if encoding == "VOPD":
        return _dual(raw, pc)
    fields = {name: getattr(raw, name) for name, _ in raw._fields if name not in ("encoding", "op", "seg")}
    name = raw.op.name.lower().removesuffix("_e32").removesuffix("_e64")
    return _ASSEMBLE[encoding](_Fields(raw, fields, name, encoding, variant, pc, wave_size))


class _Fields:
    """The fields of one raw instruction, with makers for operands."""

    def __init__(
        self,
        raw: Any,
        fields: dict[str, Any],
        name: str,
        encoding: str,
        variant: str,
        pc: int,
        wave_size: int = 32,
    ) -> None:
        self.raw, self.fields, self.name = raw, fields, name
        self.encoding, self.variant, self.pc = encoding, variant, pc
        self.mask_bits = wave_size
        self.literal = int(fields.get("literal", 0))

    def mod(self, name: str) -> int:
        return int(self.fields.get(name, 0))

    def operand(self, name: str, *, code: int | None = None, **changes: Any) -> Operand:
        """Operand of a register field, with width and format from AMD's operand table.

        Args:
            name: the field.
            code: encoding to take instead of the field's own.
            changes: attributes that the encoding does not give.
        """
        table = self.raw.operands
        info = table.get(name) or table.get("v" + name) or table.get(name[1:])
        bits = info[1] if info else 32
        fmt = info[0].name.removeprefix("FMT_").removeprefix("NUM_") if info else "B32"
        if fmt == "M64":  # a lane mask: one SGPR in wave32, two in wave64
            bits, fmt = self.mask_bits, f"M{self.mask_bits}"
        return self.register(self.fields[name].offset if code is None else code, bits, fmt, **changes)

    def register(self, code: int, bits: int, fmt: str, **changes: Any) -> Operand:
        regs = max(1, bits // 32)
        if code >= 256:
            index, hi = code - 256, False
            if bits == 16 and self.encoding in _TRUE16_ENCODINGS and index >= 128:
                index, hi = index - 128, True
            return replace(Operand("v", index, regs, bits, fmt, hi=hi), **changes)
        if code == 255:
            return replace(Operand("literal", 0, regs, bits, fmt, value=self.literal), **changes)
        if code < 128:
            return replace(Operand("s", code, regs, bits, fmt), **changes)
        if code in _RESERVED:
            raise ValueError(f"source encoding {code} is reserved")
        return replace(Operand("const", code, regs, bits, fmt), **changes)

    def mask(self, code: int = VCC_LO) -> Operand:
        """A lane mask in scalar registers."""
        return self.register(code, self.mask_bits, f"M{self.mask_bits}")

    def inst(self, dst: tuple[Operand, ...], src: tuple[Operand, ...], **mods: int) -> Inst:
        kept = {key: value for key, value in mods.items() if value}
        return Inst(self.pc, self.raw.size(), self.name, self.encoding, dst, src, kept | self.dpp())

    def dpp(self) -> dict[str, int]:
        if self.variant == "DPP8":
            return {
                "dpp8": sum(self.mod(f"lane_sel_{i}") << 3 * i for i in range(8)),
                "fi": int(self.dpp8_fi),
            }
        if self.variant == "DPP16":
            keys = {
                "dpp": "dpp_ctrl",
                "row_mask": "row_mask",
                "bank_mask": "bank_mask",
                "bc": "bound_ctrl",
                "fi": "fi",
            }
            return {new: self.mod(old) for old, new in keys.items()}
        return {}

    @property
    def dpp8_fi(self) -> bool:
        return bool(self.fields["src0"].offset == 234)  # 233 is DPP8, 234 is DPP8 with fetch-inactive

    def first_source(self, **changes: Any) -> Operand:
        """src0, or with DPP the VGPR that the permutation reads."""
        if self.variant.startswith("DPP"):
            return self.operand("src0", code=self.fields["vsrc0"].offset, **changes)
        return self.operand("src0", **changes)


def _dual(raw: Any, pc: int) -> Inst:
    literal = int(getattr(raw, "literal", 0))
    halves = []
    for side, op in (("x", raw.opx), ("y", raw.opy)):
        name = "v_" + op.name.lower().removeprefix(_DUAL_PREFIX)
        make = _Fields(raw, {"literal": literal}, name, "VOPD", "", pc)
        fmt = "F32" if name.endswith("f32") else "B32"

        def reg(field: str, make: _Fields = make, fmt: str = fmt) -> Operand:
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


def _vop1(f: _Fields) -> Inst:
    if f.name in ("v_nop", "v_pipeflush"):
        return f.inst((), ())
    source = f.first_source(neg=bool(f.mod("src0_neg")), abs=bool(f.mod("src0_abs")))
    return f.inst((f.operand("vdst"),), (source,))


def _vop2(f: _Fields) -> Inst:
    dst = f.operand("vdst")
    src0 = f.first_source(neg=bool(f.mod("src0_neg")), abs=bool(f.mod("src0_abs")))
    src1 = f.operand("vsrc1", neg=bool(f.mod("src1_neg")), abs=bool(f.mod("src1_abs")))
    constant = Operand("literal", 0, 1, dst.bits, dst.fmt, value=f.literal)
    if "_co_ci_" in f.name:
        return f.inst((dst, f.mask()), (src0, src1, f.mask()))
    if f.name.startswith("v_fmaak"):
        return f.inst((dst,), (src0, src1, constant))
    if f.name.startswith("v_fmamk"):
        return f.inst((dst,), (src0, constant, src1))
    if f.name == "v_cndmask_b32":
        return f.inst((dst,), (src0, src1, f.mask()))
    return f.inst((dst,), (src0, src1))


def _compare_target(f: _Fields) -> tuple[Operand, ...]:
    if f.name.startswith("v_cmpx_"):
        return (f.mask(EXEC_LO),)
    if f.encoding == "VOPC":
        return (f.mask(),)
    # With DPP the package calls this field a VGPR.
    return (f.mask(f.fields["vdst"].offset & 0xFF),)


def _vopc(f: _Fields) -> Inst:
    src0 = f.first_source(neg=bool(f.mod("src0_neg")), abs=bool(f.mod("src0_abs")))
    src1 = f.operand("vsrc1", neg=bool(f.mod("src1_neg")), abs=bool(f.mod("src1_abs")))
    return f.inst(_compare_target(f), (src0, src1))


def _vop3(f: _Fields) -> Inst:
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
    dst = f.operand("vdst") if "vdst" in f.raw.operands else _NONE
    if dst.bits == 16 and opsel >> 3 & 1:
        dst = replace(dst, hi=True)
    if f.name in ("v_nop", "v_pipeflush"):
        return f.inst((), ())
    return f.inst((dst,), tuple(sources), clamp=f.mod("clmp"), omod=f.mod("omod"), opsel=opsel)


def _vop3sd(f: _Fields) -> Inst:
    negs = f.mod("neg")
    sources = []
    for i in range(f.raw.num_srcs()):
        neg = bool(negs >> i & 1)
        sources.append(f.first_source(neg=neg) if i == 0 else f.operand(f"src{i}", neg=neg))
    carry = f.mask(f.fields["sdst"].offset)
    return f.inst((f.operand("vdst"), carry), tuple(sources), clamp=f.mod("clmp"), omod=f.mod("omod"))


def _vop3p(f: _Fields) -> Inst:
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
    return f.inst((f.operand("vdst"),), tuple(sources), clamp=f.mod("clmp"), opsel=sel, opsel_hi=sel_hi)


def _sop1(f: _Fields) -> Inst:
    dst = (f.operand("sdst"),) if "sdst" in f.raw.operands else ()
    src = (f.operand("ssrc0"),) if "ssrc0" in f.raw.operands else ()
    return f.inst(dst, src)


def _sop2(f: _Fields) -> Inst:
    dst = f.operand("sdst")
    sources: tuple[Operand, ...] = (f.operand("ssrc0"), f.operand("ssrc1"))
    constant = Operand("literal", 0, 1, 32, dst.fmt, value=f.literal)
    if f.name == "s_fmaak_f32":
        sources = (*sources, constant)
    elif f.name == "s_fmamk_f32":
        sources = (sources[0], constant, sources[1])
    return f.inst((dst,), sources)


def _sopc(f: _Fields) -> Inst:
    return f.inst((), (f.operand("ssrc0"), f.operand("ssrc1")))


def _sopk(f: _Fields) -> Inst:
    sdst = f.operand("sdst") if "sdst" in f.raw.operands else _NONE
    mods = {"simm16": f.mod("simm16")}
    reads = f.name.startswith(("s_cmpk", "s_setreg_b32", "s_waitcnt"))
    inst = f.inst(() if reads else (sdst,), (sdst,) if reads else ())
    return replace(inst, mods=mods | ({"literal": f.literal} if f.variant == "LIT" else {}))


def _sopp(f: _Fields) -> Inst:
    return replace(f.inst((), ()), mods={"simm16": f.mod("simm16")})


def _smem(f: _Fields) -> Inst:
    if "sdata" not in f.raw.operands:
        return f.inst((), ())
    offset = f.mod("offset")
    soffset = f.register(f.fields["soffset"].offset, 32, "U32")
    signed = offset - (1 << 21) if offset & 1 << 20 else offset
    mods = {"offset": signed, "glc": f.mod("glc")}
    return f.inst((f.operand("sdata"),), (f.operand("sbase"), soffset), **mods)


def _ds(f: _Fields) -> Inst:
    names = f.raw.operands
    dst = (f.operand("vdst"),) if "vdst" in names else ()
    src = tuple(f.operand(n) for n in ("addr", "data0", "data1") if n in names)
    return f.inst(dst, src, offset0=f.mod("offset0"), offset1=f.mod("offset1"), gds=f.mod("gds"))


def _flat(f: _Fields) -> Inst:
    names = f.raw.operands
    offset = f.mod("offset")
    saddr_code = f.fields["saddr"].offset
    saddr = (
        _NONE if saddr_code == NULL else f.register(saddr_code, 32 if f.encoding == "SCRATCH" else 64, "ANY")
    )
    addr_bits = 64 if f.encoding == "FLAT" or (f.encoding == "GLOBAL" and saddr.kind == "none") else 32
    addr = f.register(f.fields["addr"].offset, addr_bits, "ANY")
    if f.encoding == "SCRATCH" and not f.mod("sve"):
        addr = _NONE
    atomic = "_atomic_" in f.name
    dst = (f.operand("vdst"),) if "vdst" in names and (not atomic or f.mod("glc")) else ()
    if dst and "_cmpswap_" in f.name:  # the table gives the width of the data: new value and comparand
        dst = (replace(dst[0], regs=dst[0].regs // 2, bits=dst[0].bits // 2),)
    data = (f.operand("data"),) if "data" in names else ()
    mods = {"offset": offset - 0x2000 if offset & 0x1000 else offset}
    mods |= {name: f.mod(name) for name in ("glc", "slc", "dlc")}
    return f.inst(dst, (addr, *data, saddr), **mods)


def _mubuf(f: _Fields) -> Inst:
    names = f.raw.operands
    if "vdata" not in names:
        return f.inst((), ())
    flags = {name: f.mod(name) for name in ("offset", "offen", "idxen", "glc", "slc", "dlc", "tfe")}
    vaddr = f.register(f.fields["vaddr"].offset, 32 * (flags["offen"] + flags["idxen"]), "ANY")
    if not flags["offen"] and not flags["idxen"]:
        vaddr = _NONE
    data = f.operand("vdata")
    rsrc = f.register(f.fields["srsrc"].offset, 128, "ANY")
    soffset = f.register(f.fields["soffset"].offset, 32, "U32")
    if "_load_" in f.name:
        return f.inst((data,), (vaddr, rsrc, soffset), **flags)
    returns = (data,) if "_atomic_" in f.name and flags["glc"] else ()
    return f.inst(returns, (data, vaddr, rsrc, soffset), **flags)


_ASSEMBLE: dict[str, Callable[[_Fields], Inst]] = {
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
    "SMEM": _smem,
    "DS": _ds,
    "FLAT": _flat,
    "GLOBAL": _flat,
    "SCRATCH": _flat,
    "MUBUF": _mubuf,
}
