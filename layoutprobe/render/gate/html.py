"""The gate's report as a self-contained page: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

import numpy as np

from layoutprobe.place import Place
from layoutprobe.render import html
from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.gate.table import says_of
from layoutprobe.render.html import definitions, safe, sign
from layoutprobe.render.layout import words
from layoutprobe.render.layout.svg import picture as of_lanes
from layoutprobe.render.layout.view import select
from layoutprobe.render.layout.words import plural
from layoutprobe.render.matrix_svg import Kind, MatrixMap
from layoutprobe.render.svg import picture
from layoutprobe.report.coverage import CodeCoverage
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict, Table, lds_key
from layoutprobe.report.lds_picture import ROLES, Role

_STYLE = """
.layoutprobe .scroll { border: 1px solid var(--line); border-radius: 8px; }
.layoutprobe tbody tr:last-child > * { border-bottom: 0; }
.layoutprobe th:first-child { min-width: 8rem; max-width: 22rem; overflow-wrap: anywhere; }
.layoutprobe tbody th small { color: var(--soft); font-weight: 400; }
.layoutprobe .law { color: var(--soft); }
.layoutprobe .figures { display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin-top: .3rem; font-size: .85rem; }
.layoutprobe .figures span { border: 1px solid var(--line); border-radius: 5px; padding: 0 .45rem;
  overflow-wrap: anywhere; }
.layoutprobe .figures .long { flex-basis: 100%; }
.layoutprobe .figures span span { border: 0; padding: 0; color: var(--soft); }
.layoutprobe .built { margin-top: 1rem; font-size: .85rem; color: var(--soft); }
"""

_LDS_LOOK: dict[Role, tuple[int | None, bool]] = {
    "nothing": (None, False), "stored": (1, False), "one": (2, False), "other": (3, False), "both": (0, True),
}  # fmt: skip
"""Number of the colour of a dword (None: a frame alone), and whether it is hatched."""


def write(report: GateReport, stream: TextIO) -> None:
    """Write the page."""
    html.write_page(gate_words.title(report), _body(report), stream, style=_STYLE)


def notebook(report: GateReport) -> str:
    """What a notebook's cell shows."""
    return html.section(gate_words.title(report), _body(report), style=_STYLE)


def _body(report: GateReport) -> Iterator[str]:
    outcome = gate_words.gate_outcome(report)
    basis = f"{outcome.basis}; layoutprobe {report.version}"
    yield html.verdict(outcome.word, outcome.word, outcome.sentence, basis)
    if report.relaxations:
        items = "".join(f"<li>{safe(text)}</li>" for text in report.relaxations)
        title = safe(gate_words.relaxed_title(report))
        yield f'<div class="card undecided"><h3>{title}</h3><ul>{items}</ul></div>\n'
    if report.verdicts:
        yield from _matrix(report)
    for number, verdict in enumerate(report.verdicts, 1):
        yield from _kernel(verdict, number)


def _matrix(report: GateReport) -> Iterator[str]:
    """Kernels by checks: where to look first."""
    checks = list(dict.fromkeys(r.check for verdict in report.verdicts for r in verdict.results))
    rows = (_row(number, verdict, checks) for number, verdict in enumerate(report.verdicts, 1))
    yield from html.table(("kernel", "verdict", *checks), rows)


def _row(number: int, verdict: KernelVerdict, checks: Sequence[str]) -> str:
    status = {result.check: result.status for result in verdict.results}
    name = f'<a href="#kernel-{number}">{safe(verdict.name)}</a> <small>{safe(verdict.target)}</small>'
    signs = [gate_words.outcome(verdict).word, *(status.get(check, "") for check in checks)]
    cells = "".join(f"<td>{sign(word) if word else ''}</td>" for word in signs)
    return f'<tr><th scope="row">{name}</th>{cells}</tr>\n'


