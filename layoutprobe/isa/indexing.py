"""VGPRs that M0 picks at run time: which operands of an instruction these are.

RDNA has moves of its own for that. GFX9 has a mode: while it is on, M0[7:0] is added to the numbers of the VGPRs of
vector instructions, of those operands that M0[15:12] names. Sources: CDNA3 ISA guide, 6.6, and AMD's pseudocode of
S_SET_GPR_IDX_*.
"""

from __future__ import annotations

from msgspec.structs import replace

from layoutprobe.isa.inst import Inst, Operand

MODE, END = "gpr_idx", "gpr_idx_end"
"""Modifiers of an instruction that is bound for execution and runs while the mode is on: the operands that M0 may
move, as M0[15:12] has them, and the number of VGPRs that are no AccVGPRs."""
SRC0, SRC1, SRC2, DST = 1, 2, 4, 8
OPERANDS_AT = 12
"""Where in M0 the operands are named."""
INDEX = 0xFF
USED = 0xF << OPERANDS_AT | INDEX
"""Bits of M0 that the mode has a use for."""
SETS_MODE = ("s_set_gpr_idx_on", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode")
"""They write M0, which their operands in the assembly do not say."""

_MOVES = {
    "v_movrels_b32": SRC0,
    "v_movreld_b32": DST,
    "v_movrelsd_b32": SRC0 | DST,
    "v_movrelsd_2_b32": SRC0 | DST,
}
_NONE = Operand("none")


def moved_by(inst: Inst) -> int:
    """Operands whose registers M0 picks, or may pick: SRC0, SRC1, SRC2 and DST together."""
    return inst.mods[MODE] & _vectors(inst) if MODE in inst.mods else _MOVES.get(inst.name, 0)


def sets_bits(inst: Inst) -> tuple[int, int]:
    """Bits of M0 that one of SETS_MODE writes, and those that it sets. Those of INDEX come from its first source."""
    operands = inst.mods["simm16"] if not inst.src else inst.src[1].value if len(inst.src) > 1 else None
    taken = INDEX if inst.src else 0
    return (taken, 0) if operands is None else (taken | USED & ~INDEX, operands << OPERANDS_AT & USED)


def picks_registers(inst: Inst) -> bool:
    """Whether an instruction reads or writes VGPRs that only M0 knows."""
    return bool(moved_by(inst))


def in_mode(inst: Inst, operands: int, end: int) -> Inst:
    """An instruction that runs while the mode is on.

    Args:
        inst: the instruction.
        operands: those that M0[15:12] may name then.
        end: VGPRs of a wave that are no AccVGPRs.
    """
    return replace(inst, mods={**inst.mods, MODE: operands, END: end})


def out_of_mode(inst: Inst) -> Inst:
    """The instruction as it is where the mode is off."""
    if MODE not in inst.mods:
        return inst
    return replace(inst, mods={key: value for key, value in inst.mods.items() if key not in (MODE, END)})


def _vectors(inst: Inst) -> int:
    """Operands that are VGPRs. Its place tells which bit is an operand's: V_MADMK's last source is the third."""
    found = sum(SRC0 << at for at, operand in enumerate(inst.src[:3]) if operand.kind in ("v", "a"))
    return found | (DST if any(operand.kind in ("v", "a") for operand in inst.dst) else 0)


def placed(inst: Inst, sources: tuple[int, int, int], result: int) -> Inst:
    """The instruction with VGPRs of operands so many further up."""
    src = tuple(
        _further(operand, sources[at]) if at < len(sources) else operand
        for at, operand in enumerate(inst.src)
    )
    return replace(inst, src=src, dst=tuple(_further(operand, result) for operand in inst.dst))


def _further(operand: Operand, distance: int) -> Operand:
    return replace(operand, index=operand.index + distance) if operand.kind == "v" and distance else operand


def named(inst: Inst) -> Inst:
    """The instruction without the operands that M0 picks: what it uses whatever M0 holds."""
    moved = moved_by(inst)
    if not moved:
        return inst
    src = tuple(
        _NONE if at < 3 and moved >> at & 1 and operand.kind == "v" else operand
        for at, operand in enumerate(inst.src)
    )
    dst = tuple(_NONE if moved & DST and operand.kind == "v" else operand for operand in inst.dst)
    return replace(inst, src=src, dst=dst)
