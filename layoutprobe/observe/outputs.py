"""Stores to global memory: which bytes, by which instruction, wave and lane."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Program
from layoutprobe.machine.stored import stored_dwords
from layoutprobe.observe.matrix import Ints, WaveCounter, WaveTable

STORE_LIMIT = 1 << 24
"""Lanes' stores that are kept."""

Bytes = NDArray[np.uint8]


class Allocation(Struct, frozen=True):
    """One allocation: its name, and its bytes [start, end) of the arena."""

    name: str
    start: int
    end: int


class Store(Struct, frozen=True, eq=False):
    """One store, executed by several lanes together.

    Attributes:
        inst: the instruction; an atomic one counts as a store.
        wave: int64 [store], launch-wide number of the wave.
        lane: int64 [store].
        offset: int64 [store], first byte in the arena.
        size: bytes of each.
        data: uint8 [store, size], what is stored; zeros of an atomic one.
    """

    inst: Inst
    wave: Ints
    lane: Ints
    offset: Ints
    size: int
    data: Bytes

    __repr__ = brief

    @property
    def atomic(self) -> bool:
        """A read-modify-write: several of them may rightly meet at one address."""
        return Kind.ATOMIC in self.inst.kind


class Stores(Struct, frozen=True, eq=False):
    """All stores of a launch to global memory.

    Attributes:
        waves: all waves of the launch.
        allocations: where buffers lie.
        stores: in the order of execution.
        complete: False where there were more than were kept.
    """

    waves: WaveTable
    allocations: tuple[Allocation, ...]
    stores: tuple[Store, ...]
    complete: bool

    __repr__ = brief

    def allocation(self, name: str) -> Allocation | None:
        """The allocation of that name."""
        return next((a for a in self.allocations if a.name == name), None)


class StoreRecorder(WaveCounter):
    """Keeps every store to global memory."""

    def __init__(self, limit: int = STORE_LIMIT) -> None:
        super().__init__()
        self._left = limit
        self._stores: list[Store] = []
        self._allocations: tuple[Allocation, ...] = ()

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.STORES

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        super().batch(machine, program)
        self._allocations = tuple(Allocation(r.name, r.start, r.end) for r in machine.arena.regions)

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if not store or place.memory is not c.machine.arena:
            return
        shape = place.offsets.shape
        mask = np.broadcast_to(place.mask, shape)
        self._left -= int(np.count_nonzero(mask))
        if self._left >= 0:
            wave, lane = np.broadcast_arrays(self.number(c)[:, None], np.arange(shape[1]))
            wave, lane, offset = (np.asarray(x[mask], np.int64) for x in (wave, lane, place.offsets))
            data = np.zeros((offset.size, size), np.uint8)
            if Kind.ATOMIC not in inst.kind:
                data = stored_dwords(c, inst, place, size)[mask].view(np.uint8)[:, :size]
            self._stores.append(Store(inst, wave, lane, offset, size, data))

    def record(self) -> Stores:
        """See Recorder."""
        return Stores(self.waves(), self._allocations, tuple(self._stores), self._left >= 0)


class EveryStoreRecorder(StoreRecorder):
    """Keeps those of all workgroups, also where others are told of some."""

    everywhere = True


def touched(stores: Stores, allocation: Allocation, unit: int, *, atomic: bool) -> NDArray[np.int64]:
    """How often each element of so many bytes was stored to, by atomics or by all others: its most stored byte.

    A tail of the allocation that is no whole element is left out.
    """
    of_kind = [(s.offset - allocation.start, s.size) for s in stores.stores if s.atomic == atomic]
    whole = all(size % unit == 0 and not (at % unit).any() for at, size in of_kind)
    step = unit if whole else 1  # most stores are of whole elements: then no bytes need be counted
    elements = (allocation.end - allocation.start) // unit
    count = np.zeros(elements * unit // step, np.int64)
    for width in {size for _, size in of_kind}:
        at = np.concatenate([at for at, size in of_kind if size == width]) // step
        hits = np.bincount(at[(at >= 0) & (at < count.size)], minlength=count.size)
        for n in range(min(width // step, count.size)):
            count[n:] += hits[: count.size - n]
    return count if whole else np.asarray(count.reshape(elements, unit).max(axis=1))


class Contested(Struct, frozen=True, eq=False):
    """Bytes of an allocation that got several values.

    Attributes:
        between: bool [byte], of several waves; whether something orders them is not looked at.
        within: bool [byte], of several lanes of one instruction of one wave.
    """

    between: NDArray[np.bool_]
    within: NDArray[np.bool_]

    __repr__ = brief


def contested(stores: Stores, allocation: Allocation) -> Contested:
    """Bytes over which plain stores quarrel. Who stores what is there already, or what it stored itself, does not;
    nor do different instructions of a wave, which are done in their order."""
    size = allocation.end - allocation.start
    between, within = np.zeros((2, size), np.bool_)
    wave, value = np.full(size, -1), np.zeros(size, np.uint8)
    for store in stores.stores:
        for byte in range(0 if store.atomic else store.size):
            at = store.offset - allocation.start + byte
            inside = (at >= 0) & (at < size)
            at, mine, new = at[inside], store.wave[inside], store.data[inside, byte]
            between[at[(wave[at] >= 0) & (wave[at] != mine) & (value[at] != new)]] = True
            wave[at], value[at] = mine, new
            lost = value[at] != new  # to another lane of this instruction
            within[at[lost & (wave[at] == mine)]] = True
            between[at[lost & (wave[at] != mine)]] = True
    return Contested(between, within)
