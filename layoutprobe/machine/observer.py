"""What can be watched while a kernel runs. Execution does not depend on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Flag, auto
from functools import cache, reduce
from operator import or_

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.events import Events
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.program import Block, Program


class Moves(Flag):
    """Kinds of accesses."""

    NONE = 0
    LDS_LOADS = auto()
    LDS_STORES = auto()
    LOADS = auto()
    """From any other memory."""
    STORES = auto()
    LDS = LDS_LOADS | LDS_STORES
    GLOBAL = LOADS | STORES
    ALL = LDS | GLOBAL


def moves_of(inst: Inst) -> Moves:
    """What accesses an instruction may make."""
    found = _moves_of(inst.kind)
    return found | Moves.LDS_STORES if inst.to_lds else found


@cache
def _moves_of(kind: Kind) -> Moves:
    found = Moves.NONE
    changes = bool(kind & Kind.ATOMIC)
    loads, stores = changes or Kind.LOAD in kind, changes or Kind.STORE in kind
    if kind & (Kind.LDS | Kind.FLAT):
        found |= Moves.LDS_LOADS if loads else Moves.NONE
        found |= Moves.LDS_STORES if stores else Moves.NONE
    if not kind & Kind.LDS:
        found |= Moves.LOADS if loads else Moves.NONE
        found |= Moves.STORES if stores else Moves.NONE
    return found


class Walk(Struct, frozen=True, eq=False):
    """The way of each wave through its kernel.

    Attributes:
        blocks: of the program.
        steps: int64 [wave, step], numbers in `blocks`; -1 behind the end of a wave.
        active: bool [wave, step], some lane was active where the block began.
    """

    blocks: Sequence[Block]
    steps: NDArray[np.int64]
    active: NDArray[np.bool_]

    __repr__ = brief


class Observer:
    """Watches a launch. It is told of those events whose method it overrides.

    Cohorts are lent: an observer reads registers and memories, and keeps copies only (machine.snapshot
    makes them).
    """

    everywhere = False
    """It is told of all workgroups, also where others are told of some (`engine.Dispatch.watched`)."""
    sets_lds = False
    """When it is told of a batch it says what LDS holds at the beginning: else that is undefined."""

    @property
    def moves(self) -> Moves:
        """The accesses that it must be told of, asked before each batch. It may be told of others; what memory holds
        it knows as far as stores of these kinds have changed it."""
        return Moves.ALL

    @property
    def groups(self) -> int | None:
        """So many workgroups, the first ones of a batch, make the accesses that it must be told of; None: all."""
        return None

    def stops(self, program: Program) -> frozenset[int] | None:
        """PCs of the instructions of which `step` must be told; None: all. It may be told of others."""
        return None

    def batch(self, machine: Machine, program: Program) -> None:
        """A batch of workgroups is about to start."""

    def block(self, c: Band, block: Block) -> None:
        """The cohort is about to execute a basic block."""

    def walked(self, machine: Machine, walk: Walk) -> None:
        """Which blocks the waves of a batch have run: told in place of `block` where an engine can, and nobody asks
        for more than that; never of a batch that a fault has ended."""

    def step(self, c: Cohort, inst: Inst) -> None:
        """The cohort is about to execute an instruction: every one, hints and branches included.

        `c.pc` stays that of the block.
        """

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """Lanes are about to load from or store to a memory; a read-modify-write is a store."""

    def doubt(self, c: Cohort, place: Addresses, size: int) -> NDArray[np.uint32] | None:
        """Lanes are about to get into VGPRs what they load: which bits of it are to be taken for undefined, [wave,
        lane, dword], beside those that are; None for none. Who is asked changes the run."""

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """A matrix instruction is about to execute."""

    def matrix_done(self, c: Cohort, inst: Inst) -> None:
        """A matrix instruction has written its destination."""

    def indexed(self, c: Cohort, inst: Inst, waves: NDArray[np.int64], done: Inst) -> None:
        """Waves of the cohort are about to execute an instruction whose VGPRs M0 picks: `done` names them."""

    def wait(self, c: Cohort, inst: Inst) -> None:
        """The cohort is about to wait for a counter."""

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """All living waves of these workgroups of the batch have arrived; they are let go."""

    def ended(self, c: Band) -> None:
        """The waves of the cohort have ended."""

    def fault(self, c: Cohort, inst: Inst, error: ExecutionError) -> None:
        """Lanes load from, or store to, where no buffer is. With an observer that asks for this the run goes on:
        what they get is undefined, what they store is dropped. Without one it ends in the error."""


_NO_EVENTS = Events()


def events_of(observers: Iterable[Observer]) -> Events:
    """Each event with the methods of those observers that override it, in the next batch; see `Observer.moves`."""
    given = tuple(observers)
    if not given:
        return _NO_EVENTS
    return Events(
        **{
            event: tuple(getattr(o, event) for o in given if asks(o, event))
            for event in Events.__struct_fields__
        }
    )


class Accesses(Struct, frozen=True):
    """What accesses of a batch must be told of.

    Attributes:
        moves: kinds.
        groups: workgroups that make them, from the first on; None: all.
    """

    moves: Moves = Moves.NONE
    groups: int | None = None


NO_ACCESSES = Accesses()


def accesses_of(observers: Sequence[Observer]) -> Accesses:
    """What all observers together must be told of in the next batch."""
    asking = [o for o in observers if asks(o, "access")]
    groups = [o.groups for o in asking]
    most = None if None in groups else max((each for each in groups if each is not None), default=0)
    return Accesses(reduce(or_, (o.moves for o in asking), Moves.NONE), most)


def stops_of(observers: Sequence[Observer], program: Program) -> frozenset[int] | None:
    """PCs of the instructions of which `step` of any observer must be told; None: all."""
    asked = [o.stops(program) for o in observers if asks(o, "step")]
    return None if None in asked else frozenset[int]().union(*(pcs for pcs in asked if pcs is not None))


def take_walks(observers: Sequence[Observer]) -> bool:
    """Nobody asks for more than blocks, and all who do take a `Walk` for them."""
    others = [
        event for event in Events.__struct_fields__ if event not in ("batch", "block", "walked", "fault")
    ]
    return all(
        wants(o, "walked") or (not wants(o, "block") and not any(asks(o, event) for event in others))
        for o in observers
    )


def asks(observer: Observer, event: str) -> bool:
    """The observer is to be told of an event of the next batch."""
    return wants(observer, event) and (event != "access" or bool(observer.moves))


def wants(observer: Observer, event: str) -> bool:
    """The observer asks for an event."""
    return getattr(type(observer), event) is not getattr(Observer, event)
