from __future__ import annotations

from pathlib import Path

import pytest
from hiphost.compiling import build_c, build_hip, device_code

from layoutprobe.codeobj.bundle import bundle


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with driver, kernels.co, triple and sanitized."""
    folder = tmp_path_factory.mktemp("hip")
    (folder / "kernels.co").write_bytes(device_code("kernels.hip"))
    build_c("driver.c", folder)
    other = device_code("triple.hip", "gfx1100")
    build_hip("triple.hip", folder, bundle({"gfx1100": other, "gfx1151": device_code("triple.hip")}))
    build_hip("sanitized.hip", folder, bundle({"gfx1151": device_code("sanitized.hip")}))
    return folder
