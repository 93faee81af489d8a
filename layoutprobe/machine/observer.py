"""What can be watched while a kernel runs. Execution does not depend on it.

A machine without an observer pays one test per block and per memory access.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.memory import Memory, Region
from layoutprobe.machine.registers import Array

if TYPE_CHECKING:
    from layoutprobe.machine.cohort import Cohort
    from layoutprobe.machine.machine import Machine
    from layoutprobe.machine.program import Block


@dataclass(frozen=True, eq=False)
class Place:
    """Where the lanes of one access point: a memory and checked byte offsets in it.

    Attributes:
        memory: the memory.
        offsets: int64 [wave, lane]; inactive lanes point at byte 0.
        low_bits: bitwise or of the offsets.
        mask: bool [wave, lane], lanes that access.
        region: global memory: the one allocation that all lanes hit, if it is one.
    """

    memory: Memory
    offsets: Array
    low_bits: int
    mask: Array
    region: Region | None = None

    __repr__ = brief


class Observer:
    """Watches a launch. Every method does nothing until a subclass says otherwise.

    Cohorts are lent: an observer reads registers and memories, and keeps copies only.
    """

    def batch(self, machine: Machine) -> None:
        """A batch of workgroups is about to start."""

    def block(self, c: Cohort, block: Block) -> None:
        """The cohort is about to execute a basic block."""

    def access(self, c: Cohort, inst: Inst, place: Place, size: int, *, store: bool) -> None:
        """Lanes are about to load from or store to a memory; a read-modify-write is a store."""

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """A matrix instruction is about to execute."""

    def matrix_done(self, c: Cohort, inst: Inst) -> None:
        """A matrix instruction has written its destination."""

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """All living waves of these workgroups of the batch have arrived; they are let go."""

    def ended(self, c: Cohort) -> None:
        """The waves of the cohort have ended."""


class Observers(Observer):
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = tuple(observers)

    def batch(self, machine: Machine) -> None:
        """See Observer."""
        for observer in self.observers:
            observer.batch(machine)

    def block(self, c: Cohort, block: Block) -> None:
        """See Observer."""
        for observer in self.observers:
            observer.block(c, block)

    def access(self, c: Cohort, inst: Inst, place: Place, size: int, *, store: bool) -> None:
        """See Observer."""
        for observer in self.observers:
            observer.access(c, inst, place, size, store=store)

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        for observer in self.observers:
            observer.matrix(c, inst)

    def matrix_done(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        for observer in self.observers:
            observer.matrix_done(c, inst)

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """See Observer."""
        for observer in self.observers:
            observer.barrier(machine, groups)

    def ended(self, c: Cohort) -> None:
        """See Observer."""
        for observer in self.observers:
            observer.ended(c)
