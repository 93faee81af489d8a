"""What a matrix instruction of a kernel does with its slots, observed by executing that instruction.

The experiment and its solver are those of the interaction probe. Here the instruction runs alone,
on registers that the experiment fills, so that a ready code object can be judged without a compiler.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from layoutprobe import __version__
from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.errors import UsageError
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import Arena
from layoutprobe.machine.registers import RegisterFile
from layoutprobe.semantics import bind
from layoutprobe.semantics.wmma import form_of
from layoutprobe.solver.experiment import interaction_experiment
from layoutprobe.solver.interaction import Interaction, solve_interaction

Words = NDArray[np.uint32]

SHAPE = (16, 16, 16)
_LANES, _D_VGPRS = 32, 8
_DTYPES = {"f16": ("f16", 2), "bf16": ("bf16", 2), "iu8": ("iu8", 4), "iu4": ("iu4", 8)}
"""Last part of the mnemonic -> dtype of the experiment, and elements of a VGPR."""


def element_type(inst: Inst) -> str:
    """Element type of A and B: "f16", "bf16", "iu8" or "iu4", as the mnemonic has it."""
    return inst.name.rsplit("_", 1)[-1]


def is_matrix(inst: Inst) -> bool:
    """True for every matrix instruction, whether `interaction_of` can judge it or not."""
    return inst.name.startswith(("v_wmma_", "v_swmmac_"))


def interaction_of(inst: Inst) -> Interaction:
    """Which slots of A and B meet in which slot of D.

    Modifiers that change signs or choose the half of D do not change that, and are left out.

    Raises:
        UsageError: not a matrix instruction that can be executed.
        ProbeError: it is no matrix product of the documented shape.
    """
    if not is_matrix(inst):
        raise UsageError(f"{inst.name} is no matrix instruction")
    form = form_of(inst)
    if form.family != "rdna3" or inst.dst[0].regs != _D_VGPRS:
        raise UsageError(
            f"{inst.name} of this kernel cannot be judged",
            expected="a matrix instruction of RDNA3 in wave32",
            observed=f"{form.family.upper()}, {inst.dst[0].regs} registers of D",
            hint="`layoutprobe layout` shows its layout",
        )
    return _solved(inst.name, inst.src[0].regs, inst.src[1].regs)


@cache
def _solved(name: str, a_vgprs: int, b_vgprs: int) -> Interaction:
    dtype, fields = _DTYPES[name.rsplit("_", 1)[-1]]
    fed = interaction_experiment(
        (_LANES, a_vgprs, fields), (_LANES, b_vgprs, fields), (_LANES, _D_VGPRS, 1), dtype
    )
    d = _execute(name, fed.a, fed.b, fed.c)
    return solve_interaction(
        Capture(
            probe="interaction",
            arch="",
            evidence=Evidence("emulated", f"layoutprobe emulator {__version__}"),
            inputs={"a": fed.a, "b": fed.b, "c": fed.c},
            outputs={"d": d},
            undefined={},
            parameters={"dtype": dtype, "shape": SHAPE},
        )
    )


def _execute(name: str, a: Words, b: Words, c: Words) -> Words:
    """D of one instruction; all uint32 [wave, vgpr, lane], C and D as f32 or i32 whatever it has."""
    result = name.split("_")[2]
    operands = []
    at = 0
    for count in (a.shape[1], b.shape[1], _D_VGPRS, _D_VGPRS):
        operands.append(Operand("v", at, count, 32 * count))
        at += count
    inst = Inst(0, 8, name, "VOP3P", (operands[3],), tuple(operands[:3]))
    blank = np.zeros((len(a), _D_VGPRS, _LANES), np.uint32)
    words = np.concatenate([a, b, _narrowed(c, result), blank], axis=1).transpose(1, 0, 2)
    cohort = _cohort(np.ascontiguousarray(words))
    execute = bind(inst)
    assert execute is not None
    with np.errstate(all="ignore"):
        execute(cohort)
    return _widened(cohort.regs.vgprs[operands[3].index :].transpose(1, 0, 2), result)


def _cohort(vgprs: Words) -> Cohort:
    """Waves that have nothing but these registers: uint32 [vgpr, wave, lane], all defined."""
    waves = np.arange(vgprs.shape[1])
    groups = Waves(waves, np.zeros_like(waves), np.zeros((waves.size, 3), np.int64))
    # The instruction alone needs no program: it reaches for one only to place a fault.
    program = cast(Any, SimpleNamespace(kernel=SimpleNamespace(wavefront_size=_LANES)))
    machine = Machine(program, Arena(16, []), groups, lds_size=0, scratch_size=0, image=0)
    regs = RegisterFile.filled(vgprs.shape[0], waves.size, _LANES, 0)
    regs.vgprs[...] = vgprs
    regs.sgprs[...] = 0xFFFFFFFF  # EXEC
    shadow = RegisterFile.filled(vgprs.shape[0], waves.size, _LANES, 0)
    return Cohort(machine, 0, waves, regs, shadow, 0)


def _narrowed(words: Words, result: str) -> Words:
    """The experiment's numbers for C in the type that the instruction has."""
    if result in ("f32", "i32"):
        return words
    numbers = words.view(np.float32)
    if result == "f16":
        return numbers.astype(np.float16).view(np.uint16).astype(np.uint32)
    return numbers.view(np.uint32) >> np.uint32(16)


def _widened(words: Words, result: str) -> Words:
    words = np.ascontiguousarray(words)
    if result in ("f32", "i32"):
        return words
    low = (words & np.uint32(0xFFFF)).astype(np.uint16)
    if result == "f16":
        return low.view(np.float16).astype(np.float32).view(np.uint32)
    return words << np.uint32(16)


__all__ = ["element_type", "interaction_of", "is_matrix"]
