"""Address maps of the tiles in LDS, read off coded runs: which element each cell was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.explain import explain_lds
from layoutprobe.layouts.layout import HOLE
from layoutprobe.observe.tiles import Images
from layoutprobe.trace.subject import Recorded, Subject

LARGEST = 1 << 16
"""Elements of a tile for which a closed form is looked for."""


@dataclass(frozen=True, eq=False)
class TileMap:
    """A tile of one buffer as it lies in LDS.

    Attributes:
        buffer: name of the buffer.
        first: LDS byte of the first cell.
        itemsize: bytes of a cell.
        row, col: int32 [cell], element in each cell from `first` on, HOLE where none of the buffer.
    """

    buffer: str
    first: int
    itemsize: int
    row: NDArray[np.int32]
    col: NDArray[np.int32]

    __repr__ = brief

    @property
    def corner(self) -> tuple[int, int]:
        """Smallest row and column."""
        held = self.row != HOLE
        return int(self.row[held].min()), int(self.col[held].min())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns from the smallest to the largest."""
        held, (top, left) = self.row != HOLE, self.corner
        return int(self.row[held].max()) - top + 1, int(self.col[held].max()) - left + 1

    def byte_of(self, row: int, col: int) -> int | None:
        """Where an element lies; None where it does not."""
        found = np.flatnonzero((self.row == row) & (self.col == col))
        return self.first + int(found[0]) * self.itemsize if found.size else None

    def words(self) -> str:
        """What is where, with the closed form where there is one."""
        held = self.row != HOLE
        (top, left), (rows, cols) = self.corner, self.shape
        text = f"{rows} x {cols} elements in {self.row.size} cells from byte {self.first}"
        elements = np.unique(self.row[held].astype(np.int64) << 32 | self.col[held]).size
        if holes := self.row.size - int(held.sum()):
            text += f", {holes} of them padding"
        if copies := int(held.sum()) - elements:
            text += f", {copies} of them copies"
        if missing := rows * cols - elements:
            text += f", {missing} elements not there"
        if rows * cols > LARGEST:
            return text
        row, col = (
            np.where(held, x - o, HOLE).astype(np.int32) for x, o in ((self.row, top), (self.col, left))
        )
        straight, turned = explain_lds(row, col, (rows, cols)), explain_lds(col, row, (cols, rows))
        if turned and (not straight or straight.startswith("index")):
            return f"{text}; [col][row], transposed, is {turned}"
        return f"{text}; [row][col] is {straight}" if straight else f"{text}; no closed form found"


def tile_maps(subject: Subject, runs: Sequence[Recorded]) -> Iterator[TileMap]:
    """Tiles of all coded buffers, image by image."""
    coding, buffers = subject.coding, subject.binding.buffers
    images = [run.record(Images).images for run in runs]
    for shots in zip(*images, strict=False):
        for name, shape in coding.shapes.items():
            kind = buffers[name].element
            size = kind.storage.itemsize
            cells = shots[0].data.size // size * size
            digits = [kind.load(shot.data[:cells].view(kind.storage)) for shot in shots]
            number = coding.number(digits)
            fresh = np.logical_and.reduce(
                [shot.fresh[:cells].reshape(-1, size).all(axis=1) for shot in shots]
            )
            start = coding.starts()[name]
            count = int(np.prod(shape, dtype=np.int64))
            held = np.flatnonzero(fresh & (number >= start) & (number < start + count))
            if held.size and len(shape) >= 2:
                span = slice(int(held[0]), int(held[-1]) + 1)
                mine = np.zeros(number.size, np.bool_)
                mine[held] = True
                at = np.where(mine, number - start, 0)[span]
                index = np.unravel_index(at, shape)
                row, col = (np.where(mine[span], x, HOLE).astype(np.int32) for x in index[-2:])
                yield TileMap(name, int(held[0]) * size, size, row, col)
