"""Instructions that change no register: hints, waits, cache control, and mode changes.

Branches, barriers and the end of the program belong to the scheduler.
"""

from __future__ import annotations

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import HINTS
from layoutprobe.machine.cohort import Cohort
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, instruction

_ALL_DENORMALS = 0xF


@instruction(*HINTS)
def _hint(inst: Inst) -> None:
    """Scheduling hints: nothing that a program can observe."""


@instruction(
    "buffer_gl0_inv", "buffer_gl1_inv", "s_gl1_inv", "s_dcache_inv", "global_inv", "global_wb", "global_wbinv",
    "buffer_inv", "buffer_wbl2", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol",
)  # fmt: skip
def _cache(inst: Inst) -> None:
    """There are no caches here: every access sees memory as it is."""


@instruction(
    "s_waitcnt", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_expcnt", "s_waitcnt_depctr",
    "s_wait_event", "s_wait_idle",
    "s_wait_loadcnt", "s_wait_storecnt", "s_wait_samplecnt", "s_wait_bvhcnt", "s_wait_expcnt", "s_wait_dscnt",
    "s_wait_kmcnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_wait_alu",
)  # fmt: skip
def _wait(inst: Inst) -> None:
    """Memory operations complete at once; whether the waits suffice is another check's question."""


@instruction("s_sendmsg")
def _sendmsg(inst: Inst) -> None:
    """DEALLOC_VGPRS (3) is a hint; other messages talk to a host that is not there."""
    if inst.mods["simm16"] & 0xFF != 3:
        raise UnsupportedFormError(f"message {inst.mods['simm16'] & 0xFF}")


@instruction("s_denorm_mode")
def _denorm(inst: Inst) -> None:
    if inst.mods["simm16"] & _ALL_DENORMALS != _ALL_DENORMALS:
        raise UnsupportedFormError("flushing denormals")


@instruction("s_round_mode")
def _round(inst: Inst) -> None:
    if inst.mods["simm16"] & 0xF:
        raise UnsupportedFormError("a rounding mode other than nearest even")


@instruction("s_trap")
def _trap(inst: Inst) -> Executor:
    def execute(c: Cohort) -> None:
        raise ExecutionError(
            "the kernel traps",
            hint="__builtin_trap or a failed assertion was reached",
            kind="trap",
        )

    return execute


_WORKGROUP_BARRIER = 193
"""Encoding of -1, the only barrier whose members the launch decides (RDNA4 ISA guide, S_BARRIER_SIGNAL)."""


@instruction("s_barrier_signal")
def _barrier_signal(inst: Inst) -> Executor:
    """Says that the wave has arrived; it waits at S_BARRIER_WAIT, where the scheduler checks this."""
    barrier = inst.src[0]
    if barrier.kind != "const" or barrier.index != _WORKGROUP_BARRIER:
        raise UnsupportedFormError("a barrier other than the workgroup's")

    def execute(c: Cohort) -> None:
        c.machine.signalled[c.waves] = True

    return execute
