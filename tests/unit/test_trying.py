"""How much a changed kernel may do before its run is given up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from layoutprobe.backends.base import Launch
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.base import IN_TURN
from layoutprobe.gate.runner import KernelRunner
from layoutprobe.gate.trying import AtSize
from layoutprobe.observe.work import Work
from layoutprobe.trace.subject import RunSpec, Subject


@pytest.mark.parametrize(("order", "times"), [("", 1), (IN_TURN, 15)])
def test_workgroups_that_run_one_after_the_other_may_issue_what_each_may(order: str, times: int) -> None:
    """A launch counts what all of them issue: right changes of split sums were given up in runs of other orders."""
    launched = list[Launch]()
    launch = Launch(CodeObject("", "gfx1151", {}, ()), "k", (5, 3, 1), (64, 1, 1), [np.int32(0)])
    runner = SimpleNamespace(
        prepared=lambda _: SimpleNamespace(launch=launch, chained=False),
        backend=None,
        tried=lambda _, launch, *others: launched.append(launch),
    )
    at = AtSize(cast("Subject", None), cast("KernelRunner", runner))
    at.__dict__["work"] = Work(1000, 100, {})
    at.launched(RunSpec("integers", order=order), lambda _: {})
    assert launched[0].budget == times * at.budget(1)
