"""LDS in address order, in runs: "A[1][8..15] A[1][0..7]"."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from layoutprobe.layouts.layout import HOLE
from layoutprobe.report.layout import LdsMap

MAX_LINES = 32
"""Lines that are shown before the rest is only counted."""


class Run(Struct, frozen=True):
    """A stretch of cells: one row with ascending columns, one column with ascending rows, or holes."""

    first: int
    count: int
    row: int
    col: int
    step: tuple[int, int]

    @property
    def hole(self) -> bool:
        """Cells without an element."""
        return self.row == HOLE

    def along(self, other: Run) -> bool:
        """Do both belong to one matrix row (or, where LDS holds columns, one column)?"""
        return self.col == other.col if self.step == (1, 0) else self.row == other.row


def lds_lines(cells: LdsMap, matrix: str, limit: int | None) -> list[tuple[str, str]]:
    """(byte range, what lies there): a line per matrix row (or column), padding at its end.

    Args:
        cells: what LDS holds.
        matrix: its letter.
        limit: so many lines, and a count of the rest; None for all.
    """
    lines: list[list[Run]] = []
    for run in runs(cells):
        elements = [other for other in lines[-1] if not other.hole] if lines else []
        if lines and (run.hole or (elements and run.along(elements[-1]))):
            lines[-1].append(run)
        else:
            lines.append([run])
    shown = []
    for line in lines[:limit]:
        end = line[-1].first + line[-1].count
        span = f"{cells.byte(line[0].first)}-{cells.byte(end) - 1}"
        shown.append((span, " ".join(text_of(run, matrix, cells) for run in line)))
    left = len(lines) - len(shown)
    return [*shown, ("", f"{left} more lines not shown; --all shows them")] if left > 0 else shown


def text_of(run: Run, matrix: str, cells: LdsMap) -> str:
    """ "A[3][8..15]", "(16 B never stored)"."""
    if run.hole:
        return f"({cells.byte(run.first + run.count) - cells.byte(run.first)} B never stored)"
    rows = _span(run.row, run.count if run.step == (1, 0) else 1)
    cols = _span(run.col, run.count if run.step == (0, 1) else 1)
    return f"{matrix}[{rows}][{cols}]"


def _span(first: int, count: int) -> str:
    return f"{first}..{first + count - 1}" if count > 1 else str(first)


def runs(cells: LdsMap) -> Iterator[Run]:
    """The longest stretches, in address order."""
    elements = list(zip(cells.row.tolist(), cells.col.tolist(), strict=True))
    start = 0
    while start < len(elements):
        row, col = elements[start]
        following = elements[start + 1] if start + 1 < len(elements) else (HOLE, HOLE)
        step = (0, 0) if row == HOLE else (following[0] - row, following[1] - col)
        if step not in ((0, 1), (1, 0), (0, 0)) or (step == (0, 0) and row != HOLE):
            step, count = (0, 0), 1
        else:
            count = 1
            while start + count < len(elements):
                if elements[start + count] != (row + count * step[0], col + count * step[1]):
                    break
                count += 1
        yield Run(start, count, row, col, step)
        start += count
