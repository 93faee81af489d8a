"""The program: `python -m layoutprobe` and the `layoutprobe` script. Starts the command line.

Nothing is imported before Ctrl-C is in hand: most of a short run is spent importing.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130


def run() -> int:
    """Run the command line on sys.argv.

    Returns:
        The exit code of layoutprobe.cli.main; 2 where a package that even the command line stands on is missing.
    """
    # What is imported stays: to look through it for garbage is for nothing. A short command makes fewer objects.
    gc.set_threshold(100_000, 20, 50)
    # A shell that starts us in the background has it ignored; then it stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from layoutprobe.cli.main import main
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("layoutprobe"):
            raise
        from layoutprobe.text import missing

        print(f"layoutprobe: {missing(error)}", file=sys.stderr)
        return 2
    return main()


def _interrupt(_: int, frame: FrameType | None) -> NoReturn:
    """End at once while a module loads; else raise KeyboardInterrupt, so that all is cleaned up.

    Inside of an extension module that initialises itself, the exception would surface as some other
    one, with a traceback printed by the interpreter.
    """
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            os.write(2, b"layoutprobe: interrupted\n")
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(run())
