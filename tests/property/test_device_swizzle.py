"""LDS as the device wrote it: every element is where the scheme's Python formula says.

The real roundtrip kernel runs; LDS is dumped in address order without any index function. This
pins device and Python to each other, and the solver to both.
"""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe import roundtrip
from layoutprobe.arch import DEFAULT, find
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.capture.capture import Capture
from layoutprobe.layouts.layout import HOLE
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.patterns import load_pattern
from layoutprobe.probing.bench import Bench, Coding

SHAPE = (64, 16)
BACKEND = EmulatorBackend()


def capture(lds: str, pattern: str) -> Capture:
    bench = Bench(DEFAULT, find(DEFAULT).probed_form("f16"), lds, BACKEND)
    return bench.run_coded("roundtrip", [Coding(load_pattern(pattern), {"A": "raw16"})])[0]


@pytest.mark.parametrize("lds", SCHEMES)
@examples(8)
@given(seed=st.integers(0, 2**31))
def test_every_element_lies_where_the_scheme_says(lds: str, seed: int) -> None:
    found = capture(lds, f"random:seed={seed}")
    held = found.outputs["lds"].view(np.uint16)
    everywhere_defined = np.zeros_like(found.outputs["lds"])
    undefined = found.undefined.get("lds", everywhere_defined).view(np.uint16)
    row, col = np.indices(SHAPE)
    index = SCHEMES[lds].index(row, col, SHAPE)
    assert held.size == SCHEMES[lds].size(SHAPE)
    assert np.array_equal(held[index], found.inputs["in"])
    # Nothing else was ever stored: padding is undefined in all its bits, elements in none.
    stored = np.zeros(held.size, np.bool_)
    stored[index] = True
    assert np.array_equal(undefined, np.where(stored, 0, 0xFFFF))


@pytest.mark.parametrize("lds", SCHEMES)
@examples(8)
@given(seed=st.integers(0, 2**31))
def test_every_lane_reads_back_what_it_asked_for(lds: str, seed: int) -> None:
    found = capture(lds, f"random:seed={seed}")
    wave, vgpr, lane = np.indices((4, 4, 32))
    for half in (0, 1):
        got = found.outputs["readback"] >> np.uint32(16 * half) & np.uint32(0xFFFF)
        want = found.inputs["in"][16 * wave + lane % 16, 8 * (lane // 16) + 2 * vgpr + half]
        assert np.array_equal(got, want)
    assert found.defined("readback").all()


@pytest.mark.parametrize("lds", SCHEMES)
@examples(8)
@given(seed=st.integers(0, 2**31))
def test_the_solver_recovers_the_placement(lds: str, seed: int) -> None:
    report = roundtrip(lds, f"random:seed={seed}", backend=BACKEND)
    assert report.exit_code == 0
    assert report.lds_map is not None
    row, col = np.indices(SHAPE)
    index = SCHEMES[lds].index(row, col, SHAPE)
    assert np.array_equal(report.lds_map.row[index], row)
    assert np.array_equal(report.lds_map.col[index], col)
    assert (report.lds_map.row != HOLE).sum() == row.size


def test_schemes_differ_on_the_device() -> None:
    """The property above could hold for one scheme under four names."""
    images = {lds: capture(lds, "rowcol").outputs["lds"].tobytes() for lds in SCHEMES}
    assert len(set(images.values())) == len(SCHEMES)
