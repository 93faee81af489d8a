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
from layoutprobe.solver.bench import PLACES
from layoutprobe.solver.hotsets import Meetings
from layoutprobe.solver.lines import Names, Shape

Ints = NDArray[np.signedinteger]
Renaming = Callable[[Ints], Ints]
"""Lines -> the lines whose names they take."""

GROUP = 4
_OPERANDS = {"M": "A, C and D", "N": "B, C and D", "K": "A and B"}
_SCALED = {"M": "A, its scales, C and D", "N": "B, its scales, C and D", "K": "A, B and their scales"}


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
    seen = _partners(table, sparse)
    axes, operands = {}, _SCALED if block else _OPERANDS
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
        axes[axis] = AxisGauge(axis, lines, units, unit, copies, operands[axis], within)
    return Gauge(axes, names.blocks, names.stacked)


Table = tuple[Ints, Ints, Ints]
"""Slots by names: A [row, col, kept], B [row, col, k], D [row, col]; -1 where there are none."""


def _table(met: Meetings, names: Names, shape: Shape, sparse: bool) -> Table:
    row, col, kept = names.a_row[met.a], names.b_col[met.b], names.a_k[met.a]
    extent = (shape.rows, shape.cols)
    a_at = np.full((*extent, shape.k // 2 if sparse else shape.k), -1, np.int32)
    b_at, d_at = np.full((*extent, shape.k), -1, np.int32), np.full(extent, -1, np.int32)
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
        a_at, b_at, d_at = (np.take(x, order, axis=axis) for x in (a_at, b_at, d_at))
    else:
        to = rename(np.arange(b_at.shape[2]))
        # Compressed A has no k of its own: its columns move with their groups.
        kept = np.arange(a_at.shape[2])
        of_a = 2 * (to[4 * (kept // 2)] // 4) + kept % 2 if sparse else to
        a_at, b_at = np.take(a_at, of_a, axis=2), np.take(b_at, to, axis=2)
    # A renaming predicts as many meetings as were seen, each once: so it is enough that it predicts no other.
    terms = _terms((a_at, b_at, d_at), sparse)
    return all(bool((seen[setting, d, a] == b).all()) for setting, (a, b, d) in enumerate(terms))


def _partners(table: Table, sparse: bool) -> Ints:
    """Slot of B that meets a slot of A in a slot of D: [setting, slot of D, slot of A]; -1 for none."""
    terms = _terms(table, sparse)
    found = np.full((len(terms), int(table[2].max()) + 1, int(table[0].max()) + 1), -1, np.int32)
    for setting, (a, b, d) in enumerate(terms):
        found[setting, d, a] = b
    return found


def _terms(table: Table, sparse: bool) -> list[tuple[Ints, Ints, Ints]]:
    """Slots of A, B and D that meet by their names, for each setting of the index."""
    a_at, b_at, d_at = table
    kept = np.arange(a_at.shape[2])
    chosen = [kept]
    if sparse:
        chosen = [4 * (kept // 2) + np.array(PLACES)[kept % 2, s] for s in range(len(PLACES[0]))]
    there = d_at >= 0
    d = np.broadcast_to(d_at[there][:, None], (int(there.sum()), kept.size))
    return [(a_at[there], b_at[there][:, k], d) for k in chosen]
