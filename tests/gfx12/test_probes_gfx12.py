"""The roundtrip probe built for RDNA4: every LDS scheme brings every element where its formula says."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.probing.run import run_probe
from layoutprobe.probing.spec import load_spec


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("probe", ["roundtrip", "roundtrip_b"])
def test_roundtrip(probe: str, scheme: str) -> None:
    codes = np.random.default_rng(1).permutation(1 << 16)[: 64 * 16].astype(np.uint16).reshape(64, 16)
    inputs = {"in": codes.T.copy() if probe == "roundtrip_b" else codes}
    spec, backend = load_spec(probe), EmulatorBackend()
    seen = run_probe(spec, arch="gfx1200", inputs=inputs, backend=backend, lds=scheme).outputs
    wave, vgpr, lane, half = np.indices((4, 4, 32, 2))
    halves = seen["readback"].reshape(4, 4, 32).view(np.uint16).reshape(4, 4, 32, 2)
    assert np.array_equal(halves, codes[16 * wave + lane % 16, 8 * (lane // 16) + 2 * vgpr + half])
    # Where it was in LDS does not depend on the target that the source is compiled for.
    on_rdna3 = run_probe(spec, arch="gfx1151", inputs=inputs, backend=backend, lds=scheme).outputs
    assert np.array_equal(seen["lds"], on_rdna3["lds"])
