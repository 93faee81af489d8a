"""Random integers of our own beside numpy's RandomState, whose numbers they are."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.solver.draws import Draws

RANGES = [
    (0, 4, (8, 512)),
    (0, 6, (8, 32, 8)),
    (-1, 3, (8, 128)),
    (5, 6, (4,)),
    (0, 1000, (100,)),
    (0, 4, (1, 1)),
]


@pytest.mark.parametrize("seed", [1151, 0, 2**32 - 1])
def test_numbers_are_those_of_numpy(seed: int) -> None:
    """One draw after the other, so that what is passed over counts as well."""
    ours, numpys = Draws(seed), np.random.RandomState(seed)
    for low, high, shape in [*RANGES, (0, 2**32, (9,)), *RANGES]:
        found, wanted = ours.integers(low, high, shape), numpys.randint(low, high, shape, np.int64)
        assert np.array_equal(found, wanted), (low, high)
        assert found.shape == shape
        assert found.dtype == wanted.dtype
