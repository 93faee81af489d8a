"""What every command writes: reports to a stream or a file, messages to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
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
        if not output:
            raise UsageError("the output file has no name", hint="leave --output out for standard output")
        with writing(output) as stream:
            write(stream)
        say(f"{output}: {outcome()}")
        return
    with printing() as stdout:
        if not for_people:
            _as_utf8(stdout)
        write(stdout)


@contextlib.contextmanager
def printing() -> Iterator[TextIO]:
    """Standard output for the body to write to, flushed at its end.

    A reader that leaves early (`| head -1`) is no error: the body ends in silence, and the exit code
    is what it would have been.

    Raises:
        UsageError: it is closed, or what was written did not arrive.
    """
    if sys.stdout is None or sys.stdout.closed:
        raise UsageError("standard output is closed", hint="a report can go to a file: --output FILE")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()
    except OSError as error:
        drop_stdout()
        raise UsageError(
            "standard output cannot be written", observed=error.strerror or str(error)
        ) from error


def output_suffix(output: str | None) -> str:
    """Suffix of an output file in lower case, without the dot: "json"; "" without a file or a suffix."""
    return os.path.splitext(output or "")[1].lstrip(".").lower()


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
