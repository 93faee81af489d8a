"""Turns a GateReport into what a reviewer, a CI service or a program reads. Decides nothing.

Formats are modules with one entry point each, imported when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.report.gate import GateReport

FORMATS = ("table", "json", "junit", "sarif", "github", "summary", "html")
SUFFIXES = {
    "json": "json",
    "xml": "junit",
    "sarif": "sarif",
    "github": "github",
    "md": "summary",
    "html": "html",
    "txt": "table",
}
"""Suffix of an output file -> its format."""


def render_gate(report: GateReport, format: str, stream: TextIO) -> None:
    """Write a report to a text stream.

    Args:
        report: what the gate found.
        format: one of FORMATS. "table" adapts to the stream: its width, its colours, its encoding.
            "github" are workflow commands that annotate a pull request, "summary" is Markdown for
            $GITHUB_STEP_SUMMARY.
        stream: where the text goes. All but "table" need UTF-8.

    Raises:
        UsageError: unknown format.
    """
    if format == "table":
        from layoutprobe.render.gate.table import write
    elif format == "json":
        from layoutprobe.render.gate.json_ import write
    elif format == "junit":
        from layoutprobe.render.gate.junit import write
    elif format == "sarif":
        from layoutprobe.render.gate.sarif import write
    elif format == "github":
        from layoutprobe.render.gate.github import write
    elif format == "summary":
        from layoutprobe.render.gate.summary import write
    elif format == "html":
        from layoutprobe.render.gate.html import write
    else:
        raise UsageError(f"no format named {format!r}", expected="one of: " + ", ".join(FORMATS))
    write(report, stream)


__all__ = ["FORMATS", "SUFFIXES", "render_gate"]
