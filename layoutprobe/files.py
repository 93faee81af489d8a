"""Replacing a file at once or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_PRIVATE = stat.S_IRUSR | stat.S_IWUSR
NEW_FILE = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose contents replace the file when the body ends well, and vanish otherwise.

    The contents go to a file in the same directory that has no name until they are written through to
    the disk, and is then renamed: a reader and a full disk see the old file or the new one, and a
    process that is killed leaves nothing half-written under any name. Where the file system makes no
    files without a name, they go to a temporary one, which a killed process leaves behind (.part).

    Args:
        path: of a regular file, which need not exist.

    Raises:
        OSError: it cannot be written.
    """
    temporary = path.parent / f".{path.name[:64]}.{secrets.token_hex(6)}.part"
    handle, named = _opened(temporary)
    try:
        with open(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(handle)
            os.fchmod(handle, _mode(path))
            if not named:
                _name(handle, temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _opened(temporary: Path) -> tuple[int, bool]:
    """A file in the directory of `temporary`, open for writing; and whether it has that name yet."""
    with suppress(AttributeError, OSError):  # not every system, and not every file system
        return os.open(temporary.parent, os.O_TMPFILE | os.O_WRONLY, _PRIVATE), False
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), True


def _name(handle: int, path: Path) -> None:
    """Gives a file without a name its first one (linkat(2), AT_SYMLINK_FOLLOW)."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:  # only with a descriptor of the directory does Python call linkat
        os.link(f"/proc/self/fd/{handle}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced, or those a new file gets."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return NEW_FILE & ~mask
