"""Products by rocWMMA's interface on all families of its targets: plain, cooperative, transformed.

The library is the tests' own. What is shown is that the device headers carry such a library, and that the
emulator runs what comes of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.arch import find
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.toolchain.compile import compile_hip

Array = NDArray[Any]
HERE = Path(__file__).parent
K = 80
on_all = pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201"])


def run(
    target: str, kernel: str, waves: int, *args: Any, source: Path = HERE / "products.hip"
) -> list[Array]:
    arch = find(target)
    defines = {"__HIPCC_RTC__": 1, "__AMDGCN_WAVEFRONT_SIZE": arch.wave_size, **arch.macros}
    compiled = compile_hip(source, target=target, include_dirs=(HERE / "include",), defines=defines)
    given = [Buffer(a) if isinstance(a, np.ndarray) else a for a in args]
    block = (waves * arch.wave_size, 1, 1)
    result = EmulatorBackend().run(Launch(load(compiled.data), kernel, (1, 1, 1), block, given))
    assert all(bits is None for bits in result.undefined)
    return [buffer for buffer in result.buffers if buffer is not None]


def matrices(k: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-8, 9, shape).astype(np.float16) for shape in ((16, k), (k, 16)))
    return a, b


@on_all
def test_a_product(target: str) -> None:
    a, b = matrices(K)
    c = np.arange(256, dtype=np.float32).reshape(16, 16)
    d = run(target, "product", 1, a, b, c, np.zeros((16, 16), np.float32), np.int32(K))[3]
    np.testing.assert_array_equal(d.T, a.astype(np.float64) @ b + c.T)


@on_all
def test_a_product_by_two_waves_that_load_parts(target: str) -> None:
    a, b = matrices(K)
    d = run(target, "together", 2, a, b, np.zeros((16, 16), np.float32), np.int32(K))[2]
    np.testing.assert_array_equal(d, a.astype(np.float64) @ b)


@on_all
def test_transforms(target: str) -> None:
    """B lies in columns; its transpose is an A in rows, with the same registers."""
    a, b = matrices(16)
    d = run(target, "transposed_product", 1, a, np.ascontiguousarray(b.T), np.zeros((16, 16), np.float32))[2]
    np.testing.assert_array_equal(d, (a.astype(np.float64) @ b).T)


@on_all
def test_a_wave_that_stores_the_others_part_is_seen(target: str, tmp_path: Path) -> None:
    text = (HERE / "products.hip").read_text()
    wrong = tmp_path / "products.hip"
    wrong.write_text(text.replace("store_matrix_coop_sync<2>(tile[0], x, 16, wave)",
                                  "store_matrix_coop_sync<2>(tile[0], x, 16, 0)"))  # fmt: skip
    a, b = matrices(K)
    with pytest.raises(AssertionError):  # what no wave stored is undefined, and so is D
        run(target, "together", 2, a, b, np.zeros((16, 16), np.float32), np.int32(K), source=wrong)
