"""LDS as a picture: one line per sweep over the banks, so that what shares a bank stands in a column."""

from __future__ import annotations

from msgspec import Struct

from layoutprobe.render.layout.lds import Run, runs, text_of
from layoutprobe.render.svg import EDGE, ROW, Sheet
from layoutprobe.report.layout import LdsMap

BANK_BYTES = 4
CELL, LEFT = 12, 40
GLYPH = 7
MOST_LINES = 256


class LdsBlock(Struct, frozen=True, eq=False):
    """The map of LDS on a sheet.

    Attributes:
        cells: what LDS holds.
        matrix: its letter.
        lines: rows of A, or columns of B: one colour each.
    """

    cells: LdsMap
    matrix: str
    lines: int

    @property
    def _sweep(self) -> int:
        """Bytes of one dword of every bank."""
        return BANK_BYTES * self.cells.banks

    @property
    def _per_line(self) -> int:
        return self.cells.cells(self._sweep)

    @property
    def width(self) -> int:
        """Pixels."""
        return LEFT + self._per_line * CELL

    def draw(self, sheet: Sheet) -> None:
        """Heading, banks, and a line a sweep."""
        count = -(-self.cells.row.size // self._per_line)
        shown = min(count, MOST_LINES)
        heading = "LDS in address order: every line is one sweep over the "
        heading += f"{self.cells.banks} banks ({self._sweep} bytes)"
        sheet.sentences([(heading, "soft")])
        for bank in range(0, self.cells.banks, 4):
            x = EDGE + LEFT + self.cells.cells(bank * BANK_BYTES) * CELL
            sheet.text(x, sheet.y + 12, f"bank {bank}", "head left soft")
        sheet.y += ROW
        for line in range(shown):
            sheet.text(EDGE + LEFT - 8, sheet.y + ROW * line + 15, str(line * self._sweep), "lane soft")
        for run in runs(self.cells):
            self._run(sheet, run, shown)
        sheet.y += ROW * shown
        if shown < count:
            sheet.sentences([(f"{count - shown} more lines are not drawn", "soft")])

    def _run(self, sheet: Sheet, run: Run, shown: int) -> None:
        """A run of cells, cut where a line ends."""
        start, end = run.first, run.first + run.count
        while start < end:
            line, place = divmod(start, self._per_line)
            count = min(end - start, self._per_line - place)
            if line >= shown:
                return
            done = start - run.first
            down, right = (step * done for step in run.step)
            self._piece(sheet, Run(start, count, run.row + down, run.col + right, run.step), line, place)
            start += count

    def _piece(self, sheet: Sheet, run: Run, line: int, place: int) -> None:
        x, y = EDGE + LEFT + place * CELL, sheet.y + ROW * line
        width = run.count * CELL - 1
        text = text_of(run, self.matrix, self.cells)
        look, shown = "hole", "·"
        if not run.hole:
            look = sheet.colour(run.row if self.matrix == "A" else run.col, self.lines)
            shown = text if GLYPH * len(text) <= width else ""
        sheet.box(x, y, width, ROW - 2, look, note=text)
        sheet.text(x + width / 2, y + 14, shown, "key")
