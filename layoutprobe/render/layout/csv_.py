"""CSV for spreadsheets and data frames: one line per slot.

A cell is empty where there is nothing to say: no element in the slot, or not probed. A coordinate
that the patterns leave open is "?". Verdict and evidence of the whole report stand in every line, so
that no part of the file is without them.
"""

from __future__ import annotations

import csv
from typing import TextIO

from layoutprobe.render.layout.json_ import slots
from layoutprobe.render.layout.view import View
from layoutprobe.render.layout.words import verdict

HEADER = (
    "matrix",
    "wave",
    "lane",
    "vgpr",
    "bit_lo",
    "bit_hi",
    "row",
    "col",
    "needed_row",
    "needed_col",
    "mismatch",
    "live",
    "read_by",
    "verdict",
    "evidence",
)


def write(view: View, stream: TextIO) -> None:
    """Write a header line and one line per selected slot; booleans are 0 and 1."""
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(HEADER)
    outcome = verdict(view.report)
    for slot in slots(view):
        row, col = ("?" if axis is None else axis for axis in slot["loaded"] or ("", ""))
        needed_row, needed_col = slot["needed"] or ("", "")
        live = "" if slot["live"] is None else int(slot["live"])
        read_by = "" if slot["read_by"] is None else slot["read_by"]
        place = (view.report.matrix, slot["wave"], slot["lane"], slot["vgpr"], *slot["bits"])
        found = (row, col, needed_row, needed_col, int(slot["mismatch"]), live, read_by)
        lines.writerow((*place, *found, outcome.word, outcome.basis))
