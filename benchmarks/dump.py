"""Times `layoutprobe dump --matrix A --lds xor` as a whole process: python benchmarks/dump.py [runs]

First run: an empty cache, so the probes are compiled and decoded. Later runs: a warm cache. Limits
that we hold ourselves to: 2 s and 1 s.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

COMMAND = [sys.executable, "-m", "layoutprobe", "dump", "--matrix", "A", "--lds", "xor"]


def wall(cache: str) -> float:
    """Seconds from start to exit of one process."""
    start = time.perf_counter()
    subprocess.run(
        COMMAND, env=os.environ | {"LAYOUTPROBE_CACHE": cache}, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - start


def line(name: str, seconds: list[float]) -> str:
    """One row of the table."""
    shown = (statistics.median(seconds), min(seconds), max(seconds))
    return f"{name:>20} " + " ".join(f"{1e3 * s:7.0f} ms" for s in shown)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    first, warm = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            first.append(wall(cache))
            warm.append(wall(cache))
    print(f"{'':>20} {'median':>10} {'min':>10} {'max':>10}")
    print(line("first run, no cache", first))
    print(line("warm cache", warm))
    return 0


if __name__ == "__main__":
    sys.exit(main())
