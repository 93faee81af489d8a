"""Formulas found in what a kernel stored: each of these is found, none in data that has no formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.drafting.reference_terms import Tensors
from layoutprobe.drafting.references import DraftedReference, References
from layoutprobe.drafting.seen import SeenBuffer, SeenLaunch
from layoutprobe.numbers import element_type

Array = NDArray[Any]
SIZES = ({"r": 4, "c": 32, "k": 64}, {"r": 6, "c": 64, "k": 32}, {"r": 3, "c": 96, "k": 96})


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def _lse(q: Array, k: Array, *, causal: bool) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    return np.log(np.exp(scores).sum(axis=-1))


FOUND: Mapping[str, tuple[Mapping[str, str], Callable[..., Array], str]] = {
    "log softmax": ({"x": "rc"}, lambda x: np.log(_softmax(x)), "log_softmax(x)"),
    "an average of columns": ({"x": "rc"}, lambda x: x.mean(axis=0), "x.T.mean(axis=-1)"),
    "largest of rows": ({"x": "rc"}, lambda x: x.max(axis=1), "x.max(axis=-1)"),
    "softmax of a sum": ({"x": "rc", "y": "rc"}, lambda x, y: _softmax(x + y), "softmax(x + y)"),
    "a sum": ({"x": "rc", "y": "rc"}, lambda x, y: x + y, "x + y"),
    "a scale and a bias of columns": (
        {"x": "rc", "w": "c", "b": "c"},
        lambda x, w, b: x * w + b,
        "(x * w) + b",
    ),
    "a number for all": ({"x": "rc", "s": ""}, lambda x, s: x * s, "x * s"),
    "what attention divides by": (
        {"q": "rck", "y": "rck"},
        lambda q, y: _lse(q, y, causal=False),
        'attention_logsumexp(q, y, scale=sizes["k"] ** -0.5, causal=False)',
    ),
    "the same to base 2, by heads that lie between each other": (
        {"q": "crk", "y": "crk"},
        lambda q, y: _lse(q.swapaxes(0, 1), y.swapaxes(0, 1), causal=True) / np.log(2),
        'attention_logsumexp(q.swapaxes(0, 1), y.swapaxes(0, 1), scale=sizes["k"] ** -0.5, causal=True) / np.log(2)',
    ),
    "a gate beside": ({"x": "rc", "g": "rc"}, lambda x, g: _silu(g) * x, "silu(g) * x"),
    "a bias and relu": ({"x": "rc", "b": "c"}, lambda x, b: np.maximum(x + b, 0), "relu(x + b)"),
    "a scale of rows": ({"x": "rc", "s": "r"}, lambda x, s: x * s[:, None], "x * s"),
    "rmsnorm as Gemma has it": (
        {"x": "rc", "w": "c"},
        lambda x, w: x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6) * (1 + w),
        "rmsnorm(x, 1e-06) * (1 + w)",
    ),
    "turned and halved": ({"x": "rc"}, lambda x: x.T / 2, "x.T / 2"),
    "a product, a bias and silu": (
        {"a": "rk", "w": "ck", "b": "c"},
        lambda a, w, b: _silu(a @ w.T + b),
        "silu((a @ w.T) + b)",
    ),
}


def _drafted(shapes: Mapping[str, str], stored: Callable[..., Array]) -> DraftedReference:
    random = np.random.default_rng(1)
    names = [*shapes, "out"]
    launches = []
    for sizes in SIZES:
        given = [random.standard_normal([sizes[one] for one in shape]) for shape in shapes.values()]
        result = stored(*given)
        buffers = {i: _buffer(values, None) for i, values in enumerate(given)}
        buffers[len(given)] = _buffer(None, result)
        launches.append(SeenLaunch(None, None, (1, 1, 1), (1, 1, 1), 0, (), buffers))  # type: ignore[arg-type]
    return DraftedReference(Tensors(launches, SIZES, names, ["f64"] * len(names), {}))


def _buffer(before: Array | None, after: Array | None) -> SeenBuffer:
    element = element_type("f64")
    kept = [
        None if x is None else np.ascontiguousarray(element.store(x)).view(np.uint8).ravel()
        for x in (before, after)
    ]
    size = next(x.size for x in kept if x is not None)
    return SeenBuffer(size, before is not None, after is not None, kept[0], kept[1], True)


@pytest.mark.parametrize("name", FOUND)
def test_a_formula_is_found(name: str) -> None:
    shapes, stored, text = FOUND[name]
    found = _drafted(shapes, stored)
    assert (found.missing, found.unread) == ([], [])
    assert f"= {text}\n" in "\n".join(found.lines("f", {}))


@pytest.mark.parametrize(
    "stored",
    [
        lambda x, w: np.cumsum(x, axis=1) * w,
        # By two percent of its spread: no rounding, and so another formula.
        lambda x, w: x * w + 0.1 * np.sin(40 * x),
    ],
)
def test_none_is_found_where_there_is_none(stored: Callable[..., Array]) -> None:
    found = _drafted({"x": "rc", "w": "c"}, stored)
    assert found.missing == [2]
    assert "NotImplementedError" in "\n".join(found.lines("f", {}))


def test_of_one_launch_the_grid_tells_heads_from_their_depth() -> None:
    random = np.random.default_rng(0)
    q, k, v = random.standard_normal((3, 2, 24, 8))
    stored = _softmax(q @ k.swapaxes(1, 2) / np.sqrt(8)) @ v
    buffers = {i: _buffer(one, None) for i, one in enumerate((q, k, v))} | {3: _buffer(None, stored)}
    launch = SeenLaunch(None, None, (2, 2, 1), (1, 1, 1), 0, (), buffers)  # type: ignore[arg-type]
    found = DraftedReference(Tensors([launch], [{"n": 24}], ["q", "k", "v", "o"], ["f64"] * 4, {}))
    assert "attention(q, k, v, scale=8 ** -0.5, causal=False)" in "\n".join(found.lines("f", {}))
    assert [axis.expression for axis in found.shapes[3]] == ["2", "n", "8"]


@pytest.mark.parametrize(
    "changes", [{"after": None}, {"groups": 2}], ids=["too large to keep", "behind pointers"]
)
def test_an_output_that_cannot_be_compared_is_to_be_filled_in(changes: Mapping[str, Any]) -> None:
    known = _drafted({"x": "rc"}, _softmax).tensors
    launches = [
        replace(one, buffers={**one.buffers, 1: replace(one.buffers[1], **changes)}) for one in known.launches
    ]
    assert DraftedReference(Tensors(launches, SIZES, known.names, known.dtypes, {})).missing == [1]


def test_an_input_without_a_part_is_told() -> None:
    found = _drafted({"x": "rc", "w": "c"}, lambda x, w: _softmax(x))
    assert found.remark == "FILL IN: w is loaded, and what for was not found"


def test_a_file_has_the_functions_that_it_calls_once() -> None:
    references = References("file.py")
    for name in ("softmax", "soft-max"):
        found = _drafted({"x": "rc"}, _softmax)
        assert f'"file.py:{references.function_of(name)}"' in references.add(name, found, {})
    names: dict[str, Any] = {}
    exec(references.text, names)
    x = np.random.default_rng(0).standard_normal((2, 5))
    for function in ("softmax_reference", "soft_max"):
        given = names[function]({"x": x}, {"r": 2, "c": 5})["out"]
        assert np.allclose(given, _softmax(x))
    assert references.text.count("def softmax(") == 1
