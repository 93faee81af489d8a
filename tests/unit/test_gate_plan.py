"""How far a check says that it is."""

from __future__ import annotations

import io
from itertools import pairwise
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from layoutprobe.gate.plan import SIZES, Plan, launches_of, volume
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Program
from layoutprobe.render.steps import steps, time_left


def test_a_size_counts_by_what_is_looked_at() -> None:
    sizes = {"M": 1024, "N": 1024, "K": 1024}
    least = volume({}, 0, ()) - 1
    whole, sampled = (volume(sizes, looked_at, (16, 8, 1)) - least for looked_at in (0, 16))
    assert whole == 1024**3
    assert sampled == whole / 8


def test_shares_grow_from_none_to_that_of_the_sizes() -> None:
    told: list[tuple[str, float]] = []
    plan = Plan([1.0, 3.0], ["operand-provenance", "races"], lambda *step: told.append(step))
    for size in ("small", "large"):
        for check in ("operand-provenance", "races"):
            plan.next(f"{size} {check}", launches_of(check, 2))
            for _ in range(7):  # more than it thought
                plan.launched(4, 0)
            plan._within(3.5)
            plan._within(7)
    plan.next("behind all", 1)
    shares = [share for _, share in told]
    assert shares[0] == 0
    assert shares[-1] == pytest.approx(SIZES)
    assert all(one <= other for one, other in pairwise(shares))
    at = dict(reversed(told))
    assert at["large operand-provenance"] == pytest.approx(SIZES / 4), "three quarters are the larger size's"
    assert at["large races"] > 0.9 * SIZES, "most of it the first check's"


def test_of_a_sampled_launch_most_is_what_is_looked_at() -> None:
    told: list[float] = []
    plan = Plan([1.0], ["operand-provenance"], lambda _, share: told.append(share))
    plan.next("", 1)
    batches = plan.launched(10, 2)
    for groups in (2, 4, 4):
        machine = SimpleNamespace(waves=SimpleNamespace(workgroup=np.arange(groups)))
        batches.batch(cast(Machine, machine), cast(Program, None))
    whole = SIZES * 0.9
    assert told == pytest.approx([0, 0, 0.9 * whole, 0.95 * whole])


@pytest.mark.parametrize(("share", "left"), [(0.0, None), (0.5, 10.0), (0.25, 30.0), (1.0, 0.0)])
def test_the_time_left(share: float, left: float | None) -> None:
    assert time_left(share, 10.0) == left


class Terminal(io.StringIO):
    """A stream that says that somebody watches."""

    def isatty(self) -> bool:
        return True


def test_the_bar_shows_a_percentage_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("layoutprobe.render.steps.monotonic", iter([0.0, 60.0]).__next__)
    stream = Terminal()
    with steps("check", stream) as progress:
        assert progress is not None
        progress("gemm: numerics", 0.75, 1)
    assert "75%" in stream.getvalue()
    assert "20 s left  gemm: numerics" in stream.getvalue()
