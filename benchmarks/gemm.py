"""Times the standard GEMM on the emulator: python benchmarks/gemm.py [runs]

Every run executes the compiled kernel in full. The time is that of one launch, with the kernel
compiled and decoded before; C is compared with numpy after every size. Small non-negative integers
keep every sum exact, so the comparison is for equality.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time

import numpy as np

from layoutprobe.arch import DEFAULT
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.probing.run import build, make_launch
from layoutprobe.probing.spec import load_spec

SIZES = ((128, 128, 64), (512, 512, 64), (1024, 1024, 1024))


def measure(m: int, n: int, k: int, runs: int) -> tuple[list[float], bool]:
    """Seconds of each warm launch, and whether C is right."""
    rng = np.random.default_rng(m + n + k)
    a = rng.integers(0, 4, (m, k)).astype(np.float16)
    b = rng.integers(0, 4, (k, n)).astype(np.float16)
    spec = load_spec("gemm/standard")
    code, _ = build(spec, arch=DEFAULT)
    launch = make_launch(spec, code, {"A": a, "B": b})
    backend = EmulatorBackend()
    seconds = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        result = backend.run(launch)
        seconds.append(time.perf_counter() - start)
    c = result.buffers[2]
    assert c is not None
    return seconds[1:], bool(np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32)))


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'M x N x K':>18} {'median':>10} {'min':>10} {'max':>10} {'peak RSS':>10}  C")
    wrong = False
    for m, n, k in SIZES:
        seconds, right = measure(m, n, k, runs)
        wrong |= not right
        # The peak is the process's so far; sizes ascend, so it belongs to the line's own size.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        times = " ".join(
            f"{1e3 * t:7.1f} ms" for t in (statistics.median(seconds), min(seconds), max(seconds))
        )
        print(f"{f'{m} x {n} x {k}':>18} {times} {peak:6.0f} MiB  {'exact' if right else 'WRONG'}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
