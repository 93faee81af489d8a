"""JSON for programs: schema "layoutprobe.report/2", described by docs/report.schema.json.

Every slot is an object on a line of its own, so that both `jq '.slots[] | select(.mismatch)'` and
`grep` work. Within version 2 keys may be added; none is removed, renamed or given a new meaning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.render import data
from layoutprobe.render.layout import words
from layoutprobe.render.layout.view import View
from layoutprobe.report.finding import Finding
from layoutprobe.report.layout import LayoutReport, LdsMap

SCHEMA = "layoutprobe.report/2"


def write(view: View, stream: TextIO) -> None:
    """Write the report as one JSON object, ASCII only, ending in a newline."""
    head = json.dumps(data.envelope(SCHEMA, _head(view)), indent=2)
    stream.write(head.removesuffix("\n}"))
    stream.write(',\n  "slots": [')
    for i, slot in enumerate(slots(view)):
        stream.write((",\n    " if i else "\n    ") + json.dumps(slot))
    stream.write("\n  ]\n}\n")


def _head(view: View) -> dict[str, Any]:
    report = view.report
    outcome = words.verdict(report)
    return {
        "command": report.command,
        "verdict": outcome.word,
        "summary": outcome.sentence,
        "exit_code": report.exit_code,
        "undecided": report.undecided or None,
        "evidence": list(map(data.evidence, report.evidence)),
        "arch": report.arch,
        "instruction": report.instruction or None,
        "matrix": report.matrix,
        "dtype": report.dtype,
        "lds": report.lds or None,
        "lds_index": report.lds_form or None,
        "tile": dict(zip("mnk", report.tile, strict=True)),
        "patterns": list(report.patterns),
        "toolchain": dict(report.toolchain),
        "closed_form": {"loaded": report.closed_form or None, "needed": report.needed_form or None},
        "convention": report.convention or None,
        "ambiguity": report.ambiguity or None,
        "coverage": _coverage(report),
        "findings": [finding(found) for found in report.findings],
        "about": dict(report.about) or None,
        "lds_map": None if report.lds_map is None else _lds(report.lds_map),
        "layout": {
            "rows": report.loaded.shape[0],
            "cols": report.loaded.shape[1],
            "waves": report.loaded.waves,
            "lanes": report.loaded.lanes,
            "vgprs": report.loaded.vgprs,
            "field_bits": report.loaded.field_bits,
            "complete": not view.partial,
        },
    }


def _coverage(report: LayoutReport) -> dict[str, Any] | None:
    found = report.coverage
    if found is None:
        return None
    return {
        "elements": found.elements,
        "seen": found.seen,
        "copies": {"min": found.copies[0], "max": found.copies[1]},
        "missing_rows": list(found.missing_rows),
        "missing_cols": list(found.missing_cols),
        "fold": found.fold or None,
    }


def finding(found: Finding) -> dict[str, Any]:
    """A finding, as every JSON report has it."""
    return {
        "rule": found.rule.id,
        "check": found.check,
        "what": found.what,
        "place": found.place.json(),
        "expected": found.expected or None,
        "observed": found.observed or None,
        "related": [
            {"role": other.role, "text": str(other), "place": other.place.json()} for other in found.related
        ],
        "blocks": found.blocks or None,
        "next": found.hint or None,
        "count": found.count,
        "sizes": [dict(size) for size in found.sizes],
    }


def plain(value: object) -> int | str:
    """A place as JSON knows it: numpy's integers become numbers, all else text."""
    return int(value) if hasattr(value, "__index__") else str(value)


def _lds(cells: LdsMap) -> dict[str, Any]:
    elements = zip(cells.row.tolist(), cells.col.tolist(), strict=True)
    whole = None if cells.cell_bits % 8 else cells.cell_bits // 8
    return {
        "cell_bytes": whole,
        "cell_bits": cells.cell_bits,
        "cells": [_element(row, col) for row, col in elements],
    }


def _element(row: int, col: int) -> list[int | None] | None:
    """None without an element; a coordinate that is not known is None."""
    return None if row == HOLE else [None if axis == UNKNOWN else axis for axis in (row, col)]


def slots(view: View) -> Iterator[dict[str, Any]]:
    """One object per selected slot, in the order wave, lane, VGPR, bits; see `NamedSlot` for the last two."""
    layout = view.report.loaded
    loaded = (view.row.tolist(), view.col.tolist())
    needed = None
    if view.needed_row is not None and view.needed_col is not None:
        needed = (view.needed_row.tolist(), view.needed_col.tolist())
    mismatch = view.mismatch.tolist()
    live = None if view.live is None else view.live.tolist()
    readers = None if view.readers is None else view.readers.tolist()
    for w, wave in enumerate(view.waves):
        for n, lane in enumerate(view.lanes):
            for v, vgpr in enumerate(view.vgprs):
                for f in range(view.fields):
                    reader = -1 if readers is None else readers[w][n][v][f]
                    register, low, _ = layout.pieces(vgpr, f)[0]
                    yield {
                        "wave": wave,
                        "lane": lane,
                        "vgpr": register,
                        "bits": [low, low + layout.field_bits - 1],
                        "loaded": _element(loaded[0][w][n][v][f], loaded[1][w][n][v][f]),
                        "needed": needed and _element(needed[0][w][n][v][f], needed[1][w][n][v][f]),
                        "mismatch": mismatch[w][n][v][f],
                        "live": None if live is None else live[w][n][v][f],
                        "read_by": None if reader < 0 else reader,
                    }
