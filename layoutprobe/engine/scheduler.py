"""Runs cohorts to their end: divergence, reconvergence, barriers, and the instruction budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from layoutprobe.engine import outcome
from layoutprobe.engine.spinning import Spins
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Executor, Program
from layoutprobe.place import Place

PATIENCE = 10_000
"""Blocks that one part of the waves may run while another is ready to."""


class Scheduler:
    """Runs one batch of workgroups.

    The runnable cohort with the lowest PC goes first: in structured code every path to a
    join has lower addresses than the join, so waves that parted meet again there. Those that spin go
    last: when no other can, each goes round again until it spins anew.
    """

    def __init__(self, machine: Machine, program: Program, budget: int) -> None:
        self.machine = machine
        self.program = program
        self.events = machine.events
        self.budget = budget
        self.spins = Spins(program)
        self.ready: list[Cohort] = []
        self.spinning: list[Cohort] = []
        self.waiting: list[Cohort] = []
        self.passed_over = 0
        groups = machine.waves.workgroup
        self.alive = np.bincount(groups, minlength=int(groups.max()) + 1 if groups.size else 0)

    def run(self, start: Cohort) -> int:
        """Run until every wave has ended. Returns the instructions issued.

        Raises:
            ExecutionError: a fault of the kernel, or the budget is spent.
        """
        for tell in self.events.batch:
            tell(self.machine, self.program)
        self.ready = [start]
        blocks = self.program.blocks
        spent = 0
        while self.ready or self.spinning or self.waiting:
            if not self.ready:
                self.ready, self.spinning = self.spinning, []
            if not self.ready:
                self._release()
                if not self.ready:
                    raise self._deadlock()
            cohort = self._next()
            block = blocks.get(cohort.pc)
            if block is None:
                raise outcome.past_end(cohort.pc)
            self._execute(cohort, block)
            spent += block.length
            if spent > self.budget:
                raise outcome.endless(self.program, block, self.budget)
            self._leave(cohort, block)
        return spent

    def _next(self) -> Cohort:
        """Take the cohort with the lowest PC, joined with those that stand at the same one.

        A wave that waits for a flag, and counts how often, must not for ever pass over the one that will
        set it: after PATIENCE turns the highest PC goes first for as many.
        """
        if len(self.ready) == 1:
            self.passed_over = 0
            return self.ready.pop()
        first = max if self.passed_over // PATIENCE % 2 else min
        self.passed_over += 1
        chosen = first(c.pc for c in self.ready)
        here = [c for c in self.ready if c.pc == chosen]
        self.ready = [c for c in self.ready if c.pc != chosen]
        return here[0] if len(here) == 1 else Cohort.join(here)

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
            self.ready.append(cohort)
        elif Kind.END in last.kind:
            for tell in self.events.ended:
                tell(cohort)
            groups = self.machine.waves.workgroup[cohort.waves]
            self.alive -= np.bincount(groups, minlength=self.alive.size)
            self._release()
        elif Kind.AWAIT in last.kind:
            if Kind.ARRIVE not in last.kind:
                outcome.check_signalled(self.program, cohort, last)
                self.machine.signalled[cohort.waves] = False
            self.waiting.append(cohort)
            self._release()
        else:
            self._branch(cohort, last)

    def _branch(self, cohort: Cohort, inst: Inst) -> None:
        taken = outcome.taken(self.program, cohort, inst)
        if taken.all():
            cohort.pc = inst.branch_target
            others = self.ready or self.spinning
            waits = others and inst.branch_target <= inst.pc and self.spins.spins(cohort, inst)
            (self.spinning if waits else self.ready).append(cohort)
        elif not taken.any():
            self.ready.append(cohort)
        else:
            jump, stay = cohort.select(taken), cohort.select(~taken)
            jump.pc = inst.branch_target
            self.ready += [stay, jump]

    def _release(self) -> None:
        """Let those workgroups go on of which every living wave waits at a barrier."""
        if not self.waiting:
            return
        groups = self.machine.waves.workgroup
        arrived = np.zeros_like(self.alive)
        for cohort in self.waiting:
            arrived += np.bincount(groups[cohort.waves], minlength=self.alive.size)
        complete = (arrived == self.alive) & (self.alive > 0)
        if not complete.any():
            return
        for tell in self.events.barrier:
            tell(self.machine, np.flatnonzero(complete))
        still: list[Cohort] = []
        for cohort in self.waiting:
            free = complete[groups[cohort.waves]]
            if free.all():
                self.ready.append(cohort)
            elif free.any():
                self.ready.append(cohort.select(free))
                still.append(cohort.select(~free))
            else:
                still.append(cohort)
        self.waiting = still

    def _deadlock(self) -> ExecutionError:
        return ExecutionError(
            "a barrier can never be passed",
            place=Place(kernel=self.program.kernel.name, pc=self.waiting[0].pc),
            kind="barrier",
        )
