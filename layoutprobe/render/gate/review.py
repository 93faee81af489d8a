"""A review of a pull request, as GitHub's interface takes it: each fix as a suggestion that a click accepts.

`gh api repos/OWNER/REPO/pulls/NUMBER/reviews --input layoutprobe.review` posts it. GitHub takes comments on lines of
the pull request's own changes only.
"""

from __future__ import annotations

from typing import Any, TextIO

from layoutprobe.place import Place, SourceLine
from layoutprobe.render import data
from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.gate.summary import fenced, lines, safe
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import Fix, GateReport, KernelVerdict

LONGEST_BODY = 60_000
"""Characters; GitHub refuses bodies of more than 65,536."""


def write(report: GateReport, stream: TextIO) -> None:
    """Write one JSON object, ASCII only, ending in a newline."""
    data.write(review(report), stream, indent=2)


def review(report: GateReport) -> dict[str, Any]:
    """The body of a request: the summary, and a comment for each fix."""
    fixes = [(v, found, v.fix(found)) for v in report.verdicts for found in v.findings]
    comments = [_comment(verdict, found, fix) for verdict, found, fix in fixes if fix is not None]
    return {"event": "COMMENT", "body": _body(report), "comments": comments}


def _body(report: GateReport) -> str:
    """The summary's Markdown, as long as GitHub takes it: what has no fix must not be hidden by what has one."""
    text = "\n".join(lines(report))
    if len(text) <= LONGEST_BODY:
        return text
    cut = text[: text.rindex("\n", 0, LONGEST_BODY)]
    if cut.count("\n```") % 2:  # never within a block of code
        cut = cut[: cut.rindex("\n```")]
    return f"{cut}\n\nThe rest does not fit here; the other reports have it."


def _comment(verdict: KernelVerdict, found: Finding, fix: Fix) -> dict[str, Any]:
    title = f"{found.rule.id}: {found.what}"
    holds = gate_words.fix_title(verdict, fix).partition(", ")[2].rstrip(":")
    body = [safe(title), "", safe(f"Change it so, {holds}:"), "", *fenced("suggestion", fix.new)]
    last = fix.line + len(fix.old) - 1
    begins = {"start_line": fix.line, "start_side": "RIGHT"} if last > fix.line else {}
    file = gate_words.file_of(verdict, Place(source=SourceLine(fix.file, fix.line)))
    return {"path": file, **begins, "line": last, "side": "RIGHT", "body": "\n".join(body)}
