"""Records h100.cap and h100_ldmatrix.cap anew, on a card: `python tests/nvidia/record.py DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

from layoutprobe.backends.recorded import Recorder
from layoutprobe.backends.source import Live
from layoutprobe.cli.main import main
from layoutprobe.extras.nvidia.backend import CudaBackend
from layoutprobe.patterns import load_pattern
from layoutprobe.probing.run import run_probe
from layoutprobe.probing.spec import load_spec

TILE = (32, 8)


def record_ldmatrix(path: Path) -> None:
    backend = CudaBackend()
    recorder, spec = Recorder(Live(backend)), load_spec("nvidia/ldmatrix")
    for transposed in (0, 1):
        for pattern in ("rowcol", "row-coded"):
            run_probe(
                spec,
                arch=backend.device["target"],
                inputs={"tile": load_pattern(pattern).encode(TILE, "raw16")},
                backend=recorder,
                defines={"TRANSPOSED": transposed},
                parameters={"transposed": transposed, "pattern": pattern, "carrier": "raw16"},
            )
    recorder.write(path)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    target = CudaBackend().device["target"]
    ended = main(["capture", "-o", str(folder / "h100.cap"), "--arch", target, "--backend", "cuda"])
    record_ldmatrix(folder / "h100_ldmatrix.cap")
    sys.exit(ended)
