"""Replacing a file at once or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

NEW_FILE = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose contents replace the file when the body ends well, and vanish otherwise.

    The contents go to a temporary file in the same directory, which is written through to the disk
    and then renamed: a reader, a killed process and a full disk see the old file or the new one.

    Args:
        path: of a regular file, which need not exist.

    Raises:
        OSError: it cannot be written.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.", suffix=".part")
    try:
        with open(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
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
