"""A solved instruction for programs: JSON and CSV."""

from __future__ import annotations

import csv
from typing import Any, TextIO

import numpy as np

from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.queries import Answer, NamedSlot, slot_of
from layoutprobe.render import data
from layoutprobe.render.instruction.words import Shown, forms

SCHEMA = "layoutprobe-layout/1"
COLUMNS = (
    "instruction",
    "arch",
    "wave",
    "opsel",
    "matrix",
    "row",
    "col",
    "lane",
    "vgpr",
    "bit_hi",
    "bit_lo",
    "read",
)


def write_json(shown: Shown, stream: TextIO) -> None:
    """One object; see `SCHEMA`. Slots that hold no element are left out."""
    solved = shown.solved
    body: dict[str, Any] = {
        "instruction": solved.instruction,
        "arch": solved.arch,
        "wave": solved.wave,
        "opsel": solved.opsel,
        "shape": dict(zip("MNK", solved.shape, strict=True)),
        "evidence": data.evidence(solved.evidence),
        "convention": solved.convention,
        "gauge": {
            axis: {"lines": g.lines, "units": g.units, "unit": g.unit, "copies": g.copies, "text": str(g)}
            for axis, g in solved.gauge.axes.items()
        },
        "ambiguity": solved.ambiguity,
        "launches": solved.launches,
        "answers": [_answer(answer) for answer in shown.answers],
        "operands": {matrix: _operand(shown, matrix) for matrix in shown.matrices},
    }
    data.write(data.envelope(SCHEMA, body), stream)


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.question,
        "matrix": answer.matrix,
        "places": [_place(p) for p in answer.places],
    }


def _place(place: NamedSlot) -> dict[str, Any]:
    return {
        "lane": place.lane,
        "vgpr": place.vgpr,
        "bits": [place.high, place.low],
        "element": place.element,
        "read": place.read,
    }


def _operand(shown: Shown, matrix: str) -> dict[str, Any]:
    layout = shown.solved.operands[matrix]
    return {
        "rows": layout.shape[0],
        "cols": layout.shape[1],
        "lanes": layout.lanes,
        "vgprs": layout.vgprs,
        "field_bits": layout.field_bits,
        "forms": {
            dialect: None if form is None else {"text": form.text, "convention": form.convention}
            for dialect, form in forms(shown, matrix)
        },
        "slots": [
            {"row": row, "col": col, **_place(place)} for row, col, place in _held(shown.solved, matrix)
        ],
    }


def _held(solved: InstructionLayout, matrix: str) -> list[tuple[int, int, NamedSlot]]:
    layout = solved.operands[matrix]
    return [
        (int(layout.row[tuple(slot)]), int(layout.col[tuple(slot)]), slot_of(solved, matrix, tuple(slot)))
        for slot in np.argwhere(~layout.holes)
    ]


def write_csv(shown: Shown, stream: TextIO) -> None:
    """One element of a slot a line; `layoutprobe claim FILE.csv` reads it again."""
    solved = shown.solved
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(COLUMNS)
    for matrix in shown.matrices:
        for row, col, place in _held(solved, matrix):
            slot = (place.lane, place.vgpr, place.high, place.low, int(place.read))
            who = (solved.instruction, solved.arch, solved.wave, solved.opsel)
            table.writerow((*who, matrix, row, col, *slot))
