"""Which renamings of rows, columns and k no execution can tell apart: tried, not assumed.

A renaming is tried by renaming the lines in all layouts, predicting from them which slots meet,
and comparing with what was seen to meet. All permutations of n lines arise from swapping the first
two and from moving all by one, so these two are tried for the lines themselves, and then for
groups of four.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.instruction import AxisGauge, Gauge
from layoutprobe.solver.hotsets import PLACES, Terms

Ints = NDArray[np.int64]

GROUP = 4
_OPERANDS = {"M": "A, C and D", "N": "B, C and D", "K": "A and B"}


def gauge_of(
    terms: Terms,
    a: tuple[Ints, Ints],
    b: tuple[Ints, Ints],
    blocks: int,
    stacked: str,
    shape: tuple[int, int, int],
) -> Gauge:
    """The gauge of an instruction.

    Args:
        terms: what was seen to meet.
        a: row and column (of compressed A, if sparse) by slot of A.
        b: row and column by slot of B.
        blocks, stacked: groups of outputs that share no copy, and along what they are stacked.
        shape: (M, N, K).
    """
    sparse = len(terms.b) > 1
    lines = (a[0][terms.a], b[1][terms.b[0]], a[1][terms.a])
    seen = _table(terms, lines, b, shape, sparse)
    axes = {}
    for number, axis in enumerate("MNK"):
        # Blocks of rows share their rows with no other block: rows are one set of names.
        copies = 1 if axis == {"rows": "M", "columns": "N"}.get(stacked) else blocks
        units, unit = shape[number], 1
        for unit in (1, GROUP):
            units = shape[number] // unit
            if all(_hidden(seen, number, p, sparse) for p in _generators(units, unit)):
                break
        else:
            units, unit = 1, shape[number]
        axes[axis] = AxisGauge(axis, shape[number], units, unit, copies, _OPERANDS[axis])
    return Gauge(axes, blocks, stacked)


Table = tuple[Ints, Ints, Ints]
"""Slots by names: A [m, n, kept], B [m, n, k], D [m, n]; -1 where unseen."""


def _table(
    terms: Terms,
    lines: tuple[Ints, Ints, Ints],
    b: tuple[Ints, Ints],
    shape: tuple[int, int, int],
    sparse: bool,
) -> Table:
    m, n, k = shape
    row, col, kept = lines
    a_at = np.full((m, n, k // 2 if sparse else k), -1)
    b_at, d_at = np.full((m, n, k), -1), np.full((m, n), -1)
    a_at[row, col, kept] = terms.a
    for slot in terms.b:
        b_at[row, col, b[0][slot]] = slot
    d_at[row, col] = terms.d
    return a_at, b_at, d_at


def _generators(units: int, unit: int) -> list[Callable[[Ints], Ints]]:
    swap, turn = np.arange(units), np.roll(np.arange(units), 1)
    if units > 1:
        swap[:2] = 1, 0

    def renaming(order: Ints) -> Callable[[Ints], Ints]:
        return lambda line: order[line // unit] * unit + line % unit

    return [renaming(swap), renaming(turn)]


def _hidden(table: Table, axis: int, rename: Callable[[Ints], Ints], sparse: bool) -> bool:
    """Whether the renamed layouts predict the meetings that were seen."""
    a_at, b_at, d_at = table
    m, n, _ = b_at.shape
    if axis < 2:
        order = rename(np.arange((m, n)[axis]))
        renamed = tuple(np.take(x, order, axis=axis) for x in (a_at, b_at, d_at))
    else:
        to = rename(np.arange(b_at.shape[2]))
        # Compressed A has no k of its own: its columns move with their groups.
        kept = np.arange(a_at.shape[2])
        of_a = 2 * (to[4 * (kept // 2)] // 4) + kept % 2 if sparse else to
        renamed = (np.take(a_at, of_a, axis=2), np.take(b_at, to, axis=2), d_at)
    return np.array_equal(_meetings(table, sparse), _meetings((renamed[0], renamed[1], renamed[2]), sparse))


def _meetings(table: Table, sparse: bool) -> Ints:
    """All meetings that the names predict, sorted: [meeting, 3 or 4] numbered as one."""
    a_at, b_at, d_at = table
    d = np.broadcast_to(d_at[..., None], a_at.shape)
    if not sparse:
        met = [np.stack([a_at, b_at, d]).reshape(3, -1)]
    else:
        kept = np.arange(a_at.shape[2])
        met = []
        for setting in range(len(PLACES[0])):
            k = 4 * (kept // 2) + np.array(PLACES)[kept % 2, setting]
            met.append(np.stack([a_at + setting * (1 << 12), b_at[..., k], d]).reshape(3, -1))
    a, b, slot = np.concatenate(met, axis=1)
    return np.sort((a << 24) + (b << 12) + slot)
