"""The matrix instructions of a user's kernel, for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TextIO

from rich.text import Text

from layoutprobe.render import data, html
from layoutprobe.render.layout.json_ import finding
from layoutprobe.render.layout.words import Verdict, plural
from layoutprobe.render.look import STYLES, WORDS
from layoutprobe.render.page import Page, write_lines
from layoutprobe.report.inspection import Site, Sites

SCHEMA = "layoutprobe.sites/1"


def write(sites: Sites, stream: TextIO) -> None:
    """A line for each instruction, the verdict last."""
    write_lines(partial(_lines, sites), stream)


def write_json(sites: Sites, stream: TextIO) -> None:
    """One object; within version 1 keys may be added."""
    outcome = verdict(sites)
    body = {
        "verdict": outcome.word,
        "summary": outcome.sentence,
        "exit_code": sites.exit_code,
        "kernel": sites.kernel,
        "arch": sites.target,
        "size": sites.size,
        "evidence": list(map(data.evidence, sites.evidence)),
        "sites": [
            {
                "number": site.number,
                "place": site.place.json(),
                "executions": {"min": site.times[0], "max": site.times[1]},
                "wrong": dict(site.wrong),
                "lost": site.lost or None,
            }
            for site in sites.sites
        ],
        "findings": None if sites.findings is None else list(map(finding, sites.findings)),
    }
    data.write(data.envelope(SCHEMA, body), stream, indent=2)


def notebook(sites: Sites) -> str:
    """What a notebook's cell shows."""
    return html.section(f"{sites.kernel} on {sites.target}, {sites.size}", _body(sites))


def _body(sites: Sites) -> Iterator[str]:
    outcome = verdict(sites)
    yield html.verdict(outcome.word, outcome.word, outcome.sentence, outcome.basis)
    rows = (
        f'<tr><th scope="row">{site.number}</th><td>{html.safe(site.place.site)}</td><td>{_often(site)}</td>'
        f"<td>{html.sign(_word(site))} {html.safe(_says(site))}</td></tr>\n"
        for site in sites.sites
    )
    yield from html.table(("number", "instruction", "executions by a wave", "operands"), rows)


def verdict(sites: Sites) -> Verdict:
    """The outcome in a word and a sentence."""
    wrong, lost = (
        sum(map(bool, found)) for found in ([s.wrong for s in sites.sites], [s.lost for s in sites.sites])
    )
    total = plural(len(sites.sites), "matrix instruction")
    found = plural(len(sites.findings or ()), "finding")
    parts = [found] if sites.findings else []
    parts += [f"{wrong} of {total} with wrong operands"] if wrong else []
    parts += [f"{lost} of {total} cannot be followed"] if lost else []
    parts += [] if wrong or lost else [f"operands of {total} are right"]
    if not sites.judged:
        parts = [f"a recorded run with {total}: shown, and not judged"]
    basis = ", ".join(dict.fromkeys(evidence.kind for evidence in sites.evidence))
    return Verdict(WORDS[sites.exit_code], "; ".join(parts), basis)


def _lines(sites: Sites, page: Page) -> Iterator[Text]:
    yield from page.paragraph(f"layoutprobe inspect: {sites.kernel} on {sites.target}, {sites.size}", "bold")
    yield Text()
    for site in sites.sites:
        yield from _site(site, page)
    yield Text()
    for found in sites.findings or ():
        yield from page.pairs(
            [("finding", f"{found.rule.id}, {found.place.line or found.place.site}: {found.what}")]
        )
    outcome = verdict(sites)
    yield from page.outcome(outcome.word, outcome.sentence, outcome.basis)
    yield from page.pairs([("next", _next(sites))])


def _next(sites: Sites) -> str:
    shown = next((site for site in sites.sites if site.wrong), None)
    if shown is None and sites.findings is None:
        return "operands alone were looked at: races, missing k and stores take a manifest, which init drafts"
    if shown is None and sites.findings:
        return "--output kernel.html draws it; check tells all of it"
    if shown is None:
        return "check tells what this list does not: what it leaves open, and other sizes"
    return f"--at {shown.number} --matrix {shown.wrong[0][0]} shows what its registers hold"


def _word(site: Site) -> str:
    return "finding" if site.wrong else "undecided" if site.lost else "holds"


def _often(site: Site) -> str:
    least, most = site.times
    return f"{most}" if least == most else f"{least}-{most}"


def _says(site: Site) -> str:
    return "; ".join(f"{matrix} {how}" for matrix, how in site.wrong) or site.lost


def _site(site: Site, page: Page) -> Iterator[Text]:
    word, says = _word(site), _says(site)
    sign = f"{page.glyphs.sign(word)} {site.number:>3}  "
    often = f"{_often(site)} times a wave"
    where = f"{site.place.site}, PC {site.place.pc:#x}" if site.place.line else site.place.site
    text = f"{where}, {often}" + (f": {says}" if says else "")
    for number, line in enumerate(page.wrap(text, page.width - len(sign) - 2)):
        yield Text.assemble("  ", (" " * len(sign) if number else sign, STYLES[word]), line)
