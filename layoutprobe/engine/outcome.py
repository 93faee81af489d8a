"""How instructions end that change where waves go on, or end the run: the same for every engine."""

from __future__ import annotations

import numpy as np

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import SCC, Inst
from layoutprobe.machine.cohort import Cohort, mask_words
from layoutprobe.machine.faults import fault
from layoutprobe.machine.program import CONDITIONS, Block, Program
from layoutprobe.machine.registers import Array
from layoutprobe.place import Place

FAILURES = (ExecutionError, ArithmeticError, LookupError, TypeError, ValueError)
"""What an executor raises: faults of the kernel, and bugs of ours."""


def failed(program: Program, inst: Inst, error: Exception) -> ExecutionError:
    """What an executor raised, with the kernel, the source line and the instruction."""
    if isinstance(error, ExecutionError):
        return program.located(error, inst)
    bug = ExecutionError(
        f"the emulator failed on an instruction: {error}",
        place=program.location(inst),
        hint="this is a bug of layoutprobe: please report it with the code object",
    )
    bug.__cause__ = error
    return bug


def taken(program: Program, c: Cohort, inst: Inst) -> Array:
    """Which waves take a branch: bool [wave].

    Raises:
        ExecutionError: that depends on an undefined value.
    """
    condition = CONDITIONS[inst.name]
    if condition is None:
        return np.ones(len(c.waves), np.bool_)
    register, jumps = condition
    words = 1 if register == SCC else c.size // 32
    undefined = mask_words(c.shadow, register, words) if c.undef >> register & (1 << words) - 1 else None
    if undefined is not None and undefined.any():
        bad = np.broadcast_to(undefined.any(axis=1, keepdims=True), c.exec.shape)
        error = fault(c, inst, "a branch depends on an undefined value", bad,
                      hint="initialise the value on every path that leads here",
                      kind="undefined-control")  # fmt: skip
        raise program.located(error, inst)
    value: Array = np.logical_or.reduce(mask_words(c.regs, register, words), axis=1)
    return value if jumps else ~value


def check_signalled(program: Program, c: Cohort, inst: Inst) -> None:
    """A wave that waits at a barrier which it never signalled would wait for ever.

    Raises:
        ExecutionError: there is one.
    """
    signalled = c.machine.signalled[c.waves]
    if not signalled.all():
        error = fault(c, inst, "a wave waits at a barrier that it has not signalled",
                      np.broadcast_to(~signalled[:, None], c.exec.shape),
                      hint="put s_barrier_signal -1 on every path to the wait",
                      kind="barrier")  # fmt: skip
        raise program.located(error, inst)


def endless(program: Program, block: Block, budget: int) -> ExecutionError:
    """The budget is spent."""
    return ExecutionError(
        f"the kernel did not end within {budget} instructions",
        place=program.location(block.last or block.insts[-1]),
        hint="look for a loop whose exit condition never holds, or raise the budget",
        kind="budget",
    )


def past_end(pc: int) -> ExecutionError:
    """Control goes to where no instruction is."""
    return ExecutionError("the kernel runs past its last instruction", place=Place(pc=pc))
