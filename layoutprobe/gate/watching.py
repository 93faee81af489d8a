"""Watches over a launch of a kernel that may be wrong: how long it takes, and where it goes astray."""

from __future__ import annotations

import time

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.observer import Observer, Walk
from layoutprobe.machine.program import Block, Program
from layoutprobe.place import Place


class Deadline(Observer):
    """Ends a launch that takes too long: on the clock, and of processor time, which other processes may have had."""

    def __init__(self, seconds: float, raised: str = "raise limits.seconds") -> None:
        """Args: seconds: it may take; raised: how it may take more."""
        self.seconds = seconds
        self._raised = raised
        self._start = time.monotonic(), time.process_time()

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._program = program

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        if self._late():
            self.require_time(self._program.location(block.last or block.insts[-1]))

    def walked(self, machine: Machine, walk: Walk) -> None:
        """See Observer: C has come to the end of the batch."""
        self.require_time(Place(kernel=self._program.kernel.name))

    def _late(self) -> bool:
        clock, busy = self._start
        return time.monotonic() - clock > self.seconds and time.process_time() - busy > self.seconds

    def require_time(self, place: Place) -> None:
        """Raises ExecutionError where there is none left."""
        if self._late():
            raise ExecutionError(
                f"the launch did not end within {self.seconds:g} seconds",
                place=place,
                hint=f"check a smaller size, or {self._raised}",
                kind="time",
            )


class Clock(Observer):
    """The same for workgroups that nobody looks at: between batches."""

    everywhere = True

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._deadline.require_time(Place(kernel=program.kernel.name))


class Astray(Observer):
    """Lets a run go on after an access outside of every buffer, and keeps the error of each such instruction."""

    everywhere = True

    def __init__(self) -> None:
        self.errors: dict[int, ExecutionError] = {}

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._program = program

    def fault(self, c: Cohort, inst: Inst, error: ExecutionError) -> None:
        """See Observer."""
        if inst.pc not in self.errors:
            self.errors[inst.pc] = self._program.located(error, inst)


class Zeros(Observer):
    """LDS begins with zeros that count as defined: a run that stopped at an undefined value from there goes on."""

    everywhere = True
    sets_lds = True

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        machine.lds.data.bytes[...] = 0
        machine.lds.shadow.bytes[...] = 0
