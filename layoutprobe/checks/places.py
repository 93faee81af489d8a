"""How findings of the safety checks say where: instruction, source line, workgroup, wave, lane."""

from __future__ import annotations

from layoutprobe.checks.base import Subject
from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.observe.who import Who


def site(subject: Subject, inst: Inst) -> str:
    """ "ds_load_b128 at gemm.hip:97"; by PC where there is no line."""
    return f"{inst.name} at {subject.line(inst.pc) or f'PC {inst.pc:#x}'}"


def where(subject: Subject, inst: Inst, who: Who | None) -> dict[str, object]:
    """Kernel, line, PC and instruction, and who executed it."""
    found: dict[str, object] = {"kernel": subject.kernel.name}
    if line := subject.line(inst.pc):
        found["line"] = line
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
