"""The source lines that findings are about, for whoever shows them.

They are read where a kernel was compiled just now, so that they are the lines of its code. A line table may
name any file of the machine, and a report goes to others: only files of the manifest's own tree are read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePath

from layoutprobe.manifest.model import KernelCase
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding

AROUND = 1
"""Lines shown before and behind the one that is meant."""
MOST_BYTES = 1 << 20
"""Of a source file that is read."""
MOST_LINES = 20_000
"""Of a source file that is kept whole."""
MOST_CHARACTERS = 400
"""Of a line that is kept."""

Excerpts = Mapping[str, Mapping[int, str]]
"""File as a place names it -> line, counted from 1 -> its text."""


def excerpts(case: KernelCase, findings: Sequence[Finding]) -> Excerpts:
    """The lines at the places of findings.

    Args:
        case: the kernel; one that came as a code object has none, as its sources may have changed.
        findings: whose own places count, and related ones.
    """
    if case.source is None:
        return {}
    wanted: dict[str, set[int]] = {}
    for place in _places(findings):
        if place.source is not None and not place.near:
            wanted.setdefault(place.source.file, set()).update(_around(place.source))
    read = {file: _lines(case, file, numbers) for file, numbers in wanted.items()}
    return {file: lines for file, lines in read.items() if lines}


def whole_sources(case: KernelCase, places: Iterable[Place]) -> Excerpts:
    """All lines of the files at some places, as far as `excerpts` may show them."""
    if case.source is None:
        return {}
    files = {place.source.file for place in places if place.source is not None}
    read = {file: _lines(case, file, range(1, MOST_LINES + 1)) for file in sorted(files)}
    return {file: lines for file, lines in read.items() if lines}


def _places(findings: Sequence[Finding]) -> Iterable[Place]:
    for found in findings:
        yield found.place
        yield from (other.place for other in found.related)


def _around(source: SourceLine) -> range:
    return range(max(source.line - AROUND, 1), source.line + AROUND + 1)


def in_tree(case: KernelCase, real: Path) -> bool:
    """Whether a file lies where the manifest's own sources do."""
    roots = (Path.cwd(), case.file.parent, *case.include)
    return any(real.is_relative_to(root.resolve()) for root in roots)


def _lines(case: KernelCase, file: str, numbers: Collection[int]) -> dict[int, str]:
    own = PurePath(file).name == case.file.name
    path = case.file if own else case.file.parent / file
    try:
        real = path.resolve()
        if not in_tree(case, real):
            return {}
        status = os.stat(real)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            return {}
        with open(real, encoding="utf-8", errors="replace") as stream:
            text = enumerate(islice(stream, max(numbers)), 1)
            return {n: line.rstrip()[:MOST_CHARACTERS] for n, line in text if n in numbers}
    except (OSError, ValueError):
        return {}
