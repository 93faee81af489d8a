"""A user's Python reference: what it returns is compared in full, and what goes wrong in it is called its own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from layoutprobe.gate.gate import check
from layoutprobe.report.gate import CheckResult

KERNEL = """
#include <hip/hip_runtime.h>
extern "C" __global__ void twice(const float* x, float* y) { y[threadIdx.x] = EXPRESSION; }
"""
MANIFEST = """
[[kernel]]
name = "twice"
source = "twice.hip"
defines = {{ EXPRESSION = "{expression}" }}
grid = 1
block = 32
sizes = [{{ n = 32 }}]
limits = {{ seconds = 2 }}
contract = {{ kind = "reference", function = "reference.py:f" }}
argument = [
  {{ name = "x", role = "in", dtype = "f32", shape = ["n"] }},
  {{ name = "y", role = "inout", dtype = "f32", shape = ["n"] }},
]
"""


def judged(folder: Path, body: str, expression: str = "2 * x[threadIdx.x]", before: str = "") -> CheckResult:
    """Numerics of a kernel that doubles, or computes something else, beside a reference."""
    (folder / "twice.hip").write_text(KERNEL)
    (folder / "layoutprobe.toml").write_text(MANIFEST.format(expression=expression))
    (folder / "reference.py").write_text(f"import numpy as np\n{before}\ndef f(inputs, sizes):\n    {body}\n")
    report = check(folder / "layoutprobe.toml", checks=["numerics"], allow_reference=True)
    (verdict,) = report.verdicts
    assert not verdict.error, verdict.error
    return verdict.results[0]


def test_a_right_reference_is_compared(tmp_path: Path) -> None:
    assert judged(tmp_path, 'return {"y": 2 * inputs["x"]}').status == "holds"
    assert judged(tmp_path, 'return {"y": 3 * inputs["x"]}').status == "finding"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return {}", "your Python reference returned nothing; expected a mapping from outputs to arrays: y"),
        ("return 2 * inputs['x']", "your Python reference returned a ndarray"),
        ('return {"Y": 2 * inputs["x"]}', "returned 'Y', which is no output; outputs are y"),
        ('return {"y": np.ones(31)}', "your Python reference's y has shape [31]; the output has [32]"),
        ('return {"y": "twice"}', "your Python reference's y is no array of numbers"),
        (
            'return {"y": inputs["z"]}',
            "your Python reference reference.py:f failed: KeyError: 'z' (reference.py:4)",
        ),
        ("raise SystemExit(3)", "your Python reference reference.py:f failed: SystemExit: 3"),
    ],
)
def test_what_is_wrong_with_a_reference_is_said(tmp_path: Path, body: str, words: str) -> None:
    result = judged(tmp_path, body)
    assert (result.status, result.findings) == ("undecided", ())
    assert words in result.reason
    assert "bug in layoutprobe" not in result.reason


def test_an_endless_reference_is_ended(tmp_path: Path) -> None:
    start = time.monotonic()
    result = judged(tmp_path, "\n    while True: pass")
    assert result.status == "undecided"
    assert "did not return within 2 seconds; limits.seconds sets the limit" in result.reason
    assert time.monotonic() - start < 100


@pytest.mark.parametrize("value", ["-np.inf", "np.inf", "np.nan"])
def test_what_is_not_finite_is_equal_to_itself_alone(tmp_path: Path, value: str) -> None:
    assert judged(tmp_path, f'return {{"y": np.full(32, {value})}}').status == "finding"
    same = {"-np.inf": "-__builtin_inff()", "np.inf": "__builtin_inff()", "np.nan": '__builtin_nanf(\\"\\")'}
    assert judged(tmp_path, f'return {{"y": np.full(32, {value})}}', same[value]).status == "holds"
