"""Sums of a matrix instruction go from k = 0 up, whatever the machine's BLAS does, and however its operands lie."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.numbers import element_type
from layoutprobe.numbers.fused import from_zero, largest_integer

SHAPES = ((1, 16, 16, 16), (3, 8, 16, 16), (2, 16, 64, 16), (5, 4, 4, 4), (2, 32, 8, 32))
"""Waves, rows, k, columns."""


def chain(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """One number after the other, in Python: the sum of a double and an exact product is rounded to f32."""
    out = np.zeros((len(a), a.shape[1], b.shape[2]), np.float32)
    for w, row, col in np.ndindex(*out.shape):
        total = np.float32(0)
        for x, y in zip(a[w, row], b[w, :, col], strict=True):
            total = np.float32(float(x) * float(y) + float(total))
        out[w, row, col] = total
    return out


@pytest.mark.parametrize("kind", ["f16", "bf16", "fp8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_from_zero(kind: str, shape: tuple[int, int, int, int]) -> None:
    waves, rows, depth, cols = shape
    rng = np.random.default_rng(shape)
    found = element_type(kind)
    a, b = (
        found.decode(found.encode(rng.normal(size=s))).astype(np.float32)
        for s in ((waves, rows, depth), (waves, depth, cols))
    )
    expected = chain(a, b)
    turned = [np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1) for x in (a, b)]
    for left, right in itertools.product((a, turned[0]), (b, turned[1])):
        assert np.array_equal(from_zero((kind, kind), left, right), expected)
    if kind != "fp8":  # whose sums of few products are exact
        backwards = from_zero((kind, kind), a[:, :, ::-1], np.ascontiguousarray(b[:, ::-1]))
        assert depth == 4 or not np.array_equal(backwards, expected)


@pytest.mark.parametrize(
    ("numbers", "most"),
    [([3, -7, 0], 7.0), ([0.5], np.inf), ([np.inf], np.inf), ([1, np.nan], np.inf), ([-0.0], 0)],
)
def test_largest_integer(numbers: list[float], most: float) -> None:
    assert largest_integer(np.array(numbers, np.float32)) == most
