"""The one way in which anything is written for a user: a file at once or not at all, all else in place."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from layoutprobe.errors import UsageError

_PRIVATE = stat.S_IRUSR | stat.S_IWUSR
NEW_FILE = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH


_LINKS = 40
"""Links that are followed, as the kernel does."""


@contextmanager
def writing(name: str | Path, *, binary: bool = False, what: str = "the report") -> Iterator[IO[Any]]:
    """A stream for what a user asked to have written.

    The contents of a file are replaced when the body ends well, and stay as they were otherwise. A
    device, a pipe or an open descriptor (/dev/stdout, a FIFO) is written in place: replacing it would
    destroy it, and what a shell appends to would lose its beginning.

    Args:
        name: path; a link is followed, and stays.
        binary: the stream is one of bytes, else of UTF-8 text.
        what: is written, for messages.

    Raises:
        UsageError: it cannot be written, or is a directory, a disk or a socket.
    """
    try:
        with _opened(name, what) as raw:
            if binary:
                yield raw
                return
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
            yield text
            text.flush()
            text.detach()
    except OSError as error:
        raise _refusal(what, name, error.strerror or str(error)) from error


def check_writable(name: str | Path, what: str = "the report") -> None:
    """Refuse what could not be written, before something long is run for it.

    Raises:
        UsageError: as `writing` would, as far as can be told without writing.
    """
    if _descriptor(name) is None and _replaceable(name, what):
        folder = Path(os.path.realpath(name)).parent
        if not folder.is_dir():
            raise _refusal(what, name, f"there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise _refusal(what, name, f"nobody may write to {folder}")


def _opened(name: str | Path, what: str) -> AbstractContextManager[BinaryIO]:
    """The stream of bytes that a name stands for."""
    descriptor = _descriptor(name)
    if descriptor is not None:
        return os.fdopen(os.dup(descriptor), "wb")
    if _replaceable(name, what):
        return replacing(Path(os.path.realpath(name)))
    return open(name, "wb")


def _replaceable(name: str | Path, what: str) -> bool:
    """Whether a name is that of a file or of nothing; False for what must be written in place.

    Raises:
        UsageError: it is neither.
    """
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        return True
    except OSError as error:
        raise _refusal(what, name, error.strerror or str(error)) from error
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISBLK, "a disk"), (stat.S_ISSOCK, "a socket"))
    for is_kind, kind in kinds:
        if is_kind(mode):
            raise _refusal(what, name, kind)
    return stat.S_ISREG(mode)


def _descriptor(name: str | Path) -> int | None:
    """The open descriptor that a name such as /dev/stdout or /dev/fd/3 stands for; else None."""
    path = os.path.abspath(name)
    for _ in range(_LINKS):
        folder = os.path.realpath(os.path.dirname(path))
        ours = re.fullmatch(r"/dev/fd|/proc/(\d+)/fd", folder)
        number = os.path.basename(path)
        if ours and ours[1] in (None, str(os.getpid())) and number.isdecimal():
            return int(number)
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def _refusal(what: str, name: str | Path, observed: str) -> UsageError:
    return UsageError(
        f"{what} cannot be written",
        where={"file": name},
        expected="a file, which may be new, in a folder that can be written",
        observed=observed,
        hint="choose another file",
    )


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
    temporary = path.parent / f".{path.name[:64]}.{os.urandom(6).hex()}.part"
    handle, named = _unnamed(temporary)
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


def _unnamed(temporary: Path) -> tuple[int, bool]:
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
