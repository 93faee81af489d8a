"""The terminal report: header, lane x VGPR table, and last what the reader must not miss.

Lines are laid out here and not by rich's tables, because a cell may never break: where the
columns do not fit the width, they are dealt into blocks below each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TextIO

from rich.text import Text

from layoutprobe.render.layout import words
from layoutprobe.render.layout.cells import number_list
from layoutprobe.render.layout.grid import (
    Grid,
    Row,
    first_register,
    grid,
    legend,
    marks_of,
    merged_example,
    notation,
)
from layoutprobe.render.layout.lds import MAX_LINES, lds_lines
from layoutprobe.render.layout.view import View
from layoutprobe.render.look import MARK_STYLES
from layoutprobe.render.page import Page, write_lines

MERGED_STYLE = "cyan"
NEEDED_STYLE = "green"


def write(view: View, stream: TextIO) -> None:
    """Write the report for a terminal, a pipe or a file, as the stream allows."""
    write_lines(partial(lines, view), stream)


def lines(view: View, page: Page) -> Iterator[Text]:
    """Every line of the report; none is wider than the page unless one word or cell is."""
    view, report = view.one_wave, view.report
    yield from page.paragraph(words.title(report), style="bold")
    yield from page.pairs([*words.setup(report), *words.forms(report)])
    yield from _verdict(page, view)
    yield Text()
    yield from _table(page, view)
    yield Text()
    if report.lds_map is not None:
        yield from page.paragraph("LDS in address order: bytes, and what was found there", style="bold")
        yield from page.pairs(lds_lines(report.lds_map, report.matrix, None if view.whole_lds else MAX_LINES))
        yield Text()
    yield from page.pairs(words.details(view))
    for number, found in enumerate(report.findings, 1):
        yield Text()
        heading = f"{page.glyphs.bad} finding {number} of {len(report.findings)}: {found.rule.id}"
        yield from page.paragraph(heading, style="bold red")
        yield from page.paragraph(found.what, indent="  ")
        yield from page.pairs([("  " + label, text) for label, text in words.finding(found)])
    yield Text()
    yield from _verdict(page, view)


def _verdict(page: Page, view: View) -> Iterator[Text]:
    outcome = words.verdict(view.report)
    yield from page.outcome(outcome.word, outcome.sentence, outcome.basis)


def _table(page: Page, view: View) -> Iterator[Text]:
    """The lane x VGPR table of one wave with its legend."""
    yield from page.paragraph(caption(view), style="bold")
    table = grid(view, page.glyphs)
    blocks, gap = table.blocks(page.width)
    for i, columns in enumerate(blocks):
        if i:
            yield Text()
        yield from _block(page, table, columns, " " * gap)
    for sign, text, style in _legend(page, view, table):
        body = page.wrap(text, page.width - len(sign) - 2)
        for i, line in enumerate(body):
            left = sign if i == 0 else " " * len(sign)
            yield Text.assemble((f" {left} " if sign else " ", style), (line, "dim"))


def _block(page: Page, table: Grid, columns: list[int], gap: str) -> Iterator[Text]:
    """Some columns of the table, with heading and rule."""
    left = table.label_width
    widths = [table.column_width(column) for column in columns]
    heads = gap.join(f"{table.headings[c]:<{w}}" for c, w in zip(columns, widths, strict=True))
    bar, rule = page.glyphs.bar, page.glyphs.rule
    yield Text(f"{'lane':>{left}} {bar} {heads}".rstrip(), style="bold")
    yield Text(rule * (left + 1) + page.glyphs.cross + rule * (len(heads) + 1), style="bright_black")
    for row in table.rows:
        if any(row.texts[column] for column in columns):
            yield _row(page, row, columns, widths, left, gap)


def _row(page: Page, row: Row, columns: list[int], widths: list[int], left: int, gap: str) -> Text:
    label_style = NEEDED_STYLE if row.kind == "needs" else MERGED_STYLE if row.merged else ""
    line = Text.assemble((f"{row.label:>{left}}", label_style), (f" {page.glyphs.bar} ", "bright_black"))
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        style = NEEDED_STYLE if row.kind == "needs" else MARK_STYLES[row.marks[column]]
        text = row.texts[column]
        line.append(gap if i else "")
        line.append(text, style)
        line.append(" " * (width - len(text)))
    line.rstrip()
    return line


def _legend(page: Page, view: View, table: Grid) -> Iterator[tuple[str, str, str]]:
    """(sign, sentence, style of the sign)."""
    reading = notation(view, page.glyphs)
    if reading:
        yield "", f"{reading}; {first_register(view.report.loaded)}", ""
    merged = merged_example(table.rows)
    if merged:
        alike = "hold the same elements (replicated)" if view.report.loaded.identified else "look the same"
        yield merged, f"on one line: these lanes {alike}", MERGED_STYLE
    for sign, text, mark in legend(marks_of(table), page.glyphs, view.report):
        yield sign, text, MARK_STYLES[mark]


def caption(view: View) -> str:
    """Heading of one wave's table."""
    report, wave = view.report, view.waves[0]
    text = f"matrix {report.matrix}, wave {wave} of {report.loaded.waves}"
    wrong = int(report.mismatch[wave].sum())
    if wrong:
        text += f": {wrong} of {report.mismatch[wave].size} slots wrong"
    if len(view.lanes) < report.loaded.lanes:
        text += f"; {words.plural_name('lane', view.lanes)} {number_list(view.lanes)} only"
    if len(view.vgprs) < report.loaded.vgprs:
        text += f"; {words.plural_name('VGPR', view.vgprs)} {number_list(view.vgprs)} only"
    return text
