"""The decoder's corpus compiled for wave64: the same results as the same source on this machine."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.host import run_on_host, signatures
from emulator.lab import compiled, outputs
from emulator.test_corpus import KERNELS, SCALARS, arguments, same

BLOCK = 100
"""One full wave and one of which 36 lanes are active."""
BLOCKS = {"nested": 60, "spill": 32, "spill_branch": 32}
"""Kernels whose work-items share cells beyond 64, or that are compiled for smaller workgroups."""
FLAGS = ("-ffp-contract=off", "-mwavefrontsize64")


@pytest.mark.parametrize(("source", "kernel"), KERNELS)
def test_wave64_and_this_machine_agree(source: str, kernel: str) -> None:
    turns = max([len(v) for v in SCALARS.get(kernel, {}).values()], default=1)
    uniform = not any(p.pointer for p in signatures(source)[kernel][1:])
    block = 1 if uniform and kernel != "constant_table" else BLOCKS.get(kernel, BLOCK)
    code = compiled(f"corpus/{source}", *FLAGS)
    assert code.kernels[kernel].wavefront_size == 64
    changed = 0
    for turn in range(turns):
        args = arguments(source, kernel, turn)
        wanted = run_on_host(source, kernel, args, block)
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        got = outputs(code, given, kernel=kernel, block=(block,))
        before = [a for a in args if isinstance(a, np.ndarray)]
        for at, (left, right, old) in enumerate(zip(got, wanted, before, strict=True)):
            bad = np.flatnonzero(~same(left, right))
            assert not bad.size, (
                f"turn {turn}, buffer {at}, element {bad[0]}: {left[bad[0]]} for {right[bad[0]]}"
            )
            changed += int((~same(old, right)).sum())
    assert changed > 0, "the kernel wrote nothing: the comparison cannot fail"
