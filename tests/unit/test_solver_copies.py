"""Copies of an operand that differ from the one that is read."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.solver.copies import differing

PERIOD = 16


@pytest.mark.parametrize("executions", [3, 5000])
def test_what_differs_is_told_of_every_execution(executions: int) -> None:
    rng = np.random.default_rng(executions)
    live = np.zeros((2 * PERIOD, 2, 1), np.bool_)
    live[:PERIOD] = rng.random((PERIOD, 2, 1)) < 0.8
    held = rng.integers(0, 3, (executions, *live.shape))
    reached = rng.random((executions, 2 * PERIOD)) < 0.7
    read, copy = held[:, :PERIOD], held[:, PERIOD:]
    expected = np.zeros(held.shape, np.bool_)
    expected[:, PERIOD:] = (read != copy) & live[:PERIOD] & reached[:, :PERIOD, None, None]
    assert (differing(held, live, PERIOD, reached) == expected).all()
    everywhere = (read != copy) & live[:PERIOD]
    assert (differing(held, live, PERIOD)[:, PERIOD:] == everywhere).all()
