"""A matrix as a picture: one colour for each kind of element, rectangles of one kind drawn as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.render.svg import EDGE, GLYPHS, LINE, ROW, Sheet

_SIDE = 480
"""Pixels of the longer side, about."""
_LARGEST = 14
_LABELS = 44
_MOST = 20_000
"""Rectangles that are drawn; a picture of more would be one of noise, and megabytes."""


class Kind(Struct, frozen=True):
    """A kind of element.

    Attributes:
        name: what it is.
        colour: its number; None: a dashed frame.
        hatched: lines go across it.
        labels: texts for its stretches, of which the first is written that has room there.
    """

    name: str
    colour: int | None
    hatched: bool = False
    labels: Sequence[str] = ()


class MatrixMap(Struct, frozen=True, eq=False):
    """A matrix, row by row.

    Attributes:
        kind: int [row, col], position in `kinds`.
        kinds: what there is.
        colours: how many colours there are in all.
        notes: sentences below.
        labels: of rows: the first one's, and how far apart they are.
        square: elements are; else they fill the picture's width.
        legend: what stands below; None: all kinds.
    """

    kind: NDArray[np.integer]
    kinds: Sequence[Kind]
    colours: int
    notes: Sequence[str] = ()
    labels: tuple[int, int] = (0, 1)
    square: bool = True
    legend: Sequence[Kind] | None = None

    __repr__ = brief

    @property
    def _cell(self) -> tuple[float, float]:
        """Width and height."""
        tall, wide = (min(_LARGEST, _SIDE / extent) for extent in self.kind.shape)
        return (min(tall, wide), min(tall, wide)) if self.square else (wide, tall)

    @property
    def width(self) -> int:
        """Pixels."""
        return round(_LABELS + self._cell[0] * self.kind.shape[1])

    def draw(self, sheet: Sheet) -> None:
        """Rows down, columns across, the legend and the notes below."""
        rows, cols = self.kind.shape
        left, top, (wide, tall) = EDGE + _LABELS, sheet.y + 18, self._cell
        begin, apart = self.labels
        for at in _ticks(cols):
            sheet.text(left + wide * (at + 0.5), top - 6, str(at), "head soft")
        for at in _ticks(rows):
            sheet.text(left - 8, top + tall * (at + 0.5) + 4, str(begin + at * apart), "lane soft")
        drawn = 0
        for row, col, height, width in rectangles(self.kind):
            kind = self.kinds[int(self.kind[row, col])]
            box = (left + wide * col, top + tall * row, wide * width, tall * height)
            span = f"{_span(row, height, *self.labels)}, {_span(col, width)}"
            sheet.box(*box, self._css(sheet, kind), f"[{span}]: {kind.name}")
            if kind.hatched:
                sheet.hatch(*box)
            self._label(sheet, kind, *box)
            drawn += 1
            if drawn >= _MOST:
                break
        sheet.y = top + tall * rows + 12
        self._legend(sheet)
        notes = list(self.notes)
        if drawn >= _MOST:
            notes.append(f"drawn are the first {_MOST} rectangles, from the top")
        sheet.sentences((note, "soft") for note in notes)

    def _css(self, sheet: Sheet, kind: Kind) -> str:
        return "hole" if kind.colour is None else sheet.colour(kind.colour, self.colours)

    def _label(self, sheet: Sheet, kind: Kind, x: float, y: float, width: float, height: float) -> None:
        fits = (text for text in kind.labels if GLYPHS[""] * len(text) + 4 <= width and height >= _LARGEST)
        sheet.text(x + width / 2, y + height / 2 + 4, next(fits, ""), "head")

    def _legend(self, sheet: Sheet) -> None:
        x = EDGE
        for kind in self.kinds if self.legend is None else self.legend:
            width = 26 + round(GLYPHS[""] * (len(kind.name) + 2))
            if x + width > sheet.width - EDGE and x > EDGE:
                x, sheet.y = EDGE, sheet.y + ROW + 2
            sheet.box(x, sheet.y, 20, ROW - 6, self._css(sheet, kind))
            if kind.hatched:
                sheet.hatch(x, sheet.y, 20, ROW - 6)
            sheet.text(x + 26, sheet.y + 13, kind.name, "soft")
            x += width
        sheet.y += LINE + 8


def rectangles(kind: NDArray[np.integer]) -> Iterator[tuple[int, int, int, int]]:
    """Rectangles of one kind that cover a matrix [row, col], each element once: row, column, height, width.

    Each is as wide as its first row allows, and as high as rows below have the same stretch.
    """
    rows, _ = kind.shape
    open_: dict[tuple[int, int, int], int] = {}
    for row in range(rows):
        stretches = set(_stretches(kind[row]))
        for known in [known for known in open_ if known not in stretches]:
            yield _closed(known, open_.pop(known), row)
        for stretch in stretches:
            open_.setdefault(stretch, row)
    for known, first in open_.items():
        yield _closed(known, first, rows)


def _stretches(line: NDArray[np.integer]) -> Iterator[tuple[int, int, int]]:
    """First column, width and kind of the stretches of a row."""
    starts = np.flatnonzero(np.r_[True, line[1:] != line[:-1]])
    ends = np.r_[starts[1:], line.size]
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        yield first, last - first, int(line[first])


def _closed(stretch: tuple[int, int, int], first: int, row: int) -> tuple[int, int, int, int]:
    return first, stretch[0], row - first, stretch[1]


def _span(first: int, count: int, begin: int = 0, apart: int = 1) -> str:
    low, high = begin + apart * first, begin + apart * (first + count) - 1
    return f"{low}" if low == high else f"{low}-{high}"


def _ticks(extent: int) -> range:
    """Rows or columns that have a number: some eight, at a power of two apart."""
    step = 1
    while extent // step > 8:
        step *= 2
    return range(0, extent, step)