def _kernel(verdict: KernelVerdict, number: int) -> Iterator[str]:
    outcome = gate_words.outcome(verdict)
    shown = "" if outcome.word == "holds" else " open"
    yield f'<details id="kernel-{number}"{shown}><summary>{sign(outcome.word)}'
    yield f"<h2>{safe(verdict.name)} <small>{safe(verdict.target)}</small></h2>"
    yield f'<em>{safe(outcome.sentence)}</em></summary>\n<div class="body">\n'
    about = [
        ("source", verdict.source),
        ("symbol", verdict.symbol),
        ("sizes", "; ".join(verdict.sizes)),
        ("evidence", "; ".join(map(str, verdict.evidence)) or outcome.basis),
        ("time", f"{verdict.seconds:.1f} s"),
        ("tried", "" if verdict.mending is None else str(verdict.mending)),
        ("reservations", "; ".join(verdict.reservations)),
    ]
    yield definitions((label, text) for label, text in about if text)
    for question in gate_words.open_questions(verdict):
        if not question.check:
            yield f'<div class="card undecided"><h3>undecided</h3><p>{safe(question.reason)}</p></div>\n'
    for at, found in enumerate(verdict.findings, 1):
        yield _finding(verdict, found, f"Finding {at} of {len(verdict.findings)}: {found.rule.id}")
    yield from _output(verdict)
    if verdict.results:
        repeated = gate_words.repeated(verdict)
        items = (_check(result, repeated.get(result.check, "")) for result in verdict.results)
        yield f"<h3>Checks</h3>\n<ul>\n{''.join(items)}</ul>\n"
    if verdict.coverage is not None:
        yield from _coverage(verdict.coverage)
    if verdict.toolchain:
        built = definitions(((name, str(value)) for name, value in verdict.toolchain.items()), code=True)
        yield f'<div class="built">{built}</div>\n'
    yield "</div></details>\n"


def _check(result: CheckResult, like: str) -> str:
    says = says_of(result, like)
    figures = _figures(gate_words.figures(result))
    law = f'<div class="law">{safe(result.law)}</div>' + (f"<div>{safe(says)}</div>" if says else "")
    body = law + figures + "".join(_table(*named) for named in gate_words.tables(result))
    name = f"<b>{safe(result.check)}</b>"
    return f'<li class="{result.status}"><span>{sign(result.status)}</span>{name}<div>{body}</div></li>\n'


def _coverage(covered: CodeCoverage) -> Iterator[str]:
    """What ran, and all that did not."""
    rows = [("ran", str(covered)), *(("never ran", str(one)) for one in covered.unreached)]
    rows += [("loop", str(loop).removeprefix("loop ").removeprefix("at ")) for loop in covered.loops]
    rows += [(f"always {'jumps' if b.jumped else 'goes on'}", b.place.site) for b in covered.branches]
    yield f"<details><summary><h3>Coverage</h3> {safe(str(covered))}</summary>\n{definitions(rows)}</details>\n"


def _figures(figures: Iterable[tuple[str, str]]) -> str:
    shown = "".join(
        f'<span class="{"long" if gate_words.is_long(figure) else ""}">'
        f"<span>{safe(figure[0])}</span> {safe(figure[1])}</span>"
        for figure in figures
    )
    return f'<div class="figures">{shown}</div>' if shown else ""


def _table(title: str, table: Table) -> str:
    rows = (
        f'<tr><th scope="row">{safe(first)}</th>'
        + "".join(f"<td>{safe(value)}</td>" for value in values)
        + "</tr>\n"
        for first, *values in gate_words.rows(table)
    )
    return f'<div class="law">{safe(title)}</div>' + "".join(html.table(table.columns, rows))


def _finding(verdict: KernelVerdict, found: Finding, heading: str) -> str:
    place = safe(str(gate_words.spot(verdict, found)))
    told = [(label, text) for label, text in gate_words.details(verdict, found) if label != gate_words.FIX]
    details = definitions(told, code=True)
    return (
        f'<div class="card finding"><span class="place">{place}</span><h3>{safe(heading)}</h3>\n'
        f"<p>{safe(found.what)}</p>\n{_code(verdict, found.place)}{details}{_fix(verdict, found)}"
        f"{''.join(_way(verdict, found))}{''.join(_lds(verdict, found))}{''.join(_operand(verdict, found))}</div>\n"
    )


