"""Address maps of the tiles in LDS, read off coded runs: which element each cell was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.explain import LdsForm, explain_lds
from layoutprobe.layouts.layout import HOLE
from layoutprobe.manifest.coding import carried_as
from layoutprobe.numbers.distinct import distinct
from layoutprobe.observe.tiles import Images
from layoutprobe.trace.problem import NoProductError, require_product
from layoutprobe.trace.subject import Recorded, RunStoppedError, Subject, UndecidedError

LARGEST = 1 << 16
"""Elements of a tile for which a closed form is looked for."""

MOST_BUFFERS = 4
"""Buffers that a tile is looked for in."""

LEAST_LINE = 16
"""Elements of a line of a buffer: no matrix instruction takes fewer k. Shorter ones are blocks of one tile."""


class TileMap(Struct, frozen=True, eq=False):
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

    def by_buffer(self) -> tuple[TileMap, ...]:
        """Its parts, where it is several tiles that lie alike, each in a buffer of its own; else itself.

        A kernel that fills the next buffer before it loads from this one shows both in one image.
        """
        rows, cols = self.shape
        cells = np.full((rows, cols), HOLE, np.int64)
        held, (top, left) = np.flatnonzero(self.row != HOLE), self.corner
        if held.size != rows * cols:
            return (self,)
        cells[self.row[held] - top, self.col[held] - left] = held
        for lines in (cells, cells.T):
            for count in range(2, MOST_BUFFERS + 1):
                if starts := _buffers(lines, count):
                    return tuple(self._from(first, last) for first, last in starts)
        return (self,)

    def _from(self, first: int, last: int) -> TileMap:
        part = slice(first, last + 1)
        return replace(self, first=self.first + first * self.itemsize, row=self.row[part], col=self.col[part])

    def form(self) -> tuple[LdsForm, bool] | None:
        """How it lies, and whether transposed; None without a closed form.

        A scheme with a name goes first. Without one, a tile lies transposed where the elements of a
        column are closer to each other than those of a row.
        """
        rows, cols = self.shape
        if rows * cols > LARGEST:
            return None
        row, col = self._within(self.corner)
        straight = explain_lds(row, col, (rows, cols))
        if straight and straight.scheme:
            return straight, False
        turned = explain_lds(col, row, (cols, rows), ("col", "row"))
        if turned and (turned.scheme or 0 < turned.steps[1] < turned.steps[0]):
            return turned, True
        return (straight, False) if straight else None

    def follows(self, form: LdsForm, transposed: bool) -> bool:
        """Whether every element lies where a form, found in a larger tile of the buffer, puts it."""
        held = self.row != HOLE
        row, col = (x[held] for x in self._within(self.corner))
        line, place = (col, row) if transposed else (row, col)
        if line.max() >= form.shape[0] or place.max() >= form.shape[1]:
            return False
        cell = form.index(line, place)
        return np.array_equal(cell - cell.min(), np.flatnonzero(held))

    def words(self, form: tuple[LdsForm, bool] | None) -> str:
        """What is where, in a form that `form` or `follows` found."""
        held, (rows, cols) = self.row != HOLE, self.shape
        text = f"{rows} x {cols} elements in {self.row.size} cells from byte {self.first}"
        elements = distinct(self.row[held].astype(np.int64) << 32 | self.col[held]).size
        if holes := self.row.size - int(held.sum()):
            text += f", {holes} of them padding"
        if copies := int(held.sum()) - elements:
            text += f", {copies} of them copies"
        if missing := rows * cols - elements:
            text += f", {missing} elements not there"
        if form is not None:
            return f"{text}; {'[col][row], transposed,' if form[1] else '[row][col]'} is {form[0].text}"
        return text if rows * cols > LARGEST else f"{text}; no closed form found"

    def _within(self, corner: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        held = self.row != HOLE
        row, col = (
            np.where(held, x - o, HOLE).astype(np.int32)
            for x, o in zip((self.row, self.col), corner, strict=True)
        )
        return row, col


def _buffers(cells: NDArray[np.int64], count: int) -> list[tuple[int, int]]:
    """First and last cell of each buffer, where so many hold a part of every line; none where they do not.

    Args:
        cells: where each element lies, [line, place in the line].
        count: of buffers.
    """
    lines, length = cells.shape
    each, rest = divmod(length, count)
    if lines < 2 or rest or each < LEAST_LINE or (cells == HOLE).any():
        return []
    parts = cells.reshape(lines, count, each).swapaxes(0, 1)
    first, last = parts.min(axis=(1, 2)), parts.max(axis=(1, 2))
    order = np.argsort(first)
    apart = (last[order][:-1] < first[order][1:]).all()
    whole_lines = (parts.max(axis=2) - parts.min(axis=2) == each - 1).all()
    alike = (parts - first[:, None, None] == parts[0] - first[0]).all()
    if not (apart and whole_lines and alike):
        return []
    return [(int(first[at]), int(last[at])) for at in order]


def in_words(tiles: Sequence[TileMap]) -> list[str]:
    """How the tiles of one buffer lie. Part of a tile, such as its last column, is described as the whole is."""
    found = [form for tile in tiles if (form := tile.form())]
    # A single row or column follows many forms: what it is called, the others say.
    found.sort(key=lambda f: (f[0].scheme and min(f[0].shape) > 1, prod(f[0].shape)), reverse=True)
    return [tile.words(next((form for form in found if tile.follows(*form)), None)) for tile in tiles]


def tile_maps(subject: Subject, runs: Sequence[Recorded]) -> Iterator[TileMap]:
    """Tiles of all coded buffers, image by image."""
    coding, buffers = subject.coding, subject.binding.buffers
    images = [run.record(Images).images for run in runs]
    for shots in zip(*images, strict=False):
        for name, shape in coding.shapes.items():
            kind = carried_as(buffers[name].dtype)
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
                yield from TileMap(name, int(held[0]) * size, size, row, col).by_buffer()


def in_turns(subject: Subject) -> bool:
    """Tiles of one matrix lie in several places of LDS, which are filled by turns; False where that is not known."""
    try:
        require_product(subject)
        tiles = tuple(tile_maps(subject, subject.coded()))
    except (NoProductError, UndecidedError, RunStoppedError):
        return False
    places = {(tile.buffer, part.first) for tile in tiles for part in tile.by_buffer()}
    return len(places) > len({buffer for buffer, _ in places})
