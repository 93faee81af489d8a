"""Which workgroups of a large launch are looked at: all compute, and observers are told of some.

Watching costs a hundred times what computing does, and the workgroups of a large problem do the same over and over.
What is special stands at the corners and edges of the grid; others are drawn.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from layoutprobe.manifest.binding import Binding

MANY = 64
"""Workgroups of a launch that are all looked at."""
LARGE = 4 << 20
"""Bytes of a launch's buffers, below which all workgroups are looked at."""
_DRAWN = 4


def sample_of(binding: Binding) -> frozenset[int]:
    """Numbers of the workgroups that are looked at, x fastest; empty for all.

    Corners, the middles of edges, and some that are drawn: always the same ones of a grid.
    """
    grid = binding.grid
    total = prod(grid)
    if total <= MANY or binding.nbytes < LARGE:
        return frozenset()
    ends = [dict.fromkeys((0, extent // 2, extent - 1)) for extent in grid]
    middles = [extent // 2 if extent > 2 else None for extent in grid]
    border = [at for at in product(*ends) if sum(x == m for x, m in zip(at, middles, strict=True)) <= 1]
    found = {x + grid[0] * (y + grid[1] * z) for x, y, z in border}
    drawn = np.random.default_rng(total).permutation(total).tolist()
    return frozenset({*found, *[number for number in drawn if number not in found][:_DRAWN]})
