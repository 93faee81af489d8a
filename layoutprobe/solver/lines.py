"""Rows, columns and k: from classes of slots that met to lines with names.

Names cannot be observed; each function says by which rule it gave them.
"""

from __future__ import annotations

import numpy as np

from layoutprobe.errors import ProbeError
from layoutprobe.solver.classes import Labels, common, components, lowest, rank_within
from layoutprobe.solver.experiment import Slots


def not_a_product(shape: tuple[int, int, int], observed: str) -> ProbeError:
    """The error for meetings that are those of no M x N x K product."""
    return ProbeError(
        "The instruction is no matrix product of the documented shape",
        expected="M x N x K = {} x {} x {}".format(*shape),
        observed=observed,
        hint="check the shape and the number of VGPRs of each operand",
    )


def stack(row_d: Labels, col_d: Labels, shape: tuple[int, int, int]) -> tuple[Labels, str, int]:
    """Block of every row class, the axis along which blocks are stacked, and their number."""
    m, n, _ = shape
    live = row_d >= 0
    if not live.any():
        raise not_a_product(shape, "no output depends on any input")
    n_rows, n_cols = int(row_d.max()) + 1, int(col_d.max()) + 1
    cells = row_d[live] * n_cols + col_d[live]
    block_row, block_col = components(row_d[live], col_d[live], n_rows, n_cols)
    blocks = int(block_row.max()) + 1
    rows, cols = np.bincount(block_row), np.bincount(block_col)
    observed = f"{blocks} blocks of {rows[0]} rows x {cols[0]} columns"
    uniform = (rows == rows[0]).all() and (cols == cols[0]).all()
    if not uniform or np.unique(cells).size != cells.size or cells.size != (rows * cols).sum():
        raise not_a_product(shape, observed + ", with gaps or doubles")
    if blocks == 1 and (n_rows, n_cols) == (m, n):
        return block_row, "", 1
    if n_rows == m and cols[0] == n:
        return block_row, "rows", blocks
    if n_cols == n and rows[0] == m:
        return block_row, "columns", blocks
    raise not_a_product(shape, observed)


def block_of(labels: Labels, known: Labels, block: Labels) -> Labels:
    """Block of every class of `labels`, through slots that also have a class with a known block."""
    both = (labels >= 0) & (known >= 0)
    found = np.zeros(int(labels.max()) + 1, np.int64)
    found[labels[both]] = block[known[both]]
    return found


def name_lines(labels: Labels, slots: Slots, block: Labels, extent: int, copies: int) -> tuple[Labels, str]:
    """Row (or column) number of every class, and the rule that gave it.

    Documents of this family name lines by lane modulo their number; take that where it is a
    naming at all, and the order of lanes elsewhere.

    Args:
        labels: class of every operand slot, -1 where dead.
        slots: extents of the operand.
        block: block of every class.
        extent: M or N.
        copies: 1 where lines are numbered across all blocks, else the number of blocks, each of
            which holds all lines once.
    """
    lane = np.arange(labels.size) // (slots[1] * slots[2])
    group = block if copies > 1 else np.zeros_like(block)
    residue = common(labels, lane % extent)
    if residue is not None and np.unique(group * extent + residue).size == group.size == copies * extent:
        return residue, f"lane modulo {extent}"
    return rank_within(group, lowest(labels, np.arange(labels.size))), "rank of the lowest lane that is read"


def name_k(labels: Labels, slots: Slots, block: Labels, period: int) -> tuple[Labels, str]:
    """k of every class: ascending with the group of lanes, then VGPR, then field."""
    number = np.arange(labels.size)
    per_lane = slots[1] * slots[2]
    lanes = number // per_lane // period if period else np.zeros_like(number)
    key = (lanes * per_lane + number % per_lane) * labels.size + number
    first = lowest(labels, key)
    # Blocks read copies in lanes of their own: only within a block do groups of lanes order k.
    group = first // labels.size // per_lane
    by_lane = np.unique(np.stack([block, group]), axis=1).shape[1] > np.unique(block).size
    rule = (
        f"k ascends with lane / {period}, then VGPR, then field"
        if by_lane
        else "k ascends with VGPR, then field"
    )
    return rank_within(block, first), rule
