"""Events of a launch: each is told to those who ask for it, in the order of execution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator.lab import LANES, assembled, fault, fresh
from numpy.typing import NDArray

from layoutprobe.backends.base import Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.base import Dispatch, Finished, Grain
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.engine.registry import ENGINES, make_engine
from layoutprobe.engine.scheduler import Scheduler
from layoutprobe.errors import UsageError
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Observer, events_of
from layoutprobe.machine.program import Block, Program
from layoutprobe.machine.snapshot import Snapshot, snapshot

BODY = """
  v_mul_u32_u24 v2, 3, v0
  ds_store_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_mov_b32 s6, 2
again:
  v_add_nc_u32 v2, 1, v2
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 again
  global_store_b32 v1, v2, s[4:5]
"""
BEFORE = ["v_mul_u32_u24", "ds_store_b32", "s_waitcnt", "s_barrier", "s_mov_b32"]
LOOP = ["v_add_nc_u32", "s_sub_u32", "s_cmp_lg_u32", "s_cbranch_scc1"]


@pytest.fixture(scope="module")
def code() -> CodeObject:
    return assembled(BODY, pointers=1, lds=512)


def watched(code: CodeObject, *observers: Observer, waves: int = 2) -> NDArray[Any]:
    """What the kernel stored, run under observers."""
    size = waves * LANES
    launch = Launch(code, "k", (1, 1, 1), (size, 1, 1), [fresh(size)])
    stored = EmulatorBackend().run(launch, observers).buffers[0]
    assert stored is not None
    return stored


class Steps(Observer):
    """Keeps the names of all instructions."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def step(self, c: Cohort, inst: Inst) -> None:
        self.names.append(inst.name)


class Log(Observer):
    """Keeps every event but the steps."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def batch(self, machine: Machine, program: Program) -> None:
        self.seen.append(f"batch of {machine.waves.index.size}, {program.kernel.name}")

    def block(self, c: Band, block: Block) -> None:
        self.seen.append(f"block to {block.last.name if block.last else 'the next'}")

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        self.seen.append(f"{inst.name} {size} {'stores' if store else 'loads'}")

    def wait(self, c: Cohort, inst: Inst) -> None:
        self.seen.append(inst.name)

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        self.seen.append(f"barrier of {groups.tolist()}")

    def ended(self, c: Band) -> None:
        self.seen.append(f"ended {c.waves.tolist()}")


class Camera(Observer):
    """Takes a picture before an instruction, each time it comes."""

    def __init__(self, name: str, which: NDArray[np.int64] | None = None) -> None:
        self.name, self.which = name, which
        self.pictures: list[Snapshot] = []

    def step(self, c: Cohort, inst: Inst) -> None:
        if inst.name == self.name:
            self.pictures.append(snapshot(c, self.which))


def test_a_step_for_every_instruction_branches_hints_and_waits_included(code: CodeObject) -> None:
    steps = Steps()
    stored = watched(code, steps)
    at = steps.names.index(BEFORE[0])
    told = steps.names[at:]
    end = told.index("global_store_b32")
    assert told[:end] == [*BEFORE, *LOOP, *LOOP]
    assert told[-1] == "s_endpgm"
    assert stored.tolist() == [3 * x + 2 for x in range(2 * LANES)]


def test_events_come_in_the_order_of_execution(code: CodeObject) -> None:
    log = Log()
    watched(code, log)
    at = log.seen.index("ds_store_b32 4 stores")
    assert log.seen[0] == "batch of 2, k"
    assert log.seen[at + 1 : at + 3] == ["s_waitcnt", "barrier of [0]"]
    assert log.seen.count("block to s_cbranch_scc1") == 2
    assert log.seen[-2:] == ["global_store_b32 4 stores", "ended [0, 1]"]


def test_one_observer_does_not_change_what_another_sees(code: CodeObject) -> None:
    alone, first, last = Log(), Log(), Log()
    watched(code, alone)
    watched(code, first, Steps(), last)
    assert first.seen == alone.seen == last.seen


def test_what_nobody_asks_for_costs_nothing(code: CodeObject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are walked instruction by instruction only for those who want steps or waits."""
    walked: list[Block] = []
    told = Scheduler._told

    def noted(self: Scheduler, cohort: Cohort, block: Block) -> Any:
        walked.append(block)
        return told(self, cohort, block)

    monkeypatch.setattr(Scheduler, "_told", noted)
    assert events_of([Observer()]) == events_of([])

    class Accesses(Observer):
        def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
            pass

    events = events_of([Accesses(), Observer()])
    assert [len(events.access), len(events.step), len(events.block), len(events.matrix)] == [1, 0, 0, 0]
    watched(code, Accesses())
    assert walked == []
    watched(code, Steps())
    assert walked != []


