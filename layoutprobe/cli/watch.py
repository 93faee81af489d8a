"""Does something again whenever one of its files changes, until the user stops it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from layoutprobe.cli.ending import ended
from layoutprobe.cli.terminal import printing, say

_PAUSE_S = 0.25
_MOST_FILES = 4096
"""A file that is looked at costs a system call each time."""

_State = dict[Path, tuple[int, int, int] | None]


def rerun(work: Callable[[], int], files: Callable[[], Iterable[Path]], pause_s: float = _PAUSE_S) -> int:
    """Do something, and again after each change of a file; does not return before an interrupt.

    Args:
        work: what to do; what it raises is said, and ends nothing.
        files: what it reads; asked before and after each time, as an edit may bring other files.
        pause_s: seconds between two looks.

    Returns:
        The exit code of the last time, when the user interrupts.
    """
    code = 0
    try:
        while True:
            before = _state(_known(files))
            code = ended(work)
            # Some may be known only now; what was edited meanwhile has its old state, and counts.
            before = {file: before.get(file, _stamp(file)) for file in _known(files)}
            say(f"layoutprobe: files watched: {len(before)}; Ctrl-C ends")
            _until_changed(before, pause_s)
            _separate()
    except KeyboardInterrupt:
        return code


def _known(files: Callable[[], Iterable[Path]]) -> list[Path]:
    """The files, without twins."""
    found: list[Path] = []

    def collect() -> int:
        found.extend(files())
        return 0

    ended(collect)
    return list(dict.fromkeys(path.resolve() for path in found))[:_MOST_FILES]


def _state(files: Iterable[Path]) -> _State:
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """What differs after an edit: editors write in place, or put another file there; None while it is gone."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _until_changed(before: _State, pause_s: float) -> None:
    """Wait for a change, and for its end: a save can be several writes."""
    while (now := _state(before)) == before:
        time.sleep(pause_s)
    while True:
        time.sleep(pause_s)
        if now == (now := _state(before)):
            return


def _separate() -> None:
    """A clean screen on a terminal; elsewhere a line, so that nothing is lost of what was there."""
    with printing() as stdout:
        stdout.write("\x1b[2J\x1b[H" if sys.stdout.isatty() else f"\n== {time.strftime('%H:%M:%S')}\n")
