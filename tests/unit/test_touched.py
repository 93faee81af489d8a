"""How often stores touch the elements of an allocation, held against a count byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.isa.inst import Inst
from layoutprobe.observe.matrix import WaveTable
from layoutprobe.observe.outputs import Allocation, Store, Stores, contested, touched


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("unit", [1, 2, 4])
@pytest.mark.parametrize("size", [1, 2, 4, 15, 16, 64])
def test_elements_are_counted_by_their_bytes(size: int, unit: int, aligned: bool) -> None:
    """Wide stores beside, across and inside of allocations smaller than they are."""
    random = np.random.default_rng(size)
    allocation = Allocation("C", 100, 100 + size)
    stores, expected = [], np.zeros(size, np.int64)
    for width in (1, 2, 4, 8, 16):
        inside = random.integers(0, size, 20)
        offset = np.concatenate([inside[inside + width <= size], random.integers(size, size + 40, 5)])
        if aligned:
            offset = offset[(offset % unit == 0) & (width % unit == 0)]
        zeros = np.zeros(offset.size, np.int64)
        inst, data = Inst(0, 8, "global_store_b32", "GLOBAL"), np.zeros((offset.size, width), np.uint8)
        if offset.size:
            stores.append(Store(inst, zeros, zeros, 100 + offset, width, data))
        for at in offset:
            expected[at : at + width] += 1
    waves = WaveTable(np.zeros((1, 3), np.int64), np.zeros(1, np.int64))
    counted = touched(Stores(waves, (allocation,), tuple(stores), True), allocation, unit, atomic=False)
    whole = expected[: size // unit * unit].reshape(-1, unit).max(axis=1)
    assert np.array_equal(counted, whole)


def store(wave: list[int], offset: list[int], values: list[int]) -> Store:
    """Lane i of the instruction stores 16 bits."""
    lanes, data = np.arange(len(wave)), np.array(values, np.uint16)[:, None].view(np.uint8)
    return Store(
        Inst(0, 8, "global_store_b16", "GLOBAL"), np.array(wave), lanes, 100 + np.array(offset), 2, data
    )


@pytest.mark.parametrize(
    ("stores", "between", "within"),
    [
        ([([0, 1], [0, 2], [7, 8])], [], []),
        ([([0], [0], [7]), ([1], [0], [7])], [], []),
        ([([0], [0], [7]), ([1], [0], [8])], [0], []),
        ([([0], [0], [7]), ([1], [0], [0x107])], [1], []),
        ([([0], [0], [7]), ([0, 0], [2, 0], [7, 9])], [], []),
        ([([0, 0], [2, 2], [7, 9])], [], [2]),
        ([([0, 0], [2, 2], [9, 9])], [], []),
        ([([0, 1], [2, 2], [7, 9])], [2], []),
        ([([0], [0], [7]), ([0], [0], [8]), ([1], [0], [8])], [], []),
        ([([0], [1], [0x0707]), ([1], [0], [0x0807])], [1], []),
    ],
    ids=[
        "apart", "equal", "unlike", "one byte of two", "one wave, in order", "lanes of one store",
        "equal lanes", "waves of one store", "what is there last counts", "at odd bytes",
    ],
)  # fmt: skip
def test_bytes_that_get_several_values(
    stores: list[tuple[list[int], list[int], list[int]]], between: list[int], within: list[int]
) -> None:
    waves = WaveTable(np.zeros((2, 3), np.int64), np.arange(2))
    allocation = Allocation("C", 100, 104)
    found = contested(Stores(waves, (allocation,), tuple(store(*s) for s in stores), True), allocation)
    assert np.flatnonzero(found.between).tolist() == between
    assert np.flatnonzero(found.within).tolist() == within
