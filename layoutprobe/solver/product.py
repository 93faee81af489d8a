"""The law of a matrix product, over every execution of a matrix instruction: of probes and of kernels.

An instruction adds, into the slot of D that is stored to C[m][n], products of slots of A and B that
meet. Each must be A[m][k] * B[k][n] with one k, and over all instructions of one accumulator every
k must occur exactly once. Zeros are allowed where the product vanishes anyway: kernels pad ragged
tiles with them. Nothing here depends on the order in which a kernel walks over rows, columns or k,
nor on any name: a kernel may permute them jointly and still be right.

A chain is an accumulator: the executions that add to one D, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import UsageError
from layoutprobe.solver.interaction import Interaction

Ints = NDArray[np.int64]
Coordinates = NDArray[np.int32]
Mask = NDArray[np.bool_]

ZERO, UNKNOWN, UNDEFINED, FOREIGN = -1, -2, -3, -4
"""Coordinates of a slot that holds no element of its matrix: a zero; a value that is no code; bits
that nobody has set; an element of another matrix."""
_TOGETHER = 128
"""Executions that are looked at together."""
NOWHERE = -1
"""Coordinate of a slot of D that is stored nowhere."""


class Terms(Struct, frozen=True, eq=False):
    """Products of slots, one for each k of each output.

    Sparse A meets two k of every four with each of its slots: here those at places 0 and 1, as one legal index tells,
    and those at 2 and 3, as another does. So all of B is met, and the law is that of a dense product.

    Attributes:
        a, b, d: int64 [term]: slots.
        second: int64 [term]: 2 where a slot of sparse A is at its second place, else 0.
        kept, of: so many of so many neighbouring k are in A: 2 of 4, or 1 of 1.
    """

    a: Ints
    b: Ints
    d: Ints
    second: Ints
    kept: int = 1
    of: int = 1

    __repr__ = brief

    def dense(self, held: NDArray[np.integer], second: Ints) -> Ints:
        """k of columns of A, at its first or second place; what is below 0 stays."""
        found = held // self.kept * self.of + held % self.kept + second
        return np.asarray(np.where(held < 0, held, found), np.int64)

    def compressed(self, k: Ints) -> Ints:
        """The inverse: column of A of every k; what is below 0 stays."""
        return np.where(k < 0, k, k // self.of * self.kept + k % self.of % self.kept)


def terms_of(instruction: Interaction) -> Terms:
    """Which slots meet, whatever the index operand says."""
    met = instruction.meetings
    if not instruction.index.size:
        return Terms(met.a, met.b, met.d, np.zeros_like(met.a))
    first, _, last, _ = met.partners  # places (0, 1) and (2, 3): INDEX_SETTINGS
    second = np.repeat([0, 2], met.a.size)
    return Terms(np.tile(met.a, 2), np.concatenate([first, last]), np.tile(met.d, 2), second, 2, 4)


class Geometry(Struct, frozen=True, eq=False):
    """Which slots meet: the instruction as blocks of outputs that share their copies of A and B.

    Slots are numbered lane, VGPR, field, last fastest; k has the names of the convention.

    Attributes:
        shape: (M, N, K) of one product of the instruction.
        product: int64 [block], the product that a block is a part of; most instructions have one.
        rows, cols: conventional row and column of every line: int64 [block, line].
        a: int64 [block, row, k], slots of A.
        b: int64 [block, col, k], slots of B.
        d: int64 [block, row, col], slots of D.
    """

    shape: tuple[int, int, int]
    product: Ints
    rows: Ints
    cols: Ints
    a: Ints
    b: Ints
    d: Ints

    __repr__ = brief


def geometry_of(instruction: Interaction) -> Geometry:
    """The blocks of an instruction.

    Raises:
        UsageError: its blocks have different extents.
    """
    terms, (m, n, _) = terms_of(instruction), instruction.shape
    d, b = instruction.needed["D"], instruction.needed["B"]
    row, col, depth = d.row.ravel()[terms.d], d.col.ravel()[terms.d], b.row.ravel()[terms.b]
    # Independent products are named as the diagonal of one.
    product = row // m
    parts = [
        _blocks(instruction.shape, terms, one, row[here] - one * m, col[here] - one * n, depth[here], here)
        for one in range(int(product.max()) + 1)
        for here in [product == one]
    ]
    names = ("product", "rows", "cols", "a", "b", "d")
    return Geometry(
        instruction.shape, **{name: np.concatenate([part[name] for part in parts]) for name in names}
    )


def _blocks(
    shape: tuple[int, int, int], terms: Terms, product: int, row: Ints, col: Ints, depth: Ints, here: Mask
) -> dict[str, Ints]:
    """The arrays of a Geometry for one product, from its terms and their names."""
    m, n, k = shape
    a_of, b_of = np.zeros((m, n, k), np.int64), np.zeros((m, n, k), np.int64)
    a_of[row, col, depth], b_of[row, col, depth] = terms.a[here], terms.b[here]
    d_of = np.zeros((m, n), np.int64)
    d_of[row, col] = terms.d[here]
    # Rows that meet the same slots of B belong together, and so do columns that meet the same of A.
    row_groups = _groups(b_of.reshape(m, -1))
    col_groups = _groups(a_of.transpose(1, 0, 2).reshape(n, -1))
    if len({len(g) for g in row_groups}) > 1 or len({len(g) for g in col_groups}) > 1:
        raise UsageError("The instruction's blocks have different extents")
    pairs = [(rows, cols) for rows in row_groups for cols in col_groups]
    return {
        "product": np.full(len(pairs), product),
        "rows": np.stack([rows for rows, _ in pairs]) + product * m,
        "cols": np.stack([cols for _, cols in pairs]) + product * n,
        "a": np.stack([a_of[rows, cols[0]] for rows, cols in pairs]),
        "b": np.stack([b_of[rows[0], cols] for rows, cols in pairs]),
        "d": np.stack([d_of[np.ix_(rows, cols)] for rows, cols in pairs]),
    }


def _groups(keys: Ints) -> list[Ints]:
    """Positions of equal rows of a table, each group ascending."""
    _, group = np.unique(keys, axis=0, return_inverse=True)
    return [np.flatnonzero(group.ravel() == g) for g in range(int(group.max()) + 1)]


class Factors(Struct, frozen=True, eq=False):
    """What the live slots held in every execution, in the geometry's order.

    Attributes:
        chain: int64 [execution], accumulator chain that it adds to.
        a_row, a_k: int32 [execution, block, row, k]; ZERO, UNKNOWN, UNDEFINED or FOREIGN where the
            slot holds no element of A.
        b_col, b_k: int32 [execution, block, col, k].
    """

    chain: Ints
    a_row: Coordinates
    a_k: Coordinates
    b_col: Coordinates
    b_k: Coordinates

    __repr__ = brief

    def select(self, which: Mask | Ints | slice) -> Factors:
        """Some of the executions."""
        return Factors(
            self.chain[which], self.a_row[which], self.a_k[which], self.b_col[which], self.b_k[which]
        )


def parts(executions: int) -> Iterator[slice]:
    """A few executions at a time: what is made of them stays in the processor's cache. Of none there is one part."""
    return (slice(start, start + _TOGETHER) for start in range(0, max(executions, 1), _TOGETHER))


