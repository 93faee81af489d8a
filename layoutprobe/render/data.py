"""The envelope of every JSON report: which schema it obeys, and which version wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import to_builtins

from layoutprobe import __version__

if TYPE_CHECKING:
    from layoutprobe.capture.capture import Evidence


def envelope(schema: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A document: its schema's name with its version, then layoutprobe's version, then the body."""
    return {"schema": schema, "layoutprobe": __version__, **body}


def write(document: Mapping[str, Any], stream: TextIO, *, indent: int = 1) -> None:
    """Write a document as one JSON object, ASCII only, ending in a newline."""
    json.dump(document, stream, indent=indent, allow_nan=False)
    stream.write("\n")


def evidence(found: Evidence) -> dict[str, Any]:
    """What a result rests on, in every report."""
    return to_builtins(found)
