"""A state that every wave carries along its path, interpreted beside the execution.

It goes through calls and returns, as it follows the blocks that a wave runs. Waves in one state share the work: what
a block does to a state is worked out once and remembered, and what remains per block and cohort is a table look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.machine.cohort import Band
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block
from layoutprobe.observe.who import Who, who_is

MAX_STEPS = 50_000
"""Distinct steps from a state through a block that are followed; real kernels have some hundreds."""

State = TypeVar("State", bound=Hashable)


class Sighting(Protocol):
    """Something seen on the way: the first wave that it happened to, and how often it happened."""

    who: Who | None
    waves: int


class Passage(Struct, Generic[State], frozen=True, eq=False):
    """What a block does to a state.

    Attributes:
        after: the state behind it.
        seen: what was seen on the way.
    """

    after: State
    seen: tuple[Sighting, ...] = ()


class _Step(Struct, frozen=True, eq=False):
    """A passage with the number of the state behind it."""

    after: int
    seen: tuple[Sighting, ...]


class Paths(Generic[State]):
    """The states of every wave of a batch.

    Attributes:
        complete: False where there were more steps than are followed.
    """

    def __init__(self, start: State, through: Callable[[Block, State], Passage[State]]) -> None:
        """`through` says what a block does to a state; all waves begin in `start`."""
        self.complete = True
        self._through = through
        self._states = [start]
        self._numbers = {start: 0}
        self._steps: dict[tuple[Block, int], _Step] = {}
        self._of_wave = self._entered = np.zeros(0, np.int32)

    def batch(self, machine: Machine) -> None:
        """The waves of a batch begin."""
        self._of_wave, self._entered = np.zeros((2, machine.waves.workgroup.size), np.int32)

    def block(self, c: Band, block: Block) -> None:
        """Take the waves of a cohort through a block."""
        before = self._of_wave[c.waves]
        self._entered[c.waves] = before
        first = int(before[0])
        if (before == first).all():
            self._take(c, block, first, c.waves)
            return
        for state in sorted(set(before.tolist())):
            self._take(c, block, state, c.waves[before == state])

    def entered(self, waves: NDArray[np.int64]) -> list[tuple[State, NDArray[np.int64]]]:
        """The states in which waves entered the block that they run, each with its waves."""
        numbers = self._entered[waves]
        return [(self._states[number], waves[numbers == number]) for number in np.unique(numbers)]

    def amend(self, waves: NDArray[np.int64], change: Callable[[State], State]) -> None:
        """Change the states that waves have behind the block that they run."""
        numbers = self._of_wave[waves]
        for number in np.unique(numbers):
            self._of_wave[waves[numbers == number]] = self._number(change(self._states[number]))

    def _take(self, c: Band, block: Block, state: int, waves: NDArray[np.int64]) -> None:
        step = self._steps.get((block, state))
        if step is None:
            if len(self._steps) >= MAX_STEPS:
                self.complete = False
                self._of_wave[waves] = 0
                return
            passage = self._through(block, self._states[state])
            step = self._steps[block, state] = _Step(self._number(passage.after), passage.seen)
        for sighting in step.seen:
            sighting.who = sighting.who or who_is(c.machine, int(waves[0]))
            sighting.waves += len(waves)
        self._of_wave[waves] = step.after

    def _number(self, state: State) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number
