"""The gate's report as a self-contained page: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.gate.table import says_of
from layoutprobe.render.layout import words
from layoutprobe.render.layout.html import definitions, document
from layoutprobe.render.svg_text import MONO, SANS, safe
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict

SIGNS = {"holds": "✓", "finding": "✗", "undecided": "?", "skipped": "–", "": ""}

STYLE = f"""
.gate {{ --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --paper: #ffffff; --shade: #f6f8fa;
  --good: #1a7f37; --bad: #cf222e; --unsure: #9a6700; --off: #818b98;
  --good-bg: #dafbe1; --bad-bg: #ffebe9; --unsure-bg: #fff8c5; --off-bg: #eff2f5;
  color: var(--ink); background: var(--paper); font: 15px/1.55 {SANS};
  max-width: 66rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }}
@media (prefers-color-scheme: dark) {{
  .gate {{ --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --paper: #0d1117; --shade: #151b23;
    --good: #3fb950; --bad: #ff7b72; --unsure: #d29922; --off: #7d8590;
    --good-bg: #12261e; --bad-bg: #2d1417; --unsure-bg: #272115; --off-bg: #1c2129; }}
}}
.gate * {{ box-sizing: border-box; }}
.gate h1 {{ font-size: 1.1rem; font-weight: 600; color: var(--soft); margin: 0 0 .75rem;
  overflow-wrap: anywhere; }}
.gate h2 {{ font-size: 1.15rem; margin: 0; overflow-wrap: anywhere; }}
.gate h2 small {{ font-weight: 400; color: var(--soft); font-size: .9rem; }}
.gate h3 {{ font-size: 1rem; margin: 1.2rem 0 .3rem; overflow-wrap: anywhere; }}
.gate .card h3 {{ margin-top: 0; }}
.gate .holds {{ --tone: var(--good); --wash: var(--good-bg); }}
.gate .finding {{ --tone: var(--bad); --wash: var(--bad-bg); }}
.gate .undecided {{ --tone: var(--unsure); --wash: var(--unsure-bg); }}
.gate .skipped {{ --tone: var(--off); --wash: var(--off-bg); }}
.gate .verdict {{ display: flex; gap: 1rem; align-items: center; margin: 0 0 2rem; padding: 1rem 1.25rem;
  border: 1px solid var(--line); border-left: 6px solid var(--tone); border-radius: 8px;
  background: var(--wash); }}
.gate .verdict b {{ color: var(--tone); font-size: 1.25rem; letter-spacing: .02em; white-space: nowrap; }}
.gate .verdict span {{ overflow-wrap: anywhere; }}
.gate .verdict small {{ display: block; color: var(--soft); }}
.gate .scroll {{ overflow-x: auto; margin: 0 0 2.5rem; border: 1px solid var(--line); border-radius: 8px; }}
.gate table {{ border-collapse: collapse; width: 100%; font-size: .9rem; }}
.gate th, .gate td {{ padding: .4rem .7rem; border-bottom: 1px solid var(--line); text-align: center;
  color: var(--ink); background: transparent; }}
.gate thead th {{ background: var(--shade); color: var(--soft); font-weight: 600; white-space: nowrap; }}
.gate tbody tr:last-child > * {{ border-bottom: 0; }}
.gate th:first-child {{ text-align: left; min-width: 8rem; max-width: 22rem; overflow-wrap: anywhere; }}
.gate th a {{ color: inherit; }}
.gate tbody th small {{ color: var(--soft); font-weight: 400; }}
.gate i {{ display: inline-block; min-width: 1.5em; padding: 0 .3em; border-radius: 5px; font-style: normal;
  font-weight: 700; text-align: center; color: var(--tone); background: var(--wash); }}
.gate details {{ border: 1px solid var(--line); border-radius: 8px; margin: 0 0 1rem; overflow: hidden; }}
.gate summary {{ display: flex; gap: .75rem; align-items: baseline; padding: .7rem 1rem; cursor: pointer;
  background: var(--shade); list-style: none; }}
.gate summary::-webkit-details-marker {{ display: none; }}
.gate summary em {{ margin-left: auto; color: var(--soft); font-style: normal; font-size: .9rem;
  text-align: right; }}
.gate .body {{ padding: .25rem 1rem 1rem; }}
.gate dl {{ display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .15rem 1rem; margin: .8rem 0; }}
.gate dt {{ color: var(--soft); }}
.gate dd {{ margin: 0; overflow-wrap: anywhere; }}
.gate code {{ font: .87em/1.5 {MONO}; }}
.gate ul {{ list-style: none; margin: 0; padding: 0; }}
.gate li {{ display: grid; grid-template-columns: 1.6em 13rem minmax(0, 1fr); gap: 0 .7rem; padding: .35rem 0;
  border-top: 1px solid var(--line); }}
.gate li:first-child {{ border-top: 0; }}
.gate li > * {{ overflow-wrap: anywhere; }}
.gate li b {{ font-weight: 600; }}
.gate li.skipped, .gate li.skipped b {{ color: var(--soft); font-weight: 400; }}
.gate .law {{ color: var(--soft); }}
.gate .figures {{ display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin-top: .3rem; font-size: .85rem; }}
.gate .figures span {{ border: 1px solid var(--line); border-radius: 5px; padding: 0 .45rem;
  overflow-wrap: anywhere; }}
.gate .figures span span {{ border: 0; padding: 0; color: var(--soft); }}
.gate .card {{ border: 1px solid var(--line); border-left: 4px solid var(--tone); border-radius: 8px;
  padding: .8rem 1rem .3rem; margin: 1rem 0 0; }}
.gate .card h3 {{ color: var(--tone); }}
.gate .card p {{ margin: 0 0 .5rem; overflow-wrap: anywhere; white-space: pre-wrap; }}
.gate .place {{ font: .85em {MONO}; color: var(--soft); float: right; }}
.gate .built {{ margin-top: 1rem; font-size: .85rem; color: var(--soft); }}
@media (max-width: 640px) {{
  .gate {{ padding: 1rem .75rem 3rem; }}
  .gate .verdict, .gate summary {{ flex-wrap: wrap; gap: .25rem .75rem; }}
  .gate summary em {{ margin-left: 0; text-align: left; flex-basis: 100%; }}
  .gate li {{ grid-template-columns: 1.6em minmax(0, 1fr); }}
  .gate li > div {{ grid-column: 2; }}
  .gate dl {{ grid-template-columns: minmax(0, 1fr); gap: 0; }}
  .gate dd {{ margin: 0 0 .4rem; }}
  .gate .place {{ float: none; display: block; }}
}}
@media print {{ .gate {{ max-width: none; }} .gate details, .gate .card {{ break-inside: avoid; }} }}
"""


def write(report: GateReport, stream: TextIO) -> None:
    """Write a whole HTML document."""
    stream.write(document(gate_words.title(report), fragment(report)))


def fragment(report: GateReport) -> str:
    """The report as one <main> that brings its own style."""
    return "".join(_fragment(report))


def _fragment(report: GateReport) -> Iterator[str]:
    outcome = gate_words.gate_outcome(report)
    yield f'<main class="gate">\n<style>{STYLE}</style>\n<h1>{safe(gate_words.title(report))}</h1>\n'
    yield (
        f'<div class="verdict {outcome.word}" role="status"><b>{SIGNS[outcome.word]} {outcome.word.upper()}</b>'
        f"<span>{safe(outcome.sentence)}<small>evidence: {safe(outcome.basis)};"
        f" layoutprobe {safe(report.version)}</small></span></div>\n"
    )
    if report.verdicts:
        yield from _matrix(report)
    for number, verdict in enumerate(report.verdicts, 1):
        yield from _kernel(verdict, number)
    yield "</main>\n"


def _sign(status: str) -> str:
    return f'<i class="{status}" title="{status}">{SIGNS[status]}</i>'


def _matrix(report: GateReport) -> Iterator[str]:
    """Kernels by checks: where to look first."""
    checks = list(dict.fromkeys(r.check for verdict in report.verdicts for r in verdict.results))
    yield '<div class="scroll"><table>\n<thead><tr><th scope="col">kernel</th><th scope="col">verdict</th>'
    yield "".join(f'<th scope="col">{safe(name)}</th>' for name in checks) + "</tr></thead>\n<tbody>\n"
    for number, verdict in enumerate(report.verdicts, 1):
        status = {result.check: result.status for result in verdict.results}
        name = f'<a href="#kernel-{number}">{safe(verdict.name)}</a> <small>{safe(verdict.target)}</small>'
        signs = [gate_words.outcome(verdict).word, *(status.get(check, "") for check in checks)]
        cells = "".join(f"<td>{_sign(sign) if sign else ''}</td>" for sign in signs)
        yield f'<tr><th scope="row">{name}</th>{cells}</tr>\n'
    yield "</tbody></table></div>\n"


def _kernel(verdict: KernelVerdict, number: int) -> Iterator[str]:
    outcome = gate_words.outcome(verdict)
    shown = "" if outcome.word == "holds" else " open"
    yield f'<details id="kernel-{number}"{shown}><summary>{_sign(outcome.word)}'
    yield f"<h2>{safe(verdict.name)} <small>{safe(verdict.target)}</small></h2>"
    yield f'<em>{safe(outcome.sentence)}</em></summary>\n<div class="body">\n'
    about = [
        ("source", verdict.source),
        ("symbol", verdict.symbol),
        ("sizes", "; ".join(verdict.sizes)),
        ("evidence", "; ".join(map(str, verdict.evidence)) or outcome.basis),
        ("time", f"{verdict.seconds:.1f} s"),
    ]
    yield definitions((label, text) for label, text in about if text)
    for question in gate_words.open_questions(verdict):
        if not question.check:
            yield f'<div class="card undecided"><h3>undecided</h3><p>{safe(question.reason)}</p></div>\n'
    for at, found in enumerate(verdict.findings, 1):
        yield _finding(verdict, found, f"Finding {at} of {len(verdict.findings)}: {found.rule.id}")
    if verdict.results:
        repeated = gate_words.repeated(verdict)
        items = (_check(result, repeated.get(result.check, "")) for result in verdict.results)
        yield f"<h3>Checks</h3>\n<ul>\n{''.join(items)}</ul>\n"
    if verdict.toolchain:
        built = definitions(((name, str(value)) for name, value in verdict.toolchain.items()), code=True)
        yield f'<div class="built">{built}</div>\n'
    yield "</div></details>\n"


def _check(result: CheckResult, like: str) -> str:
    says = says_of(result, like)
    figures = _figures(result.metrics.items())
    body = "".join(
        [f'<div class="law">{safe(result.law)}</div>', f"<div>{safe(says)}</div>" if says else "", figures]
    )
    name = f"<b>{safe(result.check)}</b>"
    return f'<li class="{result.status}"><span>{_sign(result.status)}</span>{name}<div>{body}</div></li>\n'


def _figures(figures: Iterable[tuple[str, object]]) -> str:
    shown = "".join(
        f"<span><span>{safe(name)}</span> {safe(gate_words.figure(value))}</span>" for name, value in figures
    )
    return f'<div class="figures">{shown}</div>' if shown else ""


def _finding(verdict: KernelVerdict, found: Finding, heading: str) -> str:
    place = safe(str(gate_words.spot(verdict, found)))
    return (
        f'<div class="card finding"><span class="place">{place}</span><h3>{safe(heading)}</h3>\n'
        f"<p>{safe(found.what)}</p>\n{definitions(words.finding(found), code=True)}</div>\n"
    )
