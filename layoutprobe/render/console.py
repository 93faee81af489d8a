"""rich's console as this project uses it."""

from __future__ import annotations

from typing import Any, NoReturn, TextIO

from rich.console import Console


class PlainConsole(Console):
    """A console that takes text as it is, and leaves a broken pipe to its caller."""

    def __init__(self, stream: TextIO, **options: Any) -> None:
        """Console on `stream`; further options are rich's."""
        super().__init__(file=stream, highlight=False, emoji=False, markup=False, **options)

    def on_broken_pipe(self) -> NoReturn:
        """Lets the error rise: rich would exit with 1, which here means "a finding"."""
        raise BrokenPipeError
