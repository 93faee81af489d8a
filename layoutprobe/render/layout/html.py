"""A self-contained page, and the fragment that a notebook shows: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from layoutprobe.render.layout import words
from layoutprobe.render.layout.cells import UNICODE, Glyphs
from layoutprobe.render.layout.grid import FIRST_REGISTER, Row, grid, legend, marks_of, notation
from layoutprobe.render.layout.lds import lds_lines
from layoutprobe.render.layout.svg import picture
from layoutprobe.render.layout.view import Mark, View, select
from layoutprobe.render.svg_text import MONO, SANS, safe
from layoutprobe.report.layout import LayoutReport

STYLE = f"""
.layoutprobe {{ --ink: #1f2328; --soft: #57606a; --line: #d0d7de; --paper: #ffffff; --shade: #f6f8fa;
  --good: #1a7f37; --bad: #cf222e; --unsure: #9a6700; --copy: #0969da;
  color: var(--ink); background: var(--paper); font: 15px/1.5 {SANS};
  max-width: 60rem; margin: 0 auto; padding: 1rem; }}
@media (prefers-color-scheme: dark) {{
  .layoutprobe {{ --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --paper: #0d1117; --shade: #151b23;
    --good: #3fb950; --bad: #ff7b72; --unsure: #d29922; --copy: #79c0ff; }}
}}
.layoutprobe h1 {{ font-size: 1.35rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }}
.layoutprobe h2 {{ font-size: 1.05rem; margin: 1.5rem 0 .5rem; }}
.layoutprobe .verdict {{ border-left: 4px solid; padding: .4rem .8rem; background: var(--shade); }}
.layoutprobe .holds {{ color: var(--good); }}
.layoutprobe .finding {{ color: var(--bad); }}
.layoutprobe .undecided {{ color: var(--unsure); }}
.layoutprobe dl {{ display: grid; grid-template-columns: 6rem 1fr; gap: .15rem 1rem; margin: .8rem 0; }}
.layoutprobe dt {{ color: var(--soft); }}
.layoutprobe dd {{ margin: 0; overflow-wrap: anywhere; }}
.layoutprobe code, .layoutprobe table {{ font-family: {MONO}; font-size: .85em; }}
.layoutprobe .scroll {{ overflow-x: auto; }}
.layoutprobe svg {{ max-width: 100%; height: auto; }}
.layoutprobe table {{ border-collapse: collapse; white-space: nowrap; }}
.layoutprobe th, .layoutprobe td {{ padding: .15rem .6rem; text-align: left;
  border-bottom: 1px solid var(--line); background: transparent; color: var(--ink); }}
.layoutprobe th {{ color: var(--soft); font-weight: 600; }}
.layoutprobe td.mismatch {{ color: var(--bad); font-weight: 700; }}
.layoutprobe td.hole, .layoutprobe td.unknown {{ color: var(--unsure); }}
.layoutprobe td.dead {{ color: var(--soft); text-decoration: line-through; }}
.layoutprobe td.copy, .layoutprobe th.merged {{ color: var(--copy); }}
.layoutprobe tr.needs td, .layoutprobe tr.needs th {{ color: var(--good); }}
"""


def write(view: View, stream: TextIO) -> None:
    """Write a whole HTML document."""
    stream.write(document(words.title(view.report), fragment(view)))


def notebook(report: LayoutReport) -> str:
    """What a notebook's cell shows: summary, findings and the picture of one wave."""
    return fragment(select(report))


def document(title: str, body: str) -> str:
    """A whole HTML document around a body that brings its own style."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(title)}</title>\n<style>body {{ margin: 0; background: Canvas; }}</style>\n"
        f"</head>\n<body>\n{body}</body>\n</html>\n"
    )


def fragment(view: View) -> str:
    """The report as one <section> that brings its own style, for a page or a notebook cell."""
    return "".join(_fragment(view))


def _fragment(view: View) -> Iterator[str]:
    view, report = view.one_wave, view.report
    outcome = words.verdict(report)
    yield f'<section class="layoutprobe">\n<style>{STYLE}</style>\n<h1>{safe(words.title(report))}</h1>\n'
    yield (
        f'<p class="verdict {outcome.word}"><strong>{outcome.word.upper()}</strong>'
        f" ({safe(outcome.basis)}): {safe(outcome.sentence)}</p>\n"
    )
    for number, found in enumerate(report.findings, 1):
        yield f'<h2 class="finding">Finding {number} of {len(report.findings)}: {safe(found.rule.id)}</h2>\n'
        yield f"<p>{safe(found.what)}</p>\n{definitions(words.finding(found))}"
    yield definitions(words.setup(report))
    yield definitions(words.forms(report), code=True)
    yield f'<div class="scroll">{picture(view, header=False)}</div>\n'
    yield definitions(words.details(view))
    yield from _table(view)
    if report.lds_map is not None:
        yield "<h2>LDS in address order</h2>\n" + definitions(
            lds_lines(report.lds_map, report.matrix, None), code=True
        )
    if report.toolchain:
        built = [(name, str(value)) for name, value in report.toolchain.items()]
        yield "<h2>Toolchain</h2>\n" + definitions(built, code=True)
    yield "</section>\n"


def definitions(pairs: Iterable[tuple[str, str]], code: bool = False) -> str:
    """Labels and texts as a <dl>."""
    before, after = ("<code>", "</code>") if code else ("", "")
    rows = (f"<dt>{safe(label)}</dt><dd>{before}{safe(text)}{after}</dd>\n" for label, text in pairs)
    return f"<dl>\n{''.join(rows)}</dl>\n"


def _table(view: View) -> Iterator[str]:
    glyphs: Glyphs = UNICODE
    table = grid(view, 0, glyphs)
    yield f"<details><summary>Wave {view.waves[0]} as a table</summary>\n"
    reading = notation(view, 0, glyphs)
    notes = [f"{reading}; {FIRST_REGISTER}"] if reading else []
    notes += [f"{sign} {text}" for sign, text, _ in legend(marks_of(table), glyphs, view.report)]
    yield "".join(f"<p>{safe(note)}</p>\n" for note in notes)
    yield '<div class="scroll"><table>\n<thead><tr><th scope="col">lane</th>'
    yield "".join(f'<th scope="col">{name}</th>' for name in table.headings) + "</tr></thead>\n<tbody>\n"
    for row in table.rows:
        yield _table_row(row)
    yield "</tbody></table></div></details>\n"


def _table_row(row: Row) -> str:
    merged = ' class="merged"' if row.merged else ""
    cells = (
        f'<td class="{mark.name.lower()}">{safe(text)}</td>'
        if mark is not Mark.NONE
        else f"<td>{safe(text)}</td>"
        for text, mark in zip(row.texts, row.marks, strict=True)
    )
    return f'<tr class="{row.kind}"><th scope="row"{merged}>{safe(row.label)}</th>{"".join(cells)}</tr>\n'
