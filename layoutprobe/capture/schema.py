"""The JSON index of a capture file, read strictly: every key is known, every value bounded."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from layoutprobe.capture.capture import Capture
from layoutprobe.errors import UsageError

_MAX_TEXT = 4096
_MAX_ITEMS = 256
_MAX_CAPTURES = 2048
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./ -]{0,127}")
_KEY = re.compile(r"[0-9a-f]{64}")
RENAMED = {
    "instruction": "interaction",
    "interaction": "one-hot interaction",
    "nvidia/interaction": "nvidia/one-hot interaction",
}
"""Probes of version 1 by the names of today. Those with one slot hot at a time are asked no more."""
_ROLES = ("inputs", "outputs", "undefined")
_KEYS = {"probe", "arch", "evidence", "parameters", "toolchain", "device", "time", *_ROLES}


@dataclass(frozen=True)
class Entry:
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


@dataclass(frozen=True)
class Index:
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
    return _Strict(path).index(text, form, version)


class _Strict:
    def __init__(self, path: Path) -> None:
        self.path = path

    def index(self, text: bytes, form: str, version: int) -> Index:
        try:
            found = json.loads(text.decode("utf-8"), parse_constant=self._constant)
        except (ValueError, RecursionError) as error:
            self._refuse("its index", f"no JSON: {error!s:.100}")
        found = self._table(found, "the index", {"format", "version", "layoutprobe", "captures"})
        if found["format"] != form:
            self._refuse("format", f"{found['format']!r:.60}", expected=repr(form))
        of = found["version"]
        if isinstance(of, bool) or of not in range(1, version + 1):
            self._refuse("version", f"{of!r:.20}", expected=f"1 to {version}")
        captures = found["captures"]
        if not isinstance(captures, list) or not 0 < len(captures) <= _MAX_CAPTURES:
            self._refuse("captures", "no list of captures", expected=f"1 to {_MAX_CAPTURES}")
        entries = tuple(self._entry(one, f"captures[{i}]") for i, one in enumerate(captures))
        if of == 1:
            entries = tuple(replace(one, probe=RENAMED.get(one.probe, one.probe)) for one in entries)
        return Index(self._text(found["layoutprobe"], "layoutprobe"), entries)

    def _entry(self, found: Any, where: str) -> Entry:
        found = self._table(found, where, _KEYS)
        evidence = self._table(found["evidence"], f"{where}.evidence", {"kind", "source"})
        kind = evidence["kind"]
        if kind not in ("emulated", "measured"):
            self._refuse(f"{where}.evidence.kind", f"{kind!r:.40}", expected="emulated or measured")
        arrays = {role: self._texts(found[role], f"{where}.{role}") for role in _ROLES}
        for role, named in arrays.items():
            for name, key in named.items():
                if not _KEY.fullmatch(key):
                    self._refuse(f"{where}.{role}.{name}", f"{key!r:.80}", expected="a SHA-256")
        return Entry(
            probe=self._text(found["probe"], f"{where}.probe"),
            arch=self._text(found["arch"], f"{where}.arch"),
            kind=cast('Literal["emulated", "measured"]', kind),
            source=self._text(evidence["source"], f"{where}.evidence.source"),
            arrays=arrays,
            parameters=self._parameters(found["parameters"], f"{where}.parameters"),
            toolchain=self._texts(found["toolchain"], f"{where}.toolchain"),
            device=self._texts(found["device"], f"{where}.device"),
            time=self._text(found["time"], f"{where}.time"),
        )

    def _table(self, found: Any, where: str, keys: set[str]) -> dict[str, Any]:
        if not isinstance(found, dict) or set(found) != keys:
            observed = ", ".join(sorted(map(str, found)))[:200] if isinstance(found, dict) else "no object"
            self._refuse(where, observed, expected=", ".join(sorted(keys)))
        return found

    def _texts(self, found: Any, where: str) -> dict[str, str]:
        return {name: self._text(value, f"{where}.{name}") for name, value in self._named(found, where)}

    def _parameters(self, found: Any, where: str) -> dict[str, Any]:
        return {name: self._value(value, f"{where}.{name}") for name, value in self._named(found, where)}

    def _named(self, found: Any, where: str) -> list[tuple[str, Any]]:
        if not isinstance(found, dict) or len(found) > _MAX_ITEMS:
            self._refuse(where, "no object, or too many entries", expected=f"at most {_MAX_ITEMS}")
        for name in found:
            if not _NAME.fullmatch(name):
                self._refuse(where, f"{name!r:.60}", expected="a plain name")
        return list(found.items())

    def _value(self, found: Any, where: str) -> Any:
        if isinstance(found, list) and len(found) <= _MAX_ITEMS:
            return [self._value(item, where) for item in found]
        if found is None or isinstance(found, bool):
            return found
        if isinstance(found, int | float) and (isinstance(found, float) or abs(found) < 1 << 64):
            if not math.isfinite(found):
                self._refuse(where, "no finite number")
            return found
        return self._text(found, where)

    def _text(self, found: Any, where: str) -> str:
        if not isinstance(found, str) or len(found) > _MAX_TEXT:
            self._refuse(where, f"{found!r:.60}", expected=f"text of at most {_MAX_TEXT} characters")
        return found

    def _constant(self, name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    def _refuse(self, where: str, observed: str, expected: str | None = None) -> NoReturn:
        raise UsageError(
            "this is no capture file that layoutprobe reads",
            where={"file": self.path, "key": where},
            expected=expected,
            observed=observed,
        )
