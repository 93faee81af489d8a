"""One table of a manifest: what every table of a file has, and expressions."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar

from layoutprobe.errors import UsageError
from layoutprobe.manifest.model import Expression
from layoutprobe.patterns.expression import MAX_LENGTH, parse
from layoutprobe.reading import Table, parse_toml, read_bounded

LARGEST_FILE = 256 * 1024
_KERNEL, _GUESS = re.compile(r"\s*\[\[\s*kernel\s*\]\]"), "FILL IN"
_HINT = "`layoutprobe init KERNEL` writes one"


def load_bytes(path: Path) -> bytes:
    """The file of a manifest.

    Raises:
        UsageError: no such file, or too large.
    """
    return read_bounded(path, "manifest", LARGEST_FILE, _HINT)


def load_toml(raw: bytes, path: Path) -> dict[str, Any]:
    """The top table of a manifest.

    Raises:
        UsageError: it is not TOML.
    """
    return parse_toml(raw, path, "manifest", "a manifest is TOML; " + _HINT + " for a kernel")


def guessed_lines(raw: bytes) -> list[tuple[int, ...]]:
    """Lines that say FILL IN, kernel by kernel: what `init` could not see, and nobody has looked at since."""
    found: list[tuple[int, ...]] = []
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
        if _KERNEL.match(line):
            found.append(())
        elif found and _GUESS in line.partition("#")[2]:
            found[-1] += (number,)
    return found


class Section(Table):
    """One table of a manifest."""

    WHAT: ClassVar[str] = "manifest"

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
            self.fail(key, f"a number, or an expression over {known}, of {MAX_LENGTH} characters at most")
        try:
            return Expression(value, parse(value, names))
        except UsageError as error:
            self.fail(key, f"an expression over {known}: {error.what.removeprefix('Expression: ')}")
