"""Observers of the native engine are told what those of numpy's are: the same events, in the same order."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.lab import assembled
from emulator_gemm.kernels import KERNELS, make_launch
from numpy.typing import NDArray
from scaffold import scaffolded

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.native import accesses
from layoutprobe.engine.native.accesses import copied
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses, Arena, Region, Store, untouched
from layoutprobe.machine.observer import Moves, Observer, Walk, moves_of
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.coverage import CoverageRecorder

SIZE = (72, 40, 24)
"""Ragged in every direction, so that waves part and meet again."""


class Blocks(Observer):
    """Who runs which block, with which lanes."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def batch(self, machine: Machine, program: Program) -> None:
        self.seen.append(("batch", machine.waves.group_id.tolist(), len(program.blocks)))

    def block(self, c: Band, block: Block) -> None:
        self.seen.append(("block", c.pc, c.waves.tolist(), c.exec.tobytes(), c.full, block.next_pc))

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        self.seen.append(("barrier", groups.tolist()))

    def ended(self, c: Band) -> None:
        self.seen.append(("ended", c.waves.tolist()))


class Accesses(Blocks):
    """What is loaded from where, and which bits of it are undefined."""

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        undefined = place.memory.shadow.gather(place.offsets, size, place.low_bits)
        self.seen.append((inst.pc, c.pc, c.waves.tolist(), place.offsets.tobytes(), place.mask.tobytes(),
                          undefined.tobytes(), size, store))  # fmt: skip


class Matrices(Blocks):
    """All registers before and after each matrix instruction."""

    def matrix(self, c: Cohort, inst: Inst) -> None:
        defined = np.where(c.shadow.vgprs == 0, c.regs.vgprs, 0)
        self.seen.append((inst.pc, c.waves.tolist(), defined.tobytes(), c.shadow.vgprs.tobytes()))

    def matrix_done(self, c: Cohort, inst: Inst) -> None:
        d = inst.dst[0]
        self.seen.append((inst.pc, c.regs.vgprs[d.index : d.index + d.regs].tobytes()))


class Indexed(Blocks):
    """Which VGPRs M0 picks."""

    def indexed(self, c: Cohort, inst: Inst, waves: NDArray[np.int64], done: Inst) -> None:
        self.seen.append((inst.pc, c.waves.tolist(), waves.tolist(), done, c.u[2].tobytes()))


def picked(launch: Launch) -> int:
    """How many events both engines tell alike of registers that M0 picks."""
    seen = []
    for engine in ("native", "numpy"):
        watching = Indexed()
        EmulatorBackend(engine=make_engine(engine)).run(launch, [watching])
        seen.append(watching.seen)
    assert seen[0] == seen[1]
    return len([event for event in seen[0] if event[0] not in ("batch", "block", "ended")])


def test_registers_that_m0_picks() -> None:
    """Each wave goes round until its index, which is its workgroup's id, is zero."""
    body = """
      v_mov_b32_e32 v2, 0
      v_mov_b32_e32 v3, 1
      v_mov_b32_e32 v4, 2
    again:
      s_and_b32 m0, s2, 1
      v_movreld_b32_e32 v2, v1
      v_movrels_b32_e32 v5, v3
      s_sub_i32 s2, s2, 1
      s_cmp_gt_i32 s2, 0
      s_cbranch_scc1 again
      global_store_b32 v1, v5, s[6:7]
      s_endpgm"""
    data = [Buffer(np.zeros(32, np.uint32)) for _ in range(2)]
    launch = Launch(assembled(body), "k", (4, 1, 1), (32, 1, 1), data)
    assert picked(launch) > 6


def test_registers_that_m0_picks_in_the_mode_of_gfx9() -> None:
    """Waves of several indices, in a loop; C stops at moves alone, numpy executes the addition anyhow."""
    body = """
      v_lshlrev_b32_e32 v1, 2, v0
      v_mov_b32_e32 v2, 0
      v_mov_b32_e32 v3, 1
      v_mov_b32_e32 v4, 2
      s_set_gpr_idx_on s2, gpr_idx(DST)
    again:
      s_and_b32 s8, s2, 1
      s_set_gpr_idx_idx s8
      v_mov_b32_e32 v2, v1
      s_set_gpr_idx_mode gpr_idx(SRC0)
      v_mov_b32_e32 v5, v3
      v_add_u32_e32 v5, v2, v5
      s_set_gpr_idx_mode gpr_idx(DST)
      s_sub_u32 s2, s2, 1
      s_cmp_gt_i32 s2, 0
      s_cbranch_scc1 again
      s_set_gpr_idx_off
      global_store_dword v1, v5, s[6:7]
      s_endpgm"""
    data = [Buffer(np.zeros(64, np.uint32)) for _ in range(2)]
    launch = Launch(scaffolded(body, target="gfx942", wave_size=64), "k", (4, 1, 1), (64, 1, 1), data)
    assert picked(launch) > 9


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [Blocks, Accesses, Matrices])
@pytest.mark.parametrize("name", ["standard", "asmOpt", "swizzled"])
def test_events(name: str, kind: type[Blocks]) -> None:
    kernel, (m, n, k) = KERNELS[name], SIZE
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=s).astype(np.float16) for s in ((m, k), (k, n)))
    launch = make_launch(kernel, kernel.build(), a, b, np.ones((m, n), np.float32), 0.5, 1.5)
    seen = []
    for engine in ("native", "numpy"):
        watching = kind()
        EmulatorBackend(engine=make_engine(engine)).run(launch, [watching])
        seen.append(watching.seen)
    assert len(seen[0]) > 20
    for number, (ours, numpys) in enumerate(zip(*seen, strict=True)):
        assert ours == numpys, f"event {number}: {ours[:3]} and {numpys[:3]}"


