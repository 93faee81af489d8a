"""Matrix instructions of GFX9 (VOP3P-MAI): raw fields -> instruction.

CDNA3 ISA guide, "VOP3P-MAI": bits of their own say which operands are AccVGPRs (`acc_cd` C and D together,
`acc` A and B), and how A and B are rearranged or of which types they are (`cbsz`, `abid`, `blgp`).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from layoutprobe.isa.fields import Fields, acc
from layoutprobe.isa.inst import Inst, Operand

CLASS = "VOP3P_MFMA"
"""The package's class of them. It reads some of them as ordinary VOP3P, whose fields mean other things."""
ENCODING = "MAI"
"""As `Inst.encoding` names it; LLVM calls it so too."""


def _matrix(f: Fields) -> Inst:
    names = ("src0", "src1", "src2")
    dst, sources = f.operand("vdst"), [f.operand(name) for name in names]
    if any(source.kind != "v" for source in sources[:2]):
        raise ValueError("A or B of a matrix instruction is no vector register")
    mods = {name: f.mod(name) for name in ("cbsz", "abid", "blgp")}
    form = f.dialect.isa.form(f.name, mods)
    if form is None:
        raise ValueError("no matrix instruction of the target, or not with these modifiers")
    vgprs = form.vgprs(f.mask_bits)
    dst = _wide(dst, vgprs["D"])
    operands = ("A", "B", "index" if form.sparse else "C")
    sources = [_wide(source, vgprs[name]) for name, source in zip(operands, sources, strict=True)]
    files = f.mod("acc")
    sources[:2] = [acc(source) if files >> at & 1 else source for at, source in enumerate(sources[:2])]
    if f.mod("acc_cd"):
        dst = acc(dst)
        if not form.sparse:  # there it is the index
            sources[2] = acc(sources[2])
    return f.inst((dst,), tuple(sources), **{**mods, **form.select})


def _wide(operand: Operand, registers: int) -> Operand:
    return replace(operand, regs=registers, bits=32 * registers)


def _scaled(f: Fields) -> Inst:
    """Two instructions in one: the scales of A and B, and the matrix instruction that uses them."""
    inst = _matrix(f)
    scales = tuple(f.operand(name, code=f.code(name)) for name in ("scale_src0", "scale_src1"))
    mods = {"opsel": f.mod("opsel"), "opsel_hi": f.mod("opsel_hi")}
    return replace(inst, src=(*inst.src, *scales), mods=inst.mods | {k: v for k, v in mods.items() if v})


ASSEMBLE: dict[str, Callable[[Fields], Inst]] = {ENCODING: _matrix, "VOP3PX2": _scaled}
"""By encoding."""
