"""A fidelity report for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TextIO

from msgspec import to_builtins
from rich.text import Text

from layoutprobe.render import data
from layoutprobe.render.fidelity import words
from layoutprobe.render.look import STYLES
from layoutprobe.render.page import Page, write_lines
from layoutprobe.report.fidelity import FidelityReport, Outcome

SCHEMA = "layoutprobe-fidelity/1"
_SHOWN = 4
"""Cases of an experiment that the terminal shows; page and JSON have all."""


def write(report: FidelityReport, stream: TextIO) -> None:
    """For people."""
    write_lines(partial(_lines, report), stream)


def _lines(report: FidelityReport, page: Page) -> Iterator[Text]:
    yield from page.paragraph(words.title(report), "bold")
    yield from page.pairs(words.setup(report))
    yield Text()
    for outcome in report.outcomes:
        yield from _outcome(outcome, page)
    yield Text()
    word = words.STYLES[report.verdict]
    text = (
        f"{page.glyphs.sign(word)} {report.verdict.upper()} ({words.basis(report)}): {words.sentence(report)}"
    )
    yield from page.pairs([("verdict", text)], STYLES[word])


def _outcome(outcome: Outcome, page: Page) -> Iterator[Text]:
    word = words.STYLES[outcome.verdict]
    style = STYLES.get(word, "dim")
    head = f"{page.glyphs.sign(word)} {outcome.name}: {outcome.verdict}"
    if outcome.verdict in ("agree", "not applicable"):
        yield from page.paragraph(f"{head}: {outcome.answer}", style)
        return
    yield from page.paragraph(head, style)
    cases = [case for case in outcome.cases if case.verdict == outcome.verdict]
    for case in cases[:_SHOWN]:
        yield from page.paragraph(": ".join(filter(None, (case.name, case.text))), indent="    ")
    if len(cases) > _SHOWN:
        yield Text(f"    and {len(cases) - _SHOWN} more; the page has all of them")
    if outcome.verdict == "differ":
        yield from page.paragraph(f"means: {outcome.meaning}", indent="    ")


def write_json(report: FidelityReport, stream: TextIO) -> None:
    """One object; see SCHEMA."""
    body = {
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "sentence": words.sentence(report),
        "evidence": list(map(data.evidence, report.evidence)),
        "arch": report.arch,
        "device": dict(report.device),
        "layoutprobe": report.version,
        "bundle": report.bundle,
        "digest": report.digest,
        "experiments": [
            to_builtins(outcome) | {"verdict": outcome.verdict, "answer": outcome.answer}
            for outcome in report.outcomes
        ],
    }
    data.write(data.envelope(SCHEMA, body), stream)
