"""Hardware registers and clocks: S_GETREG, S_SETREG, and counters that are emulated.

Of a clock a program sees that it goes on: every read finds it further than the one before. It measures nothing.
"""

from __future__ import annotations

import numpy as np

from layoutprobe.arch.isa import HARDWARE, MODE
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.operands import define, reader, writer
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, instruction

_MODE_BITS = 8
"""Rounding in bits 3:0 and subnormals in bits 7:4 of MODE; what lies above differs between families."""
_FIXED = 0xCF
"""Bits of these that decide how the emulator would have to compute: all but those of f32's subnormals. Where these
are flushed, one that occurs is a fault, whatever the mode says later."""
_KEPT_32 = 0x30
_CLOCKS = {"SHADER_CYCLES": 0, "SHADER_CYCLES_LO": 0, "SHADER_CYCLES_HI": 32}
"""Register -> the bit of the counter that is its lowest."""
_REALTIME = 0x83
"""MSG_RTN_GET_REALTIME (LLVM AMDGPUUsage)."""


def _field(inst: Inst) -> tuple[str, int, int]:
    """Name of the register, lowest bit and width."""
    simm = inst.mods["simm16"]
    at = inst.mods["hwreg"]
    return (
        HARDWARE[at] if at < len(HARDWARE) else f"number {simm & 63}",
        simm >> 6 & 31,
        (simm >> 11 & 31) + 1,
    )


@instruction("s_getreg_b32")
def _getreg(inst: Inst) -> Executor:
    name, low, width = _field(inst)
    if name not in _CLOCKS and (name != MODE or low + width > _MODE_BITS):
        raise UnsupportedFormError(f"hardware register {name}, bits {low + width - 1}:{low}")
    mask = (1 << width) - 1
    write, target = writer(inst.dst[0], "u32"), inst.dst[0]

    def execute(c: Cohort) -> None:
        whole = c.machine.facts.mode if name == MODE else c.machine.tick() >> _CLOCKS[name]
        write(c, np.full((len(c.waves), 1), whole >> low & mask, np.uint32))
        define(c, target)

    return execute


@instruction("s_setreg_b32", "s_setreg_imm32_b32")
def _setreg(inst: Inst) -> Executor:
    name, low, width = _field(inst)
    if name != MODE or low + width > _MODE_BITS:
        raise UnsupportedFormError(f"writing hardware register {name}, bits {low + width - 1}:{low}")
    mask = (1 << width) - 1 << low
    read = reader(inst.src[0], "u32")

    def execute(c: Cohort) -> None:
        mode = c.machine.facts.mode
        fixed = _FIXED | (_KEPT_32 if mode & _KEPT_32 == _KEPT_32 else 0)
        asked: Array = read(c.regs) << np.uint32(low) & np.uint32(mask)
        changed = (asked ^ np.uint32(mode & mask)) & np.uint32(fixed)
        if changed.any():
            what = "the kernel asks for a floating-point mode that the emulator does not execute"
            raise fault(c, inst, what, np.broadcast_to(changed != 0, c.exec.shape),
                        expected="rounding to nearest even, and no subnormals flushed")  # fmt: skip

    return execute


@instruction("s_memtime", "s_memrealtime")
def _time(inst: Inst) -> Executor:
    return _clock(inst)


@instruction("s_sendmsg_rtn_b64")
def _message(inst: Inst) -> Executor:
    number = inst.mods["simm16"]
    if number != _REALTIME:
        raise UnsupportedFormError(f"message {number}: it asks a host that is not there")
    return _clock(inst)


def _clock(inst: Inst) -> Executor:
    write, target = writer(inst.dst[0], "u64"), inst.dst[0]

    def execute(c: Cohort) -> None:
        write(c, np.full((len(c.waves), 1), c.machine.tick(), np.uint64))
        define(c, target)

    return execute
