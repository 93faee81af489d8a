"""What a TTGIR declares, beside what its kernel did: for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TextIO

from rich.text import Text

from layoutprobe.render import data
from layoutprobe.render.layout.words import plural
from layoutprobe.render.look import STYLES, WORDS
from layoutprobe.render.page import Page, write_lines
from layoutprobe.report.declared import Agreement, Multiplied, Part

SCHEMA = "layoutprobe.ttgir/1"
SHOWN = 8
"""Differences that are told in full."""


def write(found: Agreement, stream: TextIO) -> None:
    """The verdict, what differs, what was not compared, and what cannot be seen."""
    write_lines(partial(_lines, found), stream)


def _lines(found: Agreement, page: Page) -> Iterator[Text]:
    word = WORDS[found.exit_code]
    yield from page.pairs([("TTGIR", found.file)])
    yield from page.pairs([("declares", line) for line in found.products])
    yield from page.pairs([("of", f"{found.kernel} for {found.target}, {found.size}")])
    yield from page.pairs([("verdict", f"{page.glyphs.sign(word)} {found.sentence}")], STYLES[word])
    yield from page.pairs([("", line) for line in (*found.problems, *found.open)])
    wrong = [*_wrong(found.multiplied), *(f"{p.name}: {p.why}" for p in found.tiles if p.agrees is False)]
    yield from page.pairs([("differs", line) for line in wrong[:SHOWN]], STYLES[WORDS[1]])
    if len(wrong) > SHOWN:
        yield from page.pairs([("", f"and {len(wrong) - SHOWN} more; --format json has all")])
    yield from page.pairs([("compared", line) for line in _compared(found)])
    yield from page.pairs([("left out", line) for line in _left_out(found)], STYLES["undecided"])
    yield from page.pairs([("unseen", line) for line in found.unseen], "dim")
    yield from page.pairs([("evidence", str(one)) for one in found.evidence], "dim")


def _wrong(multiplied: tuple[Multiplied, ...]) -> Iterator[str]:
    for one in multiplied:
        for part in one.parts:
            if part.agrees is False:
                at = f"{one.number}: {one.place.site}, line {', '.join(map(str, one.lines))}"
                yield f"{at}: {part.name}: {part.why}"


def _kinds(parts: Iterable[Part]) -> Iterator[tuple[str, str, int]]:
    """Names of parts with their reasons, each once, and how often."""
    counts: dict[tuple[str, str], int] = {}
    for part in parts:
        counts[part.name, part.why] = counts.get((part.name, part.why), 0) + 1
    for (name, why), count in counts.items():
        yield name, why, count


def _compared(found: Agreement) -> Iterator[str]:
    agreeing: dict[str, int] = {}
    for one in found.multiplied:
        for part in one.parts:
            agreeing[part.name] = agreeing.get(part.name, 0) + bool(part.agrees)
    for name, count in agreeing.items():
        if count:
            yield f"{name}: as declared at {plural(count, 'matrix instruction')}"
    for name, why, _ in _kinds(part for part in found.tiles if part.agrees):
        yield f"{name}: {why}"


def _left_out(found: Agreement) -> Iterator[str]:
    for name, why, count in _kinds(part for part in found.parts if part.agrees is None):
        yield f"{name}{f', {count} times' if count > 1 else ''}: {why}"


def write_json(found: Agreement, stream: TextIO) -> None:
    """One object; within version 1 keys may be added."""

    def told(part: Part) -> dict[str, object]:
        return {"name": part.name, "agrees": part.agrees, "why": part.why}

    body = {
        "verdict": found.verdict,
        "sentence": found.sentence,
        "exit_code": found.exit_code,
        "file": found.file,
        "kernel": found.kernel,
        "arch": found.target,
        "size": found.size,
        "declares": list(found.products),
        "problems": list(found.problems),
        "open": list(found.open),
        "instructions": [
            {
                "number": one.number,
                "place": one.place.json(),
                "executions": one.times,
                "lines": list(one.lines),
                "parts": list(map(told, one.parts)),
            }
            for one in found.multiplied
        ],
        "tiles": list(map(told, found.tiles)),
        "unseen": list(found.unseen),
        "evidence": list(map(data.evidence, found.evidence)),
    }
    data.write(data.envelope(SCHEMA, body), stream)
