"""CSV for spreadsheets and data frames: one line per slot.

A cell is empty where there is nothing to say: no element in the slot, or not probed.
"""

from __future__ import annotations

import csv
from typing import TextIO

from layoutprobe.render.json_ import slots
from layoutprobe.render.view import View

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
)


def write(view: View, stream: TextIO) -> None:
    """Write a header line and one line per selected slot; booleans are 0 and 1."""
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(HEADER)
    for slot in slots(view):
        row, col = slot["loaded"] or ("", "")
        needed_row, needed_col = slot["needed"] or ("", "")
        live = "" if slot["live"] is None else int(slot["live"])
        read_by = "" if slot["read_by"] is None else slot["read_by"]
        place = (view.report.matrix, slot["wave"], slot["lane"], slot["vgpr"], *slot["bits"])
        lines.writerow((*place, row, col, needed_row, needed_col, int(slot["mismatch"]), live, read_by))
