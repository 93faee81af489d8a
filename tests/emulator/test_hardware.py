"""Clocks go on, the mode is the descriptor's, and what only a card knows is refused by its name."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import EVERYWHERE, Array, compiled, fault, fresh, launch, outputs

ENGINES = pytest.mark.parametrize("engine", ["numpy", "native"])


def run(kernel: str, count: int, engine: str) -> Array:
    return outputs(compiled("hardware"), [fresh(count, np.uint64)], kernel=kernel, engine=engine)[0]


@EVERYWHERE
@ENGINES
def test_clocks_go_on(engine: str) -> None:
    cycles, later, steady, last = run("clocks", 4, engine).tolist()
    assert 0 < cycles < later < 1 << 20
    assert 0 < steady < last < 1 << 20


@EVERYWHERE
@ENGINES
def test_waiting_for_time_ends(engine: str) -> None:
    (waited,) = run("waits_for_time", 1, engine).tolist()
    assert waited >= 5000


@EVERYWHERE
@ENGINES
def test_the_mode_is_the_descriptors(engine: str) -> None:
    """Nearest even, and all subnormals kept."""
    assert run("mode", 2, engine).tolist() == [0xF0, 0b11]


@EVERYWHERE
@pytest.mark.parametrize("kernel", ["rounds_up", "flushes"])
def test_another_mode_is_refused(kernel: str) -> None:
    error = fault(
        lambda: launch(compiled("hardware"), [fresh(1, np.uint64)], kernel=kernel),
        "a floating-point mode that the emulator does not execute",
    )
    assert error.place.source is not None


@EVERYWHERE
def test_what_a_card_alone_knows_is_named() -> None:
    error = fault(
        lambda: launch(compiled("hardware"), [fresh(1, np.uint64)], kernel="where_it_runs"),
        "does not know these instructions",
    )
    assert "s_getreg_b32" in error.what
    assert "hardware register IB_STS, bits 31:0" in error.what
