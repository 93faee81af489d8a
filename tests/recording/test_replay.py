"""States that a recording gives back, beside copies that were taken while the kernel ran."""

from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.errors import UsageError
from layoutprobe.gate.record import record
from layoutprobe.inspector.inspect import inspect
from layoutprobe.isa.inst import NULL, Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Program
from layoutprobe.machine.snapshot import Snapshot, snapshot
from layoutprobe.observe.base import Recorder
from layoutprobe.recording.model import INACTIVE, SPACES, Recording
from layoutprobe.recording.replay import Replay
from layoutprobe.trace.subject import Recorded, RunSpec, Subject
from recording.kernels import KERNELS, opened

FIRST = (0, 0, 0)


class Taken(Struct, frozen=True):
    """Snapshots by wave and step."""

    of: dict[tuple[int, int], tuple[int, Snapshot]]


class Photographer(Recorder):
    """Copies the state of the first workgroup before every `every`-th instruction of a wave."""

    every = 29

    def __init__(self) -> None:
        self.done: dict[int, int] = {}
        self.taken: dict[tuple[int, int], tuple[int, Snapshot]] = {}

    def step(self, c: Cohort, inst: Inst) -> None:
        waves = c.machine.waves
        for at, wave in enumerate(c.waves.tolist()):
            if tuple(waves.group_id[wave]) != FIRST:
                continue
            index = int(waves.index[wave])
            step = self.done[index] = self.done.get(index, -1) + 1
            if step % self.every == index % self.every:
                self.taken[index, step] = inst.pc, snapshot(c, np.array([at]))

    def record(self) -> Taken:
        return Taken(self.taken)


def recorded(name: str) -> tuple[Recording, Taken]:
    kernel = opened(name)
    taken = kernel._subject.run(RunSpec("integers", (Photographer,)), partial=True).record(Taken)
    return kernel.recording(FIRST), taken


def differing(recording: Recording, taken: Taken) -> list[str]:
    """What differs between recorded states and copies."""
    replay, wrong = Replay(recording), []
    for (index, step), (pc, seen) in taken.of.items():
        wave = recording.wave_at(FIRST, index)
        assert wave is not None
        row = replay.row(wave, step)
        held = replay.registers(wave, row)
        here = recording.code[recording.steps.inst[row]].place.pc
        own = np.arange(129) != NULL
        same = {
            "pc": here == pc,
            "exec": np.array_equal(held.exec, seen.exec[0]),
            "vgprs": np.array_equal(
                np.where(held.undefined == 0xFFFFFFFF, 0, held.vgprs),
                np.where(seen.vgprs_undefined[:, 0] == 0xFFFFFFFF, 0, seen.vgprs[:, 0]),
            ),
            "undefined": np.array_equal(held.undefined, seen.vgprs_undefined[:, 0]),
            "sgprs": np.array_equal(
                np.where(held.sgprs_undefined == 0xFFFFFFFF, 0, held.sgprs)[own],
                np.where(seen.sgprs_undefined[:, 0] == 0xFFFFFFFF, 0, seen.sgprs[:, 0])[own],
            ),
            "sgprs undefined": np.array_equal(held.sgprs_undefined[own], seen.sgprs_undefined[own, 0]),
        }
        lds = replay.lds(wave, _together(recording, row))
        same["lds"] = np.array_equal(lds.undefined, seen.lds_undefined[0]) and np.array_equal(
            lds.data[lds.undefined != 0xFF], seen.lds[0][lds.undefined != 0xFF]
        )
        wrong += [f"wave {index} step {step} at {pc:#x}: {what}" for what, fits in same.items() if not fits]
    return wrong


def _together(recording: Recording, row: int) -> int:
    """The first row of those that executed an instruction together with one."""
    inst, waves = recording.steps.inst, recording.steps.wave
    while row > 0 and inst[row - 1] == inst[row] and waves[row - 1] < waves[row]:
        row -= 1
    return row


@pytest.mark.few(2)
@pytest.mark.parametrize("name", KERNELS)
def test_every_state_comes_back(name: str) -> None:
    recording, taken = recorded(name)
    assert len(taken.of) > 10
    assert not recording.cut
    assert differing(recording, taken) == []


@pytest.mark.parametrize("what", ["vectors", "scalars", "stored"])
def test_a_lost_write_is_seen(what: str) -> None:
    """One write in seven goes missing, or brings another value: the comparison above must see it."""
    recording, taken = recorded("asmOpt")
    table = getattr(recording, what)
    spoilt = table.value.copy()
    spoilt[::7] ^= 1
    assert differing(replace(recording, **{what: replace(table, value=spoilt)}, memo={}), taken)


