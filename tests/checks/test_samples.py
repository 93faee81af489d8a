"""Large launches: observers are told of some workgroups, and the values of all are judged."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np
import pytest
from campaign.planting import Edit, planted
from emulator_gemm.kernels import KERNELS, make_launch
from numpy.typing import NDArray

from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.registry import CHECKS
from layoutprobe.engine.registry import make_engine
from layoutprobe.gate.session import check_kernel
from layoutprobe.machine.cohort import Band
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.observer import Observer
from layoutprobe.machine.program import Block, Program
from layoutprobe.manifest import sampling
from layoutprobe.manifest.binding import Binding, bind
from layoutprobe.manifest.model import KernelCase
from layoutprobe.report.gate import KernelVerdict

SIZE = (640, 576, 32)
"""9 workgroups along x, 5 along y, with whole tiles."""
LOOKED_AT = "12 of 45 workgroups looked at with M=640 N=576 K=32, of all the values"
INSIDE = (3, 3)
"""A workgroup in x and y that is neither at an edge nor drawn."""


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MANY", 16)
    monkeypatch.setattr(sampling, "LARGE", 1 << 16)


class Counting(EmulatorBackend):
    """Which workgroups observers are told of, launch by launch."""

    def __init__(self) -> None:
        super().__init__()
        self.watched: list[frozenset[int]] = []

    def run(self, launch: Launch, observers: Sequence[Observer] = ()) -> RunResult:
        self.watched.append(launch.watched)
        return super().run(launch, observers)


def verdict(folder: Path, *edits: Edit) -> tuple[KernelVerdict, list[frozenset[int]]]:
    backend = Counting()
    found = check_kernel(planted(folder, "standard", edits, [SIZE]), "gfx1151", CHECKS, backend=backend)
    assert not found.error, found.error
    return found, backend.watched


def bound(case: KernelCase, m: int, n: int, k: int) -> Binding:
    return bind(case, {"M": m, "N": n, "K": k})


def test_corners_edges_and_some_that_are_drawn(tmp_path: Path) -> None:
    binding = bound(planted(tmp_path, "standard", (), [SIZE]), *SIZE)
    x, y, z = binding.grid
    assert (x, y, z) == (9, 5, 1)
    found = sampling.sample_of(binding)
    assert found == sampling.sample_of(binding)
    corners = {0, x - 1, x * (y - 1), x * y - 1}
    middles = {x // 2, x * (y - 1) + x // 2, x * (y // 2), x * (y // 2) + x - 1}
    assert corners | middles < found
    assert len(found) == 12
    assert INSIDE[0] + x * INSIDE[1] not in found


@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 4096), (512, 256, 16)])
def test_small_launches_are_looked_at_in_full(tmp_path: Path, m: int, n: int, k: int) -> None:
    """Few workgroups, however much they compute."""
    binding = bound(planted(tmp_path, "standard", (), [SIZE]), m, n, k)
    assert prod(binding.grid) <= 16
    assert sampling.sample_of(binding) == frozenset()


def test_what_is_right_holds_and_says_what_was_looked_at(tmp_path: Path) -> None:
    found, watched = verdict(tmp_path)
    assert {result.check: result.status for result in found.results} == {c.name: "holds" for c in CHECKS}
    assert LOOKED_AT in found.reservations
    assert {len(groups) for groups in watched} == {12}


def test_a_wrong_value_where_nobody_looks_is_found(tmp_path: Path) -> None:
    wrong = "out.alpha * (blockIdx.x == {} && blockIdx.y == {} ? 2.0f : 1.0f) * acc[i][j][v];".format(*INSIDE)
    edit = Edit("out.alpha * acc[i][j][v];", wrong, "wmma_helpers.h")
    found, _ = verdict(tmp_path, edit)
    (finding,) = found.findings
    assert finding.check == "numerics"
    assert finding.place.element is not None
    row, col = finding.place.element.index
    assert (col // 64, row // 128) == INSIDE
    assert finding.place.workgroup == (*INSIDE, 0), "stores are known of all"


def test_an_element_that_nobody_stores_is_found(tmp_path: Path) -> None:
    edit = Edit(
        "  epilogue<BLOCK_M, BLOCK_N>({C,", f"  if (blockIdx.x == {INSIDE[0]} && blockIdx.y == {INSIDE[1]}) return;\n"
        "  epilogue<BLOCK_M, BLOCK_N>({C,",
    )  # fmt: skip
    found, _ = verdict(tmp_path, edit)
    assert "epilogue/never-written" in {finding.rule.id for finding in found.every}


def test_a_wrong_load_is_named_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit = Edit("load_row8(tile_at(A, M, K, block_m, k), a_row, a_col)",
                "load_row8(tile_at(A, M, K, block_m, k), a_row ^ 1, a_col)")  # fmt: skip
    found, _ = verdict(tmp_path, edit)
    monkeypatch.setattr(sampling, "MANY", 1000)
    everywhere, watched = verdict(tmp_path, edit)
    assert not any(watched)
    sampled, whole = ([(f.rule.id, f.place.line) for f in one.findings] for one in (found, everywhere))
    assert sampled == whole
    assert len(whole) == 1


class Groups(Observer):
    """Workgroups that it is told of."""

    def __init__(self, *, everywhere: bool) -> None:
        self.everywhere = everywhere
        self.seen: list[tuple[int, ...]] = []
        self.executed: set[tuple[int, ...]] = set()

    def batch(self, machine: Machine, program: Program) -> None:
        self._ids: NDArray[np.int64] = machine.waves.group_id
        self.seen += [tuple(group) for group in self._ids[machine.waves.index == 0].tolist()]

    def block(self, c: Band, block: Block) -> None:
        self.executed.update(tuple(group) for group in self._ids[c.waves].tolist())


@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_observers_are_told_of_those_and_all_compute(engine: str) -> None:
    kernel, (m, n, k) = KERNELS["standard"], (250, 200, 24)
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, size).astype(np.float16) for size in ((m, k), (k, n)))
    launch = make_launch(kernel, kernel.build(), a, b, np.ones((m, n), np.float32), 0.5, 1.5)
    x, y, _ = launch.grid
    chosen = frozenset({1, x * y - 1})
    some = Launch(
        launch.code, launch.kernel, launch.grid, launch.block, launch.args, launch.dynamic_lds, chosen
    )
    few, everybody = Groups(everywhere=False), Groups(everywhere=True)
    backend = EmulatorBackend(engine=make_engine(engine))
    got = backend.run(some, [few, everybody]).buffers
    assert few.executed == {*few.seen} == {(number % x, number // x, 0) for number in chosen}
    assert everybody.executed == {*everybody.seen}
    assert len(everybody.seen) == x * y
    for mine, whole in zip(got, backend.run(launch).buffers, strict=True):
        if mine is None or whole is None:
            assert mine is whole
        else:
            assert np.array_equal(mine, whole)
