"""The answer of `occupancy`, for the terminal and as JSON."""

from __future__ import annotations

from typing import TextIO

from msgspec import Struct

from layoutprobe.render import data


class Answer(Struct, frozen=True):
    """What was asked, answered.

    Attributes:
        data: for programs.
        items: (name, text) for people.
    """

    data: dict[str, object]
    items: list[tuple[str, str]]


def write(answer: Answer, stream: TextIO) -> None:
    """A name and a text a line."""
    from layoutprobe.render.listing import Item, write_list

    write_list([Item(name, text) for name, text in answer.items], stream)


def write_json(answer: Answer, stream: TextIO) -> None:
    """One object."""
    data.write(answer.data, stream, indent=2)
