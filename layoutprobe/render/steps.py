"""A line that says what is being done, how far it is and how long it takes yet; only on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

Progress = Callable[[str, float, int], None]
_KNOWN = 0.02
"""Share of the work that must be done before it tells how long the rest takes."""


def time_left(share: float, seconds: float) -> float | None:
    """Seconds that the rest takes, where a share took so many; None where that is too little to tell."""
    return seconds * (1 / share - 1) if share >= _KNOWN else None


@contextmanager
def steps(title: str, stream: TextIO | None) -> Iterator[Progress | None]:
    """Gives a function (what, done, total) that moves a bar on `stream`; None where nobody watches."""
    if stream is None or not stream.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    columns = (
        TextColumn(title),
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        TimeElapsedColumn(Column(no_wrap=True, min_width=len("0:00:00"))),
        TextColumn("{task.fields[left]}{task.description}", markup=False),
    )
    start = monotonic()
    with Bar(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("", total=None, left="")

        def show(what: str, done: float, total: int) -> None:
            left = time_left(done / total, monotonic() - start) if total else None
            words = "" if left is None else f"{_words(left)} left  "
            bar.update(task, description=what, completed=done, total=total, left=words)

        yield show


def _words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
