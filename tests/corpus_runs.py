"""One kernel of the decoder's corpus, built for any target: the emulator against this machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from emulator import lab, test_divergence, test_launch, test_memory, test_programs
from emulator.host import run_on_host, signatures
from emulator.lab import CORPUS, outputs
from emulator.test_corpus import SCALARS, arguments, same

from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.toolchain.compile import compile_hip

KERNELS = Path(__file__).parent / "emulator" / "kernels"
_BLOCKS = {"nested": 60, "spill": 32, "spill_branch": 32}
"""Kernels whose work-items share cells beyond 64, or that are compiled for smaller workgroups."""


@cache
def built(name: str, target: str, *flags: str) -> CodeObject:
    """A source of the emulator's tests, or of the decoder's corpus as "corpus/NAME"."""
    folder, _, stem = name.rpartition("/")
    path = (CORPUS if folder == "corpus" else KERNELS) / f"{stem}.hip"
    return load(compile_hip(path, target=target, flags=flags).data)


def check_against_host(source: str, kernel: str, code: CodeObject, block: int) -> None:
    """Run a kernel on both; every element of every buffer must agree, and some must have changed.

    Args:
        source: corpus file.
        kernel: its kernel.
        code: the file as built for a target.
        block: work-items, where the kernel allows it.
    """
    turns = max([len(v) for v in SCALARS.get(kernel, {}).values()], default=1)
    uniform = not any(p.pointer for p in signatures(source)[kernel][1:])
    block = 1 if uniform and kernel != "constant_table" else _BLOCKS.get(kernel, block)
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


def retarget(monkeypatch: pytest.MonkeyPatch, target: str, *extra: str) -> None:
    """Let `emulator.lab.compiled` build for another target, for the rest of a test."""

    def elsewhere(name: str, *flags: str) -> CodeObject:
        return built(name, target, *flags, *extra)

    for module in (lab, test_divergence, test_launch, test_memory, test_programs):
        monkeypatch.setattr(module, "compiled", elsewhere)
