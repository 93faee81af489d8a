"""VGPRs that M0 picks at run time: how compilers index arrays that they keep in registers."""

from __future__ import annotations

import numpy as np

from layoutprobe.isa.inst import M0, VGPR0, Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.access import undefined_guard
from layoutprobe.semantics.operands import reader, register_mask, settle
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, instruction


@instruction("v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32", "v_movrelsd_2_b32")
def _indexed(inst: Inst) -> Executor:
    """The waves of a cohort may have different indices: each is a copy of its own."""
    source, target = inst.src[0], inst.dst[0]
    from_m0 = inst.name != "v_movreld_b32"
    to_m0 = inst.name != "v_movrels_b32"
    if "dpp_ctrl" in inst.mods or "dpp8" in inst.mods:
        raise UnsupportedFormError(f"{inst.name} with DPP")
    if from_m0 and source.kind != "v":
        raise UnsupportedFormError(f"{inst.name} of a scalar register")
    two = inst.name == "v_movrelsd_2_b32"  # one index for each side
    guard = undefined_guard(inst, (Operand("s", M0),), "a register index")
    get, get_shadow, plain = reader(source, "u32"), reader(source, "u32", shadow=True), register_mask(source)

    def execute(c: Cohort) -> None:
        guard(c)
        index = np.broadcast_to(c.su[M0][:, 0], c.waves.shape)
        for m0 in np.unique(index):
            lanes = c.exec & (index == m0)[:, None]
            low, high = (int(m0) & 0x3FF, int(m0) >> 16 & 0x3FF) if two else (int(m0), int(m0))
            _check(c, inst, source.index + low if from_m0 else 0, target.index + high if to_m0 else 0, lanes)
            to = target.index + (high if to_m0 else 0)
            for tell in c.machine.events.indexed:
                read_by = source.index + low if from_m0 else -1
                tell(c, inst, c.waves[index == m0], read_by, to if to_m0 else -1)
            value = c.u[source.index + low] if from_m0 else get(c.regs)
            read = 1 << VGPR0 + source.index + low if from_m0 else plain
            undefined = c.undef & (read | 1 << VGPR0 + to)
            if undefined:
                bits = c.shadow.u[source.index + low] if from_m0 else get_shadow(c.shadow)
                np.copyto(c.shadow.u[to], bits, where=lanes)
            np.copyto(c.u[to], value, where=lanes)
            if undefined:
                settle(c, VGPR0 + to)

    return execute


def _check(c: Cohort, inst: Inst, source: int, target: int, lanes: Array) -> None:
    count = c.regs.count
    if max(source, target) >= count:
        raise fault(
            c,
            inst,
            f"M0 picks VGPR {max(source, target)}, which the wave does not have",
            lanes,
            expected=f"VGPRs below v{count}",
            hint="check the index of the array that the compiler keeps in registers",
        )
