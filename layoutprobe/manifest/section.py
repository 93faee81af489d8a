"""Reads one table of a manifest key by key; whatever is wrong becomes a UsageError with file and key.

Manifests are untrusted: sizes are bounded, types are checked, and nothing in them is executed.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from layoutprobe.errors import UsageError
from layoutprobe.manifest.model import Expression
from layoutprobe.patterns.expression import MAX_LENGTH, parse

LARGEST_FILE = 256 * 1024
LARGEST_LIST = 256
LONGEST_TEXT = 1024
_SHOWN = 100


def load_toml(path: Path) -> dict[str, Any]:
    """The top table of a file.

    Raises:
        UsageError: no such file, too large, or not TOML.
    """
    where = {"file": path}
    try:
        if not path.is_file():
            raise UsageError(
                "there is no such manifest",
                where=where,
                hint="`layoutprobe init KERNEL` writes one",
            )
        with path.open("rb") as stream:
            raw = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError("the manifest cannot be read", where=where, observed=str(error)) from error
    if len(raw) > LARGEST_FILE:
        raise UsageError("the manifest is too large", where=where, expected=f"at most {LARGEST_FILE} bytes")
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        hint = "a manifest is TOML; `layoutprobe init KERNEL` writes one for a kernel"
        observed = str(error)[:300]
        raise UsageError("the manifest is not TOML", where=where, observed=observed, hint=hint) from error


class Section:
    """One table. A key that nobody asked for is an error: it is a typing mistake."""

    def __init__(
        self,
        data: Mapping[str, Any],
        file: Path,
        name: str = "",
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        """Wrap a table.

        Args:
            data: the table.
            file: where it stands.
            name: path of the table, such as "kernel[0]"; "" for the top.
            defaults: keys that hold where `data` lacks them; they come from table [defaults].
        """
        self._data = {**(defaults or {}), **data}
        self._own = set(data)
        self._asked: set[str] = set()
        self.file = file
        self.name = name

    def key(self, key: str) -> str:
        """Full path of a key."""
        if key in self._data and key not in self._own:
            return f"defaults.{key}"
        return f"{self.name}.{key}" if self.name else key

    def fail(self, key: str, expected: str, hint: str | None = None) -> NoReturn:
        """Refuses the value of `key`."""
        raise UsageError(
            "the manifest does not hold" if key in self._data else "the manifest lacks a key",
            where={"file": self.file, "key": self.key(key)},
            expected=expected,
            observed=_shown(self._data[key]) if key in self._data else None,
            hint=hint,
        )

    def has(self, key: str) -> bool:
        """True where the key is present."""
        return key in self._data

    def get(self, key: str) -> Any:
        """The raw value, None where there is none."""
        self._asked.add(key)
        return self._data.get(key)

    def text(self, key: str, expected: str, pattern: str, default: str | None = None) -> str:
        """A string that matches a pattern as a whole."""
        value = self.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or len(value) > LONGEST_TEXT or not re.fullmatch(pattern, value):
            self.fail(key, expected)
        return value

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of `choices`."""
        value = self.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or value not in choices:
            self.fail(key, "one of " + ", ".join(choices), near(value, choices))
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fail(key, "true or false")
        return value

    def integer(self, key: str, low: int, high: int) -> int | None:
        """An integer from `low` to `high`; None where the key is absent."""
        value = self.get(key)
        if value is None:
            return None
        if type(value) is not int or not low <= value <= high:
            self.fail(key, f"an integer from {low} to {high}")
        return value

    def number(self, key: str, low: float, high: float) -> float | None:
        """A finite number from `low` to `high`; None where the key is absent."""
        value = self.get(key)
        if value is None:
            return None
        if not is_number(value) or not low <= value <= high:
            self.fail(key, f"a number from {low:g} to {high:g}")
        return float(value)

    def strings(self, key: str, expected: str) -> tuple[str, ...]:
        """A list of strings; empty where the key is absent."""
        value = self.get(key)
        if value is None:
            return ()
        if not _is_list_of(value, str) or any(len(v) > LONGEST_TEXT or "\0" in v for v in value):
            self.fail(key, f"a list of {expected}")
        return tuple(value)

    def expression(self, key: str, names: Collection[str]) -> Expression | None:
        """An integer, or an expression over `names`; None where the key is absent."""
        value = self.get(key)
        return None if value is None else self.parsed(key, value, names)

    def expressions(self, key: str, names: Collection[str], low: int, high: int) -> tuple[Expression, ...]:
        """From `low` to `high` expressions; one alone need not be a list."""
        value = self.get(key)
        listed = value if isinstance(value, list) else [value]
        if value is None or not low <= len(listed) <= high:
            self.fail(key, f"a list of {low} to {high} numbers or expressions")
        return tuple(self.parsed(key, item, names) for item in listed)

    def parsed(self, key: str, value: Any, names: Collection[str]) -> Expression:
        """A value as an expression. Without shuffle, which can cost a second per evaluation."""
        known = ", ".join(names) or "no names: `sizes` has none"
        if type(value) is int and abs(value) < 1 << 62:
            value = str(value)
        if not isinstance(value, str) or len(value) > MAX_LENGTH or "shuffle" in value:
            self.fail(key, f"a number, or an expression over {known}")
        try:
            return Expression(value, parse(value, names))
        except UsageError as error:
            self.fail(key, f"an expression over {known}: {error.what.removeprefix('Expression: ')}")

    def table(self, key: str) -> Section:
        """A sub-table; empty where the key is absent."""
        value = self.get(key)
        if value is None:
            value = {}
        if not isinstance(value, dict) or len(value) > LARGEST_LIST:
            self.fail(key, f"a table of at most {LARGEST_LIST} keys")
        return Section(value, self.file, self.key(key))

    def tables(self, key: str, *, least: int = 0) -> list[Section]:
        """An array of tables."""
        value = self.get(key)
        if value is None and least == 0:
            return []
        if not _is_list_of(value, dict) or len(value) < least:
            self.fail(key, f"{least} to {LARGEST_LIST} [[{self.key(key)}]] tables")
        path = self.key(key)
        return [Section(v, self.file, f"{path}[{i}]") for i, v in enumerate(value)]

    def __iter__(self) -> Iterator[str]:
        """All keys of the table."""
        return iter(self._data)

    def finish(self) -> None:
        """Refuses keys that were never asked for."""
        for key in self._data:
            if key not in self._asked:
                known = sorted(self._asked)
                raise UsageError(
                    "the manifest has an unknown key",
                    where={"file": self.file, "key": self.key(key[:_SHOWN])},
                    expected="one of " + (", ".join(known) or "none"),
                    hint=near(key, known),
                )


def near(value: object, choices: Sequence[str]) -> str | None:
    """ "did you mean X?", where one of the choices is like it."""
    if not isinstance(value, str):
        return None
    found = get_close_matches(value[:_SHOWN], choices, n=1, cutoff=0.6)
    return f"did you mean {found[0]}?" if found else None


def is_number(value: object) -> bool:
    """True for a finite integer or float that is no truth value."""
    if type(value) is int:
        return abs(value) < 1 << 62
    return type(value) is float and math.isfinite(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _is_list_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and len(value) <= LARGEST_LIST and all(type(v) is kind for v in value)
