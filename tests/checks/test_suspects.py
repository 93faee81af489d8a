"""What stands in no list of guesses is found where expressions say that it is there that something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.gate import source_edits
from layoutprobe.gate.gate import check
from layoutprobe.report.finding import Finding

KERNEL = """\
#include <hip/hip_runtime.h>

extern "C" __global__ void backward(const float* dy, const float* x, const float* gamma, float* dx, float* dbeta,
                                    int rows, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x;
  if (c >= cols) return;
  const float scale = gamma[c];
  float db = 0.f, w[8];
  for (int row = 0; row < rows; ++row) {
    const float d = dy[row * cols + c];
    w[row & 7] = d * scale;
    dx[row * cols + c] = w[row & 7] + x[row * cols + c];
    db += d;
  }
  dbeta[c] = db;
}
"""
REFERENCE = """\
def backward(inputs, sizes):
    dy = inputs["dy"].astype("float64")
    return {"dx": dy * inputs["gamma"] + inputs["x"], "dbeta": dy.sum(axis=0)}
"""
MANIFEST = """
[[kernel]]
name = "backward"
source = "backward.hip"
block = [32]
grid = ["(C + 31) / 32"]
sizes = [{ R = 5, C = 40 }, { R = 19, C = 33 }]
contract = { kind = "reference", function = "ref.py:backward" }
argument = [
  { name = "dy", role = "in", dtype = "f32", shape = ["R", "C"] },
  { name = "x", role = "in", dtype = "f32", shape = ["R", "C"] },
  { name = "gamma", role = "in", dtype = "f32", shape = ["C"] },
  { name = "dx", role = "out", dtype = "f32", shape = ["R", "C"] },
  { name = "dbeta", role = "out", dtype = "f32", shape = ["C"] },
  { name = "rows", role = "scalar", dtype = "i32", value = "R" },
  { name = "cols", role = "scalar", dtype = "i32", value = "C" },
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "layoutprobe.toml").write_text(MANIFEST)
    (tmp_path / "ref.py").write_text(REFERENCE)
    (tmp_path / "backward.hip").write_text(KERNEL)
    return tmp_path


def first(folder: Path) -> Finding:
    """What leads, when 3000 changes may be tried."""
    manifest = folder / "layoutprobe.toml"
    (verdict,) = check(manifest, checks=("numerics",), allow_reference=True, edits=3000).verdicts
    assert not verdict.error, verdict.error
    return verdict.findings[0]


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("db += d;", "db += w[row & 7];", "with `d` in place of `w[row & 7]` all is right"),
        ("dbeta[c] = db;", "dbeta[c] = scale;", "with `db` in place of `scale` all is right"),
        ("= w[row & 7] + x", "= d + x", "with `* scale` added all is right"),
    ],
)
def test_the_change_that_no_list_has_leads(
    folder: Path, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str, told: str
) -> None:
    assert KERNEL.count(right) == 1
    (folder / "backward.hip").write_text(KERNEL.replace(right, wrong))
    monkeypatch.setattr(source_edits, "rewrites", lambda *_: [])
    found = first(folder)
    assert told in found.what
    assert found.place.source is not None
    assert found.place.source.line == KERNEL[: KERNEL.index(right)].count("\n") + 1


def test_without_a_suspect_nothing_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is these expressions, and none of the others, in whose place all else is tried."""
    (folder / "backward.hip").write_text(KERNEL.replace("db += d;", "db += w[row & 7];"))
    monkeypatch.setattr(source_edits, "rewrites", lambda *_: [])
    monkeypatch.setattr("layoutprobe.gate.searches._WORST", 0)
    assert "all is right" not in first(folder).what
