"""Whose turn it is: which waves of a batch go on together, where they meet again, and who waits at a barrier.

The same for every engine: for the cohorts that the numpy engine executes, and for what is told afterwards of waves
that ran in C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

PATIENCE = 10_000
"""Blocks that one part of the waves may run while another is ready to."""
_ALONE = 500
"""The same for a workgroup, or a wave, that goes before the others."""
_ROUNDS = 32
"""Blocks of a wave that looks whether it may go on, and may not."""


class Part(Protocol):
    """Waves that go on together.

    Attributes:
        pc: where they stand.
        waves: indices within the batch, ascending.
    """

    pc: int
    waves: NDArray[np.int64]

    def select(self, which: Any) -> Self:
        """Some of the waves: bool [wave]."""
        ...


P = TypeVar("P", bound=Part)


class Patience:
    """Says at which PC waves go on: the lowest, as every path to a join has lower addresses than the join.

    A wave that waits for a flag, and counts how often, must not for ever pass over the one that will set it:
    after PATIENCE turns the highest PC goes first for as many.
    """

    def __init__(self) -> None:
        self.passed_over = 0

    def chosen(self, pcs: Iterable[int]) -> int:
        """One of the PCs at which waves could go on."""
        places = set(pcs)
        if len(places) == 1:
            self.passed_over = 0
            return places.pop()
        first = max if self.passed_over // PATIENCE % 2 else min
        self.passed_over += 1
        return first(places)


class Turns(Generic[P]):
    """The parts of one batch.

    Attributes:
        ready, spinning, waiting: those that can go on; those that go on when no other can, round a loop that
            changes none of their registers (see `spinning`); those at a barrier.
        alive: int64 [workgroup], waves that have not ended.
    """

    def __init__(
        self,
        start: P,
        groups: NDArray[Any],
        join: Callable[[list[P]], P],
        tell: Callable[[NDArray[np.int64]], None],
        asking: frozenset[int] = frozenset(),
    ) -> None:
        """Of one part that holds all waves.

        Args:
            start: the part.
            groups: workgroup of each wave.
            join: one part of those that stand at one PC.
            tell: is told which workgroups pass a barrier.
            asking: PCs of blocks that ask what other workgroups have done; see LastFirst.
        """
        self.spinning, self.waiting = list[P](), list[P]()
        self.alive = np.bincount(groups, minlength=int(groups.max()) + 1 if groups.size else 0)
        self._groups, self._join, self._tell, self._asking = groups, join, tell, asking
        self._patience = Patience()
        self._aside = 0  # turns since those who spin went last
        self._begin(start)

    def _begin(self, start: P) -> None:
        """Divide the waves into parts that take turns."""
        self.ready = [start]

    @property
    def unfinished(self) -> bool:
        """Somebody has not ended."""
        return bool(self.ready or self.spinning or self.waiting)

    def next(self) -> P | None:
        """Take the part whose turn it is, joined with those at the same PC; None where all wait for ever."""
        self._wake()
        if len(self.ready) < 2:
            self._patience.passed_over = 0
            return self.ready.pop() if self.ready else None
        chosen = self._patience.chosen(part.pc for part in self.ready)
        here = [part for part in self.ready if part.pc == chosen]
        self.ready = [part for part in self.ready if part.pc != chosen]
        return here[0] if len(here) == 1 else self._join(here)

    def _wake(self) -> None:
        """Where nobody can go on, those go who spin; else those whose barrier is complete by now. They go in time in
        any case: others may wait for them in a loop that looks like work."""
        self._aside = self._aside + 1 if self.spinning and self.ready else 0
        if not self.ready or self._aside > PATIENCE:
            self.ready, self.spinning, self._aside = self.ready + self.spinning, [], 0
        if not self.ready:
            self._release()

    def put_back(self, part: P) -> None:
        """A part cannot take its turn yet."""
        self.ready.append(part)
        self._patience.passed_over = max(self._patience.passed_over - 1, 0)

    def wait(self, part: P) -> None:
        """A part has come to a barrier."""
        self.waiting.append(part)
        self._release()

    def end(self, waves: NDArray[np.int64]) -> None:
        """Some waves have ended."""
        self.alive -= np.bincount(self._groups[waves], minlength=self.alive.size)
        self._release()

    def _release(self) -> None:
        """Let those workgroups go on of which every living wave waits at a barrier."""
        if not self.waiting:
            return
        arrived = np.zeros_like(self.alive)
        for part in self.waiting:
            arrived += np.bincount(self._groups[part.waves], minlength=self.alive.size)
        complete = (arrived == self.alive) & (self.alive > 0)
        if not complete.any():
            return
        self._tell(np.flatnonzero(complete))
        waiting, self.waiting = self.waiting, []
        for part in waiting:
            free = complete[self._groups[part.waves]]
            if free.all():
                self.ready.append(part)
            elif free.any():
                self.ready.append(part.select(free))
                self.waiting.append(part.select(~free))
            else:
                self.waiting.append(part)


class LastFirst(Turns[P]):
    """Workgroups one by one, the last of them first: each finds nothing done by those that it counts on.

    Where numbers are drawn (an atomic that returns), they are drawn in order, and then who drew the last goes first;
    after the next such question it is the other way round again. Who spins lets the others go on.
    """

    def _begin(self, start: P) -> None:
        self.ready = [start.select(self._groups == group) for group in np.unique(self._groups)]
        self._asked = np.zeros_like(self.alive)
        self._chosen = 0

    def next(self) -> P | None:
        """See Turns: parts of one workgroup, at its lowest PC."""
        self._wake()
        if not self.ready:
            return None
        # One that waits and counts how often does not spin: in time it lets others go first.
        self._chosen += 1
        first = max if self._chosen // _ALONE % 2 else min
        group = self._group(first(self.ready, key=self._rank))
        mine = [part for part in self.ready if self._group(part) == group]
        pc = min(part.pc for part in mine)
        here = [part for part in mine if part.pc == pc]
        self.ready = [part for part in self.ready if part.pc != pc or self._group(part) != group]
        self._asked[group] += pc in self._asking
        return here[0] if len(here) == 1 else self._join(here)

    def _group(self, part: P) -> int:
        return int(self._groups[part.waves[0]])

    def _rank(self, part: P) -> tuple[int, int]:
        group = self._group(part)
        asked = int(self._asked[group])
        return asked, group if self._asking and asked % 2 == 0 else -group


class FirstWave(Turns[P]):
    """Waves one by one, the first as far as it can go, then the next: each finds as little done by others as it waits
    for.

    Who spins lets the others go on, until one of them has come so far that it spins itself.
    """

    _sign = 1

    def _begin(self, start: P) -> None:
        self.ready = [start.select(start.waves == wave) for wave in start.waves]
        self._last: P | None = None
        self._since: dict[int, tuple[int, int]] = {}  # wave -> blocks since it last waited, and its lowest PC

    def next(self) -> P | None:
        """See Turns: one wave."""
        last = self._last
        if last is not None and any(part is last for part in self.spinning):
            blocks, lowest = self._since.pop(int(last.waves[0]))
            if (
                blocks > _ROUNDS or lowest < last.pc
            ):  # it did more than look: those that wait for it may go on
                self.ready += [part for part in self.spinning if part is not last]
                self.spinning = [last]
        elif (
            last is not None
            and len(self.ready) > 1
            and self._since.get(int(last.waves[0]), (0, 0))[0] > _ALONE
        ):
            self._stand_aside(last)  # it may count how often it looks
        self._wake()
        if not self.ready:
            return None
        chosen = self._last = min(self.ready, key=self._rank)
        self.ready = [part for part in self.ready if part is not chosen]
        blocks, lowest = self._since.get(int(chosen.waves[0]), (0, chosen.pc))
        self._since[int(chosen.waves[0])] = blocks + 1, min(lowest, chosen.pc)
        return chosen

    def _stand_aside(self, last: P) -> None:
        self.spinning += [part for part in self.ready if part is last]
        self.ready = [part for part in self.ready if part is not last]
        self._since.pop(int(last.waves[0]))

    def _rank(self, part: P) -> tuple[int, int]:
        wave = int(part.waves[0])
        return int(self._groups[wave]), self._sign * wave


class LastWave(FirstWave[P]):
    """The same, the last wave of each workgroup first."""

    _sign = -1
