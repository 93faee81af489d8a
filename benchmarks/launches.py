"""Launches of the standard GEMM on one engine, as JSON: python benchmarks/launches.py ENGINE M N K LAUNCHES

For `python benchmarks`, which gives every size and engine a process of its own, so that the peak of its memory is
known. Each launch executes the compiled kernel in full, unwatched, with all memory and definedness checks; it is
compiled, decoded and bound before. C is compared with numpy: small non-negative integers keep every sum exact, so
the comparison is for equality.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT
from layoutprobe.backends.base import Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.registry import make_engine
from layoutprobe.probing.run import build, make_launch
from layoutprobe.probing.spec import load_spec

Run = Callable[[], NDArray[Any] | None]
"""One launch; gives C."""


def ours(engine: str, launch: Launch) -> Run:
    """Launches on an engine of ours, after one that counts for nothing."""
    backend = EmulatorBackend(engine=make_engine(engine), budget=1 << 40)
    backend.run(launch)
    return lambda: backend.run(launch).buffers[2]


def measure(prepare: Callable[[Launch], Run], *numbers: str) -> None:
    """Print what launches cost, and whether the last C is right.

    Args:
        prepare: does what is not measured.
        numbers: M, N, K, and how many launches.
    """
    m, n, k, launches = map(int, numbers)
    rng = np.random.default_rng(m + n + k)
    a = rng.integers(0, 4, (m, k)).astype(np.float16)
    b = rng.integers(0, 4, (k, n)).astype(np.float16)
    spec = load_spec("gemm/standard")
    code, _ = build(spec, arch=DEFAULT)
    run = prepare(make_launch(spec, code, {"A": a, "B": b}))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    wall, busy = [], []
    for _ in range(launches):
        start, begun = time.perf_counter(), time.process_time()
        c = run()
        wall.append(time.perf_counter() - start)
        busy.append(time.process_time() - begun)
    exact = c is not None and bool(np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32)))
    print(json.dumps({"wall": wall, "busy": busy, "peak": peak, "exact": exact}))


if __name__ == "__main__":
    measure(lambda launch: ours(sys.argv[1], launch), *sys.argv[2:])
