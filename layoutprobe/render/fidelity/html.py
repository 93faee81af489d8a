"""A fidelity report as one self-contained page: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from layoutprobe.render.fidelity import words
from layoutprobe.render.gate.html import SIGNS, STYLE
from layoutprobe.render.layout.html import definitions, document
from layoutprobe.render.svg_text import safe
from layoutprobe.report.fidelity import Case, FidelityReport, Outcome

_OWN = """
.gate li { grid-template-columns: 1.6em 17rem minmax(0, 1fr); }
.gate li > i { align-self: start; }
.gate .says, .gate tbody th { text-align: left; font-weight: 400; }
.gate tbody th { white-space: nowrap; }
.gate td.says small { display: block; color: var(--soft); }
.gate td.word { vertical-align: top; }
.gate tbody th { vertical-align: top; }
.gate td.word { white-space: nowrap; text-align: left; }
"""


def write(report: FidelityReport, stream: TextIO) -> None:
    """Write a whole HTML document."""
    stream.write(document(words.title(report), "".join(_body(report))))


def _body(report: FidelityReport) -> Iterator[str]:
    word = words.STYLES[report.verdict]
    yield f'<main class="gate">\n<style>{STYLE}{_OWN}</style>\n<h1>{safe(words.title(report))}</h1>\n'
    yield (
        f'<div class="verdict {word}" role="status"><b>{SIGNS[word]} {report.verdict.upper()}</b>'
        f"<span>{safe(words.sentence(report))}<small>evidence: {safe(words.basis(report))}</small></span></div>\n"
    )
    yield definitions(words.setup(report))
    yield '<div class="scroll"><table>\n<thead><tr><th>experiment</th>'
    yield '<th class="says">verdict</th><th class="says">what was seen</th></tr></thead>\n'
    yield "<tbody>\n" + "".join(_row(number, one) for number, one in enumerate(report.outcomes, 1))
    yield "</tbody></table></div>\n"
    for number, outcome in enumerate(report.outcomes, 1):
        yield from _experiment(number, outcome)
    yield "</main>\n"


def _row(number: int, outcome: Outcome) -> str:
    return (
        f'<tr><th scope="row"><a href="#e{number}">{safe(outcome.name)}</a></th>'
        f'<td class="word {words.STYLES[outcome.verdict]}">{_sign(outcome.verdict)} {outcome.verdict}</td>'
        f'<td class="says">{safe(outcome.answer)}<small>{safe(outcome.question)}</small></td></tr>\n'
    )


def _sign(verdict: str) -> str:
    word = next(style for name, style in words.STYLES.items() if name == verdict)
    return f"<i>{SIGNS[word]}</i>"


def _experiment(number: int, outcome: Outcome) -> Iterator[str]:
    word = words.STYLES[outcome.verdict]
    opened = " open" if outcome.verdict in ("differ", "undecided") else ""
    yield f'<details id="e{number}" class="{word}"{opened}><summary>{_sign(outcome.verdict)}'
    yield f"<h2>{safe(outcome.name)}</h2><em>{outcome.verdict}</em></summary>\n"
    yield '<div class="body">\n'
    lines = [
        ("asks", outcome.question),
        ("against", outcome.reference),
        ("evidence", words.evidence(outcome)),
    ]
    if outcome.verdict == "differ":
        lines.append(("means", outcome.meaning))
    yield definitions(lines)
    yield "<ul>\n" + "".join(map(_case, outcome.cases)) + "</ul>\n</div></details>\n"


def _case(case: Case) -> str:
    word = words.STYLES[case.verdict]
    return (
        f'<li class="{word}">{_sign(case.verdict)}<b>{safe(case.name)}</b><div>{safe(case.text)}</div></li>\n'
    )
