"""Times the standard GEMM on the emulator's engines, one after the other in one run.

    python benchmarks/gemm.py [--engine numpy --engine native] [--runs 5] [--large] [--json FILE] [--against FILE]

Every run executes the compiled kernel in full, unwatched, with all memory and definedness checks. The time is that
of one launch, with the kernel compiled, decoded and bound before. C is compared with numpy after every size; small
non-negative integers keep every sum exact, so the comparison is for equality. On a busy machine the minimum and the
processor time (of all threads) say more than the median.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from layoutprobe.arch import DEFAULT
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.choice import NAMES
from layoutprobe.engine.registry import make_engine
from layoutprobe.files import writing
from layoutprobe.probing.run import build, make_launch
from layoutprobe.probing.spec import load_spec

SIZES = ((128, 128, 64), (512, 512, 64), (1024, 1024, 1024))
LARGE = (4096, 4096, 1024)


@dataclass(frozen=True)
class Timing:
    """Milliseconds of the launches of one size on one engine; `busy` is processor time of a launch."""

    engine: str
    size: tuple[int, int, int]
    median: float
    least: float
    most: float
    busy: float
    peak_mib: float
    exact: bool


def measure(engine: str, size: tuple[int, int, int], runs: int) -> Timing:
    """Launches one size once to warm up, and then `runs` times."""
    m, n, k = size
    rng = np.random.default_rng(m + n + k)
    a = rng.integers(0, 4, (m, k)).astype(np.float16)
    b = rng.integers(0, 4, (k, n)).astype(np.float16)
    spec = load_spec("gemm/standard")
    code, _ = build(spec, arch=DEFAULT)
    launch = make_launch(spec, code, {"A": a, "B": b})
    backend = EmulatorBackend(engine=make_engine(engine))
    backend.run(launch)
    seconds = []
    busy = time.process_time()
    for _ in range(runs):
        start = time.perf_counter()
        result = backend.run(launch)
        seconds.append(1e3 * (time.perf_counter() - start))
    busy = 1e3 * (time.process_time() - busy) / runs
    c = result.buffers[2]
    exact = c is not None and bool(np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32)))
    # The process's peak so far; sizes ascend, so it belongs to the line's own size, and that of the largest to all.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Timing(engine, size, statistics.median(seconds), min(seconds), max(seconds), busy, peak, exact)


def row(timing: Timing, before: Timing | None) -> str:
    """One line of the table."""
    times = " ".join(f"{t:9.2f}" for t in (timing.median, timing.least, timing.most, timing.busy))
    change = f"  {before.least / timing.least:5.2f} times as fast" if before else ""
    size = " x ".join(map(str, timing.size))
    verdict = "exact" if timing.exact else "WRONG"
    return f"{timing.engine:>7} {size:>18} {times} {timing.peak_mib:6.0f} MiB  {verdict}{change}"


def main() -> int:
    parser = argparse.ArgumentParser(description="times the standard GEMM on the emulator's engines")
    parser.add_argument("--engine", action="append", choices=NAMES, help="default: all")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="4096 x 4096 x 1024 as well")
    parser.add_argument("--json", metavar="FILE", help="write what was measured")
    parser.add_argument("--against", metavar="FILE", help="compare with what an earlier run wrote")
    options = parser.parse_args()
    earlier = json.loads(Path(options.against).read_text())["timings"] if options.against else []
    before = {(t["engine"], tuple(t["size"])): Timing(**t) for t in earlier}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; milliseconds of a launch")
    print(
        f"{'engine':>7} {'M x N x K':>18} {'median':>9} {'min':>9} {'max':>9} {'busy':>9} {'peak RSS':>10}  C"
    )
    timings = []
    for size in (*SIZES, *((LARGE,) if options.large else ())):
        for engine in options.engine or NAMES:
            timings.append(measure(engine, size, options.runs))
            print(row(timings[-1], before.get((engine, size))), flush=True)
    if options.json:
        told = {"cores": os.cpu_count(), "load": os.getloadavg()[0], "timings": [asdict(t) for t in timings]}
        with writing(options.json) as file:
            file.write(json.dumps(told, indent=1) + "\n")
    return int(not all(t.exact for t in timings))


if __name__ == "__main__":
    sys.exit(main())
