"""Files of recordings: a run that somebody recorded, to be looked into anywhere, without source or compiler.

`recording.json`, the index of the archive (`capture/archive.py`), is what `schema.py` describes; it names the arrays.
The rules are those of files of captures: nothing is executed, everything bounded, and what is not sound is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe import __version__
from layoutprobe.capture.archive import Archive, Kind, keep, reading, write
from layoutprobe.capture.schema import KEY, IndexTable, opened
from layoutprobe.recording import needed
from layoutprobe.recording.model import Recording, Tags
from layoutprobe.recording.schema import TABLES, arrays, described, outline
from layoutprobe.recording.sound import COLUMNS, flaws, misfits
from layoutprobe.recording.tags import Elements

FORMAT = "layoutprobe recording"
VERSION = 2
KIND = Kind("recording", "recording.json", array=256 << 20, index_bytes=16 << 20)


def write_recording(path: Path, recording: Recording) -> str:
    """Write a recording into a file, at once or not at all; the file's digest.

    Raises:
        UsageError: the file cannot be written, or the recording is more than a file may hold.
    """
    kept: dict[str, bytes] = {}
    keys = {name: keep(_plain(array), kept) for name, array in arrays(recording).items()}
    index = {"format": FORMAT, "version": VERSION, "layoutprobe": __version__, **described(recording)}
    return write(KIND, path, {**index, "arrays": keys}, kept)


def read_recording(path: Path) -> Recording:
    """Read a recording of anybody; its evidence is "replayed".

    Raises:
        UsageError: there is none, or it is damaged, truncated, altered, too large, or no recording.
    """
    with reading(KIND, path) as archive:
        table, version, _ = opened(archive.text, path, FORMAT, VERSION)
        if version < VERSION:
            archive.refuse(f"it has version {version}, which numbers elements otherwise: record it again")
        about, columns = outline(table), _columns(table.table("arrays"), archive)
        shapes, registers = needed.of_index(table.table("needed"), about)
        table.finish()
        for why in misfits(columns, {"lane": about.lanes, "nibble": 8}):
            archive.refuse(why)
        for why in needed.flaws(columns, about, registers):
            archive.refuse(why)
        starts = Elements(about.buffers).starts
        made = Recording(
            **{name: getattr(about, name) for name in about.__struct_fields__ if name != "evidence"},
            **{table: _table(table, columns, starts) for table in TABLES},
            evidence=about.evidence.replayed(archive.digest),
            moments=needed.unflat(columns, shapes, registers, about) if shapes else None,
        )
        for why in flaws(made):
            archive.refuse(why)
    return made


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Truth values as bytes."""
    return array.astype(np.uint8) if array.dtype == np.bool_ else array


def _columns(table: IndexTable, archive: Archive) -> dict[str, NDArray[Any]]:
    """All arrays by name."""
    columns = {name: archive.array(table.text(name, "a SHA-256", KEY)) for name in COLUMNS}
    table.finish()
    return {
        name: array != 0 if COLUMNS[name][0] == "bool" and array.dtype == np.uint8 else array
        for name, array in columns.items()
    }


def _table(name: str, columns: dict[str, NDArray[Any]], starts: tuple[int, ...]) -> Any:
    """One of the tables of a recording."""
    kind = TABLES[name]
    found = {f: columns[f"{name}.{f}"] for f in kind.__struct_fields__ if f"{name}.{f}" in columns}
    return kind(**found, starts=starts) if kind is Tags else kind(**found)
