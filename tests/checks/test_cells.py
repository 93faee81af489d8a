"""The cells of a gate: wherever they run, the verdict is that of one process; what dies takes its own cell alone."""

from __future__ import annotations

import gc
import io
import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from layoutprobe.assets import asset_dir
from layoutprobe.checks.registry import check_names
from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.gate.executors import Processes, executor_named
from layoutprobe.gate.gate import check
from layoutprobe.manifest.model import Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.render.gate import html
from layoutprobe.report.gate import GateReport, KernelVerdict

SEEDS = Path(asset_dir("probes")) / "gemm" / "seeds"
SIZES = tuple({"M": m, "N": n, "K": k} for m, n, k in ((130, 40, 20), (128, 72, 32)))
CHECKS = ["operand-provenance", "numerics", "races", "resources"]


@cache
def read() -> Manifest:
    """A kernel that is red at the sizes that it has room for, and a right one."""
    buggy = read_manifest(SEEDS / "buggy.toml", checks=check_names(), rules=[])
    red = next(case for case in buggy.kernels if case.name == "asmOpt-column")
    whole = read_manifest(SEEDS / "layoutprobe.toml", checks=check_names(), rules=[])
    green = next(case for case in whole.kernels if case.name == "native")
    return replace(buggy, kernels=tuple(replace(case, sizes=SIZES) for case in (red, green)))


@cache
def serial() -> GateReport:
    return check(read(), checks=CHECKS)


class Losing(ThreadPoolExecutor):
    """An executor whose first cell dies with its worker."""

    lost = False

    def submit(self, call: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        if self.lost:
            return super().submit(call, *args, **named)
        self.lost = True
        gone: Future[Any] = Future()
        gone.set_exception(BrokenExecutor("a process was\nterminated"))
        return gone


def shown(report: GateReport) -> tuple[object, str]:
    """All that a report says, pictures too, but for how long it took."""
    same = replace(report, verdicts=tuple(replace(v, seconds=0.0) for v in report.verdicts))
    page = io.StringIO()
    html.write(same, page)
    return replace(same, verdicts=tuple(map(undrawn, same.verdicts))), page.getvalue()


def undrawn(verdict: KernelVerdict) -> KernelVerdict:
    """What can be compared: pictures are equal to themselves alone."""
    return replace(verdict, seconds=0.0, pictures=None)


@pytest.mark.parametrize("executor", ["threads", "dask"])
@pytest.mark.every_case
def test_verdicts_are_those_of_one_process(executor: str) -> None:
    told: list[tuple[str, int, int]] = []
    streamed: list[str] = []
    how: Executor | str = ThreadPoolExecutor(2) if executor == "threads" else executor
    spread = check(
        read(),
        checks=CHECKS,
        jobs=2,
        executor=how,
        progress=lambda *step: told.append(step),
        each=lambda verdict: streamed.append(verdict.name),
    )
    assert serial().exit_code == 1
    assert any(finding.sizes for verdict in serial().verdicts for finding in verdict.findings)
    assert shown(spread) == shown(serial())
    assert sorted(streamed) == sorted(verdict.name for verdict in serial().verdicts)
    assert [step[1:] for step in told] == [(done, 4) for done in range(1, 5)]


def test_a_lost_cell_costs_itself_alone() -> None:
    lost = check(read(), checks=CHECKS, executor=Losing(1))
    red = lost.verdicts[0]
    assert red.error == ""
    assert {result.status for result in red.results} == {"finding", "undecided", "holds"}
    (races,) = (result for result in red.results if result.check == "races")
    assert "the process that ran this is gone" in races.reason
    assert "terminated" in races.reason
    (wrong, *_) = red.findings
    assert [dict(size) for size in wrong.sizes] == list(SIZES[1:]), "those that ran were judged"
    assert undrawn(lost.verdicts[1]) == undrawn(serial().verdicts[1])


def test_a_process_that_dies_takes_nothing_with_it() -> None:
    with Processes(1) as executor:
        before, dies, after = (executor.submit(call, 3) for call in (abs, os._exit, abs))
        assert before.result() == 3
        assert isinstance(dies.exception(), BrokenExecutor)
        assert after.result() == 3


def test_processes_look_for_garbage_as_seldom_as_their_parent() -> None:
    before = gc.get_threshold()
    gc.set_threshold(12_345, 6, 7)
    try:
        with executor_named("processes", 1) as executor:
            assert executor.submit(gc.get_threshold).result() == (12_345, 6, 7)
    finally:
        gc.set_threshold(*before)


def test_a_kernel_whose_process_dies_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """With processes of this machine a kernel is one cell."""
    monkeypatch.setattr("layoutprobe.gate.executors.executor_named", lambda name, workers: Losing(1))
    report = check(read(), checks=CHECKS, jobs=2)
    red, green = report.verdicts
    assert "the process that ran this is gone" in red.error
    assert (red.results, report.exit_code, green.error) == ((), 2, "")


def test_a_worker_of_a_cluster_that_dies_is_named() -> None:
    with executor_named("dask", 1) as executor:
        dies = executor.submit(os._exit, 3)
        assert "KilledWorker" in type(dies.exception()).__name__
        assert executor.submit(abs, -3).result() == 3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dsk", "no executor named 'dsk'"),
        ("dask:tcp://127.0.0.1:9", "cannot be reached"),
        ("dask:x:y:z", "dask"),
    ],
)
def test_what_is_no_executor(name: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match=says), executor_named(name, 1):
        raise AssertionError("it has one")
    path = str(SEEDS / "buggy.toml")
    assert main(["check", path, "--executor", name, "--check", "resources"]) == 2
    assert says in capsys.readouterr().err
