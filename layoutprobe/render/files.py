"""Reports into files, at once or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from layoutprobe.errors import UsageError
from layoutprobe.files import replacing


@contextmanager
def writing(name: str, *, binary: bool = False) -> Iterator[IO[Any]]:
    """A stream whose contents replace the file when the body ends well, and vanish otherwise.

    A device or a pipe (/dev/stdout, a FIFO) is written in place: replacing it would destroy it.

    Args:
        name: path of the file; a link is followed, and stays.
        binary: the stream is one of bytes, else of UTF-8 text.

    Raises:
        UsageError: the file cannot be written.
    """
    path = Path(os.path.realpath(name))
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as raw:
                yield from _stream(raw, binary)
            return
        with replacing(path) as raw:
            yield from _stream(raw, binary)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            "the report cannot be written",
            where={"file": name},
            observed=reason,
            hint="choose another --output",
        ) from error


def _stream(raw: BinaryIO, binary: bool) -> Iterator[IO[Any]]:
    """The raw stream, or text that goes to it."""
    if binary:
        yield raw
        return
    text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
    yield text
    text.flush()
    text.detach()
