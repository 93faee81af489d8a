"""Runs the waves of one batch: C as far as it goes, numpy for what it leaves, and C again."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.engine import outcome
from layoutprobe.engine.native.bound import Bound
from layoutprobe.engine.native.lower import Record
from layoutprobe.engine.native.replay import LOG_WORDS, Replay, walk_of
from layoutprobe.engine.native.sieve import Sieve, SuspectError, touches
from layoutprobe.engine.native.state import (
    ENDLESS,
    FRESH,
    READY,
    SLOW,
    CInitial,
    CRegion,
    Ctx,
    WaveMemory,
    aligned,
)
from layoutprobe.engine.native.steps import Watched
from layoutprobe.engine.turns import Patience
from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.events import Events
from layoutprobe.machine.machine import LaunchFacts, Machine, lds_stride
from layoutprobe.machine.memory import Addresses, Arena
from layoutprobe.machine.observer import NO_ACCESSES, Accesses
from layoutprobe.machine.program import CONDITIONS
from layoutprobe.machine.registers import POISON, Array
from layoutprobe.machine.stored import stored_dwords

_WORTH_A_THREAD = 32
"""Waves."""


@cache
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), "layoutprobe-native")


def regions_of(arena: Arena, *, look: bool) -> ctypes.Array[CRegion]:
    """The allocations, and in which there may be undefined bits: in all of them unless somebody looks."""
    regions = [r for r in arena.regions if r.end > r.start]
    return (CRegion * len(regions))(
        *[
            CRegion(r.start, r.end, r.writable, arena.has_undefined(r) if look else arena.tracked)
            for r in regions
        ]
    )


class Interpreter:
    """One batch.

    Attributes:
        bound: the kernel.
        machine: memories of the batch.
        waves: registers; those of the batch come first.
        regions: of global memory.
        asked: what accesses observers must be told of.
        sieve: what looks instead of observers; None: nobody asks.
        stops: PCs of the instructions of which observers must be told before they are executed.
        walks: observers take walks, see `Observer.walked`.
        count: waves of the batch.
        lds_is_set: an observer says what LDS holds when a workgroup begins.
    """

    def __init__(
        self,
        bound: Bound,
        machine: Machine,
        waves: WaveMemory,
        budget: int,
        asked: Accesses = NO_ACCESSES,
        sieve: Sieve | None = None,
        stops: frozenset[int] = frozenset(),
        walks: bool = False,
    ) -> None:
        self.bound, self.machine, self.waves, self.budget = bound, machine, waves, budget
        self.regions = (CRegion * 0)()
        self.sieve, self._walks = sieve, walks
        self.lds_is_set = False
        groups = machine.waves.workgroup
        self.count = int(groups.size)
        self.groups = int(groups[-1]) + 1
        events = machine.events
        watched = replace(events, batch=(), fault=(), step=()) != Events()  # these need no log
        matrix, indexed = bool(events.matrix or events.matrix_done), bool(events.indexed)
        self._watched = Watched(watched, asked.moves, matrix, stops, indexed)
        self._telling = self.groups if asked.groups is None else min(asked.groups, self.groups)
        self._patience = Patience()
        self._initial: list[Array] = []
        self._rows: ctypes.Array[CInitial] = (CInitial * 0)()
        self._fragments = [self._room_for_fragments()]
        self._context = self._make_context()
        if sieve is not None:
            machine.events = Events(access=(self._sift,))

    def run(self) -> None:
        """Run every wave to its end.

        Raises:
            ExecutionError: a fault of the kernel, or the budget is spent.
            SuspectError: the sieve has stopped it.
        """
        for tell in self.machine.events.batch:
            tell(self.machine, self.bound.program)
        self._context.lds_is_set = self.lds_is_set
        if self._watched.block:
            self._run_watched()
            return
        while self._run_workgroups():
            self._slow(self._furthest_behind())

    def _run_watched(self) -> None:
        if self._walks and not self._run_workgroups():
            for tell in self.machine.events.walked:
                tell(self.machine, walk_of(self.bound, self.waves, self.count))
            return
        replay = Replay(self.bound, self.machine, self.waves)
        try:
            while True:
                self._run_workgroups()
                which = replay.advance()
                if which is None:
                    return
                if which.size:
                    self._slow(which)
                    replay.settle()
        finally:
            replay.close()

    def _show_signals(self) -> None:
        self.machine.signalled[:] = self.waves.signalled[: self.count] != 0

    def _run_workgroups(self) -> bool:
        """Run C as far as it goes, on all cores; whether numpy must do something."""
        run, groups = self.bound.runtime.lp_run, self.groups
        alone = (
            self._watched.matrix
            or self._watched.stops
            or not self.bound.parallel
            or self.count < _WORTH_A_THREAD
        )
        parts = 1 if alone else min(_cores(), groups)
        contexts = [self._context, *self._copies(parts - 1)]
        limits = [groups * n // parts for n in range(parts + 1)]
        jobs = [
            _threads().submit(run, ctypes.byref(contexts[n]), limits[n], limits[n + 1])
            for n in range(1, parts)
        ]
        stuck = run(ctypes.byref(contexts[0]), 0, limits[1])
        for job in jobs:
            stuck |= job.result()
        if self.sieve is not None:
            self.sieve.check()
        return bool(stuck)

    def _room_for_fragments(self) -> NDArray[np.uint8]:
        return aligned(self.bound.offsets.fragment * self.bound.lowered.fragments)

    def _copies(self, count: int) -> list[Ctx]:
        """Contexts for other threads, with fragments of their own."""
        while len(self._fragments) <= count:
            self._fragments.append(self._room_for_fragments())
        copies = [Ctx.from_buffer_copy(self._context) for _ in range(count)]
        for copy, fragments in zip(copies, self._fragments[1:], strict=False):
            copy.fragments = fragments.ctypes.data
        return copies

    def start_with(self, values: Iterable[tuple[int, Any]]) -> None:
        """Have every workgroup begin with the registers that hardware sets up, and all others undefined.

        Args:
            values: register and its values: uint32 [wave, 1] or one for all; of v0 [wave, lane].
        """
        self._initial, rows = [], []
        for register, value in values:
            array = np.ascontiguousarray(np.atleast_1d(np.asarray(value, np.uint32)))
            self._initial.append(array)
            if register == VGPR0:
                self._context.v0 = array.ctypes.data
            else:
                rows.append(CInitial(register, int(array.size > 1), array.ctypes.data))
        self._rows = (CInitial * len(rows))(*rows)
        context = self._context
        context.initial, context.initial_count = ctypes.addressof(self._rows), len(rows)

    def see(self, arena: Arena, regions: ctypes.Array[CRegion]) -> Interpreter:
        """Have this global memory, and these regions of it."""
        self.machine.arena, self.regions = arena, regions
        context = self._context
        context.arena = arena.data.bytes.ctypes.data
        context.arena_shadow = arena.shadow.bytes.ctypes.data
        context.regions, context.region_count = ctypes.addressof(regions), len(regions)
        return self

    def restart(self, facts: LaunchFacts, left: int) -> None:
        """Have all waves begin.

        Args:
            facts: of the launch.
            left: instructions that a wave may issue.
        """
        self.machine.facts, self._context.left = facts, left
        self.machine.signalled[:] = False
        self.waves.status[: self.count] = FRESH

    def _make_context(self) -> Ctx:
        context, bound, machine, waves = Ctx(), self.bound, self.machine, self.waves
        context.lds_size, context.defined = machine.lds_size, machine.defined
        records = bound.program_records(self._watched)
        context.touched, context.program = bound.touched.ctypes.data, ctypes.addressof(records)
        context.shadow_bytes = waves.shadow_bytes
        context.fragments = self._fragments[0].ctypes.data
        context.waves, context.wave_bytes = waves.bytes.ctypes.data, waves.wave_bytes
        context.vgprs, context.poison = waves.vgprs, POISON
        context.per_group = self.count // self.groups
        context.lds_all = machine.lds.data.bytes.ctypes.data
        context.lds_shadow_all = machine.lds.shadow.bytes.ctypes.data
        context.lds_stride = lds_stride(machine.lds_size)
        context.scratch = machine.scratch.data.bytes.ctypes.data
        context.scratch_shadow = machine.scratch.shadow.bytes.ctypes.data
        context.scratch_size, context.scratch_stride = machine.scratch_size, machine.scratch_stride
        if self.sieve is not None:
            context.sieve = ctypes.addressof(self.sieve.passed)
        if self._watched.block:
            telling = self._telling * context.per_group if self._watched.access else 0
            words = LOG_WORDS + (2 * bound.room if telling else 0)
            waves.keep_log(words)
            context.log, context.log_words = waves.log.ctypes.data, words
            context.accesses = telling
        return context

    def _furthest_behind(self) -> NDArray[np.int64]:
        """The waves that numpy is to do something for next."""
        status = self.waves.status[: self.count]
        spent = np.flatnonzero(status == ENDLESS)
        if spent.size:
            return spent[:1]
        stand = np.flatnonzero(status == SLOW)
        pcs = self.waves.pc[stand]
        return stand[pcs == self._patience.chosen(pcs.tolist())]

    def _slow(self, which: NDArray[np.int64]) -> None:
        """Have numpy execute the instruction at which some waves stand."""
        waves, records = self.waves, self.bound.records
        at = waves.at[which]
        record = records[int(at[0])]
        if waves.status[which[0]] == ENDLESS:
            assert record.block is not None
            raise outcome.endless(self.bound.program, record.block, self.budget)
        if record.pc in self._watched.stops and record.inst is not None:
            c = waves.cohort(self.machine, record.start, which)
            for tell in self.machine.events.step:
                tell(c, record.inst)
        if record.inst is not None and Kind.JUMP in record.inst.kind:
            self._jump(which, record, record.inst)
            return
        if record.executor is None:
            raise self._ended_badly(which, record)
        if record.inst is not None and Kind.MATRIX in record.inst.kind and self._is_native(which, int(at[0])):
            self._step(which, int(at[0]))
        else:
            self._execute(which, record)
        dirty = (waves.undef[which] & self.bound.touched[self.bound.row[at]]).any(axis=1)
        waves.at[which] = np.where(dirty, self.bound.resume[at], self.bound.plain[at])
        waves.status[which] = READY

    def _execute(self, which: NDArray[np.int64], record: Record) -> None:
        inst, execute = record.inst, record.executor
        assert inst is not None
        assert execute is not None
        if self._watched.block:
            self._show_signals()
        c = self.waves.cohort(self.machine, record.start, which)
        before = c.undef
        try:
            execute(c)
        except outcome.FAILURES as error:
            raise outcome.failed(self.bound.program, inst, error) from error.__cause__
        if inst.kind & (Kind.STORE | Kind.ATOMIC) and self.machine.arena.tracked:
            for region in self.regions:  # undefined bits may have been stored anywhere
                region.undefined = 1
        self.waves.keep(c, which, before, record.registers)

    def _sift(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """Numpy is about to access memory for some waves: for bits are undefined, if only in lanes that are off.

        Raises:
            SuspectError: the sieve stops, or undefined bits are loaded from LDS.
        """
        memory, lds = place.memory, place.memory is c.machine.lds
        if memory is c.machine.scratch:
            return
        if lds and (not store or Kind.ATOMIC in inst.kind):
            bits = memory.undefined(place.offsets, size, place.low_bits)
            if bits is not None and (bits.any(axis=-1) & place.mask).any():
                raise SuspectError
        first = c.machine.lds_base[c.waves] if lds else 0
        offsets = np.ascontiguousarray(np.broadcast_to(place.offsets - first, place.mask.shape), np.int64)
        if store and Kind.ATOMIC not in inst.kind:
            words = np.broadcast_to(stored_dwords(c, inst, place, size), (*place.mask.shape, -(-size // 4)))
            if any(_lanes_lose(o[m], w[m], size) for o, w, m in zip(offsets, words, place.mask, strict=True)):
                raise SuspectError
        packed = np.packbits(place.mask, axis=1, bitorder="little")
        for row, wave in enumerate(c.waves.tolist()):
            lanes, at = int.from_bytes(packed[row].tobytes(), "little"), offsets[row].ctypes.data
            sift, context = self.bound.runtime.lp_sift, ctypes.byref(self._context)
            if not sift(context, wave, at, size, touches(inst, store=store), lanes, lds):
                raise SuspectError

    def _is_native(self, which: NDArray[np.int64], n: int) -> bool:
        """Whether C can execute a matrix instruction: all its registers are defined."""
        record = self.bound.records[n]
        return record.symbol != "F_slow" and not (self.waves.undef[which] & self.bound.named(n)).any()

    def _step(self, which: NDArray[np.int64], n: int) -> None:
        """Have C execute a matrix instruction, between what observers are told before and after it."""
        record, events, waves = self.bound.records[n], self.machine.events, self.waves
        inst = record.inst
        assert inst is not None
        c = waves.cohort(self.machine, record.start, which)
        for tell in events.matrix:
            tell(c, inst)
        each = np.ascontiguousarray(which, np.uint64)
        self.bound.runtime.lp_step(
            ctypes.byref(self._context), self.bound.alone(n), each.ctypes.data, each.size
        )
        if events.matrix_done:
            c = waves.cohort(self.machine, record.start, which)
            before = c.undef
            for tell in events.matrix_done:
                tell(c, inst)
            waves.keep(c, which, before, record.registers)

    def _jump(self, which: NDArray[np.int64], record: Record, inst: Inst) -> None:
        """Have waves go where a call or a return leads."""
        c = self.waves.cohort(self.machine, record.pc, which)
        before = c.undef
        targets = outcome.jumped(self.bound.program, c, inst)
        self.waves.keep(c, which, before, record.registers)
        self.waves.at[which] = [self.bound.lowered.heads[target] for target in targets.tolist()]
        self.waves.status[which] = READY

    def _ended_badly(self, which: NDArray[np.int64], record: Record) -> Exception:
        """What ends a block gives up where the numpy scheduler raises."""
        last = record.inst
        if last is None:
            return outcome.past_end(record.pc)
        c = self.waves.cohort(self.machine, record.pc, which)
        if Kind.AWAIT in last.kind:
            self._show_signals()
            outcome.check_signalled(self.bound.program, c, last)
        if last.name in CONDITIONS:
            outcome.taken(self.bound.program, c, last)
        return AssertionError(f"{last.name} came back without a fault")


def _lanes_lose(offsets: NDArray[np.int64], words: NDArray[np.uint32], size: int) -> bool:
    """Whether lanes of a wave store something else to one place: [lane], [lane, dword]."""
    order = np.argsort(offsets, kind="stable")
    offsets, words = offsets[order], words[order]
    near = offsets[1:] < offsets[:-1] + size
    alike = (offsets[1:] == offsets[:-1]) & (words[1:] == words[:-1]).all(axis=1)
    return bool((near & ~alike).any())
