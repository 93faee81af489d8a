"""The gate's report for a terminal: findings in full, a line per check, the verdict last.

How much else there is, is the reader's choice: `write_full` adds every figure, `write_quiet` leaves out what holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Literal, TextIO

from rich.text import Text

from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.layout import words
from layoutprobe.render.look import STYLES
from layoutprobe.render.page import Page, write_lines
from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict, Table

NARROW = 60
"""Below this width what a check says stands under its name, not beside it."""
WIDEST_NAME = 24
NARROWEST = 36
"""Columns that a long figure needs beside its name; else it stands below."""


Detail = Literal["quiet", "brief", "full"]
"""What is told besides findings and the verdict: nothing of what holds; a line per check; or every figure."""


def write(report: GateReport, stream: TextIO, detail: Detail = "brief") -> None:
    """Write the report for a terminal, a pipe or a file, as the stream allows."""
    write_lines(partial(lines, report, detail=detail), stream)


def write_full(report: GateReport, stream: TextIO) -> None:
    """Write the report with all figures of all checks."""
    write(report, stream, "full")


def write_quiet(report: GateReport, stream: TextIO) -> None:
    """Write the verdict, and what is wrong or open."""
    write(report, stream, "quiet")


def lines(report: GateReport, page: Page, detail: Detail = "brief") -> Iterator[Text]:
    """Every line of the report; none is wider than the page unless one word is."""
    outcome = gate_words.gate_outcome(report, beside=detail != "quiet")
    if detail == "full":
        yield from page.paragraph(gate_words.title(report), style="bold")
        yield from page.outcome(outcome.word, outcome.sentence, outcome.basis)
        yield Text()
    if report.relaxations:
        yield from _panel(page, [gate_words.relaxed_title(report), *report.relaxations], [], "undecided")
        yield Text()
    for verdict in report.verdicts:
        if detail == "quiet" and verdict.exit_code == 0 and not gate_words.searched(verdict):
            continue
        yield from _kernel(page, verdict, detail)
        yield Text()
    yield from page.outcome(outcome.word, outcome.sentence, outcome.basis)


def _kernel(page: Page, verdict: KernelVerdict, detail: Detail) -> Iterator[Text]:
    outcome = gate_words.outcome(verdict)
    heading = f"{page.glyphs.sign(outcome.word)} {gate_words.kernel_title(verdict)}: {outcome.sentence}"
    yield from page.paragraph(heading, STYLES[outcome.word])
    quiet = detail == "quiet"
    about = gate_words.searched(verdict) if quiet else gate_words.about(verdict, in_full=detail == "full")
    for sentence in about:
        yield from page.paragraph(sentence, "dim", indent="  ")
    if verdict.error:
        yield from _panel(page, [verdict.error], [], "undecided")
    yield from _checks(page, verdict, detail)
    for question in gate_words.open_questions(verdict):
        if not question.check and not verdict.error:
            yield from _panel(page, [question.reason], [], "undecided")
    for number, found in enumerate(verdict.findings, 1):
        yield Text()
        place = gate_words.spot(verdict, found)
        heading = f"finding {number} of {len(verdict.findings)}: {found.rule.id}, {place}"
        frame = gate_words.frame(verdict, found.place, page.width - len(_edge(page)))
        yield from _panel(page, [heading, found.what], gate_words.details(verdict, found), "finding", frame)


def _checks(page: Page, verdict: KernelVerdict, detail: Detail) -> Iterator[Text]:
    """A line per check, or more where it could not be decided; figures below, where they are wanted."""
    shown = [r for r in verdict.results if detail != "quiet" or r.status == "undecided"]
    width = min(max((len(page.one_line(result.check)) for result in shown), default=0), WIDEST_NAME)
    repeated = gate_words.repeated(verdict)
    for result in shown:
        like = repeated.get(result.check, "")
        short = detail != "full" and result.status != "undecided" and not result.accepted
        yield from _check(page, result, width, says_of(result, like, short=short), short=short)
        if detail != "full":
            continue
        indent = _indent(page, result, width)
        yield from _figures(page, gate_words.figures(result), indent)
        for title, table in gate_words.tables(result):
            yield from _table(page, title, table, min(indent, 6))


def _indent(page: Page, result: CheckResult, width: int) -> int:
    """Where what a check says begins: beside its name, or below."""
    return 4 if page.width < NARROW or len(page.one_line(result.check)) > width else 6 + width


def _check(page: Page, result: CheckResult, width: int, says: str, *, short: bool) -> Iterator[Text]:
    """Sign, name, and what it says: in full, or as much as the line takes."""
    style = STYLES[result.status]
    name = page.one_line(result.check)
    head = [("  ", ""), (page.glyphs.sign(result.status), style), (f" {name:<{width}}", style)]
    indent = _indent(page, result, width)
    body = page.wrap(says, page.width - indent) if says else []
    if short and indent == 4:
        body = []
    elif short and len(body) > 1:
        body = [page.wrap(says, page.width - indent - 4)[0].rstrip(" ,;:") + " ..."]
    first = Text.assemble(*head)
    if indent != 4 and body:
        first.append("  " + body.pop(0))
    first.rstrip()
    yield first
    for text in body:
        yield Text(" " * indent + text)


def _figures(page: Page, figures: Sequence[tuple[str, str]], indent: int) -> Iterator[Text]:
    """Short figures run on; long ones have lines of their own below, aligned behind their names."""
    edge = " " * indent
    for long, group in groupby(figures, gate_words.is_long):
        shown = [(page.one_line(name), value) for name, value in group]
        if not long:
            text = ", ".join(f"{name} {value}" for name, value in shown)
            yield from page.paragraph(text, "dim", indent=edge)
            continue
        edge = " " * min(indent, 6)
        names = max(len(name) for name, _ in shown) + 2
        for name, value in shown:
            if page.width - len(edge) - names < NARROWEST:
                yield from page.paragraph(f"{name}:", "dim", indent=edge)
                yield from page.paragraph(value, "dim", indent=f"{edge}  ")
                continue
            for number, line in enumerate(page.wrap(value, page.width - len(edge) - names)):
                yield Text(f"{edge}{name if not number else '':<{names}}{line}", "dim")


def _table(page: Page, title: str, table: Table, indent: int) -> Iterator[Text]:
    """Figures in columns; where these do not fit, a row is a sentence."""
    edge = " " * indent
    yield from page.paragraph(f"{title}:", "dim", indent=edge)
    lines = [page.one_line(line) for line in gate_words.aligned(table)]
    if len(edge) + len(lines[0]) <= page.width:
        yield from (Text(edge + line, "dim") for line in lines)
        return
    for first, *values in gate_words.rows(table):
        told = ", ".join(f"{head} {value}" for head, value in zip(table.columns[1:], values, strict=True))
        yield from page.paragraph(f"{first}: {told}", "dim", indent=edge)


def _panel(
    page: Page, sentences: Sequence[str], pairs: words.Lines, style: str, frame: Sequence[str] = ()
) -> Iterator[Text]:
    """Sentences, lines of code and labelled lines beside a bar."""
    edge = _edge(page)
    inner = Page(max(page.width - len(edge), 16), page.encoding, page.glyphs)
    first, *rest = sentences
    body = [*inner.paragraph(first, STYLES[style])]
    for sentence in rest:
        body += inner.paragraph(sentence)
    body += [Text(inner.one_line(line)[: inner.width], "dim") for line in frame]
    body += inner.pairs(pairs)
    for line in body:
        yield Text.assemble((edge, STYLES[style]), line)


def _edge(page: Page) -> str:
    """What stands before each line of a panel."""
    return f"  {page.glyphs.bar} "


def says_of(result: CheckResult, like: str = "", *, short: bool = False) -> str:
    """What stands beside the name of a check; `like`: the check that has given the same reason; `short`: of
    several sizes the last is told, and of findings how many there are."""
    if like:
        return f"{result.status}, as {like}"
    if result.findings:
        count = gate_words.counted(result)
        return f"{count}: {result.reason}" if result.reason and not short else count
    if result.status in ("undecided", "skipped"):
        return f"{result.status}: {result.reason}" if result.reason else result.status
    return (short and result.at_last) or result.reason
