"""What kernels of this folder compute that is no plain product, in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.float64]]
KEYS = 64
"""That a tile of attention has: weights are rounded beside the highest score so far."""


def fp4_product(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    """A @ B of 4-bit floats, two in a byte, the lower half first."""

    def numbers(packed: NDArray[np.float64]) -> NDArray[np.float64]:
        nibbles = packed.astype(np.uint8)[..., None] >> np.array([0, 4], np.uint8) & 15
        flat = nibbles.astype(np.uint8).reshape(len(packed), -1)
        return flat.view(ml_dtypes.float4_e2m1fn).astype(np.float64)

    return {"C": numbers(inputs["A"]) @ numbers(inputs["B"])}


def attention(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    """softmax(Q @ K.T / sqrt(128)) @ V, whose weights are rounded to fp8 before they meet V, tile by tile."""
    q, k, v = (inputs[name].astype(np.float64) for name in "QKV")
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    highest = np.maximum.accumulate(scores.reshape(*scores.shape[:2], -1, KEYS).max(axis=3), axis=2)
    highest = np.repeat(highest, KEYS, axis=2)  # [head, row, key], when the key's tile is done
    weights = np.exp(scores - highest)
    rounded = weights.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    rescaled = np.exp(highest - highest[..., -1:])
    return {"O": (rounded * rescaled) @ v / (weights * rescaled).sum(axis=2, keepdims=True)}
