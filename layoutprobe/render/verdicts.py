"""Turns a GateReport into what a reviewer, a CI service or a program reads. Decides nothing.

Formats are modules with one entry point each, imported when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.verdict import GateReport

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
        from layoutprobe.render.gate_table import write
    elif format == "json":
        from layoutprobe.render.gate_json import write
    elif format == "junit":
        from layoutprobe.render.junit import write
    elif format == "sarif":
        from layoutprobe.render.sarif import write
    elif format == "github":
        from layoutprobe.render.github import write
    elif format == "summary":
        from layoutprobe.render.summary import write
    elif format == "html":
        from layoutprobe.render.gate_html import write
    else:
        raise UsageError(f"no format named {format!r}", expected="one of: " + ", ".join(FORMATS))
    write(report, stream)


__all__ = ["FORMATS", "SUFFIXES", "render_gate"]
