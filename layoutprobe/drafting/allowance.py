"""How much launches may do that nobody made yet: their draft is waited for."""

from __future__ import annotations

import numpy as np

from layoutprobe.errors import ExecutionError
from layoutprobe.machine.cohort import Band
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.observer import Observer
from layoutprobe.machine.program import Block, Program

_TOGETHER = 32
"""So often an instruction of the wave that executes most counts: others go with it."""


class Allowance(Observer):
    """Ends launches that do too much. It is counted and not timed: a draft says the same on every machine.

    Attributes:
        left: instructions that may still be executed, each counted for every wave, and many times more for the wave
            that executes most. Negative where it is spent.
    """

    everywhere = True

    def __init__(self, instructions: int) -> None:
        self.left = instructions

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._done = np.zeros(len(machine.waves.index), np.int64)
        self._longest = 0

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self._done[c.waves] += block.length
        longest = max(self._longest, int(self._done[c.waves].max()))
        self.left -= block.length * len(c.waves) + _TOGETHER * (longest - self._longest)
        self._longest = longest
        if self.left < 0:
            raise ExecutionError("the launches of a draft have done all that they may")
