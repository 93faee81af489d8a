"""The terminal report as an SVG: what a reader of the README sees is what the command prints."""

from __future__ import annotations

import io
import re
from functools import partial

from layoutprobe.render.console import PlainConsole
from layoutprobe.render.layout.table import lines
from layoutprobe.render.layout.view import select
from layoutprobe.render.page import show_lines
from layoutprobe.report.layout import LayoutReport

FONTS = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"


def terminal_svg(report: LayoutReport, command: str, *, width: int = 80, wave: int | None = None) -> str:
    """Self-contained SVG of the terminal report.

    Args:
        report: what the command found.
        command: the command line, shown as the window's title.
        width: columns of the terminal.
        wave: as for `render`.
    """
    console = PlainConsole(
        io.StringIO(), record=True, width=width, force_terminal=True, color_system="truecolor"
    )
    show_lines(partial(lines, select(report, wave=wave)), console)
    svg = console.export_svg(title=command, unique_id="layoutprobe")
    # rich's template fetches its font from a content network; a picture of ours fetches nothing.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, count=1, flags=re.DOTALL)
    svg = svg.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"
