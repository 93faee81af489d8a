"""Numbers of elements that operands held, read from the digits of coded runs."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.manifest.coding import Coding, carried_as
from layoutprobe.solver.product import UNKNOWN, ZERO
from layoutprobe.trace.operands import numbers_of


@pytest.mark.parametrize(("dtype", "bits"), [("f16", 16), ("bf16", 16), ("i8", 8), ("f32", 32)])
def test_what_is_no_digit_in_some_run_is_no_element(dtype: str, bits: int) -> None:
    coding = Coding.of(dict.fromkeys("AB", (dtype, (64, 64))))
    code, kind = coding.code, carried_as(dtype)
    expected = np.random.default_rng(1).integers(0, coding.total, (4, 32, 32 // bits))
    values = np.stack([code.digit(expected, place) for place in range(code.digits)])
    values[:, 0, 0], expected[0, 0] = 0, ZERO  # in all runs
    values[-1, 0, 1], expected[0, 1] = code.base + 1, UNKNOWN  # in one of them
    values[:, 0, 2], expected[0, 2] = code.base + 1, UNKNOWN
    values[:, 1, 0], expected[1, 0] = code.base, UNKNOWN  # the last number of the code, which no element has
    if code.digits > 1:
        values[0, 2, 3], expected[2, 3] = 0, UNKNOWN
    raw = np.ascontiguousarray(kind.encode(values.astype(np.float64))).view(np.uint32)
    found = numbers_of([[(words.reshape(1, 4, 32), None)] for words in raw], dtype, bits, coding)
    assert np.array_equal(found.reshape(expected.shape), expected)
