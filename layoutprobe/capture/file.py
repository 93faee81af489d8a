"""Capture files: what a card or the emulator printed once, to be replayed anywhere (docs/captures.md).

A file is a ZIP archive. `captures.json` says of every run what was run, by what, and what came
back; arrays are numpy's own .npy files, named by the SHA-256 of their bytes, so that equal arrays are
kept once and the JSON's own digest covers everything. Nothing in it is executed, imported or unpickled.

A file is data of a stranger. Every size is bounded before anything is read; an array that is not the
one that the JSON names, an unknown key or a version of the future is refused. The digest tells a
damaged file from a whole one; it cannot tell who made it.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from layoutprobe import __version__
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.capture.schema import Entry, entry_of, read_index
from layoutprobe.errors import UsageError
from layoutprobe.files import writing

FORMAT = "layoutprobe captures"
VERSION = 2
"""Version 1 called the interaction probe another name (`schema.RENAMED`); both are read."""
INDEX = "captures.json"

MAX_FILE = 256 << 20
MAX_ARRAYS = 4096
MAX_ARRAY = 64 << 20
MAX_TOTAL = 512 << 20
MAX_INDEX = 8 << 20
_HEADER = 256
"""Bytes of an .npy header that are more than enough for a plain dtype and a few extents."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every member: equal captures make equal files."""


@dataclass(frozen=True, eq=False)
class CaptureFile:
    """Captures as read from a file.

    Attributes:
        path: the file.
        digest: SHA-256 over everything in it, in hexadecimal.
        captures: each with evidence "replayed", which names this digest.
        version: of layoutprobe that wrote it.
    """

    path: Path
    digest: str
    captures: tuple[Capture, ...]
    version: str

    __repr__ = brief


def write_captures(path: Path, captures: Iterable[Capture]) -> str:
    """Write captures into a file, at once or not at all; the file's digest.

    Raises:
        UsageError: the file cannot be written, or the captures are more than a file may hold.
    """
    arrays: dict[str, bytes] = {}
    entries = [_entry(capture, arrays) for capture in captures]
    if len(arrays) > MAX_ARRAYS or sum(map(len, arrays.values())) > MAX_TOTAL:
        raise UsageError(
            "the captures are too large for one file",
            where={"file": path},
            expected=f"at most {MAX_ARRAYS} arrays and {MAX_TOTAL >> 20} MiB",
            observed=f"{len(arrays)} arrays, {sum(map(len, arrays.values())) >> 20} MiB",
        )
    index = {"format": FORMAT, "version": VERSION, "layoutprobe": __version__, "captures": entries}
    text = json.dumps(index, indent=1, sort_keys=True).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, raw in ((INDEX, text), *((f"{key}.npy", arrays[key]) for key in sorted(arrays))):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), raw, zipfile.ZIP_DEFLATED, 6)
    with writing(path, binary=True, what="the capture") as stream:
        stream.write(packed.getbuffer())
    return hashlib.sha256(text).hexdigest()


