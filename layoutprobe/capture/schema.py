"""The JSON index of a capture file, read strictly: every key is known, every value bounded."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn, Self, cast

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.capture.capture import Capture
from layoutprobe.errors import UsageError
from layoutprobe.reading import Table

_MAX_TEXT = 4096
_MAX_ITEMS = 256
_MAX_CAPTURES = 2048
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./ -]{0,127}")
KEY = r"[0-9a-f]{64}"
RENAMED = {
    "instruction": "interaction",
    "interaction": "one-hot interaction",
    "nvidia/interaction": "nvidia/one-hot interaction",
}
"""Probes of version 1 by the names of today. Those with one slot hot at a time are asked no more."""
_ROLES = ("inputs", "outputs", "undefined")


class Entry(Struct, frozen=True):
    """One capture without its arrays; see `Capture`.

    Attributes:
        kind, source: of the recorded evidence.
        arrays: "inputs", "outputs", "undefined" -> name -> key of the array.
    """

    probe: str
    arch: str
    kind: Literal["emulated", "measured"]
    source: str
    arrays: Mapping[str, Mapping[str, str]]
    parameters: Mapping[str, Any]
    toolchain: Mapping[str, str]
    device: Mapping[str, str]
    time: str


class Index(Struct, frozen=True):
    """The whole of it; `version` is the layoutprobe that wrote the file."""

    version: str
    entries: tuple[Entry, ...]


def entry_of(capture: Capture, arrays: Mapping[str, Mapping[str, str]]) -> Mapping[str, Any]:
    """What the index says of a capture.

    A capture that was itself replayed keeps what its first recording said.
    """
    evidence = capture.evidence
    kind = evidence.recorded if evidence.kind == "replayed" else evidence.kind
    return {
        "probe": capture.probe,
        "arch": capture.arch,
        "evidence": {"kind": kind, "source": evidence.source},
        "parameters": {name: _plain(value) for name, value in capture.parameters.items()},
        "toolchain": dict(capture.toolchain),
        "device": dict(capture.device),
        "time": capture.time,
        **arrays,
    }


def _plain(value: Any) -> Any:
    """Tuples as lists, numpy's numbers as Python's."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def read_index(text: bytes, path: Path, form: str, version: int) -> Index:
    """The index of a file of anybody, of any version up to this one.

    Raises:
        UsageError: it is not of this format and version, or a key or value is none that this reads.
    """
    top, of, written = opened(text, path, form, version)
    captures = top.tables("captures", least=1, most=_MAX_CAPTURES)
    top.finish()
    entries = tuple(_entry(one) for one in captures)
    if of == 1:
        entries = tuple(replace(one, probe=RENAMED.get(one.probe, one.probe)) for one in entries)
    return Index(written, entries)


_REFUSAL = "this is no capture file that layoutprobe reads"


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def opened(text: bytes, path: Path, form: str, version: int) -> tuple[IndexTable, int, str]:
    """The top of an index in JSON, its version, and the layoutprobe that wrote it.

    Raises:
        UsageError: it is not of this format, or of a later version.
    """
    try:
        found = json.loads(text.decode("utf-8"), parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            _REFUSAL, where={"file": path}, observed=f"its index is no JSON: {error!s:.100}"
        ) from None
    if not isinstance(found, dict):
        raise UsageError(_REFUSAL, where={"file": path}, observed="its index is no object")
    top = IndexTable(found, path)
    if top.get("format") != form:
        top.fail("format", repr(form))
    return top, top.integer("version", 1, version), top.words("layoutprobe")


class IndexTable(Table):
    """One object of an index; every key is there."""

    def refusal(self, why: str) -> str:
        """See `Table`."""
        return _REFUSAL

    def table(self, key: str) -> Self:
        """As of `Table`, but never absent."""
        if not self.has(key):
            self.fail(key, "an object")
        return super().table(key)

    def words(self, key: str) -> str:
        """A text."""
        value = self.get(key)
        if not isinstance(value, str) or len(value) > _MAX_TEXT:
            self.fail(key, f"text of at most {_MAX_TEXT} characters")
        return value

    def list_of(self, key: str, least: int, most: int) -> list[Any]:
        """A list of so many values, of whatever type."""
        value = self.get(key)
        if not isinstance(value, list) or not least <= len(value) <= most:
            self.fail(key, f"a list of {least} to {most} values")
        return value

    def names(self) -> tuple[str, ...]:
        """Its keys, where they are free."""
        for name in self:
            if not _NAME.fullmatch(name):
                self.fail(name, "a plain name")
        return tuple(self)

    def value(self, key: str) -> Any:
        """Any parameter of a capture."""
        return self._plain(key, self.get(key))

    def _plain(self, key: str, found: Any) -> Any:
        if isinstance(found, list) and len(found) <= _MAX_ITEMS:
            return [self._plain(key, item) for item in found]
        plain = found is None or isinstance(found, bool)
        plain |= isinstance(found, str) and len(found) <= _MAX_TEXT
        plain |= isinstance(found, float) and math.isfinite(found)
        plain |= isinstance(found, int) and abs(found) < 1 << 64
        if not plain:
            self.fail(key, f"a finite number, or text of at most {_MAX_TEXT} characters")
        return found


def _entry(table: IndexTable) -> Entry:
    evidence = table.table("evidence")
    entry = Entry(
        probe=table.words("probe"),
        arch=table.words("arch"),
        kind=cast('Literal["emulated", "measured"]', evidence.choice("kind", ("emulated", "measured"))),
        source=evidence.words("source"),
        arrays={role: _arrays(table.table(role)) for role in _ROLES},
        parameters=_parameters(table.table("parameters")),
        toolchain=_texts(table.table("toolchain")),
        device=_texts(table.table("device")),
        time=table.words("time"),
    )
    evidence.finish()
    table.finish()
    return entry


def _texts(table: IndexTable) -> dict[str, str]:
    return {name: table.words(name) for name in table.names()}


def _parameters(table: IndexTable) -> dict[str, Any]:
    return {name: table.value(name) for name in table.names()}


def _arrays(table: IndexTable) -> dict[str, str]:
    return {name: table.text(name, "a SHA-256", KEY) for name in table.names()}
