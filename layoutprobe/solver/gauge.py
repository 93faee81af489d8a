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
from layoutprobe.solver.hotsets import PLACES, Meetings
from layoutprobe.solver.lines import Names, Shape

Ints = NDArray[np.int64]
Renaming = Callable[[Ints], Ints]
"""Lines -> the lines whose names they take."""

GROUP = 4
_OPERANDS = {"M": "A, C and D", "N": "B, C and D", "K": "A and B"}


def gauge_of(met: Meetings, names: Names, shape: Shape, block: int = 0) -> Gauge:
    """The gauge of an instruction.

    Args:
        met: what was seen to meet.
        names: lines of every slot.
        shape: what they fill.
        block: neighbouring k that share a scale; 0 where there are none.
    """
    sparse = len(met.partners) > 1
    table = _table(met, names, shape, sparse)
    seen = _meetings(table, sparse)
    axes = {}
    for number, (axis, lines) in enumerate(zip("MNK", (shape.m, shape.n, shape.k), strict=True)):
        # Blocks of rows share their rows with no other block: rows are one set of names.
        copies = 1 if axis == {"rows": "M", "columns": "N"}.get(names.stacked) else names.blocks
        kept = block if axis == "K" else 0

        def unseen(rename: Renaming, axis: int = number, lines: int = lines, kept: int = kept) -> bool:
            return _together(rename, lines, kept) and _hidden(table, seen, axis, rename, sparse)

        units, unit = lines, 1
        for unit in (1, kept or GROUP):
            units = lines // unit
            if all(unseen(p) for p in _generators(units, unit)):
                break
        else:
            units, unit = 1, lines
        within = unit > 1 and all(unseen(p) for p in _inside(unit))
        axes[axis] = AxisGauge(axis, lines, units, unit, copies, _OPERANDS[axis], within)
    return Gauge(axes, names.blocks, names.stacked)


Table = tuple[Ints, Ints, Ints]
"""Slots by names: A [row, col, kept], B [row, col, k], D [row, col]; -1 where there are none."""


def _table(met: Meetings, names: Names, shape: Shape, sparse: bool) -> Table:
    row, col, kept = names.a_row[met.a], names.b_col[met.b], names.a_k[met.a]
    extent = (shape.rows, shape.cols)
    a_at = np.full((*extent, shape.k // 2 if sparse else shape.k), -1)
    b_at, d_at = np.full((*extent, shape.k), -1), np.full(extent, -1)
    a_at[row, col, kept] = met.a
    for slot in met.partners:
        b_at[row, col, names.b_k[slot]] = slot
    d_at[row, col] = met.d
    return a_at, b_at, d_at


def _generators(units: int, unit: int) -> list[Renaming]:
    swap, turn = np.arange(units), np.roll(np.arange(units), 1)
    if units > 1:
        swap[:2] = 1, 0

    def renaming(order: Ints) -> Renaming:
        """Of the lines of each product alike."""
        lines = units * unit
        return lambda line: line // lines * lines + order[line % lines // unit] * unit + line % unit

    return [renaming(swap), renaming(turn)]


def _inside(unit: int) -> list[Renaming]:
    """Renamings of the lines of the first group."""

    def only_first(rename: Renaming) -> Renaming:
        return lambda line: np.where(line < unit, rename(np.minimum(line, unit - 1)), line)

    return [only_first(rename) for rename in _generators(unit, 1)]


def _together(rename: Renaming, lines: int, block: int) -> bool:
    """Whether k that share a scale still do: the scale's own slot tells them from others."""
    if not block:
        return True
    to = rename(np.arange(lines)).reshape(-1, block) // block
    return bool((to == to[:, :1]).all())


def _hidden(table: Table, seen: Ints, axis: int, rename: Renaming, sparse: bool) -> bool:
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
    return np.array_equal(seen, _meetings((renamed[0], renamed[1], renamed[2]), sparse))


def _meetings(table: Table, sparse: bool) -> Ints:
    """All meetings that the names predict, sorted, each setting of the index after the other."""
    a_at, b_at, d_at = table
    d = np.broadcast_to(d_at[..., None], a_at.shape)
    kept = np.arange(a_at.shape[2])
    partners = [kept]
    if sparse:
        partners = [4 * (kept // 2) + np.array(PLACES)[kept % 2, s] for s in range(len(PLACES[0]))]
    n_a, n_b, n_d = (int(at.max()) + 1 for at in table)
    met = []
    for setting, k in enumerate(partners):
        a = (a_at + setting * n_a)[d >= 0]
        met.append(np.sort((a * n_b + b_at[..., k][d >= 0]) * n_d + d[d >= 0]))
    return np.concatenate(met)
