"""How long it takes to solve every matrix instruction of a target: `python benchmarks/sweep.py gfx942 gfx950`.

The probe is compiled first, as a warm cache has it. Printed is processor time.
"""

from __future__ import annotations

import sys
import time

from layoutprobe.arch import DEFAULT
from layoutprobe.backends.source import chosen
from layoutprobe.instructions import Prober, result_of, variants
from layoutprobe.instructions.probe import build


def sweep(target: str) -> dict[str, float]:
    """Seconds by variant."""
    backend, seconds = chosen(None, target), {}
    for variant in variants(target):
        build(target, variant.wave)
        start = time.process_time()
        result_of(Prober(variant, backend))
        seconds[variant.form.spelling + f" opsel {variant.opsel} wave {variant.wave}"] = (
            time.process_time() - start
        )
    return seconds


def main(targets: list[str]) -> None:
    """One line per target."""
    for target in targets:
        seconds = sweep(target)
        slowest = max(seconds, key=lambda name: seconds[name])
        print(f"{target}: {len(seconds)} variants in {sum(seconds.values()):.1f} s of processor time; "
              f"the slowest {seconds[slowest]:.2f} s, {slowest}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:] or [DEFAULT])
