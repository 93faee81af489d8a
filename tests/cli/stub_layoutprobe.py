"""The real command line in a process of its own, on reports that need no compiler and no emulator.

    python stub_layoutprobe.py REPORT ARGUMENTS...

REPORT is a name in fake_reports.ALL, or what goes wrong: "error", "bug", "missing", "interrupt".
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]


def command(**options: Any) -> Any:
    import fake_reports

    from layoutprobe.errors import ExecutionError

    name = sys.argv[1]
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
        raise ModuleNotFoundError("No module named 'msgpack'", name="msgpack")
    if name == "interrupt":
        raise KeyboardInterrupt
    return fake_reports.ALL[name]()


if __name__ == "__main__":
    import layoutprobe

    for each in ("dump", "roundtrip", "epilogue"):
        setattr(layoutprobe, each, command)
    from layoutprobe.cli.main import main

    sys.exit(main(sys.argv[2:]))