class Walks(CoverageRecorder):
    """What ran, and whether it was told of ways in place of blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.walks = 0

    def walked(self, machine: Machine, walk: Walk) -> None:
        super().walked(machine, walk)
        self.walks += 1


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "ways"), [("standard", 1), ("kunroll", 0), ("swizzled", 1)])
def test_ways_of_waves_tell_what_blocks_do(name: str, ways: int) -> None:
    """Where numpy executes a few instructions, as in kunroll at this size, blocks are told of in its order."""
    kernel, (m, n, k) = KERNELS[name], SIZE
    a, b = np.ones((m, k), np.float16), np.ones((k, n), np.float16)
    launch = make_launch(kernel, kernel.build(), a, b, np.ones((m, n), np.float32), 0.5, 1.5)
    seen = []
    told: list[tuple[str, list[Observer], int]] = [
        ("native", [], ways),
        ("native", [Blocks()], 0),
        ("numpy", [], 0),
    ]
    for engine, others, walks in told:
        watching = Walks()
        EmulatorBackend(engine=make_engine(engine)).run(launch, [watching, *others])
        assert watching.walks == walks
        found = watching.record()
        assert found is not None
        seen.append((found.blocks, found.edges, found.passes))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][2]


def test_loops_that_waves_go_round_and_enter_differently() -> None:
    """Two loops, one in the other: the inner one is entered anew each time, and one wave enters it with no lane."""
    body = """
      v_cmpx_ne_u32_e64 s3, 2
      s_add_i32 s8, s2, 1
    outer:
      s_mov_b32 s9, s8
    inner:
      v_add_nc_u32_e32 v1, 1, v0
      s_sub_i32 s9, s9, 1
      s_cmp_gt_i32 s9, 0
      s_cbranch_scc1 inner
      s_sub_i32 s8, s8, 1
      s_cmp_gt_i32 s8, 0
      s_cbranch_scc1 outer
      s_endpgm"""
    launch = Launch(assembled(body), "k", (3, 1, 1), (32, 1, 1), [Buffer(np.zeros(32, np.uint32))] * 2)
    seen = []
    for engine in ("native", "numpy"):
        watching = Walks()
        EmulatorBackend(engine=make_engine(engine)).run(launch, [watching])
        found = watching.record()
        assert found is not None
        seen.append((watching.walks, found.blocks, found.edges, found.passes))
    assert seen[0][1:] == seen[1][1:]
    assert (seen[0][0], seen[1][0]) == (1, 0)
    assert sorted(map(sorted, seen[0][3].values())) == [[1, 2, 3], [1, 2, 3]]


def test_a_fault_ends_a_walk_in_the_order_of_numpy() -> None:
    """A workgroup ends in a fault: what others have run in C meanwhile counts as far as numpy had them run."""
    body = """
      s_cmp_eq_u32 s2, 0
      s_cbranch_scc0 others
      global_load_b32 v2, v1, s[2:3]
      s_waitcnt vmcnt(0)
      s_endpgm
    others:
      s_nop 0
      s_endpgm"""
    launch = Launch(assembled(body), "k", (4, 1, 1), (32, 1, 1), [Buffer(np.zeros(32, np.uint32))] * 2)
    seen = []
    for engine in ("native", "numpy"):
        watching = Walks()
        with pytest.raises(ExecutionError):
            EmulatorBackend(engine=make_engine(engine)).run(launch, [watching])
        found = watching.record()
        assert found is not None
        seen.append((watching.walks, found.blocks, found.edges))
    assert seen[0] == seen[1]
    assert seen[0][0] == 0


class Asking(Observer):
    """What it asked for: with where the lanes of those workgroups point, and what memory holds there."""

    def __init__(self, moves: Moves, groups: int | None = None) -> None:
        self._moves, self._groups = moves, groups
        self.seen: list[tuple[Any, ...]] = []
        self.others = 0

    @property
    def moves(self) -> Moves:
        return self._moves

    @property
    def groups(self) -> int | None:
        return self._groups

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        asked = np.broadcast_to(place.mask, place.offsets.shape)
        if self._groups is not None:
            asked = asked & (c.machine.waves.workgroup[c.waves] < self._groups)[:, None]
        if not moves_of(inst) & self._moves or not asked.any():
            self.others += 1
            return
        held = place.memory.data.gather(place.offsets, size, place.low_bits)[asked]
        lds = place.memory is c.machine.lds
        self.seen.append((inst.pc, place.offsets[asked].tobytes(), size, store, lds, held.tobytes()))


@pytest.mark.parametrize("groups", [None, 1, 2])
@pytest.mark.parametrize("moves", [Moves.LDS, Moves.STORES, Moves.LOADS, Moves.GLOBAL, Moves.ALL])
def test_accesses_that_are_asked_for(moves: Moves, groups: int | None) -> None:
    kernel, (m, n, k) = KERNELS["swizzled"], (136, 72, 24)
    rng = np.random.default_rng(7)
    a, b = (rng.normal(size=s).astype(np.float16) for s in ((m, k), (k, n)))
    launch = make_launch(kernel, kernel.build(), a, b, np.ones((m, n), np.float32), 0.5, 1.5)
    native, numpys = (Asking(moves, groups) for _ in range(2))
    EmulatorBackend(engine=make_engine("native")).run(launch, [native])
    EmulatorBackend(engine=make_engine("numpy")).run(launch, [numpys])
    assert native.seen == numpys.seen
    assert len(native.seen) >= 4
    assert native.others < numpys.others or moves == Moves.ALL, "what nobody asks for is not told"


class Choosy(Observer):
    """What SCC, the lanes and their registers are before the instructions that it asks for."""

    def __init__(self) -> None:
        self.seen: dict[int, set[bytes]] = {}
        self.others = 0

    def stops(self, program: Program) -> frozenset[int]:
        bodies = [block.insts for block in program.blocks.values() if block.insts]
        return frozenset(inst.pc for body in bodies for inst in (body[0], body[len(body) // 2], body[-1]))

    def batch(self, machine: Machine, program: Program) -> None:
        self._asked = self.stops(program)

    def step(self, c: Cohort, inst: Inst) -> None:
        if inst.pc not in self._asked:
            self.others += 1
            return
        sources = [r - VGPR0 for operand in inst.src if operand.kind == "v" for r in operand.registers()]
        for at, wave in enumerate(c.waves.tolist()):
            held = [c.u[vgpr][at][c.exec[at]].tobytes() for vgpr in sources]
            words = (wave, bool(c.scc()[at]), c.exec[at].tobytes(), *held)
            self.seen.setdefault(inst.pc, set()).add(repr(words).encode())


@pytest.mark.parametrize("alone", [False, True])
def test_steps_that_are_asked_for(alone: bool) -> None:
    """Alone, and with an observer of blocks: then C writes them down."""
    kernel, (m, n, k) = KERNELS["swizzled"], SIZE
    rng = np.random.default_rng(9)
    a, b = (rng.normal(size=s).astype(np.float16) for s in ((m, k), (k, n)))
    launch = make_launch(kernel, kernel.build(), a, b, np.ones((m, n), np.float32), 0.5, 1.5)
    native, numpys = Choosy(), Choosy()
    outputs = [
        EmulatorBackend(engine=make_engine(name)).run(launch, [choosy] if alone else [choosy, Blocks()])
        for name, choosy in (("native", native), ("numpy", numpys))
    ]
    assert native.seen == numpys.seen
    assert len(native.seen) > 20
    assert numpys.others, "numpy tells of every instruction"
    assert not native.others, "C stops where it must"
    for one, other in zip(*(result.buffers for result in outputs), strict=True):
        assert one is other is None or np.array_equal(one, other)


def test_of_a_large_memory_the_allocations_alone_are_copied() -> None:
    """A program that runs its own kernels has five gigabytes of addresses, and may use some bytes of them."""
    size, part = 4 << 30, 4096
    stores = [Store(np.frombuffer(untouched(size), np.uint8)) for _ in range(2)]
    regions = [Region(name, at, at + part, True) for name, at in (("low", 1 << 16), ("high", 3 << 30))]
    arena = Arena(size, regions, *stores)
    rng = np.random.default_rng(3)
    for region in regions:
        for store in stores:
            store.bytes[region.start : region.end] = rng.integers(0, 256, part)
    arena.tracked = True
    before = _resident()
    shown = copied(arena)
    assert _resident() - before < 64 << 20
    for region in regions:
        for mine, theirs in zip((shown.data, shown.shadow), stores, strict=True):
            assert (mine.bytes[region.start : region.end] == theirs.bytes[region.start : region.end]).all()


def _resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_copies_of_memory_do_not_wait_for_the_garbage_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Kept(accesses.Stage):
        def __init__(self, *of: Any) -> None:
            super().__init__(*of)
            made.append(weakref.ref(self))

    monkeypatch.setattr("layoutprobe.engine.native.replay.Stage", Kept)
    kernel, (m, n, k) = KERNELS["standard"], SIZE
    a, b = (np.ones(size, np.float16) for size in ((m, k), (k, n)))
    launch = make_launch(kernel, kernel.build(), a, b, np.ones((m, n), np.float32), 1.0, 0.0)
    gc.disable()
    try:
        EmulatorBackend(engine=make_engine("native")).run(launch, [Accesses()])
        assert [stage() for stage in made] == [None]
    finally:
        gc.enable()
