"""How often stores touch the bytes of an allocation, counted byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.isa.inst import Inst
from layoutprobe.observe.matrix import WaveTable
from layoutprobe.observe.outputs import Allocation, Store, Stores, touched


@pytest.mark.parametrize("size", [1, 2, 4, 15, 16, 64])
def test_bytes_are_counted_one_by_one(size: int) -> None:
    """Wide stores beside, across and inside of allocations smaller than they are."""
    random = np.random.default_rng(size)
    allocation = Allocation("C", 100, 100 + size)
    stores, expected = [], np.zeros(size, np.int64)
    for width in (1, 2, 4, 8, 16):
        inside = random.integers(0, size, 20)
        offset = 100 + np.concatenate([inside[inside + width <= size], random.integers(size, size + 40, 5)])
        zeros = np.zeros(offset.size, np.int64)
        stores.append(Store(Inst(0, 8, "global_store_b32", "GLOBAL"), zeros, zeros, offset, width))
        for at in offset - 100:
            expected[at : at + width] += 1
    waves = WaveTable(np.zeros((1, 3), np.int64), np.zeros(1, np.int64))
    counted = touched(Stores(waves, (allocation,), tuple(stores), True), allocation, atomic=False)
    assert np.array_equal(counted, expected)