def _fix(verdict: KernelVerdict, found: Finding) -> str:
    """The change that mends it."""
    fix = verdict.fix(found)
    if fix is None:
        return ""
    lines = "\n".join(gate_words.fix_lines(fix))
    return f"<p>fix: {safe(gate_words.fix_title(verdict, fix))}</p>\n<pre>{safe(lines)}</pre>\n"


def _code(verdict: KernelVerdict, place: Place) -> str:
    """The source line, marked, and those around it."""
    frame = "\n".join(gate_words.frame(verdict, place))
    return f"<pre>{safe(frame)}</pre>\n" if frame else ""


def _way(verdict: KernelVerdict, found: Finding) -> Iterator[str]:
    """The other places, each with its code and the calls around it."""
    parts = []
    for other in found.related:
        calls = "".join(f", called at {call.source}" for call in other.place.inlined_at)
        if code := _code(verdict, other.place):
            parts.append(f"<p>{safe(f'{other}{calls}')}</p>\n{code}")
    if parts:
        yield f'<details><summary>The code of {plural(len(parts), "related place")}</summary>\n<div class="body">'
        yield "".join(parts) + "</div></details>\n"


def _lds(verdict: KernelVerdict, found: Finding) -> Iterator[str]:
    """The bytes of LDS that the finding is about, by banks."""
    drawn = verdict.pictures.lds.get(lds_key(found))
    if drawn is None:
        return
    there = [at for at in range(len(ROLES)) if (drawn.role == at).any()]
    kinds = [Kind(drawn.says[ROLES[at]], *_LDS_LOOK[ROLES[at]]) for at in there]
    notes = [drawn.note, f"a row is {drawn.banks} banks, a dword each; on the left, its first byte"]
    shown = MatrixMap(
        np.searchsorted(there, drawn.role),
        kinds,
        4,
        notes,
        labels=(drawn.first, 4 * drawn.banks),
        square=False,
    )
    yield f'<details open><summary>{safe(drawn.title)}</summary>\n<div class="body">'
    yield f'<div class="scroll">{picture(drawn.title, [shown])}</div>\n</div></details>\n'


def _operand(verdict: KernelVerdict, found: Finding) -> Iterator[str]:
    """What the lanes hold, where the finding is about an operand."""
    report = verdict.pictures.operand(found)
    if report is not None:
        about = dict(report.about)
        says = f"What {report.matrix} holds at {about['at']}"
        yield f'<details open><summary>{safe(says)}</summary>\n<div class="body">'
        yield definitions([("moment", about["moment"]), *words.forms(report)], code=True)
        yield f'<div class="scroll">{of_lanes(select(report), header=False)}</div>\n</div></details>\n'


def _output(verdict: KernelVerdict) -> Iterator[str]:
    """Which elements of the output are wrong."""
    output = verdict.pictures.output
    if output is None:
        return
    kinds = (Kind("right", 1), Kind("wrong", 0, hatched=True), Kind("never given a value", 2))
    kind = np.where(output.undefined, 2, output.wrong.astype(int))
    there = [n for n in range(len(kinds)) if (kind == n).any()]
    wrong, undefined = int((kind == 1).sum()), int((kind == 2).sum())
    notes = [f"{wrong} of {kind.size} elements are wrong, {undefined} were never given a value"]
    if output.rows < kind.shape[0]:
        notes.append(f"products of a batch lie below each other, {output.rows} rows each")
    shown = MatrixMap(np.searchsorted(there, kind), [kinds[n] for n in there], len(kinds), notes)
    title = f"{output.name} on small integers, {verdict.pictures.size}"
    yield f"<h3>{safe(title)}</h3>\n"
    yield f'<div class="scroll">{picture(title, [shown])}</div>\n'
