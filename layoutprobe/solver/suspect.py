"""An operand whose slots do not hold what they should: what every hypothesis about a cause is held against."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.layout import HOLE

Ints = NDArray[np.int64]


class Suspect(Struct, frozen=True, eq=False):
    """An operand whose slots do not hold what they should.

    Coordinates are global; HOLE where a slot holds, or needs, no element. Only waves that show an
    error are listed.

    Attributes:
        matrix: "A", "B", "C" or "D".
        row, col: observed; axes [wave, lane, vgpr, field].
        need_row, need_col: needed, same axes.
        live: bool, same axes: slots that count.
        origin: int64 [wave, 2]: first row and column of each wave's tile.
        tile: rows and columns of a wave's tile.
        shape: rows and columns of the whole matrix.
        bits: width of an element.
        nothing: what slots hold that hold no element, in words.
        wave: int64 [wave], number of each wave in its workgroup; empty where that is not known.
        nonzero: bool, axes of row: slots that hold something else than zero: elements, and values that are none.
            None: elements alone do.
        extents: names of numbers that may be taken for a leading dimension, and their values: ("K", 64).
        strides: elements in memory from one row to the next, and from one column; (0, 0) where that is not known.
    """

    matrix: str
    row: Ints
    col: Ints
    need_row: Ints
    need_col: Ints
    live: NDArray[np.bool_]
    origin: Ints
    tile: tuple[int, int]
    shape: tuple[int, int]
    bits: int = 16
    nothing: str = "no element (undefined or unknown)"
    wave: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    extents: tuple[tuple[str, int], ...] = ()
    nonzero: NDArray[np.bool_] | None = None
    strides: tuple[int, int] = (0, 0)

    __repr__ = brief

    @property
    def local(self) -> tuple[Ints, Ints]:
        """Needed coordinates within the wave's tile (meaningless where not live)."""
        row0, col0 = (self.origin[:, axis, None, None, None] for axis in (0, 1))
        return self.need_row - row0, self.need_col - col0

    @property
    def replicated(self) -> bool:
        """A wave has room for more elements than its tile has: it holds copies."""
        return self.row[0].size > self.tile[0] * self.tile[1]

    @property
    def lanes_of_a_row(self) -> int:
        """Lanes after which other rows follow, where a wave of accumulators is one tile in such groups; else 0."""
        group = self.tile[1]
        whole = self.row[0].size == self.tile[0] * group and self.row.shape[1] % group == 0
        return group if whole and self.matrix in "CD" else 0

    @property
    def run(self) -> int:
        """Needed rows that follow each other along the VGPRs of the first lane."""
        row = self.local[0][0, 0, :, 0]
        return next((n for n in range(1, len(row)) if row[n] != row[0] + n), len(row))

    def globally(self, row: Ints, col: Ints) -> tuple[Ints, Ints]:
        """Global coordinates of coordinates within the wave's tile."""
        row0, col0 = (self.origin[:, axis, None, None, None] for axis in (0, 1))
        return row + row0, col + col0

    def predicts(self, row: Ints, col: Ints) -> bool:
        """Whether a layout is the observed one in every live slot.

        Elements beyond the matrix are seen as holes. So are accumulators whose element another
        accumulator is predicted to overwrite.
        """
        row, col = (np.broadcast_to(axis, self.row.shape) for axis in (row, col))
        inside = (row >= 0) & (row < self.shape[0]) & (col >= 0) & (col < self.shape[1])
        row, col = np.where(inside, row, HOLE), np.where(inside, col, HOLE)
        wrong = ((row != self.row) | (col != self.col)) & self.live
        if wrong.any() and self.matrix in "CD":
            element = np.where(inside, row * self.shape[1] + col, self.shape[0] * self.shape[1])
            times = np.bincount(element[self.live], minlength=self.shape[0] * self.shape[1] + 1)
            wrong &= ~((self.row == HOLE) & inside & (times[element] > 1))
        return not bool(wrong.any())
