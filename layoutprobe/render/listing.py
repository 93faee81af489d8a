"""Two-column lists for the terminal: patterns, LDS schemes, what `doctor` found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TextIO

from msgspec import Struct
from rich.text import Text

from layoutprobe.render.page import Page, write_lines
from layoutprobe.text import printable

NARROWEST = 30
"""Columns that a text needs beside its name; in a narrower terminal it stands below."""
_LONGEST_LINE = 100


class Item(Struct, frozen=True):
    """One entry of a list.

    Attributes:
        name: what stands on the left.
        text: what it is.
        good: True or False draws a sign in front; None draws none.
        note: one more sentence, below.
    """

    name: str
    text: str
    good: bool | None = None
    note: str = ""


def write_list(items: Iterable[Item], stream: TextIO) -> None:
    """Write items with their texts wrapped beside their names."""
    write_lines(partial(_items, list(items)), stream)


def _items(items: list[Item], page: Page) -> Iterator[Text]:
    left = max((len(item.name) for item in items), default=0)
    for item in items:
        sign = {None: "", True: f"{page.glyphs.good} ", False: f"{page.glyphs.bad} "}[item.good]
        beside = page.width - len(sign) - left - 2 >= NARROWEST
        indent = " " * (len(sign) + left + 2 if beside else 4)
        sentences = filter(None, (item.text, item.note))
        body = [line for text in sentences for line in page.wrap(text, page.width - len(indent))]
        name = printable(item.name, page.encoding)
        first = body.pop(0) if beside and body else ""
        style = {None: "", True: "green", False: "yellow"}[item.good]
        yield Text.assemble((sign, style), (f"{name:<{left}}  " if first else name, "bold"), first)
        yield from (Text(indent + line) for line in body)


def write_text(name: str, summary: str, body: str, stream: TextIO) -> None:
    """Write a heading, a sentence and paragraphs, wrapped to the terminal."""
    write_lines(partial(_text, name, [summary, *re.split(r"\n\s*\n", body.strip())]), stream)


def _text(name: str, paragraphs: list[str], page: Page) -> Iterator[Text]:
    yield from page.paragraph(name, "bold")
    for paragraph in paragraphs:
        for line in page.wrap(" ".join(paragraph.split()), min(page.width - 2, _LONGEST_LINE)):
            yield Text(f"  {line}")
        yield Text()
