"""Activations of a GEMM's epilogue, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

_STEPS, _REACH = 512, 6
"""Values of erf in one unit, and the units beyond which it is 1 to the last bit."""


def relu(x: Doubles) -> Doubles:
    """max(x, 0)."""
    return np.maximum(x, 0.0)


def sigmoid(x: Doubles) -> Doubles:
    """1 / (1 + exp(-x))."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def silu(x: Doubles) -> Doubles:
    """x * sigmoid(x), also called swish."""
    return np.asarray(x * sigmoid(x))


def gelu(x: Doubles) -> Doubles:
    """x * P(normal <= x), by the error function."""
    return np.asarray(0.5 * x * (1.0 + erf(x * math.sqrt(0.5))))


def gelu_tanh(x: Doubles) -> Doubles:
    """gelu, approximated by tanh (Hendrycks and Gimpel, https://arxiv.org/abs/1606.08415)."""
    return np.asarray(0.5 * x * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def tanh(x: Doubles) -> Doubles:
    """tanh(x)."""
    return np.asarray(np.tanh(x))


ACTIVATIONS: Mapping[str, Callable[[Doubles], Doubles]] = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": silu,
    "sigmoid": sigmoid,
    "tanh": tanh,
}
"""By the names that a manifest gives them."""


def erf(x: Doubles) -> Doubles:
    """The error function, to about 1e-12: numpy has none. Cubic between exact values and slopes."""
    values, slopes = _table()
    place = np.clip(np.nan_to_num(x, nan=0.0), -_REACH, _REACH) * _STEPS + _REACH * _STEPS
    at = np.minimum(place.astype(np.int64), values.size - 2)
    t = place - at
    left = (1 + 2 * t) * (1 - t) ** 2 * values[at] + t * (1 - t) ** 2 / _STEPS * slopes[at]
    right = t**2 * (3 - 2 * t) * values[at + 1] + t**2 * (t - 1) / _STEPS * slopes[at + 1]
    return np.where(np.isnan(x), np.nan, left + right)


@cache
def _table() -> tuple[Doubles, Doubles]:
    x = np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1) / _STEPS
    return np.array([math.erf(v) for v in x]), 2 / math.sqrt(math.pi) * np.exp(-(x**2))
