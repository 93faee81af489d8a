"""What every command writes: reports to a stream or a file, messages to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import TextIO

from layoutprobe.errors import UsageError
from layoutprobe.render.files import writing
from layoutprobe.render.text import printable


def say(text: str) -> None:
    """One message on stderr; where even that is closed, the exit code has to do."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(printable(text, sys.stderr.encoding), file=sys.stderr)


def emit(
    write: Callable[[TextIO], None], output: str | None, *, for_people: bool, outcome: Callable[[], str]
) -> None:
    """Write a report to standard output or a file.

    Args:
        write: writes the report to a stream.
        output: the file, written at once or not at all; None or "-" for standard output.
        for_people: a terminal's encoding is good enough; files for programs are UTF-8.
        outcome: the verdict in words, said on stderr when the report went to a file.

    Raises:
        UsageError: it cannot be written.
    """
    if output not in (None, "-"):
        with writing(output) as stream:
            write(stream)
        say(f"{output}: {outcome()}")
        return
    if sys.stdout is None:
        raise UsageError("standard output is closed", hint="name a file with --output")
    if not for_people:
        _as_utf8(sys.stdout)
    # The verdict stands, whether or not the reader (`| head -1`) stays to the end: a broken pipe
    # is no reason to change the exit code.
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()
    except OSError as error:
        drop_stdout()
        raise UsageError("the report cannot be written", observed=str(error)) from error


def flush() -> None:
    """Flush standard output; nobody reading it is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()


def drop_stdout() -> None:
    """Nobody reads any more: what is still buffered goes nowhere, and Python exits in silence."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _as_utf8(stream: TextIO) -> None:
    """Files for programs are UTF-8 whatever the locale says."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8")
