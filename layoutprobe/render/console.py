"""rich's console as this project uses it."""

from __future__ import annotations

import os
from typing import Any, NoReturn, TextIO

from rich.console import Console

_WIDEST = 9999


def _environment() -> dict[str, str]:
    """The environment without COLUMNS or LINES that are no size: rich would print nothing at width 0."""

    def sensible(text: str) -> bool:
        return text.isascii() and text.isdecimal() and len(text) < 9 and 0 < int(text) <= _WIDEST

    return {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES") or sensible(v)}


class PlainConsole(Console):
    """A console that takes text as it is, and leaves a broken pipe to its caller."""

    def __init__(self, stream: TextIO, **options: Any) -> None:
        """Console on `stream`; further options are rich's."""
        super().__init__(
            file=stream, highlight=False, emoji=False, markup=False, _environ=_environment(), **options
        )

    def on_broken_pipe(self) -> NoReturn:
        """Lets the error rise: rich would exit with 1, which here means "a finding"."""
        raise BrokenPipeError
