"""Answers about a recorded run: as a table, as JSON, as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from typing import TextIO

from rich.text import Text

from layoutprobe.render import data, html
from layoutprobe.render.look import MONO
from layoutprobe.render.page import Page, write_lines
from layoutprobe.report.answer import Answer

SCHEMA = "layoutprobe.answer/1"
_MOST = 400
"""Rows that a table shows; other formats have all."""
_GAP = 2
_STYLE = f"""
.layoutprobe .answer {{ font: .85em {MONO}; width: auto; }}
.layoutprobe .answer th, .layoutprobe .answer td {{ text-align: left; padding: .2rem .6rem; }}
"""
_LEAST = 12


def write(answer: Answer, stream: TextIO) -> None:
    """What it is about, a row for each thing seen, and the summary last."""
    write_lines(partial(_lines, answer), stream)


def write_json(answer: Answer, stream: TextIO) -> None:
    """One object; "rows" are objects with the columns' names."""
    body = {
        "question": answer.question,
        "about": dict(answer.about),
        "summary": answer.summary,
        "evidence": [data.evidence(answer.evidence)],
        "rows": [dict(zip(answer.columns, row, strict=True)) for row in answer.rows],
    }
    data.write(data.envelope(SCHEMA, body), stream)


def write_csv(answer: Answer, stream: TextIO) -> None:
    """A header, and a line for each row."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(answer.rows)


def write_html(answer: Answer, stream: TextIO) -> None:
    """A page."""
    html.write_page(_title(answer), _body(answer), stream, style=_STYLE)


def notebook(answer: Answer) -> str:
    """What a notebook's cell shows."""
    return html.section(_title(answer), _body(answer), style=_STYLE)


def _title(answer: Answer) -> str:
    return f"layoutprobe inspect: {answer.question}"


def _body(answer: Answer) -> Iterator[str]:
    yield html.definitions(answer.about)
    rows = (
        "<tr>" + "".join(f"<td>{html.safe('' if c is None else str(c))}</td>" for c in row) + "</tr>\n"
        for row in answer.rows[:_MOST]
    )
    yield from html.table(answer.columns, rows, "answer")
    more = [("rows", f"{_MOST} of {len(answer.rows)}")] if len(answer.rows) > _MOST else []
    yield html.definitions([*more, ("seen", f"({answer.evidence.kind}) {answer.summary}")])


def _lines(answer: Answer, page: Page) -> Iterator[Text]:
    yield from page.paragraph(_title(answer), "bold")
    yield from page.pairs((label, page.one_line(text)) for label, text in answer.about)
    yield Text()
    shown = answer.rows[:_MOST]
    texts = [["" if cell is None else page.one_line(str(cell)) for cell in row] for row in shown]
    kept = [at for at in range(len(answer.columns)) if any(row[at] for row in texts)]
    if texts:
        columns = tuple(answer.columns[at] for at in kept)
        yield from _table(columns, [[row[at] for at in kept] for row in texts], page)
        yield Text()
    if len(answer.rows) > _MOST:
        yield from page.pairs([("rows", f"{_MOST} of {len(answer.rows)}; --format csv has all")])
    yield from page.pairs([("seen", f"({answer.evidence.kind}) {answer.summary}")])


def _table(columns: tuple[str, ...], texts: list[list[str]], page: Page) -> Iterator[Text]:
    """Columns as wide as they need; the widest ones share what the page has, and wrap."""
    widths = [max(len(name), *(len(row[at]) for row in texts)) for at, name in enumerate(columns)]
    room = page.width - _GAP * (len(columns) + 1)
    least = [
        max(_LEAST, len(name), *(len(word) for row in texts for word in row[at].split() or [""]))
        for at, name in enumerate(columns)
    ]
    while sum(widths) > room and any(map(int.__gt__, widths, least)):
        widest = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        widths[widest] -= 1
    yield _row(columns, widths, "bold")
    for row in texts:
        cells = [page.wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in range(max(map(len, cells))):
            yield _row([cell[line] if line < len(cell) else "" for cell in cells], widths)


def _row(cells: list[str] | tuple[str, ...], widths: list[int], style: str = "") -> Text:
    gap = " " * _GAP
    return Text(
        gap + gap.join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip(), style
    )
