"""What an instruction does with registers, in the words of the rules of wait states (`arch.hazards`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from layoutprobe.arch import Isa, MatrixForm
from layoutprobe.arch.hazards import Use
from layoutprobe.isa.indexing import named
from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, M0, VGPR0, Inst, Operand
from layoutprobe.isa.kind import Kind

Uses = Mapping[Use, frozenset[int]]
"""Use -> registers, as `isa.inst` numbers them."""
Pair = tuple[Use, frozenset[int]]

_TRANS = tuple(f"v_{name}_" for name in ("exp", "log", "rcp", "rsq", "sqrt", "sin", "cos"))
ACCUMULATING = ("v_fmac_", "v_mac_", "v_dot2c_", "v_dot4c_", "v_dot8c_", "v_writelane_")
"""They read their destination, which their operands do not list."""
_NARROW = (
    "v_cvt_scalef32_pk_fp4_",
    "v_cvt_scalef32_sr_pk_fp4_",
    "v_cvt_scalef32_pk_fp8_",
    "v_cvt_scalef32_pk_bf8_",
)
"""They write a part of a register even where op_sel chooses the lowest."""
_LANES = {"v_readlane_b32": True, "v_readfirstlane_b32": True, "v_writelane_b32": False}
"""Whether it reads a VGPR of a lane."""
_F64_FMA = ("v_fma_f64", "v_fmac_f64")
_SPACES = Kind.LDS | Kind.GLOBAL | Kind.BUFFER | Kind.SCRATCH | Kind.FLAT
_DWORD = 6
_WIDE = 2
_EXEC = frozenset((EXEC_LO, EXEC_HI))
_M0 = frozenset((M0,))
_UNIT = frozenset((-1,))
"""Stands for the unit of f64, which is no register."""


def uses(inst: Inst, isa: Isa) -> Uses:
    """What an instruction does, but to VGPRs that M0 picks; of dual instructions, what both halves do."""
    found: dict[Use, frozenset[int]] = {}
    for half in inst.pair or (inst,):
        for use, registers in _of(named(half), isa):
            if registers:
                found[use] = found.get(use, frozenset()) | registers
    return found


def passes_of(inst: Inst, isa: Isa) -> int:
    """Passes of a matrix instruction; 0 where nobody counts them."""
    form = isa.form(inst.name, inst.mods) if Kind.MATRIX in inst.kind else None
    return form.passes if form else 0


def _of(inst: Inst, isa: Isa) -> Iterator[Pair]:
    if Kind.MATRIX in inst.kind:
        form = isa.form(inst.name, inst.mods)
        yield from _matrix(inst, form) if form else ()
    elif Kind.VALU in inst.kind:
        yield from _valu(inst)
    elif Kind.SALU in inst.kind:
        yield Use.M0, _scalars(inst.dst) & _M0
    elif inst.kind & _SPACES:
        yield from _memory(inst)


def _matrix(inst: Inst, form: MatrixForm) -> Iterator[Pair]:
    d = _vectors(inst.dst)
    a_b, c = _vectors(inst.src[:2]), _vectors(inst.src[2:3])
    if form.sparse:  # the third source is the index, and C is what D holds
        a_b, c = a_b | c, d
    a_b |= _vectors(inst.src[3:])
    wide = {"f32": Use.F32_D, "f64": Use.F64_D}.get(form.a)
    yield wide or Use.D, d
    yield Use.WIDE_C if wide else Use.C, c
    yield Use.AB, a_b
    yield Use.OPERAND, a_b | c
    yield Use.MATRIX_EXEC, _EXEC
    if wide is Use.F64_D:
        yield Use.F64_UNIT, _UNIT


def _valu(inst: Inst) -> Iterator[Pair]:
    name = inst.name
    read, written = _vectors(inst.src), _vectors(inst.dst)
    if name.startswith(ACCUMULATING):
        read |= written
    dot, trans = name.startswith("v_dot"), name.startswith(_TRANS)
    added = (_vectors(inst.src[2:3]) or written) if dot else frozenset()
    yield Use.READ, read - added
    yield Use.DOT_C, added
    yield Use.WRITE, written
    yield Use.DOT if dot else Use.RESULT, written
    yield Use.TRANS if trans else Use.PLAIN_READ, written if trans else read
    yield Use.PART, written if _part(inst) else frozenset()
    yield Use.TOUCH, read | written
    scalars = _scalars(inst.src)
    yield Use.SCALAR, _scalars(inst.dst) - _EXEC
    yield Use.SCALAR_READ, scalars - _EXEC
    yield Use.EXEC, _scalars(inst.dst) & _EXEC
    yield from _special(inst, read, written, scalars)


def _special(
    inst: Inst, read: frozenset[int], written: frozenset[int], scalars: frozenset[int]
) -> Iterator[Pair]:
    """What single instructions need."""
    if inst.name in _LANES:
        yield Use.LANE, _scalars(inst.src[1:2])
        yield Use.LANE_READ, read if _LANES[inst.name] else frozenset()
        yield Use.LANE_EXEC, _EXEC
    if inst.name.startswith("v_div_fmas_"):
        yield Use.DIV_FMAS, scalars
    if "dpp_ctrl" in inst.mods:
        yield Use.DPP, read
        yield Use.DPP_EXEC, _EXEC
    if inst.name.startswith("v_permlane"):
        yield Use.SWAP, read | written
        yield Use.SWAP_EXEC, _EXEC
    if inst.name in _F64_FMA:
        yield Use.F64_FMA, _UNIT


def _part(inst: Inst) -> bool:
    if "dst_sel" in inst.mods:
        return inst.mods["dst_sel"] != _DWORD and bool(_vectors(inst.dst))
    if inst.name.startswith(_NARROW):
        return True
    high = 12 if inst.name.startswith("v_cvt_sr_") else 8
    return inst.encoding == "VOP3" and bool(inst.mods.get("opsel", 0) & high)


def _memory(inst: Inst) -> Iterator[Pair]:
    yield Use.MEMORY, _vectors(inst.src)
    yield Use.WRITE, _vectors(inst.dst)
    if Kind.LDS in inst.kind:
        return
    yield Use.MEMORY_SCALAR, _scalars(inst.src)
    if inst.to_lds:
        yield Use.DIRECT, _M0
    offset = inst.src[3:4] if Kind.BUFFER in inst.kind else ()
    if inst.kind & (Kind.STORE | Kind.ATOMIC) and not _scalars(offset):
        data = inst.src[0] if Kind.BUFFER in inst.kind else inst.src[1]
        yield Use.STORED, _vectors((data,)) if data.regs > _WIDE else frozenset()


def _vectors(operands: tuple[Operand, ...]) -> frozenset[int]:
    return frozenset(r for operand in operands for r in operand.registers() if r >= VGPR0)


def _scalars(operands: tuple[Operand, ...]) -> frozenset[int]:
    return frozenset(r for operand in operands for r in operand.registers() if r < VGPR0)
