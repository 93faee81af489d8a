"""The real command line on reports that need no compiler and no emulator: in a process of its own, by

    python stub_layoutprobe.py REPORT ARGUMENTS...

or in that of the tests, by `run`.

REPORT is a name in fake_reports.ALL, or what goes wrong: "error", "bug", "missing", "interrupt".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]


COMMANDS = ("dump", "roundtrip", "epilogue")


def command(name: str, **options: Any) -> Any:
    import fake_reports

    from layoutprobe.errors import ExecutionError

    if "STUB_OPTIONS" in os.environ:
        Path(os.environ["STUB_OPTIONS"]).write_text(repr(sorted(options.items())), encoding="utf-8")
    if name == "error":
        raise ExecutionError(
            "the kernel read LDS that nobody wrote",
            where={"kernel": "gemm\x1b[31m", "PC": "0x1f4"},
            expected="a store before the load",
            observed="no store",
            hint="look at the barrier",
        )
    if name == "bug":
        raise ZeroDivisionError("division by zero")
    if name == "missing":
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")
    if name == "interrupt":
        raise KeyboardInterrupt
    return fake_reports.ALL[name]()


def run(report: str, arguments: list[str], put: Callable[[object, str, object], None] = setattr) -> int:
    """The exit code of a command whose report is prepared; `put` replaces an attribute."""
    import layoutprobe

    for each in COMMANDS:
        put(layoutprobe, each, partial(command, report))
    from layoutprobe.cli.main import main

    return main(arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
