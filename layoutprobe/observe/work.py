"""How much a launch does: instructions of all waves, and of the wave that executes most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.isa.kind import MOVES, Kind
from layoutprobe.machine.cohort import Band
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.base import Recorder


class Work(Struct, frozen=True):
    """Instructions, each counted once for every wave that executes it.

    Attributes:
        all: of all waves.
        longest: of the wave that executes most.
        blocks: address of a block that was executed -> how often, by each wave counted once.
        accesses: addresses of loads, stores and atomics that some wave executed; but for scalar ones, as compilers
            load arguments anywhere.
    """

    all: int
    longest: int
    blocks: Mapping[int, int]
    accesses: frozenset[int] = frozenset()


class WorkRecorder(Recorder):
    """Counts them. The same on every engine."""

    everywhere = True

    def __init__(self) -> None:
        self._done: NDArray[np.int64] = np.zeros(0, np.int64)
        self._all = self._longest = 0
        self._blocks = Counter[int]()
        self._accesses = set[int]()

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._settle()
        self._done = np.zeros(len(machine.waves.index), np.int64)

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self._done[c.waves] += block.length
        start = block.listing[0].pc
        if start not in self._blocks:
            moves = (inst for inst in block.listing if inst.kind & MOVES and Kind.SMEM not in inst.kind)
            self._accesses.update(inst.pc for inst in moves)
        self._blocks[start] += self._done[c.waves].size

    def _settle(self) -> None:
        self._all += int(self._done.sum())
        self._longest = max(self._longest, int(self._done.max(initial=0)))

    def record(self) -> Work:
        """See Recorder."""
        self._settle()
        self._done = np.zeros(0, np.int64)
        return Work(self._all, self._longest, dict(self._blocks), frozenset(self._accesses))
