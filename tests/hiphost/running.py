"""Runs programs under `layoutprobe run`, as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from layoutprobe.cli.main import main

Done = subprocess.CompletedProcess[str]


def layoutprobe_run(
    *words: str | Path,
    options: tuple[str, ...] = (),
    stdin: str = "",
    environment: dict[str, str] | None = None,
) -> Done:
    command = [sys.executable, "-m", "layoutprobe", "run", *options, "--", *map(str, words)]
    return subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **(environment or {})},
    )


def hipcc(*words: str) -> int:
    """The exit code of `layoutprobe hipcc`, in this process."""
    return main(["hipcc", *words])
