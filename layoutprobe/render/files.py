"""Writing a file at once or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from layoutprobe.errors import UsageError

NEW_FILE = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH


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
        with _beside(path) as stream:
            yield stream
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            "the report cannot be written",
            where={"file": name},
            observed=reason,
            hint="choose another --output",
        ) from error


@contextmanager
def _beside(path: Path) -> Iterator[TextIO]:
    """A temporary file in the same directory, renamed at the end: readers see old or new, never half."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.", suffix=".part")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced, or those a new file gets."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return NEW_FILE & ~mask
