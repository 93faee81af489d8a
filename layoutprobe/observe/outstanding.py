"""Which accesses to LDS are outstanding, instruction by instruction.

An access is outstanding until its wave has waited for it. What is in one queue is done in the order in
which it was issued, so two numbers tell all: how many operations of a queue a wave has issued, and how
many of these are done. A block adds the same to them whichever wave executes it, and under any EXEC:
what it adds is worked out once.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Band
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.counters import operation, waits
from layoutprobe.observe.lds_stamps import Granules

Ints = NDArray[np.int64]

LDS, MEMORY, LOOSE = 0, 1, 2
"""Queues: LDS operations; vector memory, among it loads that go directly to LDS; FLAT operations that are in
order with neither (GFX9)."""
_NEVER = -(1 << 40)


class _Moment(Struct, frozen=True, eq=False):
    """What a block has done to the queues up to some instruction.

    Attributes:
        issued: int64 [queue, 1], how many operations it issued.
        done: int64 [queue, 1], up to which one of these all are done; negative for those before the block.
    """

    issued: Ints
    done: Ints


class _Plan(Struct, frozen=True, eq=False):
    """What a block does to the queues.

    Attributes:
        arrival: what it did before its barrier; None where it has none.
        after: what it does in all.
        idle: nothing at all.
    """

    arrival: _Moment | None
    after: _Moment
    idle: bool


class Recent(Struct, eq=False):
    """An access whose waves may not have waited for it.

    Attributes:
        stamps: int64 [lane, 1 or granule]; at: the granules.
        queue, waves, numbers: see Outstanding.
        store: or a load.
    """

    stamps: Ints
    at: Granules
    queue: int
    waves: Ints
    numbers: Ints
    store: bool

    __repr__ = brief


class Outstanding:
    """The queues of every wave of a batch. Operations have numbers, from 1 up."""

    def __init__(self) -> None:
        self._program: Program | None = None
        self._plans: dict[Block, _Plan] = {}
        self._before: dict[int, _Moment] = {}  # PC -> what its block did before it
        self._issued = self._done = np.zeros((3, 0), np.int64)  # [queue, wave], behind the running block
        self._base = self._was = np.zeros((3, 0), np.int64)  # [queue, wave], before it
        self._arrived = np.zeros((2, 3, 0), np.int64)  # issued and done, when a barrier was reached

    @property
    def waves(self) -> int:
        """Waves of the batch."""
        return self._issued.shape[1]

    def batch(self, machine: Machine, program: Program) -> None:
        """All waves start with nothing outstanding."""
        if program is not self._program:
            self._program, self._plans, self._before = program, {}, {}
            self._counting = isa_of(program.code, program.kernel).counting
        waves = machine.waves.workgroup.size
        self._issued, self._done, self._base, self._was = np.zeros((4, 3, waves), np.int64)
        self._arrived = np.zeros((2, 3, waves), np.int64)

    def block(self, c: Band, block: Block) -> None:
        """Waves execute a block; what follows is asked while they do."""
        plan = self._plans.get(block)
        if plan is None:
            plan = self._plans[block] = self._plan(block)
        if plan.idle:
            return
        waves = c.waves
        base, was = self._issued[:, waves], self._done[:, waves]
        self._base[:, waves], self._was[:, waves] = base, was
        self._issued[:, waves] = base + plan.after.issued
        self._done[:, waves] = np.maximum(was, base + plan.after.done)
        if plan.arrival is not None:
            self._arrived[0][:, waves] = base + plan.arrival.issued
            self._arrived[1][:, waves] = np.maximum(was, base + plan.arrival.done)

    def queue(self, inst: Inst) -> int:
        """The queue of an access to LDS."""
        if inst.to_lds:
            return MEMORY
        return LOOSE if inst.encoding == "FLAT" and not self._counting.flat_in_order else LDS

    def number(self, inst: Inst, waves: Ints) -> Ints:
        """Number of an access of the running block in its queue: int64 [wave]."""
        queue = self.queue(inst)
        return np.asarray(self._base[queue, waves] + self._before[inst.pc].issued[queue] + 1)

    def done(self, inst: Inst, queue: int, waves: Ints) -> Ints:
        """Number of the last operation of a queue that is done before an access of the running block: [wave]."""
        so_far = self._base[queue, waves] + self._before[inst.pc].done[queue]
        return np.maximum(self._was[queue, waves], so_far)

    def over(self, queue: int, waves: Ints, numbers: Ints) -> bool:
        """These operations were done before the running block."""
        return bool((numbers <= self._was[queue, waves]).all())

    def late(self, queue: int, waves: Ints, numbers: Ints) -> NDArray[np.bool_]:
        """Which of these operations were outstanding when their wave reached its barrier."""
        issued, done = self._arrived[:, queue, waves]
        return np.asarray((numbers <= issued) & (numbers > done))

    def busy(self, waves: Ints) -> bool:
        """Anything was outstanding when these waves reached their barrier."""
        issued, done = self._arrived[:, :, waves]
        return bool((issued > done).any())

    def _plan(self, block: Block) -> _Plan:
        issued, done = [0, 0, 0], [_NEVER] * 3
        arrival = None
        active = False
        for inst in block.listing:
            counters = {LDS: self._counting.lds, MEMORY: self._counting.loads, LOOSE: self._counting.lds}
            for counter, left in waits(inst, self._counting).items():
                active = True
                for queue, its in counters.items():
                    if its == counter and (queue != LOOSE or left == 0):
                        done[queue] = max(done[queue], issued[queue] - left)
            if Kind.ARRIVE in inst.kind:
                arrival = _moment(issued, done)
            if (op := operation(inst, self._counting)) is None or inst.encoding == "SMEM":
                continue
            active = True
            self._before[inst.pc] = _moment(issued, done)
            for queue, counter in counters.items():
                issued[queue] += counter in op.counters and op.ordered == (queue != LOOSE)
        return _Plan(arrival, _moment(issued, done), not active and arrival is None)


def _moment(issued: list[int], done: list[int]) -> _Moment:
    return _Moment(np.array(issued)[:, None], np.array(done)[:, None])