def test_steps_are_found_forwards_and_backwards() -> None:
    recording, _ = recorded("asmOpt")
    replay, wave = Replay(recording), 3
    kinds = [recording.code[at].kind for at in recording.steps.inst[replay.steps(wave)]]
    forwards, step = [], -1
    while (following := replay.find(wave, step, kind="matrix")) is not None:
        step = following
        forwards.append(step)
    assert forwards == [at for at, kind in enumerate(kinds) if kind == "matrix"]
    assert len(forwards) == 4 * 2  # a 32 x 32 part in four products, two steps of k
    assert replay.find(wave, forwards[1], kind="matrix", back=True) == forwards[0]
    assert replay.find(wave, forwards[0], kind="matrix", back=True) is None
    line = recording.code[recording.steps.inst[replay.row(wave, 100)]].place.line
    assert replay.find(wave, 99, line=line) == 100
    assert replay.step(replay.row(wave, 100)) == (wave, 100)


def test_a_recording_that_would_grow_too_large_ends_early() -> None:
    kernel = opened("asmOpt")
    cut = record(kernel._subject, kernel._backend, limit=100_000)
    whole = kernel.recording()
    assert "the recording ends after" in cut.cut
    assert 0 < cut.steps.inst.size < whole.steps.inst.size
    assert np.array_equal(cut.steps.inst, whole.steps.inst[: cut.steps.inst.size])
    with pytest.raises(UsageError, match="the recording ends after"):
        Replay(cut).row(0, 10**6)
    with pytest.raises(UsageError, match="no workgroup"):
        kernel.recording((9, 0, 0))


class Ran(Recorder):
    """Counts the waves that run."""

    everywhere = True
    waves = 0

    def batch(self, machine: Machine, program: Program) -> None:
        self.waves += machine.waves.index.size

    def record(self) -> int:
        return self.waves


@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_a_run_of_chosen_workgroups_is_theirs_alone(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others do not run: of the output they have left nothing."""
    monkeypatch.setenv("LAYOUTPROBE_ENGINE", engine)
    manifest, kernel, _ = KERNELS["asmOpt"]
    subject = inspect(manifest, kernel, size={"M": 256, "N": 192, "K": 16})._subject
    assert subject.binding.grid == (3, 2, 1)
    alone, every = (
        subject.run(RunSpec("integers", (Ran,), alone=alone)) for alone in (frozenset({4}), frozenset())
    )
    assert (alone.record(int), every.record(int)) == (8, 48)
    changed = alone.outputs["C"] == every.outputs["C"]
    assert changed[128:256, 64:128].all()
    assert changed.mean() < 0.3


@pytest.mark.parametrize(("name", "alone"), [("asmOpt", True), ("splitk-bf16", False)])
def test_workgroups_that_tell_each_other_something_all_run(
    name: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = opened(name) if name in KERNELS else inspect(KERNELS["int4"][0], name)
    specs: list[RunSpec] = []
    run = kernel._subject.run

    def kept(self: Subject, spec: RunSpec, *, partial: bool = False) -> Recorded:
        specs.append(spec)
        return run(spec, partial=partial)

    monkeypatch.setattr(Subject, "run", kept)
    kernel.recording((0, 0, 0))
    grid = kernel._subject.binding.grid
    assert specs[-1].alone == (frozenset({0}) if alone and grid != (1, 1, 1) else frozenset())


@pytest.mark.parametrize("name", ["asmOpt", "attention", "triton-fp8"])
def test_offsets_in_the_text_are_those_of_the_accesses(name: str) -> None:
    """The address register and the offset that the instruction's text names are where the lanes looked."""
    recording = opened(name).recording(FIRST)
    replay, seen = Replay(recording), 0
    for at, row in enumerate(recording.accesses.row.tolist()):
        one = recording.code[recording.steps.inst[row]]
        if SPACES[recording.accesses.space[at]] != "LDS" or "2" in str(one.place.instruction).split("_b")[0]:
            continue
        where = next(span for span in one.reads if span.kind == "v").index
        base = replay.registers(replay.step(row)[0], row).vgprs[where].astype(np.int64)
        offset = int((re.search(r" offset:(\d+)", one.text) or [0, 0])[1])
        address = recording.accesses.address[at]
        active = address != INACTIVE
        assert (address[active] == base[active] + offset).all(), one.text
        seen += bool(offset)
    assert seen


def test_waits_and_branches_say_for_what_and_where_to() -> None:
    """As the compiler wrote them: every s_waitcnt names a counter, and branches go to instructions."""
    code = opened("asmOpt").recording(FIRST).code
    pcs = {f"{one.place.pc:#x}" for one in code}
    waits = [one.text for one in code if one.place.instruction == "s_waitcnt"]
    assert waits
    assert all(re.fullmatch(r"s_waitcnt( (vmcnt|lgkmcnt|expcnt)\(\d+\))+", text) for text in waits)
    branches = [one.text.split()[-1] for one in code if one.kind == "branch"]
    assert branches
    assert set(branches) <= pcs


def test_factors_of_integers_are_signed_and_not_negated() -> None:
    """As LLVM's assembler writes it: v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7] neg_lo:[1,1,0]."""
    products = [one.text for one in opened("int8").recording().code if one.kind == "matrix"]
    assert products
    for text in products:
        assert re.fullmatch(r"v_wmma_i32_16x16x16_iu8( v\[\d+:\d+\],?){4} neg_lo:\[1,1,0\]", text), text
