"""Which extent governs a loop, by the sizes that ran: one that fits by chance goes behind one that does by design."""

from __future__ import annotations

from layoutprobe.gate.beside import extent_for

ROWS = [(64, 3), (32, 2), (69, 3), (96, 5)]
"""How often a loop went round at so many rows: 23 a time would fit."""
DEPTH = [(96, 3), (64, 2), (96, 3), (160, 5)]
"""And at so many steps of K."""


def test_a_step_that_is_a_power_of_two_is_told_from_any_other() -> None:
    assert extent_for(ROWS, 1, 1, whole=True) is None
    assert extent_for(ROWS, 1, 1, whole=False) is not None
    assert extent_for(DEPTH, 1, 1, whole=True) == 32
