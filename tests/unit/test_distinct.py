"""Distinct numbers, held against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.numbers.distinct import distinct


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(0, np.int64),
        np.array([5]),
        np.array([[3, 1], [3, 2]]),
        np.array([255, 0, 255], np.uint8),
        np.array([-(2**63), 2**63 - 1, -1]),
    ],
)
def test_each_number_comes_once_in_order(values: np.ndarray[tuple[int, ...], np.dtype[np.integer]]) -> None:
    found = distinct(values)
    assert found.dtype == values.dtype
    assert np.array_equal(found, np.unique(values))
