"""Something that moves while the reader waits; only on a terminal, and only when it takes long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.status import Status

DELAY = 0.7
"""Seconds before anything is shown: most runs are over by then, and rich need not be loaded."""


@contextmanager
def waiting(text: str, stream: TextIO) -> Iterator[None]:
    """Shows a spinner on `stream` while the body runs, if the stream is a terminal."""
    if not stream.isatty():
        yield
        return
    spinner: list[Status] = []
    lock = threading.Lock()
    over = False

    def start() -> None:
        from rich.console import Console

        with lock:
            if not over:
                status = Console(file=stream).status(text)
                status.start()
                spinner.append(status)

    timer = threading.Timer(DELAY, start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            over = True
            for status in spinner:
                status.stop()
