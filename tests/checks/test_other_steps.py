"""Kernels that compute what their Python reference would with one step changed: the step and the kernel's line."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checks.test_references import HEAD, Style, verdict
from msgspec import Struct

from layoutprobe.gate.gate import check
from layoutprobe.trace.reference_changes import changes
from layoutprobe.trace.reference_rewrites import EXCHANGED, LEFT_OUT

STEPS = Style(
    HEAD
    + """// A row a wave: centred, scaled, with a residual behind the activation.
extern "C" __global__ void layer(const float* x, const float* g, const float* res, float* y, int N, float alpha) {
  const int row = blockIdx.x, lane = threadIdx.x;
  float sum = 0;
  for (int i = lane; i < N; i += 32) sum += x[row * N + i];
  for (int o = 16; o; o >>= 1) sum += __shfl_xor(sum, o);
  const float mean = sum / N;
  for (int i = lane; i < N; i += 32) {
    const float c = x[row * N + i] - mean;
    float v = c * alpha;
    v = v + g[i];
    v = fmaxf(v, 0.0f);
    y[row * N + i] = v + res[row * N + i];
  }
}
""",
    """block = [32]
grid = ["M"]
sizes = [{ M = 5, N = 20 }, { M = 3, N = 41 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "N"] },
  { name = "g", role = "in", dtype = "f32", shape = ["N"] },
  { name = "res", role = "in", dtype = "f32", shape = ["M", "N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "alpha", role = "scalar", dtype = "f32", value = 0.75 },
]""",
    """
import numpy as np
def centred(x):
    return x - x.mean(1, keepdims=True)
def layer(inputs, sizes):
    v = centred(inputs["x"]) * 0.75
    v += inputs["g"]
    v = np.maximum(v, 0)
    return {"y": v + inputs["res"]}
""",
)


class Changed(Struct, frozen=True):
    """A fault: its edit, what is said of the reference, and text of the kernel's line."""

    edit: tuple[str, str]
    words: str
    at: str


FAULTS = {
    "no mean": Changed((" - mean;", ";"), "without `- x.mean(1, keepdims=True)` (reference.py:4)", "v + res"),
    "no activation": Changed(("    v = fmaxf(v, 0.0f);\n", ""), "without `np.maximum(..., 0)`", "v + res"),
    "residual before the activation": Changed(
        (
            "v = fmaxf(v, 0.0f);\n    y[row * N + i] = v + res[row * N + i]",
            "y[row * N + i] = fmaxf(v + res[row * N + i], 0.0f)",
        ),
        "with `np.maximum(..., 0)` behind `+ inputs['res']`",
        "v + res",
    ),
    "scaled behind the bias": Changed(
        ("float v = c * alpha;\n    v = v + g[i];", "float v = c + g[i];\n    v = v * alpha;"),
        "with `* 0.75` behind `+ inputs['g']`",
        "c + g",
    ),
}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FAULTS)
def test_the_step_comes_first_with_the_line_behind_it(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    first = verdict(tmp_path, STEPS, (fault.edit,)).findings[0]
    assert fault.words in first.what, first.what
    assert first.place.source is not None
    assert fault.at in (tmp_path / "kernel.hip").read_text().split("\n")[first.place.source.line - 1], first


TEXT = """
import numpy as np
def f(inputs, sizes):
    v = inputs["a"] * 2.5
    v = v + inputs["b"]
    return {"y": np.maximum(v, 0)}
"""
GIVEN = {"a": np.array([1.0, -2.0]), "b": np.array([0.5, 1.5])}


def _made(says: str) -> list[object]:
    """What the changed references of a sentence give."""
    found: list[object] = []
    for change in changes(TEXT, "f", ["M"]):
        if change.says == says:
            names: dict[str, Any] = {"__layoutprobe_seen__": lambda value: value}
            exec(compile(change.tree, "f.py", "exec"), names)
            found.append(names["f"](GIVEN, {})["y"].tolist())
    return found


def test_changed_references_compute_what_their_sentences_say() -> None:
    assert _made("without `* 2.5`") == [[1.5, 0.0]]
    assert _made("without `np.maximum(..., 0)`") == [[3.0, -3.5]]
    assert _made("with `* 2.5` behind `+ inputs['b']`") == [[3.75, 0.0]]
    assert [3.0, 1.5] in _made("with `+ inputs['b']` behind `np.maximum(..., 0)`")
    kinds = [one.kind for one in changes(TEXT, "f", [])]
    assert kinds == sorted(kinds)
    assert {int(kind) for kind in kinds} >= {LEFT_OUT, EXCHANGED}


HEADS = """
import numpy as np
def f(inputs, sizes):
    n, H, K = sizes["N"], sizes["H"], sizes["K"]
    out = np.zeros(n)
    for i in range(n):
        head = i // (H // K)
        part = inputs["a"][head, :n]
        out[i] += np.abs(part).max() + 0 * head if part[0] > 0 and i > 0 else 0
    return {"y": np.cumsum(out).astype(np.int8)}
"""
ROWS = np.array([[2.0, -3, 1, 0, 9], [4.0, -5, 6, 1, -7]])
SIZES = {"N": 4, "H": 4, "K": 2}
"""By the reference: heads 0 0 1 1, so 0 + 3 + 6 + 6, summed up."""


def _heads(says: str) -> list[list[int]]:
    found: list[list[int]] = []
    for change in changes(HEADS, "f", list(SIZES)):
        if change.says == says:
            names: dict[str, Any] = {"__layoutprobe_seen__": lambda value: value}
            exec(compile(change.tree, "f.py", "exec"), names)
            found.append(names["f"]({"a": ROWS}, SIZES)["y"].tolist())
    return found


@pytest.mark.parametrize(
    ("says", "gives"),
    [
        ("with `i % K` in place of `i // (H // K)`", [0, 6, 9, 15]),
        ("without the last pass of `range(n)`", [0, 3, 9, 9]),
        ("without `i > 0` in `part[0] > 0 and i > 0`", [3, 6, 12, 18]),
        ("with `inputs['a'][head, :]` in place of `inputs['a'][head, :n]`", [0, 9, 16, 23]),
        ("without `np.abs(...)` in `np.abs(part).max()`, and no less than 0", [0, 2, 8, 14]),
        ("with `np.abs(part).sum()` in place of `np.abs(part).max()`", [0, 6, 22, 38]),
        ("with each one's sum of those before it: without itself in `np.cumsum(out)`", [0, 0, 3, 9]),
        ("with `part[0] < 0` in place of `part[0] > 0`", [0, 0, 0, 0]),
    ],
)
def test_indices_passes_and_tests_of_a_reference_are_changed(says: str, gives: list[int]) -> None:
    assert gives in _heads(says), sorted({one.says for one in changes(HEADS, "f", list(SIZES))})


def test_steps_that_stand_alike_are_changed_together() -> None:
    """Both of k and v: either alone is another fault."""
    text = HEADS.replace(
        'inputs["a"][head, :n]', 'inputs["a"][i // (H // K), :n] + inputs["a"][i // (H // K), :n]'
    )
    says = [one.says for one in changes(text, "f", list(SIZES))]
    assert "with `i % K` in place of `i // (H // K)`, wherever that stands" in says


@pytest.mark.parametrize(
    "line", ["import os", "from pathlib import Path", "np.save('x', 1)", "open('x', 'w')"]
)
def test_a_file_that_does_more_than_compute_is_not_changed(line: str) -> None:
    assert ast.parse(TEXT + line)
    assert not list(changes(TEXT + line, "f", ["M"]))


BITS = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, unsigned short* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const float v = fmaxf(x[i], -3.0f);
  const _Float16 h = (_Float16)v;
  y[i] = __builtin_bit_cast(unsigned short, h);
}
""",
    """block = [32]
