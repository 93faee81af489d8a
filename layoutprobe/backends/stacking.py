"""Several launches as one, where every workgroup has its own part of every argument."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch, RunResult


def stacked(launches: Sequence[Launch]) -> Launch:
    """One launch that does the work of all: of one kernel, with as many workgroups along x as all together."""
    if len(launches) == 1:
        return launches[0]
    workgroups = sum(launch.grid[0] for launch in launches)
    args = [_joined(same) for same in zip(*(launch.args for launch in launches), strict=True)]
    return replace(launches[0], grid=(workgroups, 1, 1), args=args)


def _joined(same: Sequence[Buffer | np.generic]) -> Buffer:
    buffers = [one for one in same if isinstance(one, Buffer)]
    assert len(buffers) == len(same), "a scalar is no workgroup's own"
    return replace(buffers[0], data=np.concatenate([buffer.data for buffer in buffers]))


def parted(result: RunResult, launches: Sequence[Launch]) -> list[RunResult]:
    """What each of the launches left."""
    ends = list(accumulate(launch.grid[0] for launch in launches))
    parts = [slice(end - launch.grid[0], end) for end, launch in zip(ends, launches, strict=True)]
    return [
        RunResult(
            tuple(None if data is None else data[part] for data in result.buffers),
            tuple(_undefined(mask, part) for mask in result.undefined),
            result.evidence,
        )
        for part in parts
    ]


def _undefined(mask: NDArray[Any] | None, part: slice) -> NDArray[Any] | None:
    return mask[part] if mask is not None and mask[part].any() else None
