"""Granules of global memory: numbered without gaps, and every one leads back to its allocation."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.machine.memory import Region
from layoutprobe.observe.granules import Granules

spans = st.lists(st.tuples(st.integers(1, 1 << 30), st.integers(1, 300)), min_size=1, max_size=6)


def regions_of(gaps: list[tuple[int, int]]) -> list[Region]:
    found, end = [], 0
    for number, (gap, size) in enumerate(gaps):
        start = end + 16 + gap  # no two allocations share what one access may touch
        found.append(Region(f"buffer {number}", start, start + size, True))
        end = start + size
    return found


@given(spans, st.integers(0, 2))
def test_granules_are_those_of_the_arena_renamed(gaps: list[tuple[int, int]], shift: int) -> None:
    """Bytes share a granule where they share one in the arena, and nowhere else; all are within the count."""
    regions = regions_of(gaps)
    granules = Granules(regions[::-1], shift)
    offsets = np.concatenate([np.arange(region.start, region.end) for region in regions])
    found = granules.of(offsets)
    names = {int(g): int(o) >> shift for g, o in zip(found, offsets, strict=True)}
    assert [names[int(g)] for g in found] == [int(o) >> shift for o in offsets]
    assert len(set(names.values())) == len(names)
    assert set(found.tolist()) <= set(range(granules.count))
    assert granules.count <= sum(size + 48 for _, size in gaps) + 1
    for region in regions:
        own = np.arange(region.start, region.end)
        assert (granules.of(own) == found[np.isin(offsets, own)]).all(), "alone as among others"
        assert {granules.allocation(int(g)) for g in granules.of(own)} == {region.name}
