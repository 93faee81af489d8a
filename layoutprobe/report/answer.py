"""An answer about a recorded run, as a table of plain values; every format is made from it."""

from __future__ import annotations

from msgspec import Struct

from layoutprobe.capture.capture import Evidence
from layoutprobe.report import notebook

Cell = str | int | None


class Answer(Struct, frozen=True):
    """What was asked, and what was seen.

    Attributes:
        question: "registers", "lds", "why", "where", "follow", "operands" or "recording".
        about: label and sentence: kernel, moment, and what else the rows have in common.
        columns: names of the columns.
        rows: one value for each column; None where there is none.
        summary: the outcome in a sentence.
        evidence: what it rests on.
    """

    question: str
    about: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    summary: str
    evidence: Evidence

    def _repr_html_(self) -> str | None:
        return notebook.html(self)
