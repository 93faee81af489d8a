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
from layoutprobe.semantics.operands import define, reader, register_mask, writer

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


def jumped(program: Program, c: Cohort, inst: Inst) -> Array:
    """Executes a call or a return but for going there: int64 [wave], the addresses where waves go on.

    Raises:
        ExecutionError: an address is undefined, or there is neither a function nor a place behind a call.
    """
    source = inst.src[0]
    if c.undef & register_mask(source):
        undefined = np.broadcast_to(reader(source, "u64", shadow=True)(c.shadow) != 0, c.exec.shape)
        if undefined.any():
            error = fault(c, inst, "a call or return to an undefined address", undefined,
                          hint="initialise the function pointer on every path that leads here",
                          kind="undefined-control")  # fmt: skip
            raise program.located(error, inst)
    addresses = np.broadcast_to(reader(source, "u64")(c.regs), (len(c.waves), 1))
    targets = (addresses - np.uint64(c.machine.code_address(0)))[:, 0].astype(np.int64)
    lost = np.isin(targets, [to for to in np.unique(targets).tolist() if to not in program.blocks])
    if lost.any():
        raise program.located(_lost(program, c, inst, addresses, targets, lost), inst)
    for operand in inst.dst:
        behind = np.full((len(c.waves), 1), c.machine.code_address(inst.next_pc), np.uint64)
        writer(operand, "u64")(c, behind)
        define(c, operand)
    return targets


def _lost(
    program: Program, c: Cohort, inst: Inst, addresses: Array, targets: Array, lost: Array
) -> ExecutionError:
    """Waves go to an address at which no function begins; within the code it may be one that is not known here."""
    code = [s for s in program.code.segments if s.executable]
    wild = [
        to for to in targets[lost].tolist() if not any(s.address <= to < s.address + s.size for s in code)
    ]
    bad = np.isin(targets, wild) if wild else lost
    what = "a call or return to where no code is" if wild else "a call or return into the middle of code"
    why = program.left_out.get(int(targets[bad][0]))
    if why:
        what = f"a call of a function that the kernel cannot execute: {why}"
    return fault(
        c,
        inst,
        what,
        np.broadcast_to(bad[:, None], c.exec.shape),
        address=addresses,
        expected="a function whose address this code object makes, or the instruction behind a call",
        hint="look for a function pointer that was never set, that comes from another code object, or that was "
        "overwritten on the stack",
        kind="wild-jump" if wild else "",
    )


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
