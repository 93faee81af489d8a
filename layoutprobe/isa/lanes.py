"""Instructions whose lanes get values of other lanes: permutations through LDS hardware, permlane, and DPP."""

from __future__ import annotations

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import MOVES, Kind


def passes_between_lanes(inst: Inst) -> bool:
    """Whether a lane's result may be another lane's value."""
    if inst.kind & (MOVES | Kind.HINT):
        return False
    if Kind.LDS in inst.kind or "permlane" in inst.name:
        return True
    return any("dpp8" in half.mods or "dpp_ctrl" in half.mods for half in inst.pair or (inst,))


def passed_between_lanes(inst: Inst) -> tuple[int, ...]:
    """Registers whose values go from lane to lane: of a permutation those of its data, and not of its address."""
    operands = inst.src[1:] if "permute" in inst.name else inst.src
    return tuple(r for operand in operands if operand.kind == "v" for r in operand.registers())
