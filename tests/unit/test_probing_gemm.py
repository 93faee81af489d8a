"""The GEMMs in probes/gemm, executed: the standard one is right, the historical bug is that bug."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.probing.run import run_probe
from layoutprobe.probing.spec import load_spec

BACKEND = EmulatorBackend()
Half = NDArray[np.float16]


def gemm(name: str, a: Half, b: Half, **defines: int) -> NDArray[np.float32]:
    capture = run_probe(
        load_spec(f"gemm/{name}"), arch=DEFAULT, inputs={"A": a, "B": b}, backend=BACKEND, defines=defines
    )
    assert capture.defined("C").all()
    product: NDArray[np.float32] = capture.outputs["C"]
    return product


def integers(rows: int, cols: int, seed: int) -> Half:
    """Small non-negative integers: sums of mixed signs are not exact on the silicon."""
    return np.random.default_rng(seed).integers(0, 4, (rows, cols)).astype(np.float16)


def product(a: Half, b: Half) -> NDArray[np.float64]:
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (128, 128, 16),  # one interior block, one step
        (256, 384, 48),  # several
        (1, 1, 1),
        (130, 140, 17),  # interior extents in no direction
        (200, 264, 32),  # interior and edge blocks in one launch
        (128, 132, 32),  # N allows no vector loads
    ],
)
def test_standard_gemm(m: int, n: int, k: int) -> None:
    a, b = integers(m, k, 1), integers(k, n, 2)
    assert np.array_equal(gemm("standard", a, b), product(a, b))


@examples(10)
@given(m=st.integers(1, 150), n=st.integers(1, 150), k=st.integers(1, 40), seed=st.integers(0, 99))
def test_standard_gemm_at_any_size(m: int, n: int, k: int, seed: int) -> None:
    a, b = integers(m, k, seed), integers(k, n, seed + 1)
    assert np.array_equal(gemm("standard", a, b), product(a, b))


def test_historical_bug_prints_1240_everywhere() -> None:
    """Seen on a gfx1151 board for a kernel that filled A fragments down columns."""
    i = np.arange(64)
    a = np.repeat((i % 16)[:, None], 16, axis=1).astype(np.float16)
    b = np.repeat(np.arange(16)[:, None], 64, axis=1).astype(np.float16)
    assert np.array_equal(gemm("column_load", a, b), np.full((64, 64), 1240.0))
    right = np.repeat((120.0 * (i % 16))[:, None], 64, axis=1)
    assert np.array_equal(gemm("column_load", a, b, COLUMN_LOAD=0), right)


def test_historical_bug_transposes_every_tile_of_a() -> None:
    """1240 everywhere is a weak pattern; random integers pin the law."""
    a, b = integers(128, 48, 3), integers(48, 192, 4)
    tiles = a.reshape(8, 16, 3, 16).transpose(0, 3, 2, 1).reshape(a.shape)
    assert np.array_equal(gemm("column_load", a, b), product(tiles, b))
    assert np.array_equal(gemm("column_load", a, b, COLUMN_LOAD=0), product(a, b))
    assert not np.array_equal(product(tiles, b), product(a, b))
