"""A report as a page, and as what a notebook's cell shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from layoutprobe.render import html
from layoutprobe.render.html import definitions, safe
from layoutprobe.render.layout import words
from layoutprobe.render.layout.grid import Row, first_register, grid, legend, marks_of, notation
from layoutprobe.render.layout.lds import lds_lines
from layoutprobe.render.layout.svg import picture
from layoutprobe.render.layout.view import View, select
from layoutprobe.render.look import MONO, UNICODE, Mark
from layoutprobe.report.layout import LayoutReport

_STYLE = f"""
.layoutprobe .slots {{ font: .85em {MONO}; white-space: nowrap; width: auto; }}
.layoutprobe .slots th, .layoutprobe .slots td {{ padding: .15rem .6rem; text-align: left; }}
.layoutprobe .slots th {{ color: var(--soft); font-weight: 600; }}
.layoutprobe td.mismatch {{ color: var(--bad); font-weight: 700; }}
.layoutprobe td.hole, .layoutprobe td.unknown {{ color: var(--unsure); }}
.layoutprobe td.dead {{ color: var(--soft); text-decoration: line-through; }}
.layoutprobe td.copy, .layoutprobe .slots th.merged {{ color: var(--copy); }}
.layoutprobe tr.needs td, .layoutprobe .slots tr.needs th {{ color: var(--good); }}
"""


def write(view: View, stream: TextIO) -> None:
    """Write the page."""
    html.write_page(words.title(view.report), _body(view), stream, style=_STYLE)


def notebook(report: LayoutReport) -> str:
    """What a notebook's cell shows: summary, findings and the picture of one wave."""
    return html.section(words.title(report), _body(select(report)), style=_STYLE)


def _body(view: View) -> Iterator[str]:
    view, report = view.one_wave, view.report
    outcome = words.verdict(report)
    yield html.verdict(outcome.word, outcome.word, outcome.sentence, outcome.basis)
    for number, found in enumerate(report.findings, 1):
        heading = f"Finding {number} of {len(report.findings)}: {found.rule.id}"
        yield f'<div class="card finding"><h3>{safe(heading)}</h3>\n'
        yield f"<p>{safe(found.what)}</p>\n{definitions(words.finding(found))}</div>\n"
    yield definitions(words.setup(report))
    yield definitions(words.forms(report), code=True)
    yield f'<div class="scroll">{picture(view, header=False)}</div>\n'
    yield definitions(words.details(view))
    yield from _table(view)
    if report.lds_map is not None:
        lines = lds_lines(report.lds_map, report.matrix, None)
        yield "<h2>LDS in address order</h2>\n" + definitions(lines, code=True)
    if report.toolchain:
        built = [(name, str(value)) for name, value in report.toolchain.items()]
        yield "<h2>Toolchain</h2>\n" + definitions(built, code=True)


def _table(view: View) -> Iterator[str]:
    table = grid(view, UNICODE)
    yield f'<details><summary>Wave {view.waves[0]} as a table</summary>\n<div class="body">'
    reading = notation(view, UNICODE)
    notes = [f"{reading}; {first_register(view.report.loaded)}"] if reading else []
    notes += [f"{sign} {text}" for sign, text, _ in legend(marks_of(table), UNICODE, view.report)]
    yield "".join(f"<p>{safe(note)}</p>\n" for note in notes)
    yield from html.table(("lane", *table.headings), map(_row, table.rows), "slots")
    yield "</div></details>\n"


def _row(row: Row) -> str:
    merged = ' class="merged"' if row.merged else ""
    cells = (
        f'<td class="{mark.name.lower()}">{safe(text)}</td>'
        if mark is not Mark.NONE
        else f"<td>{safe(text)}</td>"
        for text, mark in zip(row.texts, row.marks, strict=True)
    )
    return f'<tr class="{row.kind}"><th scope="row"{merged}>{safe(row.label)}</th>{"".join(cells)}</tr>\n'
