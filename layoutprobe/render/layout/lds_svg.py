"""LDS as a picture: one line per sweep over the 32 banks, so that what shares a bank stands in a column."""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.render.layout.lds import Run, runs, text_of
from layoutprobe.render.svg_text import safe, tint
from layoutprobe.report.layout import LayoutReport, LdsMap

SWEEP_BYTES = 128
"""32 banks of one dword."""

CELL, HEIGHT = 12, 22
LDS_WIDTH = SWEEP_BYTES // 2 * CELL
"""Of a sweep over cells of 16 bits."""
GLYPH = 7
MOST_LINES = 256


class LdsPicture:
    """Measures and parts of the picture."""

    def __init__(self, cells: LdsMap, report: LayoutReport, left: int, top: int) -> None:
        self.cells = cells
        self.matrix = report.matrix
        self.lines_of = report.loaded.shape[0 if report.matrix == "A" else 1]
        self.left, self.top = left, top
        self.per_line = SWEEP_BYTES // cells.cell_bytes
        self.count = -(-cells.row.size // self.per_line)
        self.shown = min(self.count, MOST_LINES)
        self.grid_top = top + 30
        self.bottom = self.grid_top + HEIGHT * self.shown + (20 if self.shown < self.count else 0)

    def parts(self) -> Iterator[str]:
        """The elements of the picture, from top to bottom."""
        heading = "LDS in address order: every line is one sweep over the 32 banks (128 bytes)"
        yield self._text(0, self.top, heading, "sub")
        for bank in range(0, 32, 4):
            yield self._text(
                bank * 4 // self.cells.cell_bytes * CELL, self.top + 20, f"bank {bank}", "half left"
            )
        for line in range(self.shown):
            y = self.grid_top + HEIGHT * line
            byte = f"{line * SWEEP_BYTES}"
            yield f'<text x="{self.left - 8}" y="{y + 15}" class="lane">{byte}</text>\n'
        for run in runs(self.cells):
            yield from self._run(run)
        if self.shown < self.count:
            left = self.count - self.shown
            yield self._text(0, self.bottom - 4, f"{left} more lines are not drawn", "sub")

    def _run(self, run: Run) -> Iterator[str]:
        """A run of cells, cut where a line ends."""
        start, end = run.first, run.first + run.count
        while start < end:
            line, place = divmod(start, self.per_line)
            count = min(end - start, self.per_line - place)
            if line >= self.shown:
                return
            done = start - run.first
            down, right = (step * done for step in run.step)
            yield self._piece(Run(start, count, run.row + down, run.col + right, run.step), line, place)
            start += count

    def _piece(self, run: Run, line: int, place: int) -> str:
        x, y = self.left + place * CELL, self.grid_top + HEIGHT * line
        width = run.count * CELL - 1
        text = text_of(run, self.matrix, self.cells.cell_bytes)
        if run.hole:
            look = 'fill="#ffffff" stroke="#8c959f" stroke-dasharray="2 2"'
            shown = "·"
        else:
            look = f'fill="{tint(run.row if self.matrix == "A" else run.col, self.lines_of)}"'
            shown = text if GLYPH * len(text) <= width else ""
        box = f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT - 2}" rx="2" {look}/>'
        label = f'<text x="{x + width / 2:g}" y="{y + 14}" class="lds">{safe(shown)}</text>' if shown else ""
        return f"<g><title>{safe(text)}</title>{box}{label}</g>\n"

    def _text(self, x: int, y: int, text: str, css: str) -> str:
        return f'<text x="{self.left + x}" y="{y}" class="{css}">{safe(text)}</text>\n'