class Targets(Struct, frozen=True, eq=False):
    """Where the outputs of every chain go.

    Attributes:
        m, n: int32 [chain, block, row, col], element of C that the slot is stored to; NOWHERE.
    """

    m: Coordinates
    n: Coordinates

    __repr__ = brief

    @property
    def stored(self) -> Mask:
        """Slots that are stored."""
        return np.asarray(self.m != NOWHERE)

    def row(self) -> Coordinates:
        """m of each line, NOWHERE where none of it is stored: int32 [chain, block, row]."""
        return np.asarray(self.m.max(axis=3))

    def col(self) -> Coordinates:
        """n of each line: int32 [chain, block, col]."""
        return np.asarray(self.n.max(axis=2))

    def scattered(self) -> tuple[Mask, Mask]:
        """Slots that are stored to another row, and to another column, than their line: like m and n."""
        stored = self.stored
        return (
            np.asarray(stored & (self.m != self.row()[..., None])),
            np.asarray(stored & (self.n != self.col()[:, :, None, :])),
        )

    def cover(self, m: int, n: int, products: int = 1) -> bool:
        """Every chain stores every element of an m x n tile exactly once; of several, those on a diagonal."""
        row, col = self.m.reshape(len(self.m), -1), self.n.reshape(len(self.n), -1)
        if ((row < 0) | (row >= m * products) | (col < 0) | (col >= n * products)).any():
            return False
        if (row // m != col // n).any():
            return False
        element = np.sort(row * n + col % n, axis=1)
        return element.shape[1] == m * n * products and bool((element == np.arange(element.shape[1])).all())


class Judgement(Struct, frozen=True, eq=False):
    """Where the law is broken.

    Attributes:
        a_bad: bool [execution, block, row, k]: A holds another row than D asks for, or no element
            where one is missed.
        b_bad: bool [execution, block, col, k].
        k_bad: bool [execution, k]: slots that meet hold different k.
        counted: int32 [chain, block, K]: how often each k was added.
    """

    a_bad: Mask
    b_bad: Mask
    k_bad: Mask
    counted: NDArray[np.int32]

    __repr__ = brief

    @property
    def broken(self) -> NDArray[np.bool_]:
        """Executions that break the law by themselves: [execution]."""
        return np.asarray(
            self.a_bad.any(axis=(1, 2, 3)) | self.b_bad.any(axis=(1, 2, 3)) | self.k_bad.any(axis=1)
        )


def judge(factors: Factors, targets: Targets, geometry: Geometry, depth: int) -> Judgement:
    """Hold every execution against the outputs that it adds to.

    Args:
        factors: what the slots held.
        targets: where the chains are stored.
        geometry: which of them meet.
        depth: K of the product.
    """
    rows, cols = targets.row(), targets.col()
    found = [_judged(factors.select(some), rows, cols, geometry, depth) for some in parts(factors.chain.size)]
    a_bad, b_bad, k_bad, terms = (np.concatenate(each) for each in zip(*found, strict=True))
    blocks = factors.a_row.shape[1]
    counted = np.bincount(terms, minlength=len(rows) * blocks * depth).reshape(-1, blocks, depth)
    return Judgement(a_bad, b_bad, k_bad, counted.astype(np.int32))


def _judged(
    factors: Factors, rows: Coordinates, cols: Coordinates, geometry: Geometry, depth: int
) -> tuple[Mask, Mask, Mask, Ints]:
    """Where some executions break the law, as in `Judgement`; and a number for each k that they add to a chain."""
    chain = factors.chain
    row, col = rows[chain], cols[chain]
    a_live, b_live = (row != NOWHERE)[..., None], (col != NOWHERE)[..., None]
    a_zero, b_zero = factors.a_row == ZERO, factors.b_col == ZERO
    a_there, b_there = a_live & ~a_zero, b_live & ~b_zero
    # Per block and k: does any live slot of the partner hold something?
    a_any, b_any = a_there.any(axis=2, keepdims=True), b_there.any(axis=2, keepdims=True)
    a_bad = a_there & b_any & (factors.a_row != row[..., None])
    b_bad = b_there & a_any & (factors.b_col != col[..., None])
    full = a_any[:, :, 0] & b_any[:, :, 0]
    a_low, a_high = _range(factors.a_k, a_there)
    b_low, b_high = _range(factors.b_k, b_there)
    # A zero among elements misses a product, unless no partner is there. What one half of a product
    # adds is missed in the other, unless that one adds the same k elsewhere: halves have their own orders.
    halves = geometry.product[:, None] == geometry.product
    missed = (halves @ full)[:, :, None]
    doubtful = (a_live & a_zero & missed).any(axis=(1, 2, 3)) | (b_live & b_zero & missed).any(axis=(1, 2, 3))
    missed[doubtful] = _missed(halves, full[doubtful], a_low[doubtful])[:, :, None]
    a_bad |= a_live & a_zero & missed
    b_bad |= b_live & b_zero & missed
    k_bad = full & ((a_low != a_high) | (b_low != b_high) | (a_low != b_low))
    good = full & (a_low >= 0) & (a_low < depth) & ~k_bad.any(axis=(1, 2), keepdims=True)
    blocks = full.shape[1]
    term = (chain[:, None, None] * blocks + np.arange(blocks)[:, None]) * depth + a_low
    return a_bad, b_bad, np.asarray(k_bad.any(axis=1)), term[good]


def _missed(halves: Mask, full: Mask, k: Coordinates) -> Mask:
    """Places of k at which some half of a product adds what this one adds nowhere: [execution, block, k]."""
    missed = full.copy()
    for block, of_same in enumerate(halves):
        for other in np.flatnonzero(of_same):
            there = (k[:, other, :, None] == k[:, block, None, :]) & full[:, block, None, :]
            missed[:, block] |= full[:, other] & ~there.any(axis=2)
    return missed


def _range(k: Coordinates, there: Mask) -> tuple[Coordinates, Coordinates]:
    """Smallest and largest k over the slots that are there: [execution, block, k]."""
    big = np.int32(np.iinfo(np.int32).max)
    return np.where(there, k, big).min(axis=2), np.where(there, k, -big).max(axis=2)


def origin_of(held: Coordinates, named: Ints, counts: Mask) -> tuple[int, bool]:
    """Offset of held coordinates from conventional ones: the commonest, and whether all have it.

    Args:
        held: coordinates.
        named: the convention's, broadcast to the same shape.
        counts: slots that count; those without an element do not.
    """
    use = counts & (held >= 0)
    if not use.any():
        return 0, True
    values, times = np.unique((held - named)[use], return_counts=True)
    return int(values[times.argmax()]), values.size == 1
