"""A report as a picture: the grid of one wave, and LDS where it was looked at.

Colour follows the index that tells lanes apart (the row of A, the column of B), so that a right
load is a clean set of stripes and a wrong one is seen from across the room.
"""

from __future__ import annotations

from typing import TextIO

from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.render.layout import words
from layoutprobe.render.layout.cells import element
from layoutprobe.render.layout.grid import first_register, legend, wrong_slot
from layoutprobe.render.layout.lds_svg import LdsBlock
from layoutprobe.render.layout.view import View
from layoutprobe.render.look import UNICODE, Mark
from layoutprobe.render.svg import Block, LaneGrid, Slot, field_names, panel_of
from layoutprobe.render.svg import picture as draw


def write(view: View, stream: TextIO) -> None:
    """Write the picture."""
    stream.write(picture(view))


def picture(view: View, *, header: bool = True) -> str:
    """The SVG of one wave.

    Args:
        view: what is shown.
        header: with title, evidence and verdict; a page that says them already leaves them out.
    """
    view, report = view.one_wave, view.report
    blocks: list[Block] = [_grid(view, header)]
    if report.lds_map is not None:
        blocks.append(LdsBlock(report.lds_map, report.matrix, report.loaded.shape[report.matrix != "A"]))
    return draw(words.title(report), blocks, header=_header(view) if header else ())


def _header(view: View) -> list[tuple[str, str]]:
    report = view.report
    outcome = words.verdict(report)
    said = [(label, text) for label, text in words.setup(report) if label != "patterns"]
    lines = [(words.title(report), "title")]
    lines += [("; ".join(text for label, text in said if label != "lds index"), "soft")]
    lines += [(f"{label}: {text}", "soft") for label, text in said if label == "lds index"]
    lines += [(f"{label}: {text}", "soft") for label, text in words.forms(report)]
    return [*lines, (str(outcome), outcome.word)]


def _grid(view: View, details: bool) -> LaneGrid:
    layout = view.report.loaded if view.report.needed is None else view.report.needed
    by_col = _coloured_by_col(view)
    index = view.col[0] if by_col else view.row[0]
    held = index[index >= 0]
    lines = range(int(held.min()), int(held.max()) + 1) if held.size else range(1)
    shape = view.row.shape[1:]
    slots = [
        [[_slot(view, (0, n, v, f), by_col, lines.start) for f in range(shape[2])] for v in range(shape[1])]
        for n in range(shape[0])
    ]
    return LaneGrid(
        view.lanes,
        tuple(map(view.report.loaded.register_name, view.vgprs)),
        field_names(view.fields, view.report.loaded.field_bits),
        slots,
        panel_of(layout, view.waves[0]),
        lines,
        f"{'column' if by_col else 'row'} of {view.report.matrix}",
        notes=_notes(view, details),
    )


def _slot(view: View, at: tuple[int, int, int, int], by_col: bool, first: int) -> Slot:
    row, col, mark = int(view.row[at]), int(view.col[at]), Mark(int(view.marks[at]))
    line = col if by_col else row
    needed = ""
    if mark is Mark.MISMATCH and view.needed_row is not None and view.needed_col is not None:
        needed = f"→{element(int(view.needed_row[at]), int(view.needed_col[at]), UNICODE)}"
    return Slot(
        UNICODE.mark(mark) + element(row, col, UNICODE),
        None if row == HOLE or line == UNKNOWN else line - first,
        hatched=mark is Mark.DEAD,
        wrong=mark is Mark.MISMATCH,
        needed=needed,
        hole=row == HOLE,
    )


def _notes(view: View, details: bool) -> list[str]:
    notes = [
        f"wave {view.waves[0]} of {view.report.loaded.waves}: each slot shows row,column of the element of"
        f" {view.report.matrix} that it holds; {first_register(view.report.loaded)}"
    ]
    marks = {Mark(mark) for mark in set(view.marks[0].ravel().tolist())}
    here = {
        Mark.MISMATCH: f"red frame and !: {wrong_slot(view.report)}"
        + ("" if view.needed_row is None else "; below, after →, what belongs there"),
        Mark.DEAD: "hatched and ~: dead copy, no output depends on it (on a card: unmeasured)",
    }
    notes += [here.get(mark, f"{sign}: {text}") for sign, text, mark in legend(marks, UNICODE, view.report)]
    if details:
        said = words.details(view)
        notes += [f"{label}: {text}" for label, text in said if label in ("coverage", "copies")]
    return notes


def _coloured_by_col(view: View) -> bool:
    """Is it the needed (else the loaded) column that stays the same along a lane?"""
    needed = view.report.needed
    layout = view.report.loaded if needed is None else needed
    wave = view.waves[0]
    held = layout.row[wave] != HOLE

    def spread(index: int) -> int:
        table = (layout.row, layout.col)[index][wave]
        return sum(len(set(table[lane][held[lane]].tolist())) for lane in range(layout.lanes))

    return spread(1) < spread(0)
