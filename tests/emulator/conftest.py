"""What the kernels of a test are compiled for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from emulator.lab import BUILDS, Build, building_for


@pytest.fixture(autouse=True)
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    """RDNA3 in wave32; or the build that the test is parametrised with, see `lab.EVERYWHERE`."""
    chosen = BUILDS[getattr(request, "param", "gfx1151")]
    with building_for(chosen):
        yield chosen
