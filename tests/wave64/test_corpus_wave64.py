"""The decoder's corpus compiled for wave64: the same results as the same source on this machine."""

from __future__ import annotations

import pytest
from corpus_runs import built, check_against_host
from emulator.test_corpus import KERNELS

BLOCK = 100
"""One full wave and one of which 36 lanes are active."""


@pytest.mark.parametrize(("source", "kernel"), KERNELS)
def test_wave64_and_this_machine_agree(source: str, kernel: str) -> None:
    code = built(f"corpus/{source}", "gfx1151", "-ffp-contract=off", "-mwavefrontsize64")
    assert code.kernels[kernel].wavefront_size == 64
    check_against_host(source, kernel, code, BLOCK)
