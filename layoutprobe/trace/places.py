"""Where in a kernel something was executed, for findings."""

from __future__ import annotations

from msgspec.structs import replace

from layoutprobe.codeobj.inlining import inlined_calls, place_of
from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.matrix import WaveTable
from layoutprobe.observe.who import Who
from layoutprobe.place import Place, Register, field_bits
from layoutprobe.trace.operands import Slot
from layoutprobe.trace.subject import Subject


def where(subject: Subject, inst: Inst, who: Who | None = None) -> Place:
    """Kernel, line (or the nearest one before), PC and instruction, and who executed it."""
    place = place_of(subject.code, subject.kernel, inst.pc, inst.name)
    return place if who is None else replace(place, workgroup=who.workgroup, wave=who.wave, lane=who.lane)


def in_caller(subject: Subject, place: Place) -> Place:
    """The call that brought a place into the kernel, where its function is inlined at several lines: what others do
    by it is right, and what tells them apart stands in the call. Else the place itself."""
    if not place.inlined_at:
        return place
    call, *outer = place.inlined_at
    calls = {
        (one.call.source.file, one.call.source.line)
        for one in inlined_calls(subject.code)
        if one.call.function == call.function
    }
    if len(calls) < 2:
        return place
    return in_caller(subject, replace(place, source=call.source, inlined_at=tuple(outer)))


def site(subject: Subject, inst: Inst) -> str:
    """ "ds_load_b128 at gemm.hip:97"; by PC, and the line before, where the compiler gives none."""
    return where(subject, inst).site


def register(subject: Subject, number: int) -> Register:
    """A register as `isa.inst` numbers them; of an executed instruction, AccVGPRs are rows of the VGPR file."""
    return vector(subject, number - VGPR0) if number >= VGPR0 else Register("SGPR", number)


def vector(subject: Subject, row: int) -> Register:
    """The VGPR or AccVGPR that is a row of the wave's file."""
    first_acc = subject.code.first_accvgpr(subject.kernel)
    if first_acc is None or row < first_acc:
        return Register("VGPR", row)
    return Register("AccVGPR", row - first_acc)


def loop_around(subject: Subject, pc: int) -> Place | None:
    """What decides whether the loop around an instruction goes on, with the line of the loop's head; None where
    there is no loop, or no line.

    Compilers give the branch the line of the head, or of anything that they moved next to it. Heads stand
    above what they repeat, and in the function that repeats it.
    """
    insts = subject.insts.values()
    backward = [i for i in insts if i.kind & Kind.BRANCH and i.branch_target <= pc <= i.pc]
    for branch in sorted(backward, key=lambda inst: inst.pc - inst.branch_target):
        body = (inst for inst in insts if branch.branch_target <= inst.pc <= branch.pc)
        decides = (where(subject, inst) for inst in body if inst.name.startswith(_DECIDES))
        heads = [
            (len(at.inlined_at), at.source.line, at.pc or 0, at) for at in decides if at.source and at.line
        ]
        if heads:
            return min(heads, key=lambda head: head[:3])[3]
    return None


_DECIDES = ("s_cmp_", "s_cbranch_")
"""Beginnings of names of instructions by which loops end."""


def who_was(waves: WaveTable, wave: int, lane: int | None = None) -> Who:
    """A wave by its number in the launch, or a lane of it."""
    x, y, z = (int(i) for i in waves.group[wave])
    return Who((x, y, z), int(waves.index[wave]), lane)


def slot_place(subject: Subject, waves: WaveTable, slot: Slot) -> Place:
    """A slot of a matrix instruction: who executed what, and which bits of which register."""
    return replace(
        where(subject, slot.inst, who_was(waves, slot.wave, slot.lane)),
        matrix=slot.executions.letter(slot.matrix),
        register=vector(subject, slot.register),
        bits=field_bits(slot.field, slot.bits),
    )
