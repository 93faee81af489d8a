"""The lane x VGPR table as rows of short texts, before any terminal or HTML comes in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from layoutprobe.layouts.layout import Layout
from layoutprobe.render.layout.cells import cell, explain, number_list
from layoutprobe.render.layout.groups import LaneGroup, lane_groups
from layoutprobe.render.layout.view import View
from layoutprobe.render.look import Glyphs, Mark
from layoutprobe.report.layout import LayoutReport

EDGE = 3
"""Columns of the bar between the lane and the registers."""


WIDEST_LABEL = 16
"""Beyond this, lanes that look the same are listed four to a line."""


class Row(Struct, frozen=True):
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


class Grid(Struct, frozen=True):
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


def grid(view: View, glyphs: Glyphs) -> Grid:
    """The table of a view of one wave."""
    return Grid(tuple(map(view.report.loaded.register_name, view.vgprs)), tuple(_rows(view, glyphs)))


def _rows(view: View, glyphs: Glyphs) -> Iterator[Row]:
    for group in lane_groups(view):
        row, col, marks = (table[0, group.shown].tolist() for table in (view.row, view.col, view.marks))
        texts = tuple(cell(r, c, m, glyphs) for r, c, m in zip(row, col, marks, strict=True))
        strongest = tuple(Mark(max(m)) for m in marks)
        for label in _labels(view, group):
            yield Row(label, texts, strongest, merged=len(group.lanes) > 1)
        if view.needed_row is None or view.needed_col is None or not view.mismatch[0, group.shown].any():
            continue
        needed = (view.needed_row[0, group.shown].tolist(), view.needed_col[0, group.shown].tolist())
        plain = [Mark.NONE] * view.fields
        texts = tuple(
            cell(r, c, plain, glyphs) if Mark.MISMATCH in m else ""
            for r, c, m in zip(*needed, marks, strict=True)
        )
        yield Row("needs", texts, (Mark.NONE,) * len(texts), kind="needs")


def _labels(view: View, group: LaneGroup) -> list[str]:
    """ "0, ~16": the lanes of a line, those that no output reads behind a ~; several lines where many."""
    numbers = [view.lanes[i] for i in group.lanes]
    if not group.dead and len(number_list(numbers)) <= WIDEST_LABEL:
        return [number_list(numbers)]
    signed = ["~" * (i in group.dead) + str(view.lanes[i]) for i in group.lanes]
    return [", ".join(signed[i : i + 4]) for i in range(0, len(signed), 4)]


def notation(view: View, glyphs: Glyphs) -> str:
    """How to read a cell, with one of this very table as the example; "" where all are holes."""
    whole = ((view.row[0] >= 0) & (view.col[0] >= 0)).all(axis=-1)
    plain = whole & (view.marks[0] == Mark.NONE).all(axis=-1)
    # An example from the middle shows row and column apart; 0,0 would explain nothing.
    for candidates in (plain, whole):
        found = list(zip(*candidates.nonzero(), strict=True))
        if found:
            lane, vgpr = (int(i) for i in found[min(len(found) - 1, 3 * len(view.vgprs) + 1)])
            row, col = view.row[0, lane, vgpr].tolist(), view.col[0, lane, vgpr].tolist()
            text = cell(row, col, [Mark.NONE] * view.fields, glyphs)
            return explain(view.report.matrix, row, col, view.report.loaded.field_bits, text)
    return ""


def legend(marks: Iterable[Mark], glyphs: Glyphs, report: LayoutReport) -> list[tuple[str, str, Mark]]:
    """(sign, meaning, mark) of those marks, the gravest first."""
    below = "" if report.needed is None else "; the line below says what"
    meanings = {
        Mark.MISMATCH: ("!", wrong_slot(report) + below),
        Mark.HOLE: (glyphs.hole, "no element of the matrix"),
        Mark.UNKNOWN: ("?", "the patterns leave open which element; what they tell is shown"),
        Mark.DEAD: ("~", "dead copy: no output depends on it (on a card: unmeasured)"),
        Mark.COPY: ("=", "stray copy: the element also sits in another register or half of this wave"),
    }
    return [(*meanings[mark], mark) for mark in sorted(set(marks) - {Mark.NONE}, reverse=True)]


def wrong_slot(report: LayoutReport) -> str:
    """What a mismatch is in this report."""
    if report.needed is None:
        return "the register holds something else than the probe asked LDS for"
    if report.matrix in "CD":
        return "the register is stored to another element than the one that it holds"
    return "the register holds something else than the instruction needs"


def first_register(layout: Layout) -> str:
    """What the numbers of registers are, and what formulas count."""
    text = "v0 is the operand's first register, whatever its number in the kernel"
    if layout.registers > 1:
        text += (
            f"; vgpr in a formula counts groups of {layout.registers} registers, which begin with an element"
        )
    return text


def marks_of(grid: Grid) -> set[Mark]:
    """Marks that a reader of the table meets, those in front of a lane included."""
    dead = any("~" in row.label or any("~" in text for text in row.texts) for row in grid.rows)
    return {mark for row in grid.rows for mark in row.marks} | ({Mark.DEAD} if dead else set())


def merged_example(rows: Sequence[Row]) -> str:
    """Label of a line that stands for several lanes, or ""."""
    return next((row.label for row in rows if row.merged), "")
