"""A solved instruction as one page: pictures, closed forms, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from layoutprobe.render.html import definitions, safe, write_page
from layoutprobe.render.instruction import words
from layoutprobe.render.instruction.maps import maps_of, picture
from layoutprobe.render.instruction.words import Shown


def write(shown: Shown, stream: TextIO) -> None:
    """Write the page."""
    write_page(words.title(shown.solved), _body(shown), stream, theme=shown.theme)


def _body(shown: Shown) -> Iterator[str]:
    solved = shown.solved
    yield definitions((answer.question, words.answer_text(answer)) for answer in shown.answers)
    for drawn in maps_of(solved, shown.matrices, shown.colour):
        heading = words.operand_line(solved, drawn.matrix).partition(": ")[2]
        yield f"<h2>{safe(drawn.name)}: {safe(heading)}</h2>\n"
        yield definitions(
            (
                (dialect, form.text if form else words.NO_FORM)
                for dialect, form in words.forms(shown, drawn.matrix)
            ),
            code=True,
        )
        shape = f"{drawn.name} of {words.title(solved)}"
        yield f'<div class="scroll">{picture(solved, [drawn], shape, theme=shown.theme, header=False)}</div>\n'
    yield "<h2>What this rests on</h2>\n" + definitions(words.readings(shown) + words.basis(solved))
