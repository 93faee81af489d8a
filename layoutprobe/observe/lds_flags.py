"""Flags, counters and locks in LDS, by which waves of a workgroup order each other without a barrier.

LDS operations of a wave are done in the order in which they were issued, so a store to a flag announces
all that its wave did to LDS before (LLVM AMDGPUUsage, "Memory Model": a release of LDS needs no wait for
LDS). Who looks at the flag has then seen that, and what the announcing wave had itself been told.

Whether a load looks at a flag cannot be told from the load. It does where it stands in a loop that only
waits: one that changes nothing but registers, loads from the same address each time, and is left when the value
that was loaded says so. So does the first look, in front of the loop, and so does every atomic that compares or
exchanges: it takes a lock. Another one that returns what it found, and waits for nothing, has been told what other
atomics announced there, and not what a store did: that it came behind the store is chance (a counter that one wave
sets to zero while others count).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.flow import Flow
from layoutprobe.machine.leaving import left_by, same_place
from layoutprobe.machine.registers import Array

Ints = NDArray[np.int64]

MAX_LOOP = 64
"""Instructions of a loop that waits."""
MAX_FLAGS = 4
"""Granules that a wave stores to at once, where that may be flags."""
_ACTS = (Kind.STORE, Kind.MATRIX, Kind.ARRIVE, Kind.AWAIT, Kind.END)
_PERHAPS_LDS = Kind.LDS | Kind.FLAT
_LOCKS = ("cmpst", "cmpswap", "swap", "xchg")
_NEVER = 1 << 60


@lru_cache(maxsize=8)
def polls_of(flow: Flow, memory: Kind = _PERHAPS_LDS) -> frozenset[int]:
    """PCs of the loads and atomics of a memory that look whether a flag has come.

    A branch back is no loop by itself: compilers put blocks that are seldom run behind the others.
    """
    insts = {inst.pc: inst for block in flow.blocks.values() for inst in block}
    found: set[int] = set()
    for header, blocks in flow.loops.items():
        body = [inst for pc in sorted(blocks) for inst in flow.blocks[pc]]
        if len(body) > MAX_LOOP:
            continue
        waiting = _waiting(body, memory) & same_place(flow, blocks)
        looks = {pc for pc in waiting if left_by(flow, blocks, frozenset({pc}))}
        found |= looks
        for before in _in_front(flow, header, blocks) if looks else ():
            found |= _first_looks(flow, before, {insts[pc].name for pc in looks})
    found |= {inst.pc for inst in insts.values() if inst.kind & memory and _returns(inst) and _locks(inst)}
    return frozenset(found)


def _in_front(flow: Flow, header: int, loop: frozenset[int]) -> set[int]:
    """Blocks that decide whether a loop is entered: those before it, behind whatever they go on to alone."""
    found: set[int] = set()
    seen, pending = set(loop), {header}
    while pending:
        befores = {pc for pc, nexts in flow.nexts.items() if pc not in seen and pending.intersection(nexts)}
        seen |= befores
        found |= {pc for pc in befores if len(flow.nexts[pc]) > 1}
        pending = befores - found
    return found


def _first_looks(flow: Flow, block: int, names: set[str]) -> set[int]:
    """The first look of a loop that waits, which compilers place in front of it: it decides whether to wait at all.

    Where it looks is not compared: its address is often made otherwise than in the loop.
    """
    found: set[int] = set()
    for inst in reversed(flow.blocks[block]):
        if any(kind in inst.kind for kind in _ACTS):
            break
        if inst.name in names and left_by(flow, frozenset({block}), frozenset({inst.pc})):
            found.add(inst.pc)
    return found


def asks(inst: Inst, memory: Kind = _PERHAPS_LDS) -> bool:
    """An atomic of a memory that returns what it found."""
    return bool(inst.kind & memory) and _returns(inst)


def _locks(inst: Inst) -> bool:
    return any(word in inst.name for word in _LOCKS)


def _returns(inst: Inst) -> bool:
    return Kind.ATOMIC in inst.kind and bool(inst.dst)


def _waiting(body: Sequence[Inst], memory: Kind) -> set[int]:
    """Loads of a loop that does nothing else."""
    for inst in body:
        if any(kind in inst.kind for kind in _ACTS) or (Kind.ATOMIC in inst.kind and not inst.dst):
            return set()
    return {inst.pc for inst in body if inst.kind & memory and (Kind.LOAD in inst.kind or _returns(inst))}


class Flags:
    """What waves of a batch have told each other through LDS.

    Operations have the numbers of `Outstanding`, wave by wave.
    """

    def __init__(self, index: Ints, granules: int) -> None:
        """`index`: position of each wave in its workgroup."""
        self._index = index
        self._known = np.zeros((index.size, int(index.max(initial=0)) + 1), np.int64)
        # Granule -> what is announced there, [position]: by a store, and by atomics since then.
        self._published: dict[int, Ints] = {}
        self._turns: dict[int, Ints] = {}
        self._asked = np.zeros(granules, np.bool_)
        self._numbers = np.zeros((4, granules), np.int64)  # [row, granule]

    def told(self, row: int, first: Ints, second: Ints, cells: Array) -> NDArray[np.bool_]:
        """The access that a row of stamps keeps for a granule lies before what the second wave does now; or the
        granule is itself a flag."""
        known = self._known[second, self._index[first]]
        return np.asarray((known >= self._numbers[row, cells]) | self._asked[cells])

    def look(self, wave: Ints, cells: Array, *, flag: bool) -> None:
        """Waves look at granules; `flag`: in order to wait."""
        self._asked[cells] |= flag
        for one, cell in {*zip(wave.ravel().tolist(), cells.ravel().tolist(), strict=True)}:
            for told in (self._turns, self._published) if flag else (self._turns,):
                if cell in told:
                    self._known[one] = np.maximum(self._known[one], told[cell])

    def announce(self, wave: Ints, cells: Array, number: Ints) -> None:
        """Waves store to granules."""
        for one in np.unique(wave).tolist():
            at = np.unique(cells[wave == one])
            if at.size <= MAX_FLAGS:
                clock = self._clock(one, number[wave == one].max())
                self._published.update(dict.fromkeys(at.tolist(), clock))
                for cell in at.tolist():
                    self._turns.pop(cell, None)

    def take_turns(self, wave: Ints, cells: Array, number: Ints, *, looks: bool, flag: bool) -> None:
        """Waves change granules by atomics, one after the other; `looks`: these return what was there."""
        for one in np.unique(wave).tolist():
            mine = wave == one
            if looks:
                self.look(wave[mine], cells[mine], flag=flag)
            at = np.unique(cells[mine])
            clock = self._clock(one, number[mine].max())
            for cell in at.tolist() if at.size <= MAX_FLAGS else ():
                before = self._turns.get(cell)
                self._turns[cell] = clock if before is None else np.maximum(before, clock)

    def _clock(self, wave: int, number: int) -> Ints:
        """What a wave announces: up to its operation of that number, and what it was told itself."""
        clock = self._known[wave].copy()
        clock[self._index[wave]] = number
        return clock

    def keep(self, stamps: Sequence[Ints], cells: Array) -> tuple[list[Ints], Ints]:
        """What the rows hold, before they are changed."""
        return [row[cells] for row in stamps], self._numbers[:, cells]

    def follow(
        self, kept: tuple[list[Ints], Ints], stamps: Sequence[Ints], cells: Array, mine: Ints, number: Ints
    ) -> None:
        """Numbers go where the stamps went that they belong to."""
        for row, now in enumerate(stamps):
            held = now[cells]
            found = np.full(cells.shape, _NEVER)
            for before, numbers in zip(*kept, strict=True):
                found = np.where(held == before, numbers, found)
            self._numbers[row, cells] = found
            kept_now = held == mine  # of lanes and waves that meet in a granule, one is
            self._numbers[row, cells[kept_now]] = number[kept_now]
