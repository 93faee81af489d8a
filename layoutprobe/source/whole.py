"""Whole statements, with the blocks that they have and the other branches that follow."""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.source.statements import Source


def end_of(source: Source, first: int) -> int | None:
    """The last token of the statement that begins with one; None where none begins there."""
    while source.word(first) not in ("", "}", "{", "do"):
        stop = source.around(first).stop
        last = source.partner.get(stop) if source.is_block(stop) else stop
        if last is None or last >= len(source.tokens):
            return None
        if source.word(last + 1) != "else":
            return last
        first = last + 1
    return None


def start_of(source: Source, last: int) -> int | None:
    """The first token of the statement that ends with one; None where none does."""
    while source.word(last) in (";", "}"):
        opened = last if source.word(last) == ";" else source.partner.get(last, 0)
        if not opened or source.word(opened - 1) in (";", "{"):
            return None
        start = source.around(source.partner.get(opened - 1, opened - 1)).start
        if source.word(start) != "else":
            return start
        last = start - 1
    return None


def behind(source: Source, last: int) -> Iterator[range]:
    """Tokens of each statement that follows one in its block, the nearest first."""
    while (end := end_of(source, last + 1)) is not None:
        yield range(last + 1, end + 1)
        last = end


def before(source: Source, first: int) -> Iterator[range]:
    """Tokens of each statement before one in its block, the nearest first."""
    while (start := start_of(source, first - 1)) is not None:
        yield range(start, first)
        first = start
