"""Lines of text that respect a terminal: its width, its encoding, and what it can draw."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from rich.console import Console
from rich.text import Text

from layoutprobe.render.console import PlainConsole
from layoutprobe.render.look import ASCII, STYLES, UNICODE, Glyphs
from layoutprobe.text import one_line, printable

LABEL = 11
"""Columns of the label in front of a sentence."""


class Page:
    """A width, an encoding and a set of characters, and lines that respect them."""

    def __init__(self, width: int, encoding: str, glyphs: Glyphs) -> None:
        self.width = width
        self.encoding = encoding
        self.glyphs = glyphs

    def wrap(self, text: str, width: int) -> list[str]:
        """Lines of a sentence; a single word that is too long stays whole."""
        clean = printable(text, self.encoding)
        folded: list[str] = []
        for paragraph in clean.splitlines():
            folded += textwrap.wrap(
                paragraph, max(width, 12), break_long_words=False, break_on_hyphens=False
            ) or [""]
        return folded or [""]

    def one_line(self, text: str) -> str:
        """A name that may hold anything, on one line."""
        return one_line(text, self.encoding)

    def paragraph(self, text: str, style: str = "", indent: str = "") -> Iterator[Text]:
        """A sentence over as many lines as it needs."""
        for line in self.wrap(text, self.width - len(indent)):
            yield Text(indent + line, style=style)

    def pairs(self, pairs: Iterable[tuple[str, str]], style: str = "") -> Iterator[Text]:
        """Label and sentence, the sentence wrapped beside its label."""
        for label, sentence in pairs:
            for i, line in enumerate(self.wrap(sentence, self.width - LABEL)):
                left = f"{label if i == 0 else '':<{LABEL - 1}} "
                yield Text.assemble((left, "bold"), (line, style))

    def outcome(self, word: str, sentence: str, basis: str) -> Iterator[Text]:
        """The verdict: sign, word, evidence, sentence."""
        text = f"{self.glyphs.sign(word)} {word.upper()} ({basis}): {sentence}"
        yield from self.pairs([("verdict", text)], STYLES[word])


def glyphs_for(console: Console) -> Glyphs:
    """Characters that the console's stream can carry."""
    return UNICODE if console.encoding.lower().startswith("utf") else ASCII


def write_lines(lines: Callable[[Page], Iterable[Text]], stream: TextIO) -> None:
    """Write the lines that a page of the stream's width and encoding has."""
    show_lines(lines, PlainConsole(stream))


def show_lines(lines: Callable[[Page], Iterable[Text]], console: Console) -> None:
    """The same on a rich console: soft_wrap, because rich may neither fold nor crop them."""
    for line in lines(Page(console.width, console.encoding, glyphs_for(console))):
        console.print(line, soft_wrap=True)
