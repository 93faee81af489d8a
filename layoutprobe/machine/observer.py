"""What can be watched while a kernel runs. Execution does not depend on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.events import Events
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.program import Block, Program


class Observer:
    """Watches a launch. It is told of those events whose method it overrides.

    Cohorts are lent: an observer reads registers and memories, and keeps copies only (machine.snapshot
    makes them).
    """

    def batch(self, machine: Machine, program: Program) -> None:
        """A batch of workgroups is about to start."""

    def block(self, c: Band, block: Block) -> None:
        """The cohort is about to execute a basic block."""

    def step(self, c: Cohort, inst: Inst) -> None:
        """The cohort is about to execute an instruction: every one, hints and branches included.

        `c.pc` stays that of the block.
        """

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """Lanes are about to load from or store to a memory; a read-modify-write is a store."""

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """A matrix instruction is about to execute."""

    def matrix_done(self, c: Cohort, inst: Inst) -> None:
        """A matrix instruction has written its destination."""

    def indexed(self, c: Cohort, inst: Inst, waves: NDArray[np.int64], read: int, written: int) -> None:
        """Waves of the cohort move a VGPR that M0 picks; -1 for the register that M0 does not."""

    def wait(self, c: Cohort, inst: Inst) -> None:
        """The cohort is about to wait for a counter."""

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """All living waves of these workgroups of the batch have arrived; they are let go."""

    def ended(self, c: Band) -> None:
        """The waves of the cohort have ended."""

    def fault(self, c: Cohort, inst: Inst, error: ExecutionError) -> None:
        """Lanes load from, or store to, where no buffer is. With an observer that asks for this the run goes on:
        what they get is undefined, what they store is dropped. Without one it ends in the error."""


def events_of(observers: Iterable[Observer]) -> Events:
    """Each event with the methods of those observers that override it."""
    given = tuple(observers)
    return Events(
        **{
            event.name: tuple(getattr(o, event.name) for o in given if wants(o, event.name))
            for event in fields(Events)
        }
    )


def wants(observer: Observer, event: str) -> bool:
    """The observer asks for an event."""
    return getattr(type(observer), event) is not getattr(Observer, event)
