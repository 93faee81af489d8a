"""Runs cohorts to their end: divergence, and the instruction budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.engine import outcome
from layoutprobe.engine.spinning import Spins
from layoutprobe.engine.turns import Turns
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Executor, Program
from layoutprobe.place import Place

_LONG, _PARTS = 14, 6
"""Launches of two to the power of the first instructions are looked at for waves that all go round for ever: whenever
the number has doubled, until it has grown by one part in two to the power of the second."""
_NO_LIMIT = 1 << 40
"""A budget from which on something else ends the launch."""


class Scheduler:
    """Runs one batch of workgroups; `turns` says which cohort goes on."""

    def __init__(
        self, machine: Machine, program: Program, budget: int, turns: type[Turns[Cohort]] = Turns
    ) -> None:
        self.machine = machine
        self.program = program
        self.events = machine.events
        self.budget = budget
        self._turns = turns
        self.spins = Spins(program)
        self._spent = 0

    def run(self, start: Cohort) -> int:
        """Run until every wave has ended. Returns the instructions issued.

        Raises:
            ExecutionError: a fault of the kernel, or the budget is spent.
        """
        for tell in self.events.batch:
            tell(self.machine, self.program)
        turns = self.turns = self._turns(
            start, self.machine.waves.workgroup, Cohort.join, self._passed, self.program.asking
        )
        blocks = self.program.blocks
        while turns.unfinished:
            cohort = turns.next()
            if cohort is None:
                raise self._deadlock()
            block = blocks.get(cohort.pc)
            if block is None:
                raise outcome.past_end(cohort.pc)
            self._execute(cohort, block)
            self._spent += block.length
            if self._spent > self.budget:
                raise outcome.endless(self.program, block, self.budget)
            if self._spent >> _LONG:
                self.spins.note(block)
            self._leave(cohort, block)
        return self._spent

    def _execute(self, cohort: Cohort, block: Block) -> None:
        for tell in self.events.block:
            tell(cohort, block)
        body: Iterable[Executor] = block.body
        if self.events.step or self.events.wait:
            body = self._told(cohort, block)
        at = 0
        try:
            for at, execute in enumerate(body):  # noqa: B007  (read when an executor fails)
                execute(cohort)
        except outcome.FAILURES as error:
            raise outcome.failed(self.program, block.insts[at], error) from error.__cause__

    def _told(self, cohort: Cohort, block: Block) -> Iterator[Executor]:
        """The block's executors; before each, those who asked are told of what comes up to it."""
        executors = iter(block.body)
        executed = {inst.pc for inst in block.insts}
        for inst in block.listing:
            for tell in self.events.step:
                tell(cohort, inst)
            for tell in self.events.wait if Kind.WAIT in inst.kind else ():
                tell(cohort, inst)
            if inst.pc in executed:
                yield next(executors)

    def _leave(self, cohort: Cohort, block: Block) -> None:
        """Decide where the waves of a cohort go after a block."""
        last = block.last
        cohort.pc = block.next_pc
        if last is None:
            self.turns.ready.append(cohort)
        elif Kind.END in last.kind:
            for tell in self.events.ended:
                tell(cohort)
            self.turns.end(cohort.waves)
        elif Kind.AWAIT in last.kind:
            if Kind.ARRIVE not in last.kind:
                outcome.check_signalled(self.program, cohort, last)
                self.machine.signalled[cohort.waves] = False
            self.turns.wait(cohort)
        elif Kind.JUMP in last.kind:
            self._jump(cohort, last)
        else:
            self._branch(cohort, block, last)

    def _jump(self, cohort: Cohort, inst: Inst) -> None:
        """A call or a return: waves part where they go to different places."""
        targets = outcome.jumped(self.program, cohort, inst)
        if (targets == targets[0]).all():
            cohort.pc = int(targets[0])
            self.turns.ready.append(cohort)
            return
        for target in np.unique(targets).tolist():
            part = cohort.select(targets == target)
            part.pc = target
            self.turns.ready.append(part)

    def _branch(self, cohort: Cohort, block: Block, inst: Inst) -> None:
        taken, turns = outcome.taken(self.program, cohort, inst), self.turns
        if taken.all():
            cohort.pc = inst.branch_target
            waits = inst.branch_target <= inst.pc and self._waits(cohort, block, inst)
            (turns.spinning if waits else turns.ready).append(cohort)
        elif not taken.any():
            turns.ready.append(cohort)
        else:
            jump, stay = cohort.select(taken), cohort.select(~taken)
            jump.pc = inst.branch_target
            turns.ready += [stay, jump]

    def _waits(self, cohort: Cohort, block: Block, back: Inst) -> bool:
        """Whether others go first, as a cohort that jumps back has gone its round in vain.

        Raises:
            ExecutionError: all go round in vain: no need to spend the budget on it.
        """
        turns, looks = self.turns, self._looks()
        may_wait = bool(turns.ready or turns.spinning) and self.spins.may_wait_at(back)
        if not (may_wait or looks):
            return False
        if not self.spins.repeats(cohort, back):
            return may_wait and self.spins.looks(cohort, back)
        if looks and not turns.ready and self.spins.all_idle([cohort, *turns.spinning]):
            raise outcome.endless(self.program, block, self.budget)
        return may_wait

    def _looks(self) -> bool:
        """Whether it is time to look for waves that all go round for ever."""
        log = self._spent.bit_length() - 1
        return log >= _LONG and self._spent >> (log - _PARTS) == 1 << _PARTS and self.budget < _NO_LIMIT

    def _passed(self, groups: NDArray[np.int64]) -> None:
        for tell in self.events.barrier:
            tell(self.machine, groups)

    def _deadlock(self) -> ExecutionError:
        return ExecutionError(
            "a barrier can never be passed",
            place=Place(kernel=self.program.kernel.name, pc=self.turns.waiting[0].pc),
            kind="barrier",
        )
