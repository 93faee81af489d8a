"""A launch that stops on other numbers, or at another size, ends no search for what mends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.test_references import HEAD
from checks.test_source_causes import first

from layoutprobe.gate.gate import check

SOURCE = (
    HEAD
    + """extern "C" __global__ void look(const float* x, const float* table, float* y, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= N) return;
  const int at = max((int)x[i], 0) + 1;
  const bool lost = N < 64 ? at == 1 && x[i] >= 1 : at < 1 && x[i] != (int)x[i];
  if (lost) atomicAdd(y + ((long)N << 28), 1.0f);
  y[i] = table[at];
}
"""
)
MANIFEST = """[[kernel]]
name = "look"
source = "kernel.hip"
block = [64]
grid = ["(N + 63) / 64"]
sizes = [{ N = 40 }, { N = 100 }]
contract = { kind = "reference", function = "reference.py:look" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["N"] },
  { name = "table", role = "in", dtype = "f32", shape = [64] },
  { name = "y", role = "out", dtype = "f32", shape = ["N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]
"""
REFERENCE = """
import numpy as np
def look(inputs, sizes):
    return {"y": inputs["table"][np.maximum(inputs["x"].astype(int), 0) + 1]}
"""


@pytest.mark.parametrize("wrong", ["", "min("])
def test_the_change_is_found_where_normal_numbers_stop(wrong: str, tmp_path: Path) -> None:
    """At the first size integers stop the launch, at the second one normal numbers alone."""
    (tmp_path / "kernel.hip").write_text(SOURCE.replace("max(", wrong) if wrong else SOURCE)
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "layoutprobe.toml").write_text(MANIFEST)
    (verdict,) = check(tmp_path / "layoutprobe.toml", allow_reference=True, edits=400).verdicts
    assert verdict.exit_code == bool(wrong), verdict.findings
    if wrong:
        assert "with `max` in place of `min` all is right" in first(verdict).what
