"""Rows, columns and k: from classes of slots that met to lines with names.

An A slot and the D slots that it enters share a row; a B slot and the D slots that it enters
share a column; an A slot and the B slots that it meets share a k, or (sparse) a group of four k, of
which the value of the index operand names the one. Names cannot be observed; each function says by
which rule it gave them.

An instruction may read a copy of an operand for some outputs and another copy for the rest. Then
the outputs fall into blocks that have no B (or A) slot in common, and only the documented shape
says that they form one matrix: blocks are stacked until they fill M x N. Where the document says
that the instruction computes several independent products, each block is one of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ProbeError
from layoutprobe.layouts.layout import HOLE
from layoutprobe.solver.bench import PLACES, Extents
from layoutprobe.solver.classes import Labels, common, components, lowest, rank_within
from layoutprobe.solver.hotsets import Meetings
from layoutprobe.solver.sparse import kinds_of

Ints = NDArray[np.int64]
Slots = tuple[int, int, int]
"""Lanes, VGPRs and fields of an operand."""


class Shape(Struct, frozen=True):
    """What the document says that an instruction computes.

    Attributes:
        m, n, k: of one product; k is the dense one.
        products: independent products. They are named as the diagonal of one: A has the rows, B the
            columns of all products one after the other, and D their blocks on the diagonal.
    """

    m: int
    n: int
    k: int
    products: int = 1

    @property
    def rows(self) -> int:
        """Rows of A and D, those of all products."""
        return self.m * self.products

    @property
    def cols(self) -> int:
        """Columns of B and D."""
        return self.n * self.products

    def __str__(self) -> str:
        times = f", {self.products} products" if self.products > 1 else ""
        return f"{self.m} x {self.n} x {self.k}{times}"


class Names(Struct, frozen=True, eq=False):
    """Lines of every slot, by number of the slot; HOLE where no output depends on it.

    Attributes:
        a_row, b_col, d_row, d_col: rows and columns.
        a_k: of A, its column: k, or in compressed A 2 * group + which of the two kept.
        b_k: of B, its row: the dense k.
        blocks: groups of outputs that share no copy of an operand.
        stacked: "rows" or "columns", along which the blocks make up the matrix; "products" where
            each is one; "" for one block.
        rules: "M", "N", "K" -> how the names were given, in words.
    """

    a_row: Ints
    a_k: Ints
    b_k: Ints
    b_col: Ints
    d_row: Ints
    d_col: Ints
    blocks: int
    stacked: str
    rules: Mapping[str, str]

    __repr__ = brief


def names_of(extents: Extents, shape: Shape, met: Meetings) -> Names:
    """Lines of all slots.

    Raises:
        ProbeError: what met is no product of that shape.
    """
    n_a, n_b, n_d = (extents.count(operand) for operand in "ABD")
    settings = len(met.partners)
    every_b, every_d = met.partners.ravel(), np.tile(met.d, settings)
    row_a, row_d = components(met.a, met.d, n_a, n_d)
    col_b, col_d = components(every_b, every_d, n_b, n_d)
    k_a, k_b = components(np.tile(met.a, settings), every_b, n_a, n_b)
    block_row, stacked, blocks = stack(row_d, col_d, shape)
    block_col = block_of(col_d, row_d, block_row)
    block_k = block_of(k_a, row_a, block_row)
    own_rows, own_cols = stacked in ("columns", "products"), stacked in ("rows", "products")
    rows, row_rule = name_lines(row_a, extents.slots("A"), block_row, shape.m, blocks if own_rows else 1)
    cols, col_rule = name_lines(col_b, extents.slots("B"), block_col, shape.n, blocks if own_cols else 1)
    lines, k_rule = name_k(k_a, extents.slots("A"), block_k, shape.m if "modulo" in row_rule else 0)
    if stacked == "products":
        rows, cols = rows + shape.m * block_row, cols + shape.n * block_col
    a_k, b_k = _filled(lines, k_a), _filled(lines, k_b)
    if extents.sparse:
        a_k, b_k = _sparse_k(met, a_k, b_k)
        k_rule = "group of four " + k_rule + "; k in its group = value of the index that selects it"
    found = Names(
        a_row=_filled(rows, row_a),
        a_k=a_k,
        b_k=b_k,
        b_col=_filled(cols, col_b),
        d_row=_filled(rows, row_d),
        d_col=_filled(cols, col_d),
        blocks=blocks,
        stacked=stacked,
        rules={"M": f"row of A = {row_rule}", "N": f"column of B = {col_rule}", "K": k_rule},
    )
    _check(met, found, shape, extents.sparse)
    return found


def _filled(names: Ints, labels: Labels) -> Ints:
    return np.where(labels >= 0, names[labels], HOLE)


def _sparse_k(met: Meetings, a_group: Ints, b_group: Ints) -> tuple[Ints, Ints]:
    """Columns of compressed A, and dense k of B, from groups and the places that the index names."""
    kind = kinds_of(met)
    a_k, b_k = np.full_like(a_group, HOLE), np.full_like(b_group, HOLE)
    a_k[met.a] = 2 * a_group[met.a] + kind
    for setting, b in enumerate(met.partners):
        dense = 4 * b_group[b] + np.array(PLACES)[kind, setting]
        if ((b_k[b] != HOLE) & (b_k[b] != dense)).any():
            raise ProbeError("One slot of B is selected by two values of the index")
        b_k[b] = dense
    return a_k, b_k


def _check(met: Meetings, names: Names, shape: Shape, sparse: bool) -> None:
    """Every output must be a sum over all k (or all elements that A kept), each once."""
    kept = shape.k // 2 if sparse else shape.k
    outputs = shape.m * shape.n * shape.products
    a_row, a_k, d_row, d_col = (
        names.a_row[met.a], names.a_k[met.a], names.d_row[met.d], names.d_col[met.d],
    )  # fmt: skip
    if int(a_k.max()) >= kept or int(d_row.max()) >= shape.rows or int(d_col.max()) >= shape.cols:
        raise not_a_product(shape, "more lines than the shape has")
    term = (d_row * shape.cols + d_col) * kept + a_k
    if (a_row != d_row).any() or _different(term) != outputs * kept or term.size != outputs * kept:
        raise not_a_product(shape, f"{term.size} products; some outputs miss a k, or have one twice")
    for b in met.partners:
        if (names.b_col[b] != d_col).any() or (not sparse and (names.b_k[b] != a_k).any()):
            raise not_a_product(shape, "slots of B that belong to several columns or k")
    if _different(met.d) != outputs:
        raise not_a_product(shape, f"{_different(met.d)} outputs")


def _different(numbers: Ints) -> int:
    """How many different numbers there are; none is below zero, and none much larger than their count."""
    return int(np.count_nonzero(np.bincount(numbers)))


def not_a_product(shape: Shape, observed: str) -> ProbeError:
    """The error for meetings that are those of no M x N x K product."""
    return ProbeError(
        "The instruction is no matrix product of the documented shape",
        expected=f"M x N x K = {shape}",
        observed=observed,
        hint="check the shape and the number of VGPRs of each operand",
    )


def stack(row_d: Labels, col_d: Labels, shape: Shape) -> tuple[Labels, str, int]:
    """Block of every row class, what the blocks make up together (see Names), and their number."""
    m, n = shape.m, shape.n
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
    if not uniform or np.bincount(cells).max() > 1 or cells.size != (rows * cols).sum():
        raise not_a_product(shape, observed + ", with gaps or doubles")
    if shape.products > 1:
        if (blocks, rows[0], cols[0]) != (shape.products, m, n):
            raise not_a_product(shape, observed)
        return block_row, "products", blocks
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
    if residue is not None and _different(group * extent + residue) == group.size == copies * extent:
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
    by_lane = _different(block * (group.max() + 1) + group) > _different(block)
    rule = (
        f"k ascends with lane / {period}, then VGPR, then field"
        if by_lane
        else "k ascends with VGPR, then field"
    )
    return rank_within(block, first), rule
