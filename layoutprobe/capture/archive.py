"""Archives of arrays: what files of captures and of recordings have in common (docs/captures.md).

A file is a ZIP archive. An index, as JSON, says what everything is; arrays are numpy's own .npy files, named by the
SHA-256 of their bytes, so that equal arrays are kept once and the index's own digest covers everything. Nothing in
it is executed, imported or unpickled.

A file is data of a stranger. Every size is bounded before anything is read; an array that is not the one that the
index names, or a member that it does not name, is refused. The digest tells a damaged file from a whole one; it
cannot tell who made it.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from msgspec import Struct
from numpy.lib import format as npy
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.files import writing

_HEADER = 256
"""Bytes of an .npy header that are more than enough for a plain dtype and a few extents."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every member: equal contents make equal files."""


class Kind(Struct, frozen=True):
    """A kind of archive, and what it may hold.

    Attributes:
        what: what it is called: "capture".
        index: name of its index.
        array: bytes of one array.
        file, total, index_bytes: of the file, of all members together, of the index.
        arrays: how many.
    """

    what: str
    index: str
    array: int = 64 << 20
    file: int = 256 << 20
    total: int = 512 << 20
    index_bytes: int = 8 << 20
    arrays: int = 4096

    def refuse(self, path: Path, why: str) -> NoReturn:
        """Refuse a file of this kind.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            f"this is no whole {self.what} file",
            where={"file": path},
            observed=why,
            hint="get the file again from where it was recorded: it is damaged, altered, or something else",
        )


def keep(array: NDArray[Any], arrays: dict[str, bytes]) -> str:
    """Add an array to those of a file; the name by which the index knows it."""
    stream = io.BytesIO()
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    npy.write_array(stream, little, version=(1, 0), allow_pickle=False)
    raw = stream.getvalue()
    key = hashlib.sha256(raw).hexdigest()
    arrays[key] = raw
    return key


def write(kind: Kind, path: Path, index: Mapping[str, Any], arrays: Mapping[str, bytes]) -> str:
    """Write an archive, at once or not at all; its digest.

    Raises:
        UsageError: it cannot be written, or would hold more than `read` reads.
    """
    text = json.dumps(index, indent=1, sort_keys=True).encode()
    total = len(text) + sum(map(len, arrays.values()))
    largest = max(map(len, arrays.values()), default=0)
    if (
        len(arrays) > kind.arrays
        or total > kind.total
        or largest > kind.array
        or len(text) > kind.index_bytes
    ):
        raise UsageError(
            f"the {kind.what} is too large for one file",
            where={"file": path},
            expected=f"at most {kind.arrays} arrays, {kind.array >> 20} MiB each, {kind.total >> 20} MiB in all",
            observed=f"{len(arrays)} arrays, {total >> 20} MiB",
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, raw in ((kind.index, text), *((f"{key}.npy", arrays[key]) for key in sorted(arrays))):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), raw, zipfile.ZIP_DEFLATED, 6)
    with writing(path, binary=True, what=f"the {kind.what}") as stream:
        stream.write(packed.getbuffer())
    return hashlib.sha256(text).hexdigest()


@contextmanager
def reading(kind: Kind, path: Path) -> Iterator[Archive]:
    """An archive of anybody. What the body does not ask for may not be in it.

    Raises:
        UsageError: there is none, or it is damaged, truncated, altered, too large, or not of this kind.
    """
    try:
        if not path.is_file():
            raise UsageError(f"no such {kind.what} file", where={"file": path})
        if path.stat().st_size > kind.file:
            kind.refuse(path, f"it has more than {kind.file >> 20} MiB")
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            found = Archive(kind, path, archive)
            yield found
            found.finish()
    except OSError as error:
        raise UsageError(
            f"the {kind.what} cannot be read", where={"file": path}, observed=error.strerror or str(error)
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        kind.refuse(path, f"{type(error).__name__}: {error!s:.200}")


class Archive:
    """Reads one archive, and remembers the arrays that are named several times.

    Attributes:
        text: the index.
        digest: SHA-256 over it, and so over everything, in hexadecimal.
    """

    def __init__(self, kind: Kind, path: Path, archive: zipfile.ZipFile) -> None:
        """See `reading`."""
        self._kind, self._path, self._archive = kind, path, archive
        self._arrays: dict[str, NDArray[Any]] = {}
        self._read = 0
        members = archive.infolist()
        if len(members) > kind.arrays + 1:
            self.refuse(f"{len(members)} members")
        self._members = {member.filename: member for member in members}
        if len(self._members) != len(members):
            self.refuse("two members of one name")
        self.text = self._member(kind.index, kind.index_bytes)
        self.digest = hashlib.sha256(self.text).hexdigest()

    def refuse(self, why: str) -> NoReturn:
        """Refuse it.

        Raises:
            UsageError: always.
        """
        self._kind.refuse(self._path, why)

    def array(self, key: str) -> NDArray[Any]:
        """An array by its name; read-only.

        Raises:
            UsageError: it is missing, too large, no array of ours, or another one.
        """
        if key not in self._arrays:
            raw = self._member(f"{key}.npy", self._kind.array)
            if hashlib.sha256(raw).hexdigest() != key:
                self.refuse(f"array {key[:12]} is not the one that was recorded")
            self._arrays[key] = self._parsed(raw)
        return self._arrays[key]

    def finish(self) -> None:
        """Nobody else has put anything into it.

        Raises:
            UsageError: somebody has.
        """
        if extra := set(self._members) - {self._kind.index, *(f"{key}.npy" for key in self._arrays)}:
            self.refuse(f"a member that no {self._kind.what} names: {min(extra)!r:.80}")

    def _member(self, name: str, limit: int) -> bytes:
        member = self._members.get(name)
        if member is None:
            self.refuse(f"{name:.80} is missing")
        if member.file_size > limit or member.flag_bits & 1:
            self.refuse(f"{name:.80} has {member.file_size} bytes, or is encrypted")
        self._read += member.file_size
        if self._read > self._kind.total:
            self.refuse(f"more than {self._kind.total >> 20} MiB of arrays")
        with self._archive.open(member) as stream:
            raw = stream.read(limit + 1)  # the archive's own word on the size is no more than a word
        if len(raw) != member.file_size:
            self.refuse(f"{name:.80} is not as long as the archive says")
        return raw

    def _parsed(self, raw: bytes) -> NDArray[Any]:
        stream = io.BytesIO(raw)
        if npy.read_magic(stream) != (1, 0):
            self.refuse("an array in another version of numpy's format")
        shape, fortran, dtype = npy.read_array_header_1_0(stream, max_header_size=_HEADER)
        count = 1
        for extent in shape:
            count *= extent
        plain = dtype.kind in "uif" and dtype.itemsize <= 8 and not fortran and len(shape) <= 8
        if not plain or min(shape, default=0) < 0 or count * dtype.itemsize != len(raw) - stream.tell():
            self.refuse(f"an array of {dtype} {shape}, which is none of ours")
        array = np.frombuffer(raw, dtype, offset=stream.tell()).reshape(shape)
        array = array.astype(dtype.newbyteorder("="))
        array.flags.writeable = False
        return array
