"""Programs that are run on the emulated HIP device: found, warned of, started, waited for."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from layoutprobe.cli.terminal import say
from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.extras.hiphost.server import Server

_PATIENCE = 5.0
"""Seconds that an interrupted program has to end by itself."""


def found_program(words: Sequence[str], expected: str) -> str:
    """The program that a command line begins with.

    Raises:
        UsageError: there is none, with what was expected.
    """
    if not words:
        raise UsageError("which program?", expected=expected)
    program = shutil.which(words[0])
    if program is None and Path(words[0]).is_file():
        raise UsageError(
            f"{words[0][:200]!r} is no executable file",
            expected="a program: a HIP source is compiled first; to check its kernels, write a manifest",
            hint="chmod +x, where it is a script; for a source or code object, `layoutprobe init FILE`",
        )
    if program is None:
        raise UsageError(
            f"there is no program {words[0][:200]!r}",
            expected="an executable file, or its name on PATH",
            hint="a program of the current folder is written ./PROGRAM",
        )
    return program


def warn_of_missing(program: str) -> None:
    """Say which functions a program may call that the runtime lacks."""
    from layoutprobe.extras.hiphost.needs import missing_functions
    from layoutprobe.extras.hiphost.shim_build import library

    if missing := missing_functions(Path(program), library()):
        shown = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
        say(f"layoutprobe: the emulated HIP runtime lacks what the program may call: {shown}")


def run_program(command: Sequence[str], server: Server) -> int:
    """The exit code of the program, as shells count it.

    Raises:
        UsageError: it cannot be started.
    """
    with _sigterm_as_an_exception() as started:
        try:
            process = subprocess.Popen(command, env={**os.environ, **server.environment()})
        except OSError as refused:
            raise UsageError(
                "the program cannot be started", where={"program": command[0]}, observed=str(refused)
            ) from refused
        try:
            started()
            code = process.wait()
        except BaseException as ended:
            if isinstance(ended, SystemExit):  # Ctrl-C reaches the program too, SIGTERM does not
                process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
            process.kill()
            process.wait()
            raise
    return code if code >= 0 else 128 - code


@contextmanager
def _sigterm_as_an_exception() -> Iterator[Callable[[], None]]:
    """SIGTERM ends us as an exception, so that nothing is left behind.

    Gives a call that says that the program has started. Before it SIGTERM waits: who ended us inside of `Popen`
    would leave behind a program that nobody has a handle of.
    """
    if threading.current_thread() is not threading.main_thread():  # only that one may change it
        yield lambda: None
        return
    waiting: list[int] = []
    running = False

    def end(number: int, _: FrameType | None) -> None:
        waiting.append(number)
        if running:
            raise SystemExit(128 + number)

    def started() -> None:
        nonlocal running
        running = True
        if waiting:
            raise SystemExit(128 + waiting[0])

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield started
    finally:
        signal.signal(signal.SIGTERM, before)


def said(message: str) -> None:
    """What the emulator has to say to a person."""
    say(f"layoutprobe: {message}")
