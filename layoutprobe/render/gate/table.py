"""The gate's report for a terminal: the verdict first and last, a line per check, findings in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TextIO

from rich.console import Console
from rich.text import Text

from layoutprobe.render.console import PlainConsole
from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.layout import words
from layoutprobe.render.look import STYLES, Glyphs
from layoutprobe.render.page import Page, glyphs_for, print_lines
from layoutprobe.render.text import printable
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict

NARROW = 60
"""Below this width what a check says stands under its name, not beside it."""
WIDEST_NAME = 24
NARROWEST = 36
"""Columns that a long figure needs beside its name; else it stands below."""


def write(report: GateReport, stream: TextIO) -> None:
    """Write the report for a terminal, a pipe or a file, as the stream allows."""
    show(report, PlainConsole(stream))


def show(report: GateReport, console: Console) -> None:
    """Write the report to a rich console."""
    print_lines(lines(report, console.width, console.encoding, glyphs_for(console)), console)


def lines(report: GateReport, width: int, encoding: str, glyphs: Glyphs) -> Iterator[Text]:
    """Every line of the report; none is longer than `width` unless one word is.

    Args:
        report: what the gate found.
        width: columns of the terminal.
        encoding: of the stream; what it cannot carry is escaped.
        glyphs: characters to draw with.
    """
    page = _Page(width, encoding, glyphs)
    outcome = gate_words.gate_outcome(report)
    yield from page.paragraph(gate_words.title(report), style="bold")
    yield from page.outcome(outcome.word, outcome.sentence, outcome.basis)
    for verdict in report.verdicts:
        yield Text()
        yield from page.kernel(verdict)
    if report.verdicts:
        yield Text()
        yield from page.outcome(outcome.word, outcome.sentence, outcome.basis)


class _Page(Page):
    """A page with kernels, checks and findings on it."""

    def kernel(self, verdict: KernelVerdict) -> Iterator[Text]:
        outcome = gate_words.outcome(verdict)
        heading = f"{self.glyphs.sign(outcome.word)} {gate_words.kernel_title(verdict)}: {outcome.sentence}"
        yield from self.paragraph(heading, STYLES[outcome.word])
        evidence = "; ".join(map(str, verdict.evidence)) or outcome.basis
        about = [verdict.source, "; ".join(verdict.sizes), evidence, f"{verdict.seconds:.1f} s"]
        for sentence in filter(None, about[:2]):
            yield from self.paragraph(sentence, "dim", indent="  ")
        yield from self.paragraph(", ".join(about[2:]), "dim", indent="  ")
        if verdict.coverage is not None:
            yield from self.paragraph(f"ran {verdict.coverage}", "dim", indent="  ")
        if verdict.error:
            yield from self.panel([verdict.error], [], "undecided")
        width = min(max((len(self.line(result.check)) for result in verdict.results), default=0), WIDEST_NAME)
        repeated = gate_words.repeated(verdict)
        for result in verdict.results:
            yield from self.check(result, width, repeated.get(result.check, ""))
        for question in gate_words.open_questions(verdict):
            if not question.check and not verdict.error:
                yield from self.panel([question.reason], [], "undecided")
        for number, found in enumerate(verdict.findings, 1):
            yield Text()
            place = gate_words.spot(verdict, found)
            heading = f"finding {number} of {len(verdict.findings)}: {found.rule.id}, {place}"
            yield from self.finding(heading, found)

    def line(self, text: str) -> str:
        """A name that may hold anything, on one line."""
        return printable(text.replace("\n", "\\n"), self.encoding)

    def check(self, result: CheckResult, width: int, like: str = "") -> Iterator[Text]:
        """Sign, name, and what it says, or which check above says the same; figures below."""
        style = STYLES[result.status]
        name = self.line(result.check)
        head = [("  ", ""), (self.glyphs.sign(result.status), style), (f" {name:<{width}}", style)]
        says = says_of(result, like)
        indent = 4 if self.width < NARROW or len(name) > width else 6 + width
        body = self.wrap(says, self.width - indent) if says else []
        first = Text.assemble(*head)
        if indent != 4 and body:
            first.append("  " + body.pop(0))
        first.rstrip()
        yield first
        for text in body:
            yield Text(" " * indent + text)
        yield from self.figures(gate_words.figures(result), indent)

    def figures(self, figures: Sequence[tuple[str, str]], indent: int) -> Iterator[Text]:
        """Short figures run on; long ones have lines of their own below, aligned behind their names."""
        edge = " " * indent
        for long, group in groupby(figures, gate_words.is_long):
            shown = [(self.line(name), value) for name, value in group]
            if not long:
                text = ", ".join(f"{name} {value}" for name, value in shown)
                yield from self.paragraph(text, "dim", indent=edge)
                continue
            edge = " " * min(indent, 6)
            names = max(len(name) for name, _ in shown) + 2
            for name, value in shown:
                if self.width - len(edge) - names < NARROWEST:
                    yield from self.paragraph(f"{name}:", "dim", indent=edge)
                    yield from self.paragraph(value, "dim", indent=f"{edge}  ")
                    continue
                for number, line in enumerate(self.wrap(value, self.width - len(edge) - names)):
                    yield Text(f"{edge}{name if not number else '':<{names}}{line}", "dim")

    def finding(self, heading: str, found: Finding) -> Iterator[Text]:
        yield from self.panel([heading, found.what], words.finding(found), "finding")

    def panel(self, sentences: Sequence[str], pairs: words.Lines, style: str) -> Iterator[Text]:
        """Sentences and labelled lines beside a bar."""
        edge = f"  {self.glyphs.bar} "
        inner = _Page(max(self.width - len(edge), 16), self.encoding, self.glyphs)
        first, *rest = sentences
        body = [*inner.paragraph(first, STYLES[style])]
        for sentence in rest:
            body += inner.paragraph(sentence)
        body += inner.pairs(pairs)
        for line in body:
            yield Text.assemble((edge, STYLES[style]), line)


def says_of(result: CheckResult, like: str = "") -> str:
    """What stands beside the name of a check; `like`: the check that has given the same reason."""
    if like:
        return f"{result.status}, as {like}"
    if result.findings:
        count = words.plural(len(result.findings), "finding")
        return f"{count}: {result.reason}" if result.reason else count
    if result.status in ("undecided", "skipped"):
        return f"{result.status}: {result.reason}" if result.reason else result.status
    return result.reason
