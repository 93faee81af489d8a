"""What kernels compute that are no product, in numpy: drafts of references are made of these functions.

Each stands for itself: it is copied into a user's file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def exp(x: Array) -> Array:
    """e to the power of x."""
    return np.exp(x)


def relu(x: Array) -> Array:
    """max(x, 0)."""
    return np.maximum(x, 0.0)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    return x * (0.5 + 0.5 * np.tanh(0.5 * x))


def gelu(x: Array) -> Array:
    """x * P(normal <= x), by the error function."""
    return 0.5 * x * (1.0 + np.vectorize(math.erf, otypes=[float])(x * math.sqrt(0.5)))


def gelu_tanh(x: Array) -> Array:
    """gelu, approximated by tanh."""
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def tanh(x: Array) -> Array:
    """tanh(x)."""
    return np.tanh(x)


def softmax(x: Array) -> Array:
    """Of each row."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x: Array) -> Array:
    """The logarithm of the softmax of each row."""
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def logsumexp(x: Array) -> Array:
    """The logarithm of the sum of exponentials of each row."""
    top = x.max(axis=-1)
    return top + np.log(np.exp(x - top[..., None]).sum(axis=-1))


def layernorm(x: Array, eps: float) -> Array:
    """Rows with mean 0 and variance 1."""
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps)


def rmsnorm(x: Array, eps: float) -> Array:
    """Rows whose squares are 1 on average."""
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)


def groupnorm(x: Array, groups: int, eps: float) -> Array:
    """Groups of neighbouring channels of each image with mean 0 and variance 1; x [image, channel, place]."""
    rows = x.reshape(x.shape[0] * groups, -1)
    rows = (rows - rows.mean(axis=1, keepdims=True)) / np.sqrt(rows.var(axis=1, keepdims=True) + eps)
    return rows.reshape(x.shape)


def rstd(x: Array, eps: float) -> Array:
    """One by the standard deviation of each row."""
    return 1 / np.sqrt(x.var(axis=-1) + eps)


def rrms(x: Array, eps: float) -> Array:
    """One by the root of the mean square of each row."""
    return 1 / np.sqrt((x**2).mean(axis=-1) + eps)


def quantised(x: Array, largest: float) -> Array:
    """Each row by its largest magnitude, as integers up to the largest one; in f32, as ties are kept by roundings."""
    x = x.astype(np.float32)
    top = np.abs(x).max(axis=-1, keepdims=True)
    return np.rint(x * np.where(top > 0, np.float32(largest) / np.where(top > 0, top, 1), 0))


def quantised_by_scale(x: Array, largest: float) -> Array:
    """The same, where elements are divided by the scale of their row."""
    x = x.astype(np.float32)
    scale = np.abs(x).max(axis=-1, keepdims=True) / np.float32(largest)
    return np.rint(x / np.where(scale > 0, scale, 1))


def cross_entropy(x: Array, labels: Array) -> Array:
    """The logarithm of the sum of exponentials of each row, less what the row has at its label."""
    top = x.max(axis=-1)
    total = top + np.log(np.exp(x - top[:, None]).sum(axis=-1))
    return total - x[np.arange(len(x)), labels.astype(np.int64)]


def largest(x: Array, count: int) -> Array:
    """The largest elements of each row, in falling order."""
    return -np.sort(-x, axis=-1)[:, :count]


def places_of_largest(x: Array, count: int) -> Array:
    """Where in each row its largest elements are, in falling order."""
    return np.argsort(-x, axis=-1, kind="stable")[:, :count]


def attention(q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
    """softmax(scale * q @ k^T) @ v, over the last two axes; causal: a row sees keys up to its own number."""
    scores = scale * (q @ k.swapaxes(-1, -2))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def attention_logsumexp(q: Array, k: Array, scale: float, causal: bool) -> Array:
    """log(sum(exp(scale * q @ k^T))) of each row; causal: a row sees keys up to its own number."""
    scores = scale * (q @ k.swapaxes(-1, -2))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    top = scores.max(axis=-1)
    return top + np.log(np.exp(scores - top[..., None]).sum(axis=-1))


def paged_attention(q: Array, k: Array, v: Array, tables: Array, lengths: Array, scale: float) -> Array:
    """One query of each sequence, q [sequence, head, d], by the keys of its pages, k and v [page, row, head, d]."""
    result = np.zeros(q.shape)
    for s, length in enumerate(lengths.astype(np.int64)):
        keys, values = (x[tables[s].astype(np.int64)].reshape(-1, *x.shape[2:])[:length] for x in (k, v))
        shared = q.shape[1] // keys.shape[1]  # heads of queries for each of keys
        scores = scale * np.einsum("hd,thd->ht", q[s], keys.repeat(shared, axis=1))
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        result[s] = np.einsum("ht,thd->hd", p / p.sum(axis=1, keepdims=True), values.repeat(shared, axis=1))
    return result


def turned_halves(x: Array, turns: Array) -> Array:
    """The two halves of each head turned by angles, as pairs: a row has cosines, then sines."""
    cos, sin = np.split(turns[:, None], 2, axis=-1)
    one, other = np.split(x, 2, axis=-1)
    return np.concatenate([one * cos - other * sin, other * cos + one * sin], axis=-1)


def turned_pairs(x: Array, turns: Array) -> Array:
    """Neighbours in each head turned by angles, as pairs: a row has cosines, then sines."""
    cos, sin = np.split(turns[:, None], 2, axis=-1)
    one, other = x[..., ::2], x[..., 1::2]
    return np.stack([one * cos - other * sin, other * cos + one * sin], axis=-1).reshape(x.shape)


def nibbles(words: Array, axis: int, count: int) -> Array:
    """The codes of four bits of each word, lowest first, in its place along an axis."""
    codes = words.astype(np.int64)[..., None] >> 4 * np.arange(count) & 15
    shape = list(words.shape)
    shape[axis] *= count
    return np.moveaxis(codes, -1, axis + 1).reshape(shape)


def in_blocks(x: Array, rows: int, columns: int, shape: Sequence[int]) -> Array:
    """Each element for a block of so many rows and columns."""
    return np.repeat(np.repeat(x, rows, axis=0), columns, axis=1)[: shape[0], : shape[1]]


def convolution(image: Array, weights: Array) -> Array:
    """image [n, h, w, c] by weights [k, r, s, c], with stride 1 and a border of zeros so that h and w stay."""
    (_, h, w, _), (_, r, s, _) = image.shape, weights.shape
    image = np.pad(image, ((0, 0), (r // 2, (r - 1) // 2), (s // 2, (s - 1) // 2), (0, 0)))
    steps = [image[:, y : y + h, x : x + w] @ weights[:, y, x].T for y in range(r) for x in range(s)]
    return np.sum(steps, axis=0)
