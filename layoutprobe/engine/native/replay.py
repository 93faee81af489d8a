"""Tells observers what waves did while C ran them: the same events in the same order as the numpy engine's.

C lets every wave run on and writes down which blocks it runs (c/control.c). Afterwards the scheduler of the
numpy engine (`engine.scheduler`) is played with what is written there: waves that stand at one block are told
of together, the lowest PC first, and barriers let workgroups go. Where it comes to an instruction that numpy
executes because observers want to see it, that is done when its turn comes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.engine.native.bound import Bound
from layoutprobe.engine.native.state import ENDED, ENDLESS, FULL, MET, READY, SLOW, WAITS, WaveMemory
from layoutprobe.engine.scheduler import PATIENCE
from layoutprobe.isa.inst import EXEC_LO
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import mask_words, unpack_mask
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.registers import Array
from layoutprobe.records import dataclass

LOG_WORDS = 4096
"""Words of a wave's log: when it is full, observers are told before the wave goes on."""
_LINE, _LANES = 4, 2
"""Words of a line, and where EXEC begins in it; see F_block_told."""
_NOBODY = np.zeros(0, np.int64)

Waves = NDArray[np.int64]


class Told:
    """Waves at one place, as observers of blocks are told of them; a `Band`."""

    __slots__ = ("_words", "machine", "pc", "size", "waves")

    def __init__(self, machine: Machine, pc: int, waves: Waves, words: Array) -> None:
        self.machine, self.pc, self.waves, self.size = machine, pc, waves, machine.wave_size
        self._words = words  # EXEC: uint32 [wave, 1 or 2]

    @property
    def full(self) -> bool:
        """All lanes of all waves are active."""
        return bool((self._words == 0xFFFFFFFF).all())

    @property
    def exec(self) -> NDArray[np.bool_]:
        """Active lanes: bool [wave, lane]."""
        return unpack_mask(self._words)


@dataclass
class _Part:
    """Waves that go on together, and the block at which they stand."""

    pc: int
    waves: Waves


