"""A recording as JSON and arrays, one form for files and for whoever shows it (docs/captures.md).

Arrays are named "table.column" as the classes of `model.py` have them: "steps.inst", "vectors.value".
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.recording.model import (
    Accesses,
    Recording,
    ScalarWrites,
    Steps,
    Stored,
    Tags,
    VectorWrites,
)

SCHEMA = "layoutprobe.recording/1"
TABLES = {
    "steps": Steps, "vectors": VectorWrites, "scalars": ScalarWrites, "accesses": Accesses, "stored": Stored,
    "tags": Tags,
}  # fmt: skip


def arrays(recording: Recording) -> dict[str, NDArray[Any]]:
    """Every array of a recording, by table and column."""
    found = {}
    for table, kind in TABLES.items():
        for column in fields(kind):
            value = getattr(getattr(recording, table), column.name)
            if isinstance(value, np.ndarray):
                found[f"{table}.{column.name}"] = value
    return found


def described(recording: Recording) -> dict[str, Any]:
    """All that is no array, as JSON's types.

    "code" are the instructions, in the order of the code: "text", "kind", "place" (as in every report), "reads"
    and "writes" (kind, first register, how many, upper half, bits). "waves" name workgroup and wave; columns
    "wave" and "inst" count in these two lists.
    """
    return {
        "kernel": recording.kernel,
        "arch": recording.target,
        "size": dict(recording.size),
        "lanes": recording.lanes,
        "vgprs": recording.vgprs,
        "first_acc": recording.first_acc,
        "lds_size": recording.lds_size,
        "cut": recording.cut,
        "evidence": asdict(recording.evidence),
        "waves": [{"workgroup": list(wave.group), "wave": wave.index} for wave in recording.waves],
        "code": [
            {
                "text": one.text,
                "kind": one.kind,
                "place": one.place.json(),
                **{
                    what: [[s.kind, s.index, s.count, s.half, s.bits] for s in getattr(one, what)]
                    for what in ("reads", "writes")
                },
            }
            for one in recording.code
        ],
        "buffers": [
            asdict(buffer) | {"shape": list(buffer.shape), "strides": list(buffer.strides)}
            for buffer in recording.buffers
        ],
        "tag_starts": list(recording.tags.starts),
        "sources": {
            file: {str(number): line for number, line in lines.items()}
            for file, lines in recording.sources.items()
        },
    }


def as_json(recording: Recording) -> dict[str, Any]:
    """The whole recording as one JSON object: `described`, and "arrays": name -> "type" (numpy's, little-endian),
    "shape" and "base64"."""
    return {"schema": SCHEMA, **described(recording), "arrays": packed(arrays(recording))}


def packed(columns: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, Any]]:
    """Arrays as JSON's types."""
    return {
        name: {
            "type": column.dtype.name,
            "shape": list(column.shape),
            "base64": base64.b64encode(
                np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<"), copy=False).tobytes()
            ).decode("ascii"),
        }
        for name, column in columns.items()
    }
