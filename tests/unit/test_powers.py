"""exp2, log2, sine and cosine beside those of numpy in a wider type, which know nothing of the series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from layoutprobe.semantics import powers

MANY = 200_000
UNITS = 3
"""Of the last place of f64 that a value may be off."""
Function = Callable[[Any], Any]
_PI = np.longdouble("3.14159265358979323846264338327950288")


def _turned(function: Function) -> Function:
    return lambda turns: function((turns - np.rint(turns)) * 2 * _PI)


CASES: dict[str, tuple[Function, Function, Function]] = {
    "exp2": (powers.exp2, np.exp2, lambda rng: rng.uniform(-160, 140, MANY)),
    "log2": (powers.log2, np.log2, lambda rng: np.exp2(rng.uniform(-148, 127, MANY))),
    "log2 near one": (powers.log2, np.log2, lambda rng: rng.uniform(0.5, 2, MANY)),
    "sine": (powers.sine, _turned(np.sin), lambda rng: rng.uniform(-3, 3, MANY)),
    "cosine": (powers.cosine, _turned(np.cos), lambda rng: rng.uniform(-300, 300, MANY)),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", CASES)
def test_values_are_the_nearest_ones(name: str) -> None:
    ours, theirs, numbers = CASES[name]
    given = numbers(np.random.default_rng(len(name))).astype(np.float32)
    with np.errstate(all="ignore"):
        found, right = ours(given.astype(np.float64)), theirs(given.astype(np.longdouble))
        narrow, nearest = found.astype(np.float32), right.astype(np.float32)
    small = 1.0 if name in ("sine", "cosine") else 0.0  # near a zero of these 2 pi itself is rounded
    off = np.abs(found - right) / np.spacing(np.maximum(np.abs(right), small).astype(np.float64))
    assert off.max() <= UNITS
    assert (narrow != nearest).sum() <= (small > 0) * MANY // 1000
    assert np.unique(found).size > MANY // 4


def test_the_tolerance_is_a_narrow_one() -> None:
    """A series with a term less is seen: 1e-13 is 500 units."""
    given = np.random.default_rng(1).uniform(-0.5, 0.5, 1000)
    off = np.abs(powers.exp2(given) * (1 + 1e-13) - np.exp2(given)) / np.spacing(np.exp2(given))
    assert off.min() > UNITS


@pytest.mark.parametrize(
    ("function", "given", "right"),
    [
        (powers.exp2, [0.0, -0.0, 1.0, -3.0, 127.0, 1e38, -1e38], [1, 1, 2, 0.125, 2.0**127, np.inf, 0]),
        (powers.exp2, [np.inf, -np.inf, np.nan, -1074.0], [np.inf, 0, np.nan, 2.0**-1074]),
        (powers.log2, [1.0, 2.0, 0.25, 2.0**-149, 0.0, -0.0], [0, 1, -2, -149, -np.inf, -np.inf]),
        (powers.log2, [np.inf, -np.inf, np.nan, -1.0], [np.inf, np.nan, np.nan, np.nan]),
        (powers.sine, [0.0, 0.25, 0.5, 0.75, -0.25, 1000.75], [0, 1, 0, -1, -1, -1]),
        (powers.cosine, [0.0, 0.25, 0.5, 0.75, -0.5, 1000.5], [1, 0, -1, 0, -1, -1]),
        (powers.sine, [np.inf, -np.inf, np.nan], [np.nan] * 3),
        (powers.cosine, [np.inf, -np.inf, np.nan], [np.nan] * 3),
    ],
)
def test_values_that_are_known(
    function: Callable[[Any], Any], given: list[float], right: list[float]
) -> None:
    with np.errstate(all="ignore"):
        found = function(np.array(given))
    np.testing.assert_array_equal(found, np.array(right, np.float64))
