"""A solved instruction for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TextIO

from rich.text import Text

from layoutprobe.render.instruction import words
from layoutprobe.render.instruction.words import Shown
from layoutprobe.render.page import Page, write_lines


def write(shown: Shown, stream: TextIO) -> None:
    """The table for people; it adapts to the width and the encoding of the stream."""
    write_lines(partial(_lines, shown), stream)


def _lines(shown: Shown, page: Page) -> Iterator[Text]:
    solved = shown.solved
    if shown.answers:
        for answer in shown.answers:
            yield from page.pairs([(answer.question, words.answer_text(answer))])
        yield from page.pairs([("", words.title(solved)), ("evidence", str(solved.evidence))], "dim")
        return
    yield from page.paragraph(words.title(solved), "bold")
    alone = len(shown.dialects) == 1
    for matrix in shown.matrices:
        yield Text("")
        yield from page.paragraph(words.operand_line(solved, matrix), "bold cyan")
        for dialect, form in words.forms(shown, matrix):
            if form is not None and alone and "\n" in form.lines:
                yield from (Text(f"  {line}") for line in form.lines.splitlines())
                continue
            yield from page.pairs([(dialect, form.text if form else words.NO_FORM)])
    yield Text("")
    yield from page.pairs(words.readings(shown) + words.basis(solved), "dim")
