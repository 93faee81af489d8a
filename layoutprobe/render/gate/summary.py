"""Markdown for a job's summary: the verdict, a table of kernels and checks, findings in full."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.layout import words
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import GateReport, KernelVerdict
from layoutprobe.text import printable

SIGNS = {"holds": "✅", "finding": "❌", "undecided": "❔", "skipped": "➖"}
LEGEND = {"holds": "holds", "finding": "finding", "undecided": "undecided", "skipped": "does not apply"}
MOST_FINDINGS = 50
"""GitHub refuses summaries over 1 MiB; the other findings are counted."""
LONGEST = 2000
"""Characters of one text."""


def write(report: GateReport, stream: TextIO) -> None:
    """Write GitHub-flavoured Markdown."""
    stream.write("\n".join(lines(report)) + "\n")


def lines(report: GateReport) -> Iterator[str]:
    """Lines of the summary."""
    outcome = gate_words.gate_outcome(report)
    yield f"## {SIGNS[outcome.word]} {safe(gate_words.title(report))}"
    yield ""
    yield f"**{outcome.word.upper()}** ({safe(outcome.basis)}): {safe(outcome.sentence)}"
    yield ""
    if report.relaxations:
        yield f"### {safe(gate_words.relaxed_title(report))}"
        yield ""
        yield from (f"- {safe(text)}" for text in report.relaxations[:MOST_FINDINGS])
        yield ""
    if report.verdicts:
        yield from _table(report)
    yield from _findings(report)
    yield from _open(report)
    yield from _reservations(report)


def safe(text: str) -> str:
    """Text that stays text, on one line: every sign that Markdown or HTML could read is escaped.

    Names and places stay readable in the source too: `_` within a word begins no emphasis, and `:` is only
    read before `//` and in front of a name that another one ends (`:tada:`).
    """
    cut = text if len(text) <= LONGEST else text[:LONGEST] + "..."
    line = re.sub(r"\s+", " ", printable(cut)).strip()
    # Plain punctuation stays readable, except where it would begin a list, a rule or a heading.
    escaped = re.sub(r"[^\w\s',./%()?;:+=-]|(?<=www)\.|:(?=//|[\w+-]+:)|" + _OUTER, _entity, line)
    return re.sub(r"^[-+=]|(?<=^\d)[.)]", _entity, escaped)


_OUTER = r"(?<![^\W_])(?<!_)_+|_+(?![^\W_])(?!_)"
"""Underscores that are not within a word."""


def _entity(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(sign)};" if sign.isascii() else sign for sign in match[0])


def _table(report: GateReport) -> Iterator[str]:
    checks = list(dict.fromkeys(r.check for verdict in report.verdicts for r in verdict.results))
    yield f"| {' | '.join(['kernel', 'target', 'verdict', *map(safe, checks)])} |"
    yield "|---|---|---|" + ":-:|" * len(checks)
    for verdict in report.verdicts:
        status = {result.check: SIGNS[result.status] for result in verdict.results}
        outcome = gate_words.outcome(verdict)
        cells = [safe(verdict.name), safe(verdict.target), f"{SIGNS[outcome.word]} {outcome.word}"]
        yield f"| {' | '.join([*cells, *(status.get(name, '') for name in checks)])} |"
    yield ""
    yield ", ".join(f"{sign} {LEGEND[status]}" for status, sign in SIGNS.items())
    yield ""


def _findings(report: GateReport) -> Iterator[str]:
    listed = [(verdict, found) for verdict in report.verdicts for found in verdict.findings]
    if listed:
        yield "### Findings"
        yield ""
    for verdict, found in listed[:MOST_FINDINGS]:
        yield from _finding(verdict, found)
    if len(listed) > MOST_FINDINGS:
        yield f"{words.plural(len(listed) - MOST_FINDINGS, 'finding')} more, not shown here."
        yield ""


def _finding(verdict: KernelVerdict, found: Finding) -> Iterator[str]:
    place = gate_words.spot(verdict, found)
    yield f"**{safe(gate_words.kernel_title(verdict))}, {safe(found.rule.id)}, {safe(str(place))}**"
    yield ""
    yield safe(found.what)
    yield ""
    for label, text in gate_words.details(verdict, found):
        if label != gate_words.FIX:
            yield f"- {label}: {safe(text)}"
    yield ""
    if fix := verdict.fix(found):
        yield f"fix: {safe(gate_words.fix_title(verdict, fix))}"
        yield ""
        yield from fenced("diff", gate_words.fix_lines(fix))
        yield ""


def fenced(language: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines of code that end no sooner than they should, whatever they hold."""
    texts = [printable(line.rstrip("\r"))[:LONGEST] for line in lines]
    longest = max((len(ticks) for text in texts for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    yield from (fence + language, *texts, fence)


def _open(report: GateReport) -> Iterator[str]:
    listed = [(v, question) for v in report.verdicts for question in gate_words.open_causes(v)]
    if listed:
        yield "### Undecided"
        yield ""
    for verdict, question in listed[:MOST_FINDINGS]:
        check = f", {safe(question.checks)}" if question.check else ""
        yield f"- **{safe(gate_words.kernel_title(verdict))}{check}**: {safe(question.reason)}"
    if len(listed) > MOST_FINDINGS:
        yield f"- {len(listed) - MOST_FINDINGS} more, not shown here"
    if listed:
        yield ""


def _reservations(report: GateReport) -> Iterator[str]:
    """What the headline says in short, kernel by kernel; and what of each kernel's code ran."""
    listed = [verdict for verdict in report.verdicts if verdict.reservations or verdict.coverage is not None]
    if listed:
        yield "### Coverage and reservations"
        yield ""
    for verdict in listed[:MOST_FINDINGS]:
        ran = [] if verdict.coverage is None else [f"ran {verdict.coverage}"]
        yield f"- **{safe(gate_words.kernel_title(verdict))}**: {safe('; '.join([*ran, *verdict.reservations]))}"
    if len(listed) > MOST_FINDINGS:
        yield f"- {len(listed) - MOST_FINDINGS} more, not shown here"
    if listed:
        yield ""
