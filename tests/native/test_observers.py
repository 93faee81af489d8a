"""Observers of the native engine are told what those of numpy's are: the same events, in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator_gemm.kernels import KERNELS, make_launch
from numpy.typing import NDArray

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.native.accesses import copied
from layoutprobe.engine.registry import make_engine
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses, Arena, Region, Store, untouched
from layoutprobe.machine.observer import Moves, Observer, moves_of
from layoutprobe.machine.program import Block, Program

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
