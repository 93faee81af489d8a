"""Turns a LayoutReport into what a person or a program reads. Renders, and decides nothing.

Formats are modules with one entry point each, imported when asked for: `--format json` must not
pay for the terminal library.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.report.layout import LayoutReport

FORMATS = ("table", "json", "csv", "svg", "html")


def render(
    report: LayoutReport,
    format: str,
    stream: TextIO,
    *,
    wave: int | None = None,
    lanes: Iterable[int] | None = None,
    vgprs: Iterable[int] | None = None,
    whole_lds: bool = False,
) -> None:
    """Write a report to a text stream.

    Args:
        report: what a command found.
        format: one of FORMATS. "table" adapts to the stream: its width, its colours, its encoding.
        stream: where the text goes.
        wave: show this wave only. By default json and csv carry every wave; the others show the
            first wave with a mismatch, or wave 0.
        lanes, vgprs: show these only; all by default.
        whole_lds: table: every line of LDS, however many there are.

    Raises:
        UsageError: unknown format, or a wave, lane or VGPR that the report does not have.
    """
    from layoutprobe.render.layout.view import select

    if format not in FORMATS:
        raise UsageError(f"no format named {format!r}", expected="one of: " + ", ".join(FORMATS))
    every_wave = format in ("json", "csv")
    view = select(report, wave=wave, lanes=lanes, vgprs=vgprs, every_wave=every_wave, whole_lds=whole_lds)
    if format == "table":
        from layoutprobe.render.layout import table

        table.write(view, stream)
    elif format == "json":
        from layoutprobe.render.layout import json_

        json_.write(view, stream)
    elif format == "csv":
        from layoutprobe.render.layout import csv_

        csv_.write(view, stream)
    elif format == "svg":
        from layoutprobe.render.layout import svg

        stream.write(svg.picture(view))
    else:
        from layoutprobe.render.layout import html

        stream.write(html.page(view))


def notebook(report: LayoutReport) -> str:
    """HTML fragment for a notebook cell: summary, findings and the picture of one wave."""
    from layoutprobe.render.layout.html import fragment
    from layoutprobe.render.layout.view import select

    return fragment(select(report))


__all__ = ["FORMATS", "notebook", "render"]