class Replay:
    """What observers have still to be told of a batch."""

    def __init__(self, bound: Bound, machine: Machine, waves: WaveMemory) -> None:
        self._bound, self._machine, self._waves = bound, machine, waves
        groups = machine.waves.workgroup
        self._log = waves.log[: groups.size]
        self._cursor = np.zeros(groups.size, np.int64)
        self._ready = [_Part(bound.program.kernel.entry, np.arange(groups.size))]
        self._waiting: list[_Part] = []
        self._inside: _Part | None = None
        self._block = bound.lowered.blocks[0]  # that of `_inside`
        self._alive = np.bincount(groups)
        self._passed_over = 0

    def advance(self) -> Waves | None:
        """Tell as much as C has written down.

        Returns:
            The waves that stand at an instruction for numpy, whose turn it is; none where C must go on first; None
            when all has been told.
        """
        while self._inside or self._ready or self._waiting:
            if self._inside is None:
                stop = self._begin()
                if stop is not None:
                    return stop
            stop = self._go_on()
            if stop is not None:
                return stop
            self._leave()
        return None

    def _begin(self) -> Waves | None:
        """Tell of the next block; or who must go on before that can be known."""
        before = self._passed_over
        part = self._next()
        waves = part.waves
        silent = waves[self._exhausted(waves)]
        if silent.size:
            self._ready.append(part)
            self._passed_over = before
            return self._stopped(silent)
        lines = self._log[waves[:, None], self._cursor[waves, None] + np.arange(_LINE)]
        self._cursor[waves] += _LINE
        self._inside = part
        block = self._bound.lowered.blocks[int(lines[0, 0])]
        self._block = block
        words = np.ascontiguousarray(lines[:, _LANES : _LANES + self._machine.wave_size // 32])
        told = Told(self._machine, part.pc, waves, words)
        for tell in self._machine.events.block:
            tell(told, block)
        return None

    def _next(self) -> _Part:
        """Who goes on in the numpy engine: see Scheduler._next."""
        if len(self._ready) == 1:
            self._passed_over = 0
            return self._ready.pop()
        first = max if self._passed_over // PATIENCE % 2 else min
        self._passed_over += 1
        chosen = first(part.pc for part in self._ready)
        here = [part.waves for part in self._ready if part.pc == chosen]
        self._ready = [part for part in self._ready if part.pc != chosen]
        return _Part(chosen, here[0] if len(here) == 1 else np.sort(np.concatenate(here)))

    def _exhausted(self, waves: Waves) -> NDArray[np.bool_]:
        return np.asarray(self._cursor[waves] == self._waves.logged[waves])

    def _stopped(self, waves: Waves) -> Waves:
        """Of waves that have come no further: those furthest behind, where numpy must do something for them."""
        pcs, status = self._waves.pc[waves], self._waves.status[waves]
        lowest = pcs == pcs.min()
        stuck = lowest & ((status == SLOW) | (status == ENDLESS))
        if stuck.any():
            return waves[stuck]
        free = waves[(status == FULL) | (status == MET) & lowest]
        drained = free[self._exhausted(free)]
        self._cursor[drained] = self._waves.logged[drained] = 0
        self._waves.status[free] = READY
        return _NOBODY

    def _go_on(self) -> Waves | None:
        """Who of those inside a block must do something before they have left it; None when all have."""
        assert self._inside is not None
        waves = self._inside.waves
        waves = waves[self._exhausted(waves)]
        if not waves.size:
            return None
        status = self._waves.status[waves]
        between = self._bound.between[self._waves.at[waves]] & (status != ENDLESS)
        unfinished = waves[~(between | (status == ENDED) | (status == WAITS))]
        return self._stopped(unfinished) if unfinished.size else None

    def _leave(self) -> None:
        """Where waves go from a block: as in Scheduler._leave."""
        part, last = self._inside, self._block.last
        assert part is not None
        self._inside = None
        if last is not None and Kind.END in last.kind:
            self._end(part)
        elif last is not None and Kind.AWAIT in last.kind:
            self._waiting.append(_Part(self._block.next_pc, part.waves))
            self._release()
        elif last is None:
            self._ready.append(_Part(self._block.next_pc, part.waves))
        else:
            self._branch(part.waves)

    def _branch(self, waves: Waves) -> None:
        pcs = self._next_pcs(waves)
        if (pcs == pcs[0]).all():
            self._ready.append(_Part(int(pcs[0]), waves))
        else:
            self._ready += [_Part(int(pc), waves[pcs == pc]) for pc in np.unique(pcs)]

    def _next_pcs(self, waves: Waves) -> NDArray[np.int64]:
        """The blocks at which waves stand: as their logs say, or the block that they have not begun."""
        pcs = self._waves.pc[waves].astype(np.int64)
        written = ~self._exhausted(waves)
        rows = self._log[waves[written], self._cursor[waves[written]]]
        pcs[written] = self._bound.starts[rows]
        return pcs

    def _end(self, part: _Part) -> None:
        words = mask_words(self._waves.regs, EXEC_LO, self._machine.wave_size // 32)[part.waves]
        told = Told(self._machine, self._block.next_pc, part.waves, words)
        for tell in self._machine.events.ended:
            tell(told)
        self._alive -= np.bincount(self._machine.waves.workgroup[part.waves], minlength=self._alive.size)
        self._release()

    def _release(self) -> None:
        """Let those workgroups go on of which every living wave waits: as in Scheduler._release."""
        if not self._waiting:
            return
        groups = self._machine.waves.workgroup
        arrived = np.bincount(
            groups[np.concatenate([part.waves for part in self._waiting])], minlength=self._alive.size
        )
        complete = (arrived == self._alive) & (self._alive > 0)
        if not complete.any():
            return
        for tell in self._machine.events.barrier:
            tell(self._machine, np.flatnonzero(complete))
        waiting, self._waiting = self._waiting, []
        for part in waiting:
            free = complete[groups[part.waves]]
            for parts, which in ((self._ready, free), (self._waiting, ~free)):
                if which.any():
                    parts.append(_Part(part.pc, part.waves[which]))
