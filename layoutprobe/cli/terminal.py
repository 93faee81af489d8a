"""What every command writes: reports to a stream or a file, messages to stderr."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from layoutprobe.errors import UsageError
from layoutprobe.files import check_writable, writing
from layoutprobe.render.formats import Format, find, format_of
from layoutprobe.text import printable


def say(text: str) -> None:
    """One message on stderr; where even that is closed, the exit code has to do."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(printable(text, sys.stderr.encoding), file=sys.stderr)


def chosen(arguments: argparse.Namespace, subject: str) -> Format:
    """The format that was asked for, by name or by the suffix of the file; before anything is run.

    Raises:
        UsageError: no format goes with the suffix, or the file could not be written.
    """
    output = arguments.output
    format = find(subject, arguments.format) if arguments.format else format_of(subject, output or "")
    if output == "":
        raise UsageError("the output file has no name", hint="leave --output out for standard output")
    if output not in (None, "-"):
        check_writable(output)
    return format


def emit(format: Format, shown: object, output: str | None, *, outcome: Callable[[], str]) -> None:
    """Write a report to standard output or a file.

    Args:
        format: how; a terminal's encoding is good enough for people, files for programs are UTF-8.
        shown: the report, as the format's subject has it.
        output: the file, written at once or not at all; None or "-" for standard output.
        outcome: the verdict in words, said on stderr when the report went to a file.

    Raises:
        UsageError: it cannot be written.
    """
    if output is not None and output != "-":
        save(format, shown, output)
        say(f"{output}: {outcome()}")
        return
    with printing() as stdout:
        if not format.for_people:
            _as_utf8(stdout)
        format.write(shown, stdout.buffer if format.binary else stdout)


def save(format: Format, shown: object, file: str) -> None:
    """Write a report to a file, at once or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    with writing(file, binary=format.binary) as stream:
        format.write(shown, stream)


@contextlib.contextmanager
def printing() -> Iterator[TextIO]:
    """Standard output for the body to write to, flushed at its end.

    A reader that leaves early (`| head -1`) is no error: the body ends in silence, and the exit code
    is what it would have been.

    Raises:
        UsageError: it is closed, or what was written did not arrive.
    """
    if sys.stdout is None or sys.stdout.closed:
        raise UsageError("standard output is closed", hint="open it, or send it to a file: > FILE")
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
