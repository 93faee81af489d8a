"""A solved fragment for the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, TextIO

from layoutprobe.layouts.fragment import FragmentLayout
from layoutprobe.render import data

if TYPE_CHECKING:
    from rich.text import Text

    from layoutprobe.render.page import Page

SCHEMA = "fragment/1"


def write(solved: FragmentLayout, stream: TextIO) -> None:
    """What it is, its closed form, and the elements lane by lane."""
    from layoutprobe.render.page import write_lines

    write_lines(partial(_lines, solved), stream)


def _lines(solved: FragmentLayout, page: Page) -> Iterator[Text]:
    yield from page.paragraph(f"{solved.type} on {solved.arch}, wave{solved.wave}", "bold")
    rows, cols = solved.layout.shape
    size = f"{rows} x {cols}, {solved.count} elements a lane"
    found = solved.formula or "no simple formula reproduces the table"
    yield from page.pairs([("matrix", size), ("x[i]", found), ("this is", solved.operand)])
    for lane in range(solved.wave):
        yield from page.pairs([(f"lane {lane}", _few(solved.held(lane)))])
    yield from page.pairs([("evidence", str(solved.evidence))], "dim")


def _few(elements: list[str]) -> str:
    """Up to eight elements, with how many follow."""
    more = f" and {len(elements) - 8} more" if len(elements) > 8 else ""
    return " ".join(elements[:8]) + more


def write_json(solved: FragmentLayout, stream: TextIO) -> None:
    """One object: rows and columns as [lane][i], -1 where x[i] holds no element."""
    row, col = (axis[0, :, 0].tolist() for axis in (solved.layout.row, solved.layout.col))
    body = {
        "type": solved.type,
        "arch": solved.arch,
        "wave": solved.wave,
        "matrix": solved.layout.matrix,
        "shape": list(solved.layout.shape),
        "formula": solved.formula,
        "operand": solved.operand,
        "is_operand": solved.is_operand,
        "row": row,
        "col": col,
        "evidence": data.evidence(solved.evidence),
    }
    data.write(data.envelope(SCHEMA, body), stream)
