"""Accesses outside of every buffer: which element it would be, and which test lets it through."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.gate.gate import check
from layoutprobe.report.finding import Finding

KERNEL = """\
#include <hip/hip_runtime.h>

extern "C" __global__ void turned(const float* X, float* Y, float* sums, int R, int S, int ldx) {
  const int row = blockIdx.y * 8 + threadIdx.y;
  const int col = blockIdx.x * 8 + threadIdx.x;
  if (row < R && col < S) {
    const float x = X[row * ldx + col];
    Y[col * R + row] = x;
    if (row == 0)
      sums[col] = x;
  }
}
"""
MANIFEST = """
[[kernel]]
name = "turned"
source = "kernel.hip"
block = [8, 8]
grid = ["(S + 7) / 8", "(R + 7) / 8"]
sizes = [{ R = 21, S = 13 }, { R = 24, S = 16 }]
checks = ["memory"]
contract = { kind = "none" }
argument = [
  { name = "X", role = "in", dtype = "f32", shape = ["R", "S"], ld = "S + 1" },
  { name = "Y", role = "out", dtype = "f32", shape = ["S", "R"] },
  { name = "sums", role = "out", dtype = "f32", shape = ["S"] },
  { name = "R", role = "scalar", dtype = "i32", value = "R" },
  { name = "S", role = "scalar", dtype = "i32", value = "S" },
  { name = "ldx", role = "scalar", dtype = "i32", value = "S + 1" },
]
"""


def findings(folder: Path, old: str = "", new: str = "") -> tuple[Finding, ...]:
    assert not old or KERNEL.count(old) == 1
    (folder / "kernel.hip").write_text(KERNEL.replace(old, new))
    (folder / "layoutprobe.toml").write_text(MANIFEST)
    (verdict,) = check(folder / "layoutprobe.toml").verdicts
    assert not verdict.error
    return tuple(verdict.findings)


def line(text: str) -> str:
    """The line of the kernel on which a text stands."""
    return f"kernel.hip:{KERNEL[: KERNEL.index(text)].count(chr(10)) + 1}"


def test_a_right_one_is_green(tmp_path: Path) -> None:
    assert findings(tmp_path) == ()


@pytest.mark.parametrize(
    ("old", "new", "loads", "words"),
    [
        ("row < R &&", "row < ldx + 9 &&", "X[", "row 21 through: it compares with 23"),
        ("row < R &&", "row <= R &&", "X[", "lets the row through that equals R = 21"),
        ("col < S)", "col < ldx + 9)", "Y[", "it compares with 23"),
    ],
)
def test_the_test_that_lets_it_through_is_the_place(
    tmp_path: Path, old: str, new: str, loads: str, words: str
) -> None:
    found = findings(tmp_path, old, new)
    told = next(one for one in found if words in one.what)
    assert told.place.line == line("row < R")
    assert line(loads) in [one.place.line for one in told.related]


@pytest.mark.parametrize("test", ["S < 40", "ldx < 40"])
def test_an_extent_that_is_compared_is_no_index(tmp_path: Path, test: str) -> None:
    """The first column too many is S, as a test of S itself, which is about no column: it lets nothing through."""
    (found, *_) = findings(tmp_path, "row < R && col < S", f"row < R && {test}")
    assert "through" not in found.what


def test_of_an_element_without_a_test_the_index_is_told(tmp_path: Path) -> None:
    found = findings(tmp_path, "sums[col] = x", "sums[col + R] = x")
    (told,) = found
    assert told.what == "sums[21] is stored, and sums has S = 13 elements"
    assert told.place.line == line("sums[col]")
    assert told.place.buffer == "sums"
    assert "nearest to buffer sums (52 bytes)" in told.observed


def test_an_index_below_zero(tmp_path: Path) -> None:
    (told,) = findings(tmp_path, "X[row * ldx + col]", "X[(row - 1) * ldx + col]")
    assert told.what == "X[-1][0] is loaded, and no index is below 0"
    assert len(told.sizes) == 2, "one cause, whatever the size"


LOOP = """\
#include <hip/hip_runtime.h>

extern "C" __global__ void planes(float* Y, int D) {
  for (int d = 0; d < D + 2; ++d)
    Y[(blockIdx.x * D + d) * 32 + threadIdx.x] = d;
}
"""


PLANES = """
[[kernel]]
name = "planes"
source = "kernel.hip"
block = [32]
grid = ["B"]
sizes = [{ B = 2, D = 5 }]
checks = ["memory"]
contract = { kind = "none" }
argument = [
  { name = "Y", role = "out", dtype = "f32", shape = ["B", "D", 32] },
  { name = "D", role = "scalar", dtype = "i32", value = "D" },
]
"""


def test_where_all_lanes_are_beyond_the_pass_before_tells_the_index(tmp_path: Path) -> None:
    """By its place alone it would be an element of the next plane."""
    (tmp_path / "kernel.hip").write_text(LOOP)
    (tmp_path / "layoutprobe.toml").write_text(PLANES)
    (told,) = check(tmp_path / "layoutprobe.toml").verdicts[0].findings
    assert told.what.startswith("Y[1][5][0] is stored, and Y has D = 5 rows")


ROWS = """\
#include <hip/hip_runtime.h>

extern "C" __global__ void copied(const float* X, float* Y, int R, int S) {
  const int row = threadIdx.x / 8;
  for (int s = 0; s < S; s += 8) {
    const int col = s + threadIdx.x % 8;
    if (row < R && col < S) Y[row * S + col] = X[row * S + col];
  }
}
"""
COPIED = """
[[kernel]]
name = "copied"
source = "kernel.hip"
block = [32]
grid = [1]
sizes = [{ R = 3, S = 20 }]
checks = ["memory"]
contract = { kind = "none" }
argument = [
  { name = "X", role = "in", dtype = "f32", shape = ["R", "S"] },
  { name = "Y", role = "out", dtype = "f32", shape = ["R", "S"] },
  { name = "R", role = "scalar", dtype = "i32", value = "R" },
  { name = "S", role = "scalar", dtype = "i32", value = "S" },
]
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("col < S)", "col < S + 2)", "X[2][20] is loaded, and X has S = 20 columns"),
        ("col < S)", "true)", "X[2][20] is loaded, and X has S = 20 columns"),
        ("row < R &&", "row < R + 1 &&", "X[3][0] is loaded, and X has R = 3 rows"),
    ],
)
def test_lanes_of_one_row_tell_a_column_too_many_from_a_row(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    """By its place alone, what lies behind the last element is one of a further row."""
    assert ROWS.count(old) == 1
    (tmp_path / "kernel.hip").write_text(ROWS.replace(old, new))
    (tmp_path / "layoutprobe.toml").write_text(COPIED)
    found = check(tmp_path / "layoutprobe.toml").verdicts[0].findings
    assert any(told in one.what for one in found), [one.what for one in found]
