"""GitHub workflow commands: annotations beside the lines of a pull request.

A finding is an error, what could not be decided a warning. GitHub shows at most ten of each kind
per step, so the first lines are the ones that count: findings come before open questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TextIO

from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.gate.words import Spot
from layoutprobe.report.gate import GateReport
from layoutprobe.text import printable

MOST_NOTICES = 9
"""GitHub shows ten a step, and the last one is the verdict."""


def write(report: GateReport, stream: TextIO) -> None:
    """Write one workflow command a line."""
    for line in commands(report):
        stream.write(line + "\n")


def commands(report: GateReport) -> Iterator[str]:
    """Annotations, and last the verdict as a notice (or as the error or warning that it is)."""
    for verdict in report.verdicts:
        kernel = gate_words.kernel_title(verdict)
        for found in verdict.findings:
            said = [found.what, *(f"{label}: {text}" for label, text in gate_words.details(verdict, found))]
            title = f"{found.rule.id}: {kernel}"
            yield command("error", gate_words.spot(verdict, found), title, "\n".join(said))
    for verdict in report.verdicts:
        kernel = gate_words.kernel_title(verdict)
        for question in gate_words.open_questions(verdict):
            name = f"{question.check} undecided" if question.check else "undecided"
            yield command("warning", gate_words.spot(verdict), f"{name}: {kernel}", question.reason)
    for text in report.relaxations:
        title = f"the manifest is relaxed since {report.base}"
        yield command("warning", Spot(gate_words.shown(report.manifest)), title, text)
    yield from islice(_unreached(report), MOST_NOTICES)
    outcome = gate_words.gate_outcome(report)
    kind = {"holds": "notice", "finding": "error", "undecided": "warning"}[outcome.word]
    yield command(kind, None, gate_words.title(report), str(outcome))


def _unreached(report: GateReport) -> Iterator[str]:
    """Notices beside the lines that never ran."""
    for verdict in report.verdicts:
        for one in verdict.coverage.unreached if verdict.coverage is not None else ():
            if one.place.source is not None and not one.copied:
                place = gate_words.spot_of(verdict, one.place)
                title = f"never ran: {gate_words.kernel_title(verdict)}"
                yield command("notice", place, title, f"never ran at any size of the manifest: {one}")


def command(kind: str, place: Spot | None, title: str, text: str) -> str:
    """ "::error file=a.hip,line=3,title=races%3A k::text": one line whatever the texts hold."""
    properties = []
    if place is not None:
        properties.append(f"file={_property(place.file)}")
        if place.line is not None:
            properties.append(f"line={place.line}")
        if place.column is not None:
            properties.append(f"col={place.column}")
    properties.append(f"title={_property(title)}")
    return f"::{kind} {','.join(properties)}::{_data(text)}"


def _data(text: str) -> str:
    """The message, escaped as the runner's toolkit escapes it."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
