"""What the kernels of this folder compute, in numpy: the references that their manifests name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.float64]]


def softmax(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    """Of each row of x."""
    x = inputs["x"].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": e / e.sum(axis=1, keepdims=True)}


def indexed_array(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    """Elements of each row of x are added to others; which ones, goes on with the step and the workgroup."""
    y, row = inputs["x"].astype(np.float64), np.arange(sizes["M"])
    for step in range(sizes["STEPS"]):
        y[:, (sizes["SHIFT"] + step) % 16] += y[row, (3 * step + row // 64) % 16]
    return {"y": y}


def layernorm(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    """Rows of x with mean 0 and variance 1, then weight w and bias b."""
    x, w, b = (inputs[name].astype(np.float64) for name in "xwb")
    centred = x - x.mean(axis=1, keepdims=True)
    return {"y": centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * w + b}


def attention(inputs: Arrays, sizes: Mapping[str, int], *, causal: bool = False) -> Arrays:
    """softmax(q @ k.T / 8) @ v for each head."""
    q, k, v = (inputs[name].astype(np.float64) for name in "qkv")
    scores = q @ k.swapaxes(1, 2) * 0.125
    if causal:
        scores[:, np.triu(np.ones(scores.shape[1:], np.bool_), 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"o": p / p.sum(axis=2, keepdims=True) @ v}


def causal_attention(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    """Attention in which no row sees a later one."""
    return attention(inputs, sizes, causal=True)


def dequantised(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    """x @ w.T, where w has 4-bit weights around 8 and one scale for 32 of them."""
    nibbles = inputs["w"].astype(np.int64)[:, :, None] >> 4 * np.arange(8) & 15
    weights = nibbles.reshape(len(nibbles), -1) - 8
    return {"y": inputs["x"].astype(np.float64) @ (weights * np.repeat(inputs["scale"], 32, axis=1)).T}
