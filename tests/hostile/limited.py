"""`layoutprobe check` as a process that may take no more than a hostile input should make it take."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

ROOT = Path(__file__).parents[2]
MEMORY = 2 << 30
"""Bytes of address space. The interpreter with numpy alone takes some 300 MiB of it."""
CPU_SECONDS = 60


class Outcome(Struct, frozen=True):
    """What came of it."""

    code: int
    report: dict[str, Any]
    output: str
    errors: str

    def kernel(self, name: str) -> dict[str, Any]:
        """The verdict on one kernel."""
        return next(kernel for kernel in self.report["kernels"] if kernel["name"] == name)


def checked(manifest: Path, *options: str) -> Outcome:
    """Run `layoutprobe check` under limits of memory and time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))

    done = subprocess.run(
        [sys.executable, "-m", "layoutprobe", "check", str(manifest), "--jobs", "1", *options],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"},
        cwd=manifest.parent,
        preexec_fn=limit,  # the child of a test, which has one thread
        timeout=300,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert "bug in layoutprobe" not in done.stdout + done.stderr, done.stdout
    assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
    report = json.loads(done.stdout) if "json" in options else {}
    return Outcome(done.returncode, report, done.stdout, done.stderr)