def read_captures(path: Path) -> CaptureFile:
    """Read a capture file of anybody.

    Raises:
        UsageError: there is none, or it is damaged, truncated, altered, too large, or not of this format.
    """
    try:
        if not path.is_file():
            raise UsageError("no such capture file", where={"file": path})
        if path.stat().st_size > MAX_FILE:
            _refuse(path, f"it has more than {MAX_FILE >> 20} MiB")
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            return _Reader(path, archive).read()
    except OSError as error:
        raise UsageError(
            "the capture cannot be read", where={"file": path}, observed=error.strerror or str(error)
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        _refuse(path, f"{type(error).__name__}: {error!s:.200}")


def _refuse(path: Path, why: str) -> NoReturn:
    raise UsageError(
        "this is no whole capture file",
        where={"file": path},
        observed=why,
        hint="get the file again from where it was recorded: it is damaged, altered, or something else",
    )


def _entry(capture: Capture, arrays: dict[str, bytes]) -> Mapping[str, Any]:
    """What the JSON says of a capture; its arrays go into `arrays`."""
    keys = {}
    for role in ("inputs", "outputs", "undefined"):
        keys[role] = {name: _keep(array, arrays) for name, array in getattr(capture, role).items()}
    return entry_of(capture, keys)


def _keep(array: NDArray[Any], arrays: dict[str, bytes]) -> str:
    stream = io.BytesIO()
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    npy.write_array(stream, little, version=(1, 0), allow_pickle=False)
    raw = stream.getvalue()
    key = hashlib.sha256(raw).hexdigest()
    arrays[key] = raw
    return key


class _Reader:
    """Reads one archive, and remembers the arrays that several captures share."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self.archive = archive
        self.members: dict[str, zipfile.ZipInfo] = {}
        self.arrays: dict[str, NDArray[Any]] = {}
        self.read_bytes = 0

    def read(self) -> CaptureFile:
        members = self.archive.infolist()
        if len(members) > MAX_ARRAYS + 1:
            _refuse(self.path, f"{len(members)} members")
        self.members = {member.filename: member for member in members}
        if len(self.members) != len(members):
            _refuse(self.path, "two members of one name")
        text = self._member(INDEX, MAX_INDEX)
        digest = hashlib.sha256(text).hexdigest()
        index = read_index(text, self.path, FORMAT, VERSION)
        captures = tuple(self._capture(entry, digest) for entry in index.entries)
        if extra := set(self.members) - {INDEX, *(f"{key}.npy" for key in self.arrays)}:
            _refuse(self.path, f"a member that no capture names: {min(extra)!r:.80}")
        return CaptureFile(self.path, digest, captures, index.version)

    def _capture(self, entry: Entry, digest: str) -> Capture:
        groups = {
            role: {name: self._array(key) for name, key in entry.arrays[role].items()}
            for role in ("inputs", "outputs", "undefined")
        }
        for name, mask in groups["undefined"].items():
            if name not in groups["outputs"] or mask.shape != groups["outputs"][name].shape:
                _refuse(self.path, f"undefined bits of {name!r:.40}, which is no output of that shape")
        recorded = Evidence(entry.kind, entry.source, None)
        return Capture(
            probe=entry.probe,
            arch=entry.arch,
            evidence=recorded.replayed(digest),
            **groups,
            parameters=entry.parameters,
            toolchain=entry.toolchain,
            device=entry.device,
            time=entry.time,
        )

    def _array(self, key: str) -> NDArray[Any]:
        if key not in self.arrays:
            raw = self._member(f"{key}.npy", MAX_ARRAY)
            if hashlib.sha256(raw).hexdigest() != key:
                _refuse(self.path, f"array {key[:12]} is not the one that was recorded")
            self.arrays[key] = _array(raw, self.path)
        return self.arrays[key]

    def _member(self, name: str, limit: int) -> bytes:
        member = self.members.get(name)
        if member is None:
            _refuse(self.path, f"{name:.80} is missing")
        if member.file_size > limit or member.flag_bits & 1:
            _refuse(self.path, f"{name:.80} has {member.file_size} bytes, or is encrypted")
        self.read_bytes += member.file_size
        if self.read_bytes > MAX_TOTAL:
            _refuse(self.path, f"more than {MAX_TOTAL >> 20} MiB of arrays")
        with self.archive.open(member) as stream:
            raw = stream.read(limit + 1)  # the archive's own word on the size is no more than a word
        if len(raw) != member.file_size:
            _refuse(self.path, f"{name:.80} is not as long as the archive says")
        return raw


def _array(raw: bytes, path: Path) -> NDArray[Any]:
    stream = io.BytesIO(raw)
    if npy.read_magic(stream) != (1, 0):
        _refuse(path, "an array in another version of numpy's format")
    shape, fortran, dtype = npy.read_array_header_1_0(stream, max_header_size=_HEADER)
    count = 1
    for extent in shape:
        count *= extent
    plain = dtype.kind in "uif" and dtype.itemsize <= 8 and not fortran and len(shape) <= 8
    if not plain or min(shape, default=0) < 0 or count * dtype.itemsize != len(raw) - stream.tell():
        _refuse(path, f"an array of {dtype} {shape}, which is none of ours")
    array = np.frombuffer(raw, dtype, offset=stream.tell()).reshape(shape).astype(dtype.newbyteorder("="))
    array.flags.writeable = False
    return array