grid = ["M"]
sizes = [{ M = 2 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", 32] },
  { name = "y", role = "out", dtype = "bf16", shape = ["M", 32] },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    return {"y": np.maximum(inputs["x"], -3)}
""",
)


def test_the_bits_of_another_type_are_told_at_the_conversion(tmp_path: Path) -> None:
    first = verdict(tmp_path, BITS, ()).findings[0]
    assert "y is stored as f16, and is bf16 in the manifest" in first.what, first.what
    assert first.place.source is not None
    assert "_Float16 h" in (tmp_path / "kernel.hip").read_text().split("\n")[first.place.source.line - 1]


def test_a_number_of_the_reference_is_told_by_the_argument_that_has_it(tmp_path: Path) -> None:
    """Two, which the reference multiplies by, is alpha's value in the manifest."""
    wrong = Style(
        STEPS.source.replace("float v = c * alpha;", "float v = c;"),
        STEPS.keys.replace("value = 0.75", "value = 2"),
        STEPS.python.replace("0.75", "2"),
    )
    verdict(tmp_path, wrong)
    (one,) = check(tmp_path / "layoutprobe.toml", allow_reference=True, edits=400).verdicts
    assert "is what the reference gives without `* 2`" in one.findings[0].what
    assert "alpha" in one.findings[0].what.partition("all is right")[0]
