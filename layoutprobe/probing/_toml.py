"""One table of a probe's spec: what every table of a file has, names, and expressions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from layoutprobe import reading
from layoutprobe.errors import UsageError
from layoutprobe.patterns.expression import parse

_LARGEST_FILE = 64 * 1024  # a probe spec has 2 KB
_NAME, _MNEMONIC = r"[^\W\d]\w*", r"\w*[^\W_]\w*(\.\w*[^\W_]\w*)*"


class Table(reading.Table):
    """One table of a probe's spec."""

    WHAT: ClassVar[str] = "spec"

    @classmethod
    def load(cls, path: Path) -> Self:
        """The top table of a file.

        Raises:
            UsageError: no such file, too large, or not TOML.
        """
        return cls(reading.parse_toml(reading.read_bounded(path, "spec", _LARGEST_FILE), path, "spec"), path)

    def identifier(self, key: str) -> str:
        """A name of letters, digits and underscores."""
        return self.text(key, "a name of letters, digits and underscores", _NAME)

    def mnemonic(self, key: str) -> str:
        """A name of an instruction: letters, digits, underscores, and dots between them."""
        return self.text(key, "the name of an instruction", _MNEMONIC)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names; empty where the key is absent."""
        found = self.strings(key, "names")
        if not all(name.isidentifier() for name in found):
            self.fail(key, "a list of names")
        return found

    def expression(self, key: str, names: Sequence[str]) -> str:
        """An integer expression over `names`; "" where the key is absent."""
        expected = "an expression over " + ", ".join(names)
        value = self.text(key, expected, r"[\s\S]*", "")
        try:
            if value:
                parse(value, names)
        except UsageError as error:
            self.fail(key, f"{expected}: {error.what}")
        return value
