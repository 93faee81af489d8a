"""A fault in what is launched before is told at its line, where only what comes of it in the end is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.test_source_causes import first

from layoutprobe.gate.gate import check
from layoutprobe.report.gate import KernelVerdict

MANY = 400
SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void scaled(const float* a, const float* b, float* t, int M, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= M * N) return;
  const int row = i / N, column = i % N;
  t[i] = a[row * N + column] * b[column];
}
extern "C" __global__ void added(const float* t, const float* c, float* y, int M, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < M * N) y[i] = t[i] + c[i];
}
"""
KERNEL = """[[kernel]]
name = "NAME"
symbol = "NAME"
source = "kernel.hip"
block = [64]
grid = ["(M * N + 63) / 64"]
sizes = [{ M = 5, N = 9 }, { M = 7, N = 12 }]
contract = CONTRACT
argument = [
  { name = "ONE", role = "in", dtype = "f32", shape = SHAPE },
  { name = "OTHER", role = "in", dtype = "f32", shape = THEIRS },
  { name = "OUT", role = "out", dtype = "f32", shape = ["M", "N"] },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]
"""
REFERENCE = """
def both(inputs, sizes):
    return {"y": inputs["a"] * inputs["b"][None, :] + inputs["c"]}
"""


def _kernel(name: str, contract: str, **names: str) -> str:
    text = KERNEL.replace("NAME", name).replace("CONTRACT", contract)
    for old, new in names.items():
        text = text.replace(old, new)
    return text


MANIFEST = _kernel(
    "scaled", '{ kind = "none" }', ONE="a", OTHER="b", OUT="t", SHAPE='["M", "N"]', THEIRS='["N"]'
) + _kernel(
    "added",
    '{ kind = "reference", function = "reference.py:both" }\nafter = ["scaled"]',
    ONE="t", OTHER="c", OUT="y", SHAPE='["M", "N"]', THEIRS='["M", "N"]',
)  # fmt: skip


def judged(folder: Path, old: str = "", new: str = "") -> tuple[KernelVerdict, KernelVerdict]:
    assert SOURCE.count(old) == 1 or not old
    (folder / "kernel.hip").write_text(SOURCE.replace(old, new) if old else SOURCE)
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "layoutprobe.toml").write_text(MANIFEST)
    before, last = check(folder / "layoutprobe.toml", allow_reference=True, edits=MANY).verdicts
    return before, last


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("* b[column]", "* b[row]", "`column` in place of `row`"),
        ("= a[row * N + column] *", "= a[row * M + column] *", "`N` in place of `M`"),
    ],
)
def test_the_line_of_the_first_kernel_is_told(right: str, wrong: str, says: str, tmp_path: Path) -> None:
    before, last = judged(tmp_path, right, wrong)
    assert (before.name, last.name, before.exit_code) == ("scaled", "added", 0)
    found = first(last)
    assert f"with {says} all is right" in found.what
    assert found.place.source is not None
    assert found.place.source.line == SOURCE[: SOURCE.index(right)].count("\n") + 1


def test_right_ones_hold(tmp_path: Path) -> None:
    assert [one.exit_code for one in judged(tmp_path)] == [0, 0]
