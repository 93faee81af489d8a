"""The engine that executes with generated C, and leaves to numpy what that does not know.

A batch's waves lie in one block of memory, which C and numpy see alike. C runs the waves until all have
ended or some stand at an instruction for numpy; the bound executor of the numpy engine executes it for these
waves together, and C goes on. Faults are found by C and worded by numpy, which executes the instruction again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from layoutprobe import semantics
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.engine.base import IN_TURN, Dispatch, Finished, Grain
from layoutprobe.engine.native.bound import Bound, bind_native, steps_of
from layoutprobe.engine.native.hosts import UnavailableError
from layoutprobe.engine.native.interpreter import Interpreter, regions_of
from layoutprobe.engine.native.library import NotYetError
from layoutprobe.engine.native.sieve import Sieve, SuspectError
from layoutprobe.engine.native.state import CRegion, WaveMemory
from layoutprobe.engine.native.steps import Steps
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.edit import Literals
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.events import Events
from layoutprobe.machine.float_mode import guarded
from layoutprobe.machine.launch import (
    BATCH_WAVES,
    batches,
    facts_of,
    initial_values,
    make_waves,
    vgpr_count,
    wave_bytes,
    write_packet,
)
from layoutprobe.machine.machine import Machine, lds_stride
from layoutprobe.machine.memory import Memory, Store
from layoutprobe.machine.observer import Observer, accesses_of, events_of, stops_of, take_walks
from layoutprobe.machine.program import Executor, Program

MOST_SLOW = 0.5
"""Share of instructions for numpy above which a kernel is left to the numpy engine."""


MOST_STOPPED = 2
"""Launches of a kernel that the sieve stops, beyond those that it lets pass, before it is asked no more."""
_FEW = 64
"""Waves of a launch."""
_NONE = Events()

Shape = tuple[int, int, int, int]
"""Waves, VGPRs of one, lanes of one, bytes of LDS of all."""
_Memories = tuple[WaveMemory, Memory]


class NativeEngine:
    """Keeps bound kernels."""

    name = "native"

    def __init__(self, numpy: NumpyEngine | None = None, *, wait: bool = True) -> None:
        """An engine.

        Args:
            numpy: runs what this engine leaves; a fresh one unless given.
            wait: what the cache has not is compiled first; else in the background, while numpy runs.
        """
        self._numpy = numpy or NumpyEngine()
        self._wait = wait
        self._steps: dict[tuple[str, str], Steps] = {}
        self._bound: dict[tuple[str, str], Bound | None] = {}
        self._spare: dict[Shape, _Memories] = {}
        self._last: _Run | None = None
        self._sieve: Sieve | None = None
        self._stopped: dict[tuple[str, str], int] = {}

    def run(self, dispatch: Dispatch) -> Finished:
        """See Engine."""
        events = events_of(dispatch.observers)
        bound = None
        stops = self._numpy.stops(dispatch) if events.step else frozenset[int]()
        if (
            dispatch.arithmetic == "ieee"
            and stops is not None
            and not events.wait
            and not events.doubt
            and dispatch.order in ("", IN_TURN)
        ):
            bound = self._bind(dispatch.code, dispatch.kernel)
        # Observers are told in the order of the numpy engine, which waves that wait for each other had not in C.
        waits = bound is not None and bound.lowered.waits and events != _NONE
        if bound is None or stops is None or waits or not stops <= bound.executed:
            return self._numpy.run(dispatch)
        if dispatch.changes:
            told = dispatch.changes if events == _NONE else None
            numbers = bound.with_literals(told) if isinstance(told, Literals) else None
            bound = numbers or bound.changed(self._numpy.changed(dispatch)[1])
        return self._result(self._run(dispatch, bound, events))

    def clears(self, dispatch: Dispatch, grain: Grain) -> bool:
        """See Engine."""
        key = (dispatch.code.digest, dispatch.kernel.name)
        if dispatch.observers or dispatch.arithmetic != "ieee" or self._stopped.get(key, 0) >= MOST_STOPPED:
            return False
        bound = self._bind(dispatch.code, dispatch.kernel)
        if bound is None:
            return False
        run = self._run(dispatch, bound, _NONE)
        run.sieve = sieve = self._sieve_for(run, grain)
        if sieve is None:
            return False
        try:
            self._result(run)
        except (SuspectError, ExecutionError):
            sieve.undo()
            self._stopped[key] = self._stopped.get(key, 0) + 1
            return False
        self._stopped[key] = self._stopped.get(key, 0) - 1
        return True

    def knows(self, code: CodeObject, kernel: Kernel) -> bool:
        """Whether C executes a kernel, once what it needs is compiled."""
        return self._bind(code, kernel) is not None

    def _run(self, dispatch: Dispatch, bound: Bound, events: Events) -> _Run:
        """A run of a dispatch: the last one again where the dispatch is alike, as programs launch in loops."""
        last = self._last
        if last is None or events != _NONE or not last.again(dispatch, bound):
            last = _Run(dispatch, bound, events)
            self._last = last if events == _NONE and len(last.batches) == 1 else None
        last.sieve = None
        return last

    def _sieve_for(self, run: _Run, grain: Grain) -> Sieve | None:
        """A sieve that has begun with a launch; None where memory is too much for one."""
        kept = self._sieve
        if (
            kept is not None
            and (kept.arena, kept.grain) == (run.arena, grain)
            and kept.begin(run.groups, run.shape[3])
        ):
            return kept
        self._sieve = None  # before the new one takes memory
        fresh = Sieve(run.arena, grain)
        if fresh.begin(run.groups, run.shape[3]):
            self._sieve = fresh
        return self._sieve

    def _result(self, run: _Run) -> Finished:
        memories = self._spare.pop(run.shape, None) or run.memories()
        finished = run.result(memories)
        self._spare = {run.shape: memories}  # of the last kernel alone
        return finished

    def _bind(self, code: CodeObject, kernel: Kernel) -> Bound | None:
        key = (code.digest, kernel.name)
        if key not in self._bound:
            try:
                if key not in self._steps:
                    program = self._numpy.program(code, kernel)
                    self._steps[key] = steps_of(
                        program, kernel.wavefront_size, _one_by_one(program), wait=self._wait
                    )
                bound = bind_native(self._steps[key], wait=self._wait)
            except NotYetError:
                return None
            except UnavailableError:
                self._bound[key] = None
            else:
                self._bound[key] = bound if bound.lowered.slow <= MOST_SLOW else None
            self._steps.pop(key, None)
        return self._bound[key]


def _one_by_one(program: Program) -> Mapping[int, Sequence[Executor]]:
    """For each block executors that build on nothing: here numpy executes single instructions. The program stays as
    it is, as observers keep what they find out about it for the next launch, on whichever engine."""
    bind = guarded(semantics.bind, program.kernel)

    def alone(inst: Inst, execute: Executor) -> Executor:
        return (bind(inst, ()) or execute) if semantics.builds_on_block(inst) else execute

    return {pc: tuple(map(alone, block.insts, block.body)) for pc, block in program.blocks.items()}


class _Run:
    """One dispatch."""

    def __init__(self, dispatch: Dispatch, bound: Bound, events: Events) -> None:
        self.sieve: Sieve | None = None
        self._kept: Interpreter | None = None  # of the only batch, unwatched
        self.dispatch, self.bound, self.kernel, self.events = dispatch, bound, dispatch.kernel, events
        self.arena = dispatch.memory.arena
        self.lanes = self.kernel.wavefront_size
        self.per_group = -(-prod(dispatch.block) // self.lanes)
        self.vgprs = vgpr_count(dispatch.code, self.kernel)
        self.facts = facts_of(self.kernel, dispatch.memory, dispatch.arithmetic)
        self.regions = self._regions()
        each = wave_bytes(dispatch.code, self.kernel, dispatch.lds_size)
        most = self.per_group if dispatch.order == IN_TURN else BATCH_WAVES
        self.batches = list(
            batches(dispatch.grid, self.per_group, each, most, dispatch.watched, others=dispatch.others)
        )
        self.groups = max(len(group_ids) for group_ids, _ in self.batches)

    def again(self, dispatch: Dispatch, bound: Bound) -> bool:
        """Take another dispatch, if it differs from the last one in nothing but memory, and waves begin alike."""
        last, memory = self.dispatch, dispatch.memory
        if (
            bound is not self.bound
            or (dispatch.grid, dispatch.block, dispatch.lds_size, dispatch.budget)
            != (last.grid, last.block, last.lds_size, last.budget)
            or (dispatch.watched, dispatch.order, dispatch.others) != (last.watched, last.order, last.others)
            or dispatch.defined != last.defined
            or (memory.kernarg, memory.image) != (last.memory.kernarg, last.memory.image)
        ):
            return False
        self.dispatch, self.arena = dispatch, memory.arena
        self.regions = self._regions()
        self.facts = facts_of(self.kernel, memory, dispatch.arithmetic)
        return True

    def _regions(self) -> ctypes.Array[CRegion]:
        """See regions_of; for few waves to look is dearer than to have them look at what they load."""
        return regions_of(self.arena, look=prod(self.dispatch.grid) * self.per_group > _FEW)

    @property
    def shape(self) -> Shape:
        """Of the memories that the run needs."""
        return (
            self.groups * self.per_group,
            self.vgprs,
            self.lanes,
            self.groups * lds_stride(self.dispatch.lds_size),
        )

    def memories(self) -> _Memories:
        """Registers and LDS of a batch."""
        waves, vgprs, lanes, lds = self.shape
        return WaveMemory(waves, vgprs, lanes, self.bound.offsets), Memory(lds, undefined=True)

    def result(self, memories: _Memories) -> Finished:
        """Run all batches."""
        dispatch, issued, first = self.dispatch, 0, 0
        write_packet(dispatch.memory, self.kernel, dispatch.grid, dispatch.block, dispatch.lds_size)
        with np.errstate(all="ignore"):
            for group_ids, chosen in self.batches:
                observers = dispatch.watching(chosen)
                if self.sieve is not None:
                    self.sieve.passed.first = first
                    first += len(group_ids) * self.per_group
                issued += self._batch(group_ids, observers, *memories, dispatch.budget - issued)
        return Finished(issued)

    def _batch(
        self,
        group_ids: NDArray[np.int64],
        observers: Sequence[Observer],
        waves: WaveMemory,
        lds: Memory,
        left: int,
    ) -> int:
        """Run one batch. Returns what its longest wave issued."""
        interpreter = self._kept
        if interpreter is None or interpreter.waves is not waves or interpreter.sieve is not self.sieve:
            interpreter = self._interpreter(group_ids, observers, waves, lds)
        interpreter.see(self.arena, self.regions).restart(self.facts, left)
        interpreter.run()
        if len(self.batches) == 1 and self.events == _NONE and not self.kernel.scratch_size:
            self._kept = interpreter
        return left - int(waves.left[: interpreter.count].min())

    def _interpreter(
        self, group_ids: NDArray[np.int64], observers: Sequence[Observer], waves: WaveMemory, lds: Memory
    ) -> Interpreter:
        dispatch, stride = self.dispatch, lds_stride(self.dispatch.lds_size)
        lds.tracked = not dispatch.defined  # C sets it, shadow and all, as workgroups begin
        machine = Machine(
            self.arena,
            make_waves(group_ids, self.per_group),
            self.lanes,
            lds_size=dispatch.lds_size,
            scratch_size=self.kernel.scratch_size,
            facts=self.facts,
            events=events_of(observers),
            defined=dispatch.defined,
            lds=lds if len(group_ids) == self.groups else _part(lds, len(group_ids) * stride),
        )
        asked = accesses_of(observers)
        stops = stops_of(observers, self.bound.program) or frozenset()
        walks = take_walks(observers)
        interpreter = Interpreter(
            self.bound, machine, waves, dispatch.budget, asked, self.sieve, stops, walks
        )
        interpreter.lds_is_set = any(observer.sets_lds for observer in observers)
        interpreter.start_with(
            initial_values(machine, dispatch.code, self.kernel, dispatch.block, dispatch.memory.kernarg)
        )
        return interpreter


def _part(memory: Memory, size: int) -> Memory:
    """The first bytes of a memory that is undefined."""
    data, shadow = (Store(store.bytes[:size]) for store in (memory.data, memory.shadow))
    return Memory(size, undefined=True, data=data, shadow=shadow)
