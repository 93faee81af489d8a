"""Tells observers what waves did while C ran them: the same events in the same order as the numpy engine's.

C lets every wave run on and writes down which blocks it runs, and what it loads and stores. Afterwards the
scheduler of the numpy engine (`engine.scheduler`) is played with what is written there: waves that stand at one
block are told of together, the lowest PC first, and barriers let workgroups go. Where it comes to an
instruction that numpy executes, that is done when its turn comes.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.engine.native.accesses import ACCESS_LINE, Rows, Stage, Told
from layoutprobe.engine.native.bound import Bound
from layoutprobe.engine.native.state import ENDED, ENDLESS, FULL, MET, READY, SLOW, WAITS, WaveMemory
from layoutprobe.engine.turns import Turns
from layoutprobe.isa.inst import EXEC_LO, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort, mask_words, unpack_mask
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Walk

LOG_WORDS = 4096
"""Words of a wave's log: when it is full, observers are told before the wave goes on."""
_LINE, _LANES = 4, 2
"""Words of a line, and where EXEC begins in it; see F_block_told."""
_NOBODY = np.zeros(0, np.int64)

Waves = NDArray[np.int64]


def walk_of(bound: Bound, waves: WaveMemory, count: int) -> Walk:
    """The ways of waves that have all come to their end, and whose logs tell of nothing but blocks.

    Whose turn it was when need not be played for that.
    """
    steps = waves.logged[:count].astype(np.int64) // _LINE
    lines = waves.log[:count, : _LINE * int(steps.max())].reshape(count, -1, _LINE)
    ran = np.arange(lines.shape[1]) < steps[:, None]
    rows = np.where(ran, lines[:, :, 0].astype(np.int64), -1)
    active = lines[:, :, _LANES : _LANES + waves.lanes // 32] != 0
    return Walk(bound.lowered.blocks, rows, ran & np.asarray(active.any(axis=2)))


class _Part(Struct):
    """Waves that go on together, and the block at which they stand."""

    pc: int
    waves: Waves

    def select(self, which: NDArray[np.bool_]) -> _Part:
        """Some of the waves."""
        return _Part(self.pc, self.waves[which])

    @staticmethod
    def join(parts: list[_Part]) -> _Part:
        """One part of all the waves."""
        return _Part(parts[0].pc, np.sort(np.concatenate([part.waves for part in parts])))


class Replay:
    """What observers have still to be told of a batch."""

    def __init__(self, bound: Bound, machine: Machine, waves: WaveMemory) -> None:
        self._bound, self._machine, self._waves, self._events = bound, machine, waves, machine.events
        self._real = machine
        self._stage: Stage | None = None
        self._executed: list[Rows] = []  # by numpy, and not told of yet
        if machine.events.access:
            self._stage = Stage(bound, machine)
            self._machine = self._stage.machine
            machine.events = replace(machine.events, access=(self._execute,))
        groups = machine.waves.workgroup
        self._log = waves.log[: groups.size]
        self._width = self._log.shape[1]
        self._windows: dict[int, NDArray[np.uint32]] = {}
        self._cursor = np.zeros(groups.size, np.int64)
        start = _Part(bound.program.kernel.entry, np.arange(groups.size))
        self._turns = Turns(start, groups, _Part.join, self._passed)
        self._inside: _Part | None = None
        self._row, self._block = 0, bound.lowered.blocks[0]  # that of `_inside`

    def advance(self) -> Waves | None:
        """Tell as much as C has written down.

        Returns:
            The waves that stand at an instruction for numpy, whose turn it is; none where C must go on first; None
            when all has been told.
        """
        while self._inside or self._turns.unfinished:
            if self._inside is None:
                stop = self._begin()
                if stop is not None:
                    return stop
            stop = self._go_on()
            if stop is not None:
                return stop
            self._leave()
        return None

    def close(self) -> None:
        """It is over. What leads back here would keep the copies of memory until somebody looks for garbage."""
        self._real.events = self._events
        del self._turns

    def _begin(self) -> Waves | None:
        """Tell of the next block; or who must go on before that can be known."""
        part = self._turns.next()
        assert part is not None  # C has let everybody through
        waves = part.waves
        silent = waves[self._exhausted(waves)]
        if silent.size:
            self._turns.put_back(part)
            return self._stopped(silent)
        lines = self._read(waves, _LINE)
        self._inside = part
        self._row = int(lines[0, 0])
        self._block = block = self._bound.lowered.blocks[self._row]
        words = np.ascontiguousarray(lines[:, _LANES : _LANES + self._machine.wave_size // 32])
        told = Told(self._machine, part.pc, waves, unpack_mask(words))
        for tell in self._events.block:
            tell(told, block)
        return None

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

    def _read(self, waves: Waves, words: int) -> NDArray[np.uint32]:
        """The next words of logs: uint32 [wave, word]; to be read before C goes on."""
        at = self._cursor[waves]
        self._cursor[waves] = at + words
        first, end, here = int(waves[0]), int(waves[-1]) + 1, int(at[0])
        if end - first == waves.size and (at == here).all():  # mostly nothing need be copied
            return self._log[first:end, here : here + words]
        if (
            words not in self._windows
        ):  # every place of the logs as a row: whole lines are copied, no single words
            flat = self._log.reshape(-1)
            self._windows[words] = np.lib.stride_tricks.sliding_window_view(flat, words)
        return np.asarray(self._windows[words][waves * self._width + at])

    def _go_on(self) -> Waves | None:
        """Tell of the accesses of a block; who must do something before its waves have left it, None if nobody."""
        assert self._inside is not None
        waves = self._inside.waves
        while True:
            exhausted = self._exhausted(waves)
            some = bool(exhausted.any())
            unfinished = self._unfinished(waves[exhausted]) if some else _NOBODY
            if self._stage is None or not (self._executed or self._bound.tells[self._row]):
                return self._stopped(unfinished) if unfinished.size else None
            heads, writers = self._written(waves[~exhausted] if some else waves)
            pcs = [rows.inst.pc for rows in self._executed]
            if heads.size:
                pcs.append(int(self._bound.pcs[heads].min()))
            if unfinished.size and not (pcs and min(pcs) < self._waves.pc[unfinished].min()):
                return self._stopped(unfinished)
            if not pcs:
                return None
            self._access(min(pcs), heads, writers)

    def _unfinished(self, waves: Waves) -> Waves:
        """Of waves whose logs tell no more: those that have not come to the end of their block."""
        status = self._waves.status[waves]
        between = self._bound.between[self._waves.at[waves]] & (status != ENDLESS)
        return waves[~(between | (status == ENDED) | (status == WAITS))]

    def _written(self, writers: Waves) -> tuple[NDArray[np.int64], Waves]:
        """Of waves whose logs go on: those that go on with an access, and the records of these."""
        heads = self._log[writers, self._cursor[writers]].astype(np.int64)
        which = heads & ACCESS_LINE != 0
        if not which.all():
            heads, writers = heads[which], writers[which]
        return heads & ~ACCESS_LINE, writers

    def _access(self, pc: int, heads: NDArray[np.int64], writers: Waves) -> None:
        """Tell of an access that waves of the block have written down, or numpy has executed."""
        assert self._inside is not None
        assert self._stage is not None
        if heads.size and not self._executed and (heads == heads[0]).all():
            turns = self._log[writers, self._cursor[writers] + 1] & 0xFF
            if (turns == turns[0]).all():  # mostly all waves do the same
                self._stage.tell(self._inside.pc, self._inside.waves, [self._lines(int(heads[0]), writers)])
                return
        found = [rows for rows in self._executed if rows.inst.pc == pc]
        here = self._bound.pcs[heads] == pc
        turns = self._log[writers[here], self._cursor[writers[here]] + 1] & 0xFF
        turn = min([*(rows.turn for rows in found), *([int(turns.min())] if turns.size else [])])
        found = [rows for rows in found if rows.turn == turn]
        self._executed = [rows for rows in self._executed if rows not in found]
        now, records = writers[here][turns == turn], heads[here][turns == turn]
        for record in sorted(set(records.tolist())):
            found.append(self._lines(record, now[records == record]))
        self._stage.tell(self._inside.pc, self._inside.waves, found)

    def _lines(self, record: int, waves: Waves) -> Rows:
        """What waves have written down of an access."""
        line = self._bound.records[record].line
        assert line is not None
        assert self._stage is not None
        return self._stage.written(record, waves, self._read(waves, line.words))

    def _execute(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """An access that numpy executes: told of when it has been, with those of other waves."""
        assert self._stage is not None
        turn = sum(np.array_equal(rows.waves, c.waves) and rows.inst is inst for rows in self._executed)
        self._executed.append(self._stage.executed(c, inst, place, size, turn, store=store))

    def settle(self) -> None:
        """Numpy has executed an instruction."""
        for rows in self._executed:
            if self._stage is not None and rows.after is None:
                self._stage.settled(rows)

    def _leave(self) -> None:
        """Where waves go from a block: as in Scheduler._leave."""
        part, last = self._inside, self._block.last
        assert part is not None
        self._inside = None
        if last is not None and Kind.END in last.kind:
            self._end(part)
        elif last is not None and Kind.AWAIT in last.kind:
            self._turns.wait(_Part(self._block.next_pc, part.waves))
        elif last is None:
            self._turns.ready.append(_Part(self._block.next_pc, part.waves))
        else:
            self._branch(part.waves)

    def _branch(self, waves: Waves) -> None:
        pcs = self._next_pcs(waves)
        if (pcs == pcs[0]).all():
            self._turns.ready.append(_Part(int(pcs[0]), waves))
        else:
            self._turns.ready += [_Part(pc, waves[pcs == pc]) for pc in sorted(set(pcs.tolist()))]

    def _next_pcs(self, waves: Waves) -> NDArray[np.int64]:
        """The blocks at which waves stand: as their logs say, or the block that they have not begun."""
        pcs = self._waves.pc[waves].astype(np.int64)
        written = ~self._exhausted(waves)
        rows = self._log[waves[written], self._cursor[waves[written]]]
        pcs[written] = self._bound.starts[rows]
        return pcs

    def _end(self, part: _Part) -> None:
        words = mask_words(self._waves.regs, EXEC_LO, self._machine.wave_size // 32)[part.waves]
        told = Told(self._machine, self._block.next_pc, part.waves, unpack_mask(words))
        for tell in self._events.ended:
            tell(told)
        self._turns.end(part.waves)

    def _passed(self, groups: NDArray[np.int64]) -> None:
        for tell in self._events.barrier:
            tell(self._machine, groups)
