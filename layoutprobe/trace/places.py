"""How findings say where: instruction, source line, workgroup, wave, lane."""

from __future__ import annotations

from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.observe.matrix import WaveTable
from layoutprobe.observe.who import Who
from layoutprobe.trace.operands import Slot
from layoutprobe.trace.subject import Subject


def site(subject: Subject, inst: Inst) -> str:
    """ "ds_load_b128 at gemm.hip:97"; by PC, and the line before, where the compiler gives none."""
    if line := subject.line(inst.pc):
        return f"{inst.name} at {line}"
    near = subject.near_line(inst.pc)
    return f"{inst.name} at PC {inst.pc:#x}" + (f", near {near}" if near else "")


def where(subject: Subject, inst: Inst, who: Who | None) -> dict[str, object]:
    """Kernel, line (or the nearest one before), PC and instruction, and who executed it."""
    found: dict[str, object] = {"kernel": subject.kernel.name}
    if line := subject.line(inst.pc):
        found["line"] = line
    elif near := subject.near_line(inst.pc):
        found["near line"] = near
    found |= {"PC": f"{inst.pc:#x}", "instruction": inst.name}
    if who is not None:
        found |= {"workgroup": who.workgroup, "wave": who.wave}
        if who.lane is not None:
            found["lane"] = who.lane
    return found


def register_name(register: int) -> str:
    """ "v17" or "s4" of a register, as `isa.inst` numbers them."""
    if register >= VGPR0:
        return f"v{register - VGPR0}"
    return {106: "vcc_lo", 107: "vcc_hi"}.get(register, f"s{register}")


def wave_place(waves: WaveTable, wave: int) -> dict[str, object]:
    """Workgroup and wave, by the wave's number in the launch."""
    group = tuple(int(x) for x in waves.group[wave])
    return {"workgroup": group, "wave": int(waves.index[wave])}


def slot_place(subject: Subject, waves: WaveTable, slot: Slot) -> dict[str, object]:
    """A slot of a matrix instruction: who executed what, and which bits of which register."""
    place = where(subject, slot.inst, None) | wave_place(waves, slot.wave)
    place |= {
        "matrix": slot.executions.letter(slot.matrix),
        "lane": slot.lane,
        "VGPR": f"v{slot.register}",
    }
    if slot.bits < 32:
        name, part = ("half", ("low", "high")[slot.field]) if slot.bits == 16 else ("field", slot.field)
        place[name] = part
    return place
