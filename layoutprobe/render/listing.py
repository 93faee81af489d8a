"""Two-column lists for the terminal: patterns, LDS schemes, what `doctor` found."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO

from rich.text import Text

from layoutprobe.render.console import PlainConsole
from layoutprobe.render.page import glyphs_for
from layoutprobe.render.text import printable

NARROWEST = 30
"""Columns that a text needs beside its name; in a narrower terminal it stands below."""


@dataclass(frozen=True)
class Item:
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
    console = PlainConsole(stream)
    glyphs = glyphs_for(console)
    entries = list(items)
    left = min(max((len(item.name) for item in entries), default=0), 24)
    for item in entries:
        sign = {None: "", True: f"{glyphs.good} ", False: f"{glyphs.bad} "}[item.good]
        beside = console.width - len(sign) - left - 2 >= NARROWEST
        indent = " " * (len(sign) + left + 2 if beside else 4)
        style = {None: "", True: "green", False: "yellow"}[item.good]
        name = printable(item.name, console.encoding)
        body: list[str] = []
        for sentence in filter(None, (item.text, item.note)):
            for line in printable(sentence, console.encoding).splitlines():
                body += textwrap.wrap(
                    line, max(console.width - len(indent), 20), break_long_words=False, break_on_hyphens=False
                )
        first = body.pop(0) if beside and body else ""
        head = f"{name:<{left}}  " if first else name
        console.print(Text.assemble((sign, style), (head, "bold"), first), soft_wrap=True)
        for line in body:
            console.print(Text(indent + line), soft_wrap=True)


def write_text(name: str, summary: str, body: str, stream: TextIO) -> None:
    """Write a heading, a sentence and paragraphs, wrapped to the terminal."""
    console = PlainConsole(stream)
    console.print(Text(printable(name, console.encoding), "bold"), soft_wrap=True)
    for paragraph in (summary, *re.split(r"\n\s*\n", body.strip())):
        joined = " ".join(printable(paragraph, console.encoding).split())
        for line in textwrap.wrap(joined, min(max(console.width - 2, 20), 100)):
            console.print(Text(f"  {line}"), soft_wrap=True)
        console.print()