def test_a_snapshot_keeps_registers_and_lds_as_they_were(code: CodeObject) -> None:
    camera, picked = Camera("v_add_nc_u32"), Camera("v_add_nc_u32", np.array([1]))
    watched(code, camera, picked)
    x = np.arange(2 * LANES).reshape(2, LANES)
    first, second = camera.pictures
    assert np.array_equal(first.vgprs[2], 3 * x)
    assert np.array_equal(second.vgprs[2], 3 * x + 1)
    assert [first.sgprs[6].tolist(), second.sgprs[6].tolist()] == [[2, 2], [1, 1]]
    assert np.array_equal(first.lds.view(np.uint32)[0, : x.size], 3 * x.ravel())
    assert not first.lds_undefined[0, : 4 * x.size].any()
    assert (first.lds_undefined[0, 4 * x.size :] == 0xFF).all()
    assert not first.vgprs_undefined[2].any()
    assert (first.vgprs_undefined[100] == 0xFFFFFFFF).all()
    assert first.exec.all()
    one = picked.pictures[0]
    assert one.waves.tolist() == [1]
    assert np.array_equal(one.vgprs[2], 3 * x[1:])


def test_a_snapshot_has_the_lds_of_each_waves_workgroup() -> None:
    code = assembled("  v_add_nc_u32 v2, s2, v0\n  ds_store_b32 v1, v2\n  s_nop 0", pointers=1, lds=132)
    camera = Camera("s_nop")
    launch = Launch(code, "k", (3, 1, 1), (LANES, 1, 1), [fresh(1)])
    EmulatorBackend().run(launch, [camera])
    shot = camera.pictures[0]
    assert shot.lds.shape == (3, 132)
    held = np.ascontiguousarray(shot.lds[shot.groups, : 4 * LANES]).view(np.uint32)
    assert np.array_equal(held, np.arange(LANES) + np.arange(3)[:, None])


def test_a_fault_under_a_stepping_observer_names_the_same_place() -> None:
    code = assembled("  v_mov_b32 v1, 0x10000\n  s_nop 0\n  ds_store_b32 v1, v0", pointers=1, lds=128)
    launch = Launch(code, "k", (1, 1, 1), (LANES, 1, 1), [fresh(LANES)])
    plain = fault(lambda: EmulatorBackend().run(launch), "LDS access")
    stepped = fault(lambda: EmulatorBackend().run(launch, [Steps()]), "LDS access")
    assert plain.where["instruction"] == "ds_store_b32"
    assert list(plain.where) == ["kernel", "line", "PC", "instruction", "workgroup", "wave", "lane"]
    assert stepped.where == plain.where


class Recorded:
    """An engine that says what it was asked, and lets the numpy engine do it."""

    name = "recorded"

    def __init__(self) -> None:
        self.asked: list[Dispatch] = []
        self.finished: list[Finished] = []

    def run(self, dispatch: Dispatch) -> Finished:
        self.asked.append(dispatch)
        self.finished.append(NumpyEngine().run(dispatch))
        return self.finished[-1]

    def clears(self, dispatch: Dispatch, grain: Grain) -> bool:
        return False


def test_the_backend_runs_any_engine(code: CodeObject) -> None:
    engine, steps = Recorded(), Steps()
    launch = Launch(code, "k", (1, 1, 1), (LANES, 1, 1), [fresh(LANES)], dynamic_lds=64)
    result = EmulatorBackend(budget=500, arithmetic="silicon", engine=engine).run(launch, [steps])
    [dispatch] = engine.asked
    assert (dispatch.budget, dispatch.arithmetic, dispatch.lds_size) == (500, "silicon", 576)
    assert (dispatch.grid, dispatch.block) == ((1, 1, 1), (LANES, 1, 1))
    assert engine.finished[0].issued == len(steps.names), "an instruction counts once for all waves"
    stored = result.buffers[0]
    assert stored is not None
    assert stored.tolist() == [3 * x + 2 for x in range(LANES)]


def test_engines_by_name() -> None:
    assert [make_engine(name).name for name in ENGINES] == list(ENGINES)
    with pytest.raises(UsageError, match="no engine named 'gpu'"):
        make_engine("gpu")
