"""The lane x VGPR table as rows of short texts, before any terminal or HTML comes in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from layoutprobe.layouts.layout import HOLE
from layoutprobe.render.cells import Glyphs, cell, explain, number_list
from layoutprobe.render.view import Mark, View

EDGE = 3
"""Columns of the bar between the lane and the registers."""


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        label: the lanes, or "needs" for the line below lanes that hold something wrong.
        texts: one per VGPR; "" where a "needs" line has nothing to say.
        marks: the strongest Mark of each VGPR.
        kind: "lanes" or "needs".
        merged: several lanes share the line.
    """

    label: str
    texts: tuple[str, ...]
    marks: tuple[Mark, ...]
    kind: str = "lanes"
    merged: bool = False


@dataclass(frozen=True)
class Grid:
    """Rows of one wave with their column headings."""

    headings: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def label_width(self) -> int:
        """Widest label."""
        return max(len("lane"), *(len(row.label) for row in self.rows))

    def column_width(self, column: int) -> int:
        """Widest text of a column, its heading included."""
        return max(len(self.headings[column]), *(len(row.texts[column]) for row in self.rows))

    def width(self, columns: Sequence[int], gap: int) -> int:
        """Columns of the terminal that a block of these columns takes."""
        return self.label_width + EDGE + sum(map(self.column_width, columns)) + gap * (len(columns) - 1)

    def blocks(self, width: int) -> tuple[list[list[int]], int]:
        """(columns dealt into blocks that fit the width, blanks between columns).

        As few blocks as possible, all of about one size; a block has at least one column.
        """
        columns = list(range(len(self.headings)))
        for size in range(len(columns), 0, -1):
            count = -(-len(columns) // size)
            even = -(-len(columns) // count)
            blocks = [columns[i : i + even] for i in range(0, len(columns), even)]
            for gap in (2, 1):
                if all(self.width(block, gap) <= width for block in blocks):
                    return blocks, gap
        return [[column] for column in columns], 1


def grid(view: View, wave: int, glyphs: Glyphs) -> Grid:
    """The table of one wave.

    Args:
        view: what is shown.
        wave: position on the view's wave axis.
        glyphs: characters to use.
    """
    return Grid(tuple(f"v{v}" for v in view.vgprs), tuple(_rows(view, wave, glyphs)))


def _rows(view: View, wave: int, glyphs: Glyphs) -> Iterator[Row]:
    for group in view.lane_groups(wave):
        row, col, marks = (table[wave, group[0]].tolist() for table in (view.row, view.col, view.marks))
        yield Row(
            number_list([view.lanes[i] for i in group]),
            tuple(cell(r, c, m, glyphs) for r, c, m in zip(row, col, marks, strict=True)),
            tuple(Mark(max(m)) for m in marks),
            merged=len(group) > 1,
        )
        if view.needed_row is None or view.needed_col is None or not view.mismatch[wave, group[0]].any():
            continue
        needed = zip(
            view.needed_row[wave, group[0]].tolist(),
            view.needed_col[wave, group[0]].tolist(),
            marks,
            strict=True,
        )
        plain = [Mark.NONE] * view.fields
        texts = tuple(cell(r, c, plain, glyphs) if Mark.MISMATCH in m else "" for r, c, m in needed)
        yield Row("needs", texts, (Mark.NONE,) * len(texts), kind="needs")


def notation(view: View, wave: int, glyphs: Glyphs) -> str:
    """How to read a cell, with one of this very table as the example; "" where all are holes."""
    whole = (view.row[wave] != HOLE).all(axis=-1)
    plain = whole & (view.marks[wave] == Mark.NONE).all(axis=-1)
    # An example from the middle shows row and column apart; 0,0 would explain nothing.
    for candidates in (plain, whole):
        found = list(zip(*candidates.nonzero(), strict=True))
        if found:
            lane, vgpr = (int(i) for i in found[min(len(found) - 1, 3 * len(view.vgprs) + 1)])
            row, col = view.row[wave, lane, vgpr].tolist(), view.col[wave, lane, vgpr].tolist()
            text = cell(row, col, [Mark.NONE] * view.fields, glyphs)
            return explain(view.report.matrix, row, col, view.report.loaded.field_bits, text)
    return ""


def legend(view: View, wave: int, glyphs: Glyphs) -> list[tuple[str, str, Mark]]:
    """(sign, meaning, mark) of every mark that occurs in the table."""
    present = {Mark(m) for m in set(view.marks[wave].ravel().tolist())}
    meanings = {
        Mark.MISMATCH: (
            "!",
            "the register holds something else than the instruction needs; the line below says what",
        ),
        Mark.HOLE: (glyphs.hole, "no element of the matrix"),
        Mark.DEAD: ("~", "dead copy: no output of the instruction depends on it"),
        Mark.COPY: ("=", "stray copy: the element also sits in another register or half of this wave"),
    }
    return [(*meanings[mark], mark) for mark in sorted(present - {Mark.NONE}, reverse=True)]


def merged_example(rows: Sequence[Row]) -> str:
    """Label of a line that stands for several lanes, or ""."""
    return next((row.label for row in rows if row.merged), "")
