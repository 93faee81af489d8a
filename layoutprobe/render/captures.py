"""Differences of capture files, for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TextIO

from msgspec import to_builtins
from rich.text import Text

from layoutprobe.capture.compare import CaptureDifference, OutputDifference
from layoutprobe.render import data
from layoutprobe.render.layout.words import plural
from layoutprobe.render.look import STYLES, WORDS
from layoutprobe.render.page import Page, write_lines

SCHEMA = "layoutprobe-capture-diff/1"
_MOST = 20


def sentence(found: CaptureDifference) -> str:
    """What came of it, in one sentence."""
    runs = plural(found.compared, "run")
    if found.outputs:
        differing = plural(len(found.outputs), "output")
        return f"{runs} compared: {differing} {'differs' if len(found.outputs) == 1 else 'differ'}"
    if not found.compared:
        return "the files have no run in common"
    if found.exit_code:
        doubts = [
            f"{plural(len(found.uncompared), 'output')} could not be compared" if found.uncompared else "",
            "not all runs are in both files" if found.only_first or found.only_second else "",
        ]
        return f"{runs} compared: nothing differs; but {' and '.join(filter(None, doubts))}"
    return f"{runs} compared: all outputs equal"


def write(found: CaptureDifference, stream: TextIO) -> None:
    """For people."""
    write_lines(partial(_lines, found), stream)


def _lines(found: CaptureDifference, page: Page) -> Iterator[Text]:
    word = WORDS[found.exit_code]
    yield from page.pairs([("first", found.first), ("second", found.second)])
    if found.other_code:
        yield from page.pairs([("code", f"{plural(found.other_code, 'run')} of different code objects")])
    for lacking, runs in (("second", found.only_first), ("first", found.only_second)):
        yield from page.pairs([("missing", f"in the {lacking}: {run}") for run in runs[:_MOST]])
        if len(runs) > _MOST:
            yield from page.pairs([("", f"and {len(runs) - _MOST} more in the {lacking}")])
    yield from page.pairs([("uncompared", why) for why in found.uncompared[:_MOST]])
    if len(found.uncompared) > _MOST:
        yield from page.pairs([("", f"and {len(found.uncompared) - _MOST} more outputs")])
    for one in found.outputs[:_MOST]:
        yield from page.pairs([("differs", _said(one))], STYLES["finding"])
    if len(found.outputs) > _MOST:
        yield from page.pairs([("", f"and {len(found.outputs) - _MOST} more outputs")])
    yield from page.pairs([("verdict", f"{page.glyphs.sign(word)} {sentence(found)}")], STYLES[word])


def _said(one: OutputDifference) -> str:
    at = ", ".join(map(str, one.at))
    return (
        f"{one.run}: {one.output} in {one.differing} of {one.elements} words; first at [{at}]: "
        f"{one.first:#x} and {one.second:#x}" + ("; different code objects" if one.other_code else "")
    )


def write_json(found: CaptureDifference, stream: TextIO) -> None:
    """One object; see SCHEMA."""
    body = {"exit_code": found.exit_code, "sentence": sentence(found), **to_builtins(found)}
    data.write(data.envelope(SCHEMA, body), stream)
