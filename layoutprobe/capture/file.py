"""Capture files: what a card or the emulator printed once, to be replayed anywhere (docs/captures.md).

`captures.json`, the index of the archive (`archive.py`), says of every run what was run, by what, and what came
back. A file is data of a stranger: an unknown key or a version of the future is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from layoutprobe import __version__
from layoutprobe.brief import brief
from layoutprobe.capture.archive import Archive, Kind, keep, reading, write
from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.capture.schema import Entry, entry_of, read_index

FORMAT = "layoutprobe captures"
VERSION = 2
"""Version 1 called the interaction probe another name (`schema.RENAMED`); both are read."""
INDEX = "captures.json"
KIND = Kind("capture", INDEX)


class CaptureFile(Struct, frozen=True, eq=False):
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
    index = {"format": FORMAT, "version": VERSION, "layoutprobe": __version__, "captures": entries}
    return write(KIND, path, index, arrays)


def read_captures(path: Path) -> CaptureFile:
    """Read a capture file of anybody.

    Raises:
        UsageError: there is none, or it is damaged, truncated, altered, too large, or not of this format.
    """
    with reading(KIND, path) as archive:
        index = read_index(archive.text, path, FORMAT, VERSION)
        captures = tuple(_capture(entry, archive) for entry in index.entries)
    return CaptureFile(path, archive.digest, captures, index.version)


def _entry(capture: Capture, arrays: dict[str, bytes]) -> Mapping[str, Any]:
    """What the JSON says of a capture; its arrays go into `arrays`."""
    keys = {}
    for role in ("inputs", "outputs", "undefined"):
        keys[role] = {name: keep(array, arrays) for name, array in getattr(capture, role).items()}
    return entry_of(capture, keys)


def _capture(entry: Entry, archive: Archive) -> Capture:
    groups = {
        role: {name: archive.array(key) for name, key in entry.arrays[role].items()}
        for role in ("inputs", "outputs", "undefined")
    }
    for name, mask in groups["undefined"].items():
        if name not in groups["outputs"] or mask.shape != groups["outputs"][name].shape:
            archive.refuse(f"undefined bits of {name!r:.40}, which is no output of that shape")
    recorded = Evidence(entry.kind, entry.source, None)
    return Capture(
        probe=entry.probe,
        arch=entry.arch,
        evidence=recorded.replayed(archive.digest),
        **groups,
        parameters=entry.parameters,
        toolchain=entry.toolchain,
        device=entry.device,
        time=entry.time,
    )
