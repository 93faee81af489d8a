"""The decoder's corpus compiled for RDNA4: the same results as the same source on this machine."""

from __future__ import annotations

import pytest
from corpus_runs import built, check_against_host
from emulator.test_corpus import KERNELS

WAVE_SIZES = {32: "-mno-wavefrontsize64", 64: "-mwavefrontsize64"}


@pytest.mark.parametrize("wave_size", WAVE_SIZES)
@pytest.mark.parametrize(("source", "kernel"), KERNELS)
def test_rdna4_and_this_machine_agree(source: str, kernel: str, wave_size: int) -> None:
    code = built(f"corpus/{source}", "gfx1200", "-ffp-contract=off", WAVE_SIZES[wave_size])
    assert code.kernels[kernel].wavefront_size == wave_size
    check_against_host(source, kernel, code, 100)
