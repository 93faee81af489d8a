"""Products in the data of launches: what rows, vectors and activations are, of numbers that a test made."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.drafting.products import FoundProduct, find_product, leading
from layoutprobe.drafting.seen import SeenBuffer, SeenLaunch
from layoutprobe.numbers import element_type
from layoutprobe.numbers.activations import ACTIVATIONS

M, N, K = 24, 40, 32


def _buffer(values: NDArray[np.float64], dtype: str, after: NDArray[np.float64] | None = None) -> SeenBuffer:
    before, then = (
        np.ascontiguousarray(element_type(dtype).store(one)).view(np.uint8).ravel()
        for one in (values, values if after is None else after)
    )
    return SeenBuffer(before.size, after is None, after is not None, before, then, True)


def _product(activation: str) -> FoundProduct | None:
    """What is found of y = f(x @ w + bias) in bf16, all declared as integers of 16 bits."""
    random = np.random.default_rng(3)
    x, w, bias = (random.standard_normal(shape) / 4 for shape in ((M, K), (K, N), (N,)))
    x, w, bias = (element_type("bf16").decode(element_type("bf16").store(one)) for one in (x, w, bias))
    y = ACTIVATIONS[activation](x @ w + bias)
    buffers = [_buffer(x, "bf16"), _buffer(w, "bf16"), _buffer(bias, "bf16"), _buffer(y * 0, "bf16", y)]
    nothing = cast(Any, None)
    launch = SeenLaunch(nothing, nothing, (3, 2, 1), (32, 1, 1), 0, [b""] * 7, dict(enumerate(buffers)))
    names = ("x", "w", "bias", "y", "M", "N", "K")
    return find_product([launch], names, ["u16"] * 4 + ["i32"] * 3, {4: [M], 5: [N], 6: [K]})


@pytest.mark.parametrize("activation", ["relu", "gelu_tanh", "silu"])
def test_a_bias_whose_bits_are_declared_as_integers_is_one_of_the_floats_that_the_output_has(
    activation: str,
) -> None:
    found = _product(activation)
    assert found is not None
    assert (found.activation, found.bias, found.kinds) == (activation, 2, {2: "bf16"})
    assert found.arguments == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("elements", "order", "batch", "expected"),
    [
        (24 * 32, "row", 1, 32),
        (24 * 40, "row", 1, 40),
        (23 * 40 + 32, "row", 1, 40),  # the last row ends with its last element
        (2 * 24 * 40 - 8, "row", 2, 40),
        (31 * 28 + 24, "col", 1, 28),
        (23 * 31 + 32, "row", 1, None),  # rows would overlap
        (23 * 40 + 33, "row", 1, None),
    ],
)
def test_elements_from_one_row_to_the_next(
    elements: int, order: str, batch: int, expected: int | None
) -> None:
    assert leading(elements, (24, 32), order, batch) == expected
