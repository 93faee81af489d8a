"""A solved instruction as one page: pictures, closed forms, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from layoutprobe.render.instruction.maps import maps_of, picture
from layoutprobe.render.instruction.words import (
    NO_FORM,
    Shown,
    answer_text,
    basis,
    forms,
    operand_line,
    readings,
    title,
)
from layoutprobe.render.layout.html import STYLE, definitions, document
from layoutprobe.render.svg_text import safe

WIDE = ".layoutprobe { max-width: 98rem; } .layoutprobe .scroll svg { max-width: none; }"
_DARK = "--ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --paper: #0d1117; --shade: #151b23;"
_LIGHT = "--ink: #1f2328; --soft: #57606a; --line: #d0d7de; --paper: #ffffff; --shade: #f6f8fa;"
PINNED = {
    "dark": f"\nbody {{ background: #0d1117; }} .layoutprobe {{ {_DARK} }}",
    "light": f"\nbody {{ background: #ffffff; }} .layoutprobe {{ {_LIGHT} }}",
}
"""Colours of a page whose theme does not follow the reader's."""


def write(shown: Shown, stream: TextIO) -> None:
    """Write a whole HTML document, with no script and nothing from elsewhere."""
    stream.write(document(title(shown.solved), "".join(_body(shown))))


def _body(shown: Shown) -> Iterator[str]:
    solved, theme = shown.solved, shown.theme
    wide = f"{WIDE}{PINNED.get(theme, '')}"
    yield f'<section class="layoutprobe">\n<style>{STYLE}{wide}</style>\n<h1>{safe(title(solved))}</h1>\n'
    yield definitions((answer.question, answer_text(answer)) for answer in shown.answers)
    for drawn in maps_of(solved, shown.matrices, shown.colour):
        heading = operand_line(solved, drawn.matrix).partition(": ")[2]
        yield f"<h2>{safe(drawn.name)}: {safe(heading)}</h2>\n"
        yield definitions(
            ((dialect, form.text if form else NO_FORM) for dialect, form in forms(shown, drawn.matrix)),
            code=True,
        )
        shape = f"{drawn.name} of {title(solved)}"
        yield f'<div class="scroll">{picture(solved, [drawn], shape, theme=theme, header=False)}</div>\n'
    yield "<h2>What this rests on</h2>\n" + definitions(readings(shown) + basis(solved)) + "</section>\n"
