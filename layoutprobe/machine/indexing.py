"""Where in a kernel GFX9's mode of VGPRs that M0 picks is on, and for which operands: followed along its branches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.indexing import in_mode, picks_registers
from layoutprobe.isa.inst import M0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.place import Place

_ANY = 0xF


class _State(Struct, frozen=True):
    """What may hold before an instruction.

    Attributes:
        off, on: the mode may be off, or on.
        operands: which operands M0 may name while it is on.
    """

    off: bool = False
    on: bool = False
    operands: int = 0

    def __or__(self, other: _State) -> _State:
        return _State(self.off or other.off, self.on or other.on, self.operands | other.operands)


_OFF = _State(off=True)


def uses_mode(insts: Mapping[int, Inst]) -> bool:
    """Whether the mode is ever on."""
    return any(inst.name == "s_set_gpr_idx_on" for inst in insts.values())


def with_mode(insts: Mapping[int, Inst], entries: Iterable[int], end: int, kernel: str) -> Mapping[int, Inst]:
    """The instructions, those told of the mode that run while it is on.

    Args:
        insts: by address.
        entries: where the kernel and the functions that it may call begin: there the mode is off.
        end: VGPRs of a wave that are no AccVGPRs.
        kernel: its name.

    Raises:
        ExecutionError: the mode depends on the path, or is on where the kernel goes to another function.
    """
    states = _states(insts, entries)
    return {pc: _told(inst, states.get(pc, _OFF), end, kernel) for pc, inst in insts.items()}


def _states(insts: Mapping[int, Inst], entries: Iterable[int]) -> dict[int, _State]:
    states = {pc: _OFF for pc in entries if pc in insts}
    pending = list(states)
    while pending:
        inst = insts[pending.pop()]
        after = _OFF if Kind.JUMP in inst.kind else _after(inst, states[inst.pc])
        following = [] if inst.kind & (Kind.FINAL | Kind.END) else [inst.next_pc]
        following += [inst.branch_target] if Kind.BRANCH in inst.kind else []
        for pc in following:
            known = states.get(pc, _State())
            if pc in insts and known | after != known:
                states[pc] = known | after
                pending.append(pc)
    return states


def _after(inst: Inst, before: _State) -> _State:
    match inst.name:
        case "s_set_gpr_idx_on":
            return _State(on=True, operands=inst.src[1].value & _ANY)
        case "s_set_gpr_idx_off":
            return _OFF
        case "s_set_gpr_idx_mode" if before.on:
            return _State(before.off, on=True, operands=inst.mods["simm16"] & _ANY)
        case "s_set_gpr_idx_idx":
            return before
    writes_m0 = any(M0 in operand.registers() for operand in inst.dst if operand.kind == "s")
    return _State(before.off, on=True, operands=_ANY) if writes_m0 and before.on else before


def _told(inst: Inst, state: _State, end: int, kernel: str) -> Inst:
    if not state.on:
        return inst
    place = Place(kernel=kernel, pc=inst.pc, instruction=inst.name)
    if Kind.JUMP in inst.kind:
        raise ExecutionError(
            "the kernel goes to another function while VGPR indexing is on, which the emulator does not follow",
            place=place,
            hint="end it with s_set_gpr_idx_off before",
        )
    if Kind.VALU not in inst.kind:
        return inst
    told = in_mode(inst, state.operands, end)
    if state.off and picks_registers(told):
        raise ExecutionError(
            "VGPR indexing is on or off here, depending on the path, which the emulator does not follow",
            place=place,
            hint="set the mode on every path: s_set_gpr_idx_on or s_set_gpr_idx_off",
        )
    return told
