"""Transposing loads of one workgroup: what each lane named, fetched and received, and whose operand that became.

A register remembers the loads that its bits came from. Whatever is computed from registers remembers those of all of
them, so that packing and swaps between lanes do not lose the way; a store to LDS does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses
from layoutprobe.observe.matrix import WaveCounter

Words = NDArray[np.uint32]
Loads = frozenset[int]
NONE: Loads = frozenset()

MOST = 1 << 14
"""Loads that are kept."""


class Fetched(Struct, eq=False):
    """One transposing load, executed by one wave.

    Attributes:
        inst: the load.
        wave: number of the wave in the launch.
        address: int64 [lane], the byte that a lane names, counted in the LDS of its workgroup or in its buffer; -1
            where it names none.
        raw, received: uint32 [dword, lane], what is there, and what the lane has in its registers afterwards.
        raw_undefined, received_undefined: the same; set bits are undefined, as all are that no lane names.
    """

    inst: Inst
    wave: int
    address: NDArray[np.int64]
    raw: Words
    raw_undefined: Words
    received: Words
    received_undefined: Words

    __repr__ = brief


class Fed(Struct, frozen=True):
    """A matrix instruction, executed by one wave.

    Attributes:
        inst, wave, turn: which (see observe.matrix).
        a, b: for each register of the operand, the loads that its bits came from, by their numbers.
    """

    inst: Inst
    wave: int
    turn: int
    a: tuple[Loads, ...]
    b: tuple[Loads, ...]


class Transposed(Struct, frozen=True):
    """What was seen of a workgroup.

    Attributes:
        loads: in the order of execution; their numbers count from 0.
        fed: matrix instructions that take anything of them.
        complete: False where there were too many.
    """

    loads: tuple[Fetched, ...]
    fed: tuple[Fed, ...]
    complete: bool

    __repr__ = brief


class WatchTransposed(Struct, frozen=True):
    """Makes observers of one workgroup; equal ones are one run."""

    group: tuple[int, int, int]

    def __call__(self) -> TransposeObserver:
        """A fresh one."""
        return TransposeObserver(self.group)


class TransposeObserver(WaveCounter):
    """Follows what transposing loads bring, register by register."""

    def __init__(self, group: tuple[int, int, int]) -> None:
        super().__init__()
        self._group = np.asarray(group)
        self._loads: list[Fetched] = []
        self._fed: list[Fed] = []
        self._complete = True
        self._held: dict[int, dict[int, Loads]] = {}  # wave -> register -> loads
        self._arriving: dict[int, Fetched] = {}  # wave -> the load that it executes
        self._moves: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def step(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        for position, wave in self._mine(c):
            if arrived := self._arriving.pop(wave, None):
                arrived.received, arrived.received_undefined = (
                    np.stack(
                        [file.u[register - VGPR0][position] for register in arrived.inst.dst[0].registers()]
                    )
                    for file in (c.regs, c.shadow)
                )
            if Kind.MATRIX not in inst.kind:
                self._move(self._held.setdefault(wave, {}), inst, whole=c.full)

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if Kind.TRANSPOSE not in inst.kind:
            return
        mine = self._mine(c)
        if mine and len(self._loads) + len(mine) > MOST:
            self._complete = False
            return
        for position, wave in mine:
            raw, undefined = (
                np.ascontiguousarray(memory.gather(place.offsets, size, place.low_bits)[position].T)
                for memory in (place.memory.data, place.memory.shadow)
            )
            undefined = undefined if place.memory.tracked else np.zeros_like(raw)
            undefined[:, ~place.mask[position]] = 0xFFFFFFFF
            address = np.where(place.mask, place.offsets - _begins(c, inst, place), -1)[position]
            load = Fetched(inst, wave, address, raw, undefined, np.zeros_like(raw), np.zeros_like(raw))
            self._arriving[wave] = load
            self._held[wave] |= dict.fromkeys(inst.dst[0].registers(), frozenset({len(self._loads)}))
            self._loads.append(load)

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        turns = self.numbered(c)[1]
        for position, wave in self._mine(c):
            held = self._held.setdefault(wave, {})
            a, b = (tuple(held.get(r, NONE) for r in operand.registers()) for operand in inst.src[:2])
            if any(a) or any(b):
                self._fed.append(Fed(inst, wave, int(turns[position]), a, b))
            for register in inst.dst[0].registers():
                held.pop(register, None)

    def record(self) -> Transposed:
        """See Recorder."""
        return Transposed(tuple(self._loads), tuple(self._fed), self._complete)

    def _mine(self, c: Cohort) -> list[tuple[int, int]]:
        """Positions in the cohort, and numbers, of the waves that are followed."""
        here = np.flatnonzero((c.machine.waves.group_id[c.waves] == self._group).all(axis=1))
        return [(int(position), int(self._first + c.waves[position])) for position in here]

    def _move(self, held: dict[int, Loads], inst: Inst, *, whole: bool) -> None:
        """What a wave's registers hold once the instruction is executed; not `whole`: by some lanes only."""
        if inst.pc not in self._moves:
            self._moves[inst.pc] = _moved(inst)
        targets, sources = self._moves[inst.pc]
        found = NONE.union(*(held[source] for source in sources if source in held))
        for target in targets:
            kept = found if whole else found | held.get(target, NONE)
            if kept:
                held[target] = kept
            else:
                held.pop(target, None)


def _begins(c: Cohort, inst: Inst, place: Addresses) -> NDArray[np.int64]:
    """Where the LDS of the workgroup begins, or the buffer of each address: [wave, lane]."""
    if Kind.LDS in inst.kind:
        return np.asarray(c.lds_base)
    starts = np.asarray([region.start for region in c.machine.arena.regions])
    return np.asarray(starts[np.searchsorted(starts, place.offsets, side="right") - 1])


def _moved(inst: Inst) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """VGPRs that an instruction writes, and those whose bits it takes for that: none, if it loads."""
    halves: Sequence[Inst] = inst.pair or (inst,)
    targets = tuple(r for half in halves for o in half.dst for r in o.registers() if r >= VGPR0)
    if Kind.LOAD in inst.kind or Kind.TRANSPOSE in inst.kind:
        return targets, ()
    sources = tuple(r for half in halves for o in half.src for r in o.registers() if r >= VGPR0)
    return targets, sources + (targets if "swap" in inst.name else ())
