"""A fidelity report for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TextIO

from rich.text import Text

from layoutprobe.render.console import PlainConsole
from layoutprobe.render.fidelity import words
from layoutprobe.render.page import VERDICT_STYLES, Page, glyphs_for, print_lines
from layoutprobe.report.fidelity import FidelityReport, Outcome

SCHEMA = "layoutprobe-fidelity/1"
_SHOWN = 4
"""Cases of an experiment that the terminal shows; page and JSON have all."""


def write(report: FidelityReport, stream: TextIO) -> None:
    """For people."""
    console = PlainConsole(stream)
    page = Page(console.width, console.encoding, glyphs_for(console))
    print_lines(_lines(report, page), console)


def _lines(report: FidelityReport, page: Page) -> Iterator[Text]:
    yield from page.paragraph(words.title(report), "bold")
    yield from page.pairs(words.setup(report))
    yield Text()
    for outcome in report.outcomes:
        yield from _outcome(outcome, page)
    yield Text()
    word = words.STYLES[report.verdict]
    text = f"{page.sign(word)} {report.verdict.upper()} ({words.basis(report)}): {words.sentence(report)}"
    yield from page.pairs([("verdict", text)], VERDICT_STYLES[word])


def _outcome(outcome: Outcome, page: Page) -> Iterator[Text]:
    word = words.STYLES[outcome.verdict]
    style = VERDICT_STYLES.get(word, "dim")
    head = f"{page.sign(word)} {outcome.name}: {outcome.verdict}"
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
    data = {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "sentence": words.sentence(report),
        "evidence": [asdict(one) for one in report.evidence],
        "arch": report.arch,
        "device": dict(report.device),
        "layoutprobe": report.version,
        "bundle": report.bundle,
        "digest": report.digest,
        "experiments": [
            asdict(outcome) | {"verdict": outcome.verdict, "answer": outcome.answer}
            for outcome in report.outcomes
        ],
    }
    stream.write(json.dumps(data, indent=1) + "\n")
