"""Reports into files, at once or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from layoutprobe.errors import UsageError
from layoutprobe.files import replacing


@contextmanager
def writing(name: str) -> Iterator[TextIO]:
    """A UTF-8 stream whose contents replace the file when the body ends well, and vanish otherwise.

    A device or a pipe (/dev/stdout, a FIFO) is written in place: replacing it would destroy it.

    Args:
        name: path of the file; a link is followed, and stays.

    Raises:
        UsageError: the file cannot be written.
    """
    path = Path(os.path.realpath(name))
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        with replacing(path) as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
            yield text
            text.flush()
            text.detach()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            "the report cannot be written",
            where={"file": name},
            observed=reason,
            hint="choose another --output",
        ) from error
