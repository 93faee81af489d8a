"""Bodies of macros as sources of their own: what stands in them is changed as any statement is.

A body keeps its place: everything else of the file is blank, and so is the mark at the end of a line that goes on. A
change of it is a change of the file, as long as it goes over no end of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from layoutprobe.codegen.statements import Source

_DEFINE = re.compile(r"^[ \t]*\#[ \t]*define[ \t]+(\w+)(\([^()\n]*\))?((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE)
_MOST, _LONGEST = 200, 4000
"""Macros of a file, and characters of one."""


def macros(text: str) -> Mapping[str, Source]:
    """Name -> a source in which its body stands alone; the last one where a name is defined again."""
    return {name: body for name, _, body in _bodies(text)}


def source_at(text: str, offset: int) -> Source:
    """The body of the macro that lies there, or else the whole text."""
    return next((body for _, place, body in _bodies(text) if offset in place), None) or Source(text)


def _bodies(text: str) -> Iterator[tuple[str, range, Source]]:
    """Name, place and body of each macro."""
    for m in list(_DEFINE.finditer(text))[:_MOST]:
        body = m[3]
        if body.strip() and len(body) <= _LONGEST:
            blank = re.sub(r"\\\r?\n", lambda end: " " * len(end[0]), body)
            yield m[1], range(*m.span(3)), Source(" " * m.start(3) + blank)
