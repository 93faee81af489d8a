"""Reads a TOML table key by key; whatever is wrong becomes one UsageError with file and key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from layoutprobe.errors import UsageError
from layoutprobe.patterns.expression import parse

_LARGEST_FILE = 64 * 1024  # a probe spec has 2 KB


class Table:
    """One table of a TOML file. A key that nobody asked for is an error: it is a typing mistake."""

    def __init__(self, data: Mapping[str, Any], path: Path, prefix: str = "") -> None:
        self._data = data
        self._asked: set[str] = set()
        self.path = path
        self.prefix = prefix

    @classmethod
    def load(cls, path: Path) -> Table:
        """The top table of a file.

        Raises:
            UsageError: no such file, too large, or not TOML.
        """
        try:
            if path.stat().st_size > _LARGEST_FILE:
                raise UsageError(
                    "the spec is too large", where={"file": path}, expected=f"at most {_LARGEST_FILE} bytes"
                )
            return cls(tomllib.loads(path.read_text(encoding="utf-8")), path)
        except OSError as error:
            raise UsageError("the spec cannot be read", where={"file": path}, observed=str(error)) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError("the spec is not TOML", where={"file": path}, observed=str(error)) from error

    def fail(self, key: str, expected: str) -> NoReturn:
        """Refuses the value of `key`."""
        observed = repr(self._data[key]) if key in self._data else "nothing"
        raise UsageError(
            "the spec does not hold",
            where={"file": self.path, "key": self.prefix + key},
            expected=expected,
            observed=observed,
        )

    def get(self, key: str) -> Any:
        """The raw value, None where there is none."""
        self._asked.add(key)
        return self._data.get(key)

    def name(self, key: str, *, choices: Sequence[str] = (), default: str | None = None) -> str:
        """A name: letters, digits and underscores, or one of `choices`."""
        value = self.get(key)
        if value is None and default is not None:
            return default
        if choices:
            if not isinstance(value, str) or value not in choices:
                self.fail(key, "one of " + ", ".join(choices))
        elif not isinstance(value, str) or not value.isidentifier():
            self.fail(key, "a name of letters, digits and underscores")
        return value

    def mnemonic(self, key: str) -> str:
        """A name of an instruction: letters, digits, underscores, and dots between them."""
        value = self.get(key)
        if not isinstance(value, str) or not all(
            part.isalnum() for part in value.replace("_", "").split(".")
        ):
            self.fail(key, "the name of an instruction")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """An integer from `low` to `high`."""
        value = self.get(key)
        if type(value) is not int or not low <= value <= high:
            self.fail(key, f"an integer from {low} to {high}")
        return value

    def integers(self, key: str, count: int, low: int, high: int) -> tuple[int, ...]:
        """Exactly `count` integers from `low` to `high`."""
        value = self.get(key)
        if not _is_list_of(value, int) or len(value) != count or not all(low <= v <= high for v in value):
            self.fail(key, f"{count} integers from {low} to {high}")
        return tuple(value)

    def expression(self, key: str, names: Sequence[str]) -> str:
        """An integer expression over `names`; "" where the key is absent."""
        value = self.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fail(key, "an expression over " + ", ".join(names))
        try:
            parse(value, names)
        except UsageError as error:
            self.fail(key, f"an expression over {', '.join(names)}: {error.what}")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names; empty where the key is absent."""
        value = self.get(key)
        if value is None:
            return ()
        if not _is_list_of(value, str) or not all(v.isidentifier() for v in value):
            self.fail(key, "a list of names")
        return tuple(value)

    def table(self, key: str) -> Table:
        """A sub-table; empty where the key is absent."""
        value = self.get(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            self.fail(key, "a table")
        return Table(value, self.path, f"{self.prefix}{key}.")

    def tables(self, key: str) -> list[Table]:
        """An array of tables, at least one."""
        value = self.get(key)
        if not _is_list_of(value, dict) or not value:
            self.fail(key, f"one [[{key}]] table or more")
        return [Table(v, self.path, f"{self.prefix}{key}[{i}].") for i, v in enumerate(value)]

    def __iter__(self) -> Iterator[str]:
        """All keys of the table."""
        return iter(self._data)

    def finish(self) -> None:
        """Refuses keys that were never asked for."""
        for key in self._data:
            if key not in self._asked:
                self.fail(key, "no such key; known here: " + ", ".join(sorted(self._asked)))


def _is_list_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(type(v) is kind for v in value)
