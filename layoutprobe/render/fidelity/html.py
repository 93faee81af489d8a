"""A fidelity report as one self-contained page: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from layoutprobe.render.fidelity import words
from layoutprobe.render.html import definitions, safe, sign, table, verdict, write_page
from layoutprobe.report.fidelity import Case, FidelityReport, Outcome

_STYLE = """
.layoutprobe li { grid-template-columns: 1.6em 17rem minmax(0, 1fr); }
.layoutprobe li > i { align-self: start; }
.layoutprobe thead th { text-align: left; }
.layoutprobe tbody th { text-align: left; font-weight: 400; vertical-align: top; white-space: nowrap; }
.layoutprobe .says { text-align: left; }
.layoutprobe td.says small { display: block; color: var(--soft); }
.layoutprobe td.word { vertical-align: top; white-space: nowrap; text-align: left; }
"""


def write(report: FidelityReport, stream: TextIO) -> None:
    """Write the page."""
    write_page(words.title(report), _body(report), stream, style=_STYLE)


def _body(report: FidelityReport) -> Iterator[str]:
    word = words.STYLES[report.verdict]
    yield verdict(word, report.verdict, words.sentence(report), words.basis(report))
    yield definitions(words.setup(report))
    rows = (_row(number, one) for number, one in enumerate(report.outcomes, 1))
    yield from table(("experiment", "verdict", "what was seen"), rows)
    for number, outcome in enumerate(report.outcomes, 1):
        yield from _experiment(number, outcome)


def _row(number: int, outcome: Outcome) -> str:
    word = words.STYLES[outcome.verdict]
    return (
        f'<tr><th scope="row"><a href="#e{number}">{safe(outcome.name)}</a></th>'
        f'<td class="word">{sign(word)} {outcome.verdict}</td>'
        f'<td class="says">{safe(outcome.answer)}<small>{safe(outcome.question)}</small></td></tr>\n'
    )


def _experiment(number: int, outcome: Outcome) -> Iterator[str]:
    word = words.STYLES[outcome.verdict]
    opened = " open" if outcome.verdict in ("differ", "undecided") else ""
    yield f'<details id="e{number}" class="{word}"{opened}><summary>{sign(words.STYLES[outcome.verdict])}'
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
    return f'<li class="{word}">{sign(word)}<b>{safe(case.name)}</b><div>{safe(case.text)}</div></li>\n'
