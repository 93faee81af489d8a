"""Whatever a code object says, native code touches nothing but its arenas: see `sanitized`.

HYPOTHESIS_PROFILE=thorough tries many more programs.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from examples import THOROUGH

COUNTS = {"moves": 0, "programs": 3 * THOROUGH, "corrupted": 12 * THOROUGH, "matrices": 0, "backwards": 0}


def _run(part: str, count: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "native.sanitized", part, str(count)]
    return subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=pytest.mark.long if part == "moves" else ()) for part in COUNTS]
)
def test_every_access_lies_in_the_arenas(part: str) -> None:
    done = _run(part, COUNTS[part])
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
    assert int(done.stdout.split()[-4]) > 10_000, done.stdout


def test_an_access_beyond_them_is_seen() -> None:
    """With a check of LDS addresses that lets by too much."""
    done = _run("broken")
    assert (done.returncode, "OUTSIDE" in done.stdout) == (3, True), done.stderr[-2000:]
