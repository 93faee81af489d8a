"""Cycles of an LDS access: phases of lanes, and in each the bank that has most to give."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch.lds import LdsModel
from layoutprobe.observe.banks import INACTIVE

Patterns = NDArray[np.int32]
Ints = NDArray[np.int64]

GROUP = 16
"""Bytes of the groups that swizzles keep together."""


def cycles(patterns: Patterns, size: int, model: LdsModel, *, store: bool) -> tuple[Ints, Ints]:
    """Cycles of accesses, and what they would be without conflicts: one per phase with active lanes.

    Args:
        patterns: int32 [access, lane], byte addresses; INACTIVE where a lane takes no part.
        size: bytes per lane.
        model: phases and banks.
        store: a store, not a load.

    Returns:
        int64 [access], twice.
    """
    total, ideal = (np.zeros(len(patterns), np.int64) for _ in range(2))
    banks = model.banks_of(size, store=store)
    for lanes in model.phases(size, store=store):
        asked = patterns[:, list(lanes)].astype(np.int64)
        most = _most_of_a_bank(asked, size, banks)
        total += most
        ideal += most > 0
    return total, ideal


def _most_of_a_bank(asked: Ints, size: int, banks: int) -> Ints:
    """Different dwords that the busiest bank must give: int64 [access]."""
    dwords = (asked // 4)[..., None] + np.arange(max(1, size // 4))
    dwords = np.where((asked == INACTIVE)[..., None], INACTIVE, dwords).reshape(len(asked), -1)
    dwords.sort(axis=1)
    fresh = dwords != INACTIVE
    fresh[:, 1:] &= dwords[:, 1:] != dwords[:, :-1]
    access = np.broadcast_to(np.arange(len(asked))[:, None], dwords.shape)
    bins = access[fresh] * banks + dwords[fresh] % banks
    return np.bincount(bins, minlength=len(asked) * banks).reshape(len(asked), banks).max(axis=1)


class Rows(Struct, frozen=True):
    """A pattern as rows of a tile: each lane reads at one column of a row.

    Attributes:
        row: row of each lane, from 0.
        stride: bytes from one row to the next.
        width: bytes of a row without padding: the largest power of two up to the stride.
    """

    row: tuple[int, ...]
    stride: int
    width: int


def as_rows(pattern: Patterns) -> Rows | None:
    """The rows that lanes 0-15 step through one by one, as fragment loads do; None where they do not.

    A constant step is a row-major tile, padded or not. Where rows of a power of two hold the steps,
    but not at one column, the tile is swizzled.
    """
    if (pattern == INACTIVE).any():
        return None
    step = np.diff(pattern[:16])
    candidates = [32, 64, 128, 256]
    if (step == step[0]).all() and step[0] >= 2 * GROUP:
        candidates = [int(step[0])]
    for stride in candidates:
        base = int(pattern.min()) // stride * stride if len(candidates) > 1 else int(pattern.min())
        row = (pattern - base) // stride
        if (np.diff(row[:16]) == 1).all() and row.min() >= 0 and row.max() < 64:
            return Rows(tuple(int(r) for r in row), stride, 1 << stride.bit_length() - 1)
    return None


def alternatives(rows: Rows, banks: int) -> dict[str, Patterns]:
    """The same rows in other tiles: scheme -> pattern, int32 [1, lane].

    Columns do not matter: they move all lanes alike, or permute the groups of a row.
    """
    row = np.array(rows.row, np.int64)
    groups = rows.width // GROUP
    # Rows that are a sweep over the banks apart start at the same one; the XOR steps once per sweep.
    shift = max(1, 4 * banks // rows.width).bit_length() - 1
    group = (row >> shift) & (groups - 1)
    schemes = {
        "no padding": row * rows.width,
        "8 halves of padding": row * (rows.width + GROUP),
        "xor of 16-byte groups": row * rows.width + group * GROUP,
    }
    return {name: at.astype(np.int32)[None] for name, at in schemes.items()}
