"""What the kernels of this folder compute that are no products, in numpy, by somebody who read them: drafts have to
say the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]
Sizes = Mapping[str, int]


def attention(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Causal, softmax(Q K^T / sqrt(32)) V of each head."""
    q, k, v = (inputs[name].reshape(sizes["heads"], sizes["seq"], 32) for name in "QKV")
    scores = q @ k.swapaxes(1, 2) / np.sqrt(32)
    scores[:, np.triu(np.ones(scores.shape[1:], np.bool_), 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"O": (p / p.sum(axis=2, keepdims=True) @ v).reshape(inputs["Q"].shape)}


def nibbles(words: NDArray[np.uint32], axis: int) -> NDArray[np.int64]:
    """The eight codes of each word, in its place along an axis."""
    codes = words.astype(np.int64)[..., None] >> 4 * np.arange(8) & 15
    shape = list(words.shape)
    shape[axis] *= 8
    return np.moveaxis(codes, -1, axis + 1).reshape(shape)


def gptq(inputs: Arrays, sizes: Sizes) -> Arrays:
    """x @ ((codes - zero - 1) * scale), a scale and a zero point for 32 rows of a column; weights are f16."""
    m, n, k = (sizes[name] for name in "MNK")
    codes = nibbles(inputs["qweight"].reshape(k // 8, n), 0)
    zeros = nibbles(inputs["qzeros"].reshape(k // 32, n // 8), 1) + 1
    scales = inputs["scales"].reshape(k // 32, n)
    weights = (codes - np.repeat(zeros, 32, 0)) * np.repeat(scales, 32, 0)
    y = inputs["x"].reshape(m, k) @ weights.astype(np.float16).astype(np.float64)
    return {"y": y.reshape(-1)}


def qkv(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Three products of the same depth."""
    result = {}
    for i, columns in enumerate(("nq", "nkv", "nkv")):
        a = inputs[f"problem{i}_a"].reshape(sizes["tokens"], sizes["hidden"])
        b = inputs[f"problem{i}_b"].reshape(sizes["hidden"], sizes[columns])
        result[f"problem{i}_c"] = (a @ b).reshape(-1)
    return result


def layernorm(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Rows with mean 0 and variance 1, then weight and bias; and both figures."""
    x = inputs["inp"].reshape(sizes["rows"], sizes["cols"])
    mean = x.mean(axis=1)
    rstd = 1 / np.sqrt(x.var(axis=1) + 1e-5)
    out = (x - mean[:, None]) * rstd[:, None] * inputs["weight"] + inputs["bias"]
    return {"out": out.reshape(-1), "mean": mean, "rstd": rstd}


def softmax(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Of rows."""
    x = inputs["input"].reshape(sizes["rows"], sizes["cols"])
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"output": (e / e.sum(axis=1, keepdims=True)).reshape(-1)}


def conv(inputs: Arrays, sizes: Sizes) -> Arrays:
    """3 x 3, a border of one zero, NHWC."""
    n, h, w, c, k = (sizes[name] for name in "nhwck")
    image = np.pad(inputs["in"].reshape(n, h, w, c), ((0, 0), (1, 1), (1, 1), (0, 0)))
    weights = inputs["wei"].reshape(k, 3, 3, c)
    out = np.zeros((n, h, w, k))
    for r in range(3):
        for s in range(3):
            out += image[:, r : r + h, s : s + w] @ weights[:, r, s].T
    return {"out": out.reshape(-1)}


def transposed(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Rows and columns exchanged."""
    return {"odata": inputs["idata"].reshape(sizes["height"], sizes["width"]).T.reshape(-1)}


def w8a16(inputs: Arrays, sizes: Sizes) -> Arrays:
    """act @ weight^T, with a scale for each block of 32 x 32 weights."""
    t, o, h = (sizes[name] for name in ("tokens", "out_features", "hidden"))
    scale = inputs["weight_scale"].reshape((o + 31) // 32, h // 32)
    each = np.repeat(np.repeat(scale, 32, 0), 32, 1)[:o]
    weights = inputs["weight"].reshape(o, h) * each
    return {"out": (inputs["act"].reshape(t, h) @ weights.T).reshape(-1)}


def rotary(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Halves of a head turned by the angles of a token's position."""
    tokens, heads, size = (sizes[name] for name in ("num_tokens", "num_heads", "head_size"))
    turns = inputs["cos_sin_cache"].reshape(-1, size)[inputs["positions"]][:, None]
    cos, sin = turns[..., : size // 2], turns[..., size // 2 :]
    x, y = np.split(inputs["query"].reshape(tokens, heads, size), 2, axis=2)
    return {"query": np.concatenate([x * cos - y * sin, y * cos + x * sin], axis=2).reshape(-1)}


def swiglu(inputs: Arrays, sizes: Sizes) -> Arrays:
    """silu of the first half of a row, times its second half; silu is not rounded in between."""
    x = inputs["input"].reshape(sizes["num_tokens"], 2, sizes["d"])
    return {"out": (x[:, 0] / (1 + np.exp(-x[:, 0])) * x[:, 1]).reshape(-1)}


def add_norm(inputs: Arrays, sizes: Sizes) -> Arrays:
    """The residual takes up the input, and the input is its norm."""
    z = (inputs["input"] + inputs["residual"]).reshape(sizes["tokens"], sizes["hidden"])
    normed = z / np.sqrt((z**2).mean(axis=1)[:, None] + 1e-6) * inputs["weight"]
    return {"residual": z.reshape(-1), "input": normed.reshape(-1)}


def rms_norm(inputs: Arrays, sizes: Sizes) -> Arrays:
    """As add_norm, with the epsilon that the launch of a draft has."""
    z = (inputs["input"] + inputs["residual"]).reshape(sizes["num_tokens"], sizes["hidden_size"])
    normed = z / np.sqrt((z**2).mean(axis=1)[:, None] + 1e-5) * inputs["weight"]
    return {"residual": z.reshape(-1), "input": normed.reshape(-1)}


def topk(inputs: Arrays, sizes: Sizes) -> Arrays:
    """The two largest of a row; of equal ones the first."""
    x = inputs["logits"].reshape(sizes["tokens"], sizes["experts"])
    places = np.argsort(-x, axis=1, kind="stable")[:, :2]
    return {"values": np.take_along_axis(x, places, 1).reshape(-1), "indices": places.reshape(-1)}


def cross_entropy(inputs: Arrays, sizes: Sizes) -> Arrays:
    """By rows, and the logarithm of the sum of their exponentials."""
    x = inputs["logits"].reshape(sizes["rows"], sizes["classes"])
    lse = np.log(np.exp(x).sum(axis=1))
    return {"lse": lse, "loss": lse - x[np.arange(len(x)), inputs["labels"]]}


def decode(inputs: Arrays, sizes: Sizes) -> Arrays:
    """A query of 64 elements for each head."""
    heads, length = sizes["heads"], sizes["len"]
    q, k, v = (inputs[name].reshape(heads, -1, 64) for name in "qkv")
    assert k.shape[1] == length
    p = np.exp(np.einsum("hqd,hkd->hqk", q, k) / 8)
    return {"o": np.einsum("hqk,hkd->hqd", p / p.sum(axis=2, keepdims=True), v).reshape(-1)}


def quantize(inputs: Arrays, sizes: Sizes) -> Arrays:
    """By the largest magnitude of a token, in f32 as the kernel does."""
    x = inputs["input"].reshape(sizes["num_tokens"], sizes["hidden_size"]).astype(np.float32)
    top = np.abs(x).max(axis=1)
    return {"scale": top / 127, "out": np.rint(x * (np.float32(127) / top)[:, None]).reshape(-1)}


def unpack_int4(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Two codes a byte along the columns, around 8, with a scale for 64 rows."""
    rows, columns = sizes["rows"], sizes["columns"]
    both = inputs["src"].reshape(rows, columns // 2).astype(np.int64)
    codes = np.stack([both & 15, both >> 4], axis=2).reshape(rows, columns) - 8
    return {"dst": (codes * inputs["scales"].reshape(-1, columns)[np.arange(rows) // 64]).reshape(-1)}


def fp8_block(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Scales for 128 elements of a row of A, and for blocks of 128 x 128 of B."""
    m, n, k = (sizes[name] for name in "MNK")
    a = inputs["A"].reshape(m, k) * np.repeat(inputs["As"].reshape(m, -1), 128, 1)[:, :k]
    scales = inputs["Bs"].reshape((n + 127) // 128, -1)
    b = inputs["B"].reshape(n, k) * np.repeat(np.repeat(scales, 128, 0)[:n], 128, 1)[:, :k]
    return {"C": (a @ b.T).ravel()}


def w4a16(inputs: Arrays, sizes: Sizes) -> Arrays:
    """x @ ((codes - zero) * scale)^T, a scale and a zero point for 32 of a row, zero points of a row packed."""
    m, n, k = (sizes[name] for name in "MNK")
    codes = nibbles(inputs["qweight"].reshape(n, k // 8), 1)
    zeros = nibbles(inputs["qzeros"].reshape(n, -1), 1)[:, : k // 32]
    weights = (codes - np.repeat(zeros, 32, 1)) * np.repeat(inputs["scales"].reshape(n, -1), 32, 1)
    return {"y": (inputs["x"].reshape(m, k) @ weights.astype(np.float16).T).ravel()}


def gate_up(inputs: Arrays, sizes: Sizes) -> Arrays:
    """silu(x Wg^T) * (x Wu^T)."""
    hidden = sizes["hidden"]
    x = inputs["x"].reshape(-1, hidden).astype(np.float64)
    gate, up = (x @ inputs[name].reshape(-1, hidden).T.astype(np.float64) for name in ("w_gate", "w_up"))
    return {"h": (gate / (1 + np.exp(-gate)) * up).ravel()}


def gating(inputs: Arrays, sizes: Sizes) -> Arrays:
    """The four largest of a row, as parts of one."""
    x = inputs["input"].reshape(sizes["num_tokens"], 32)
    places = np.argsort(-x, axis=1, kind="stable")[:, :4]
    chosen = np.exp(np.take_along_axis(x, places, 1))
    return {"weights": (chosen / chosen.sum(axis=1, keepdims=True)).ravel(), "indices": places.ravel()}


def softmax_rows(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Of each row."""
    x = np.exp(inputs["x"].reshape(sizes["rows"], sizes["cols"]))
    return {"y": (x / x.sum(axis=1, keepdims=True)).ravel()}


def gqa_decode(inputs: Arrays, sizes: Sizes) -> Arrays:
    """softmax(q k^T / 8) v of one query, whose heads share those of the keys."""
    batch, heads, shared = (sizes[name] for name in ("batch", "n_heads", "n_kv_heads"))
    q = inputs["q"].reshape(batch, heads, 1, 64).astype(np.float64)
    k, v = (
        np.repeat(inputs[name].reshape(batch, -1, shared, 64).astype(np.float64), heads // shared, 2)
        for name in "kv"
    )
    p = np.exp(q @ k.transpose(0, 2, 3, 1) / 8)
    return {"out": (p / p.sum(axis=-1, keepdims=True) @ v.swapaxes(1, 2)).ravel()}


def fmha(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Not causal, of heads between the rows of each other."""
    q, k, v = (np.asarray(inputs[n], np.float64).transpose(1, 0, 2) for n in ("Qp", "Kp", "Vp"))
    scores = q @ k.transpose(0, 2, 1)
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"Op": (p / p.sum(axis=2, keepdims=True) @ v).transpose(1, 0, 2)}


def paged(inputs: Arrays, sizes: Sizes) -> Arrays:
    """One query of each sequence by the rows of its pages."""
    q, k, v = (np.asarray(inputs[n], np.float64) for n in ("q", "k_cache", "v_cache"))
    out = np.zeros(q.shape)
    for s, h in np.ndindex(q.shape[:2]):
        kv = h // (q.shape[1] // k.shape[2])
        places = [(inputs["block_tables"][s, t // 16], t % 16) for t in range(inputs["context_lens"][s])]
        weights = np.exp([k[page, row, kv] @ q[s, h] for page, row in places])
        out[s, h] = weights @ [v[page, row, kv] for page, row in places] / weights.sum()
    return {"out": out}


def group_norm(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Groups of channels of each image, then weight and bias of each channel."""
    x, out = np.asarray(inputs["X"], np.float64), []
    for image in x:
        groups = np.split(image, sizes["groups"])
        out.append(np.concatenate([(g - g.mean()) / np.sqrt(g.var() + 1e-5) for g in groups]))
    return {"Y": np.stack(out) * inputs["gamma"] + inputs["beta"]}


def w4(inputs: Arrays, sizes: Sizes) -> Arrays:
    """x @ ((code - zero) * scale).T, groups of 64; what is left of a code is f16."""
    words, x = inputs["qweight"], np.asarray(inputs["x"], np.float64)
    weights = np.empty((words.shape[0], x.shape[1]))
    for k in range(x.shape[1]):
        code = (words[:, k // 8] >> np.uint32(4 * (k % 8))) & np.uint32(15)
        less = (code - np.asarray(inputs["zeros"], np.float64)[:, k // 64]).astype(np.float16)
        weights[:, k] = less * inputs["scales"][:, k // 64]
    return {"out": x @ weights.T}


def experts(inputs: Arrays, sizes: Sizes) -> Arrays:
    """The sum over the experts of a token, each times its gate."""
    x, w = (np.asarray(inputs[n], np.float64) for n in ("hidden", "experts"))
    every = np.einsum("ti,eij->tej", x, w)
    out = np.zeros((len(x), w.shape[2]))
    for t, s in np.ndindex(inputs["topk_ids"].shape):
        out[t] += inputs["topk_gates"][t, s] * every[t, inputs["topk_ids"][t, s]]
    return {"result": out}


def moe_up(inputs: Arrays, sizes: Sizes) -> Arrays:
    """Each block of rows by the matrix of its expert."""
    x, w = (np.asarray(inputs[n], np.float64) for n in ("sorted_x", "w_up"))
    return {"dst": np.stack([rows @ w[e].T for rows, e in zip(x, inputs["expert_of"], strict=True)])}


def flat(inputs: Arrays, sizes: Sizes) -> Arrays:
    """gelu(x + bias) + skip, the bias along each row."""
    x = np.asarray(inputs["inp"], np.float64) + inputs["bias"][np.arange(sizes["total"]) % sizes["width"]]
    return {"outp": 0.5 * x * (1 + np.vectorize(math.erf)(x * math.sqrt(0.5))) + inputs["skip"]}
