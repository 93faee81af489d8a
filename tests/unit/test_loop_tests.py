"""What is kept of the comparisons by which loops are left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layoutprobe.observe import loop_tests
from layoutprobe.observe.loop_tests import LoopTestRecorder


def test_a_loop_that_was_given_up_stays_so_in_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Header 8 once compares what is no number; header 40 never does."""
    sides: list[Any] = [None, (np.full((1, 2), 3), np.array([[7, 9]])), (np.zeros((1, 2)), np.zeros((1, 2)))]
    monkeypatch.setattr(loop_tests, "_tests_of", lambda _: ({4: [8], 12: [40]}, frozenset()))
    monkeypatch.setattr(loop_tests, "sides_of", lambda *_: sides.pop(0))
    cohort: Any = SimpleNamespace(exec=np.array([[True, False]]))
    recorder = LoopTestRecorder()
    program: Any = None
    for batch in ((4, 12), (4,)):
        recorder.batch(program, program)
        for pc in batch:
            inst: Any = SimpleNamespace(pc=pc)
            recorder.step(cohort, inst)
    assert recorder.record().pairs == {40: frozenset({(3, 7)})}
