"""Reads tables that anybody may have written (TOML, JSON) key by key; what is wrong becomes a UsageError.

Files and their values are untrusted: sizes are bounded, types are checked, nothing in them is
executed. A key that nobody asked for is an error: it is a typing mistake.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

from layoutprobe.errors import UsageError, did_you_mean

LARGEST_LIST = 256
LONGEST_TEXT = 1024
DEEPEST_KEY = 16
"""Parts of a dotted key. tomllib keeps every prefix of it: its memory grows with the square of the parts."""
_SHOWN = 100
_TOKENS = re.compile(
    r"""\"{3}[\s\S]*?"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|(?P<comment>\#[^\n]*)"""
    r"""|[\w-]+|(?P<dot>\.)|(?P<other>[^\s\w.-])"""
)


def read_bounded(path: Path, what: str, largest: int, hint: str | None = None) -> bytes:
    """The bytes of a file.

    Args:
        path: the file.
        what: what it is, for a message: "manifest".
        largest: bytes that it may have.
        hint: where it does not exist.

    Raises:
        UsageError: no such file, none that can be read, or too large.
    """
    where = {"file": path}
    try:
        if not path.is_file():  # a pipe or a device could keep us waiting
            raise UsageError(f"there is no such {what}", where=where, hint=hint)
        with path.open("rb") as stream:
            raw = stream.read(largest + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"the {what} cannot be read", where=where, observed=str(error)[:300]) from error
    if len(raw) > largest:
        raise UsageError(f"the {what} is too large", where=where, expected=f"at most {largest} bytes")
    return raw


def parse_toml(text: str | bytes, file: object, what: str, hint: str | None = None) -> dict[str, Any]:
    """The top table of a TOML document.

    Raises:
        UsageError: it is not TOML.
    """
    import tomllib  # 8 ms

    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        if _deepest_key(text) > DEEPEST_KEY:
            raise UsageError(
                f"the {what} has a key of too many parts",
                where={"file": file},
                expected=f"at most {DEEPEST_KEY} names with dots between them",
            )
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        observed = str(error)[:300]
        raise UsageError(
            f"the {what} is not TOML", where={"file": file}, observed=observed, hint=hint
        ) from error


def _deepest_key(text: str) -> int:
    """Parts of the longest dotted name, strings apart."""
    deepest = parts = 1
    joined = False
    for token in _TOKENS.finditer(text) if text.count(".") >= DEEPEST_KEY else ():
        if token["comment"] is not None:
            continue
        if token["dot"] is not None:
            joined = True
            continue
        parts = parts + 1 if joined and token["other"] is None else 1
        joined = False
        deepest = max(deepest, parts)
    return deepest


class Table:
    """One table of a file. Its sub-tables are of the same class."""

    WHAT: ClassVar[str] = "table"
    """What the file is, for messages."""

    def __init__(
        self, data: Mapping[str, Any], file: object, name: str = "", defaults: Mapping[str, Any] | None = None
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

    def is_shared(self, key: str) -> bool:
        """Whether a key comes from table [defaults]."""
        return key in self._data and key not in self._own

    def key(self, key: str) -> str:
        """Full path of a key."""
        if self.is_shared(key):
            return f"defaults.{key}"
        return f"{self.name}.{key}" if self.name else key

    def fail(self, key: str, expected: str, hint: str | None = None) -> NoReturn:
        """Refuses the value of `key`."""
        raise UsageError(
            self.refusal("does not hold" if key in self._data else "lacks a key"),
            where={"file": self.file, "key": self.key(key[:_SHOWN])},
            expected=expected,
            observed=_shown(self._data[key]) if key in self._data else None,
            hint=self._misspelt(key) or hint,
        )

    def _misspelt(self, key: str) -> str | None:
        """A hint where the key is missing, and one that nobody has asked for yet is much like it."""
        if key in self._data:
            return None
        from difflib import get_close_matches  # only an error needs it

        near = get_close_matches(key, [k[:_SHOWN] for k in self._data if k not in self._asked], n=1)
        return f"is `{near[0]}` meant to be `{key}`?" if near else None

    def refusal(self, why: str) -> str:
        """What a message begins with."""
        return f"the {self.WHAT} {why}"

    def has(self, key: str) -> bool:
        """True where the key is present."""
        return key in self._data

    def get(self, key: str) -> Any:
        """The raw value, None where there is none."""
        self._asked.add(key)
        return self._data.get(key)

    def __iter__(self) -> Iterator[str]:
        """All keys of the table."""
        return iter(self._data)

    def finish(self) -> None:
        """Refuses keys that were never asked for."""
        for key in self._data:
            if key not in self._asked:
                known = sorted(self._asked)
                raise UsageError(
                    self.refusal("has an unknown key"),
                    where={"file": self.file, "key": self.key(key[:_SHOWN])},
                    expected="one of " + (", ".join(known) or "none"),
                    hint=did_you_mean(key, known),
                )

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
            self.fail(key, "one of " + ", ".join(choices), did_you_mean(value, choices))
        return value

    def choices(self, key: str, known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
        """A list of some of `known`."""
        value = self.get(key)
        if value is None:
            return tuple(default)
        if not is_list_of(value, str):
            self.fail(key, "a list of some of " + ", ".join(known))
        for word in value:
            if word not in known:
                self.fail(key, "some of " + ", ".join(known), did_you_mean(word, known))
        return tuple(value)

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fail(key, "true or false")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """An integer from `low` to `high`."""
        value = self.get(key)
        if type(value) is not int or not low <= value <= high:
            self.fail(key, f"an integer from {low} to {high}")
        return value

    def maybe_integer(self, key: str, low: int, high: int) -> int | None:
        """As `integer`; None where the key is absent."""
        return None if self.get(key) is None else self.integer(key, low, high)

    def integers(self, key: str, count: int, low: int, high: int) -> tuple[int, ...]:
        """Exactly `count` integers from `low` to `high`."""
        value = self.get(key)
        if not is_list_of(value, int) or len(value) != count or not all(low <= v <= high for v in value):
            self.fail(key, f"{count} integers from {low} to {high}")
        return tuple(value)

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
        if not is_list_of(value, str) or any(len(v) > LONGEST_TEXT or "\0" in v for v in value):
            self.fail(key, f"a list of {expected}")
        return tuple(value)

    def table(self, key: str) -> Self:
        """A sub-table; empty where the key is absent."""
        value = self.get(key)
        if value is None:
            value = {}
        if not isinstance(value, dict) or len(value) > LARGEST_LIST:
            self.fail(key, f"a table of at most {LARGEST_LIST} keys")
        return type(self)(value, self.file, self.key(key))

    def tables(self, key: str, *, least: int = 0, most: int = LARGEST_LIST) -> list[Self]:
        """An array of tables."""
        value = self.get(key)
        if value is None and least == 0:
            return []
        if not is_list_of(value, dict, most) or len(value) < least:
            self.fail(key, f"{least} to {most} [[{self.key(key)}]] tables")
        path = self.key(key)
        return [type(self)(v, self.file, f"{path}[{i}]") for i, v in enumerate(value)]


def is_number(value: object) -> bool:
    """True for a finite integer or float that is no truth value."""
    if type(value) is int:
        return abs(value) < 1 << 62
    return type(value) is float and math.isfinite(value)


def is_list_of(value: object, kind: type, most: int = LARGEST_LIST) -> bool:
    """True for a list of at most so many values of exactly that type."""
    return isinstance(value, list) and len(value) <= most and all(type(v) is kind for v in value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
