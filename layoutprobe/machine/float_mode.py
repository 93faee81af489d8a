"""The floating-point mode that a kernel's descriptor asks for: what of it is not executed is refused.

The emulator rounds to nearest even, keeps subnormal numbers, clamps NaN to 0 and quiets signalling NaNs. Compilers
ask for that; assembly that says nothing asks for f32 subnormals to be flushed, which makes no difference
until one occurs. Source of the bits: LLVM AMDGPUUsage, "compute_pgm_rsrc1".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.program import Bind, Executor, UnboundError
from layoutprobe.machine.registers import Array
from layoutprobe.place import Place

_ROUND = {0: "to nearest even", 1: "up", 2: "down", 3: "towards zero"}
_KEPT = 3
_ASKED = "the kernel asks for {}, which the emulator does not execute"
_HINT = "compile for the default mode (.amdhsa_float_..., -fgpu-flush-denormals-to-zero), or run on a card"


def refuse_float_mode(code: CodeObject, kernel: Kernel) -> None:
    """Refuses a mode that changes results from the first instruction on.

    Raises:
        ExecutionError: the descriptor asks for one; says for which.
    """
    descriptor = kernel.descriptor
    asked = [
        f"{what} rounded {_ROUND[mode]}"
        for what, mode in (("f32", descriptor.round_32), ("f16 and f64", descriptor.round_16_64))
        if mode
    ]
    if descriptor.denormals_16_64 != _KEPT:
        asked.append("f16 and f64 subnormals flushed to zero")
    for name, bit in isa_of(code, kernel).launch.modes.items():
        if not descriptor.rsrc1 >> bit & 1:
            asked.append(f"{name} switched off")
    if asked:
        what = _ASKED.format(" and ".join(asked))
        raise ExecutionError(what, place=Place(kernel=kernel.name), hint=_HINT)


def guarded(bind: Bind, kernel: Kernel) -> Bind:
    """`bind` for a kernel: where f32 subnormals are to be flushed, an instruction that meets one is a fault."""
    if kernel.descriptor.denormals_32 == _KEPT:
        return bind

    def bind_guarded(inst: Inst, earlier: Sequence[Inst]) -> Executor | None:
        execute = bind(inst, earlier)
        parts = inst.pair or (inst,)
        sources = [o for part in parts for o in part.src if _is_single(o)]
        results = [o for part in parts for o in part.dst if _is_single(o)]
        if execute is None or Kind.MATRIX in inst.kind or not (sources or results):
            return execute
        if picks_registers(inst):
            raise UnboundError("with f32 subnormals flushed, of registers that M0 picks")

        def execute_guarded(c: Cohort) -> None:
            _refuse_subnormals(c, inst, sources)
            execute(c)
            _refuse_subnormals(c, inst, results)

        return execute_guarded

    return bind_guarded


def _is_single(operand: Operand) -> bool:
    return operand.fmt == "F32" and operand.kind in ("v", "s")


def _refuse_subnormals(c: Cohort, inst: Inst, operands: Sequence[Operand]) -> None:
    for operand in operands:
        file: Sequence[Array] = c.regs.u if operand.kind == "v" else c.regs.su
        bits = file[operand.index] & np.uint32(0x7FFFFFFF)
        small = np.broadcast_to((bits != 0) & (bits < 0x00800000), c.exec.shape) & c.exec
        if small.any():
            what = _ASKED.format("f32 subnormals flushed to zero")
            raise fault(c, inst, what + "; here one occurs", small, hint=_HINT)
