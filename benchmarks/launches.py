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

import numpy as np

from layoutprobe.arch import DEFAULT
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.registry import make_engine
from layoutprobe.probing.run import build, make_launch
from layoutprobe.probing.spec import load_spec


def main(engine: str, *numbers: str) -> None:
    m, n, k, launches = map(int, numbers)
    rng = np.random.default_rng(m + n + k)
    a = rng.integers(0, 4, (m, k)).astype(np.float16)
    b = rng.integers(0, 4, (k, n)).astype(np.float16)
    spec = load_spec("gemm/standard")
    code, _ = build(spec, arch=DEFAULT)
    launch = make_launch(spec, code, {"A": a, "B": b})
    backend = EmulatorBackend(engine=make_engine(engine), budget=1 << 40)
    result = backend.run(launch)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    wall, busy = [], []
    for _ in range(launches):
        start, begun = time.perf_counter(), time.process_time()
        result = backend.run(launch)
        wall.append(time.perf_counter() - start)
        busy.append(time.process_time() - begun)
    c = result.buffers[2]
    exact = c is not None and bool(np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32)))
    print(json.dumps({"wall": wall, "busy": busy, "peak": peak, "exact": exact}))


if __name__ == "__main__":
    main(*sys.argv[1:])
