"""One instruction by itself, on registers that the caller gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import EXEC_LO, Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import Arena
from layoutprobe.machine.registers import RegisterFile
from layoutprobe.semantics.registry import bind


def execute(inst: Inst, vgprs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The VGPRs after an instruction, executed by waves that have nothing but these.

    All registers are defined, scalar ones are 0, all lanes are active, and there is no memory.

    Args:
        inst: the instruction.
        vgprs: uint32 [vgpr, wave, lane] with 32 or 64 lanes; stay as they are.

    Returns:
        uint32 [vgpr, wave, lane].

    Raises:
        UnsupportedFormError: no semantics, or not in this form.
        ExecutionError: the instruction's fault.
    """
    count, waves, lanes = vgprs.shape
    index = np.arange(waves)
    groups = Waves(index, np.zeros_like(index), np.zeros((waves, 3), np.int64))
    regs = RegisterFile.filled(count, waves, lanes, 0)
    regs.vgprs[...] = vgprs
    regs.sgprs[EXEC_LO : EXEC_LO + lanes // 32] = 0xFFFFFFFF
    shadow = RegisterFile.filled(count, waves, lanes, 0)
    run = bind(inst)
    if run is not None:
        with np.errstate(all="ignore"):
            run(Cohort(Machine(Arena(16, []), groups, lanes), inst.pc, index, regs, shadow, 0))
    return regs.vgprs
