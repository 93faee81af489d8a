"""What is said of wrong values under a Python reference: only what gives them, of every output and at every size."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.test_references import HEAD, Style, verdict

from layoutprobe.checks.value_rules import OTHER_INPUT, WRONG_VALUES
from layoutprobe.gate.agreed import agreed
from layoutprobe.place import Element, Place
from layoutprobe.report.finding import Finding

NUMBERS = """block = [64]
grid = ["R"]
sizes = [{{ R = 2, C = 64 }}, {{ R = 3, C = 40 }}]
contract = {{ kind = "reference", function = "reference.py:layer" }}
argument = [
{buffers}
  {{ name = "C", role = "scalar", dtype = "i32", value = "C" }},
]"""


def _keys(*buffers: tuple[str, str, str, str]) -> str:
    rows = [f'  {{ name = "{n}", role = "{r}", dtype = "{d}", shape = {s} }},' for n, r, d, s in buffers]
    return NUMBERS.format(buffers="\n".join(rows))


SCAN = Style(
    HEAD
    + """// Prefix sums of rows.
extern "C" __global__ void layer(const int* x, int* y, int C) {
  for (int i = threadIdx.x; i < C; i += 64) {
    int sum = 0;
    for (int j = 0; j <= i; ++j) sum += x[blockIdx.x * C + j];
    y[blockIdx.x * C + i] = sum;
  }
}
""",
    _keys(("x", "in", "i32", '["R", "C"]'), ("y", "out", "i32", '["R", "C"]')),
    """
import numpy as np
def layer(inputs, sizes):
    return {"y": np.cumsum(inputs["x"].astype(np.int64), 1)}
""",
)
CENTRED = Style(
    HEAD
    + """// A sum, and the same sum less its mean, times a factor.
extern "C" __global__ void layer(const float* a, const float* b, const float* w, float* sum, float* y, int C) {
  const float* p = a + blockIdx.x * C;
  const float* q = b + blockIdx.x * C;
  float mean = 0;
  for (int i = 0; i < C; ++i) mean += p[i] + q[i];
  mean /= C;
  for (int i = threadIdx.x; i < C; i += 64) {
    sum[blockIdx.x * C + i] = p[i] + q[i];
    y[blockIdx.x * C + i] = (p[i] + q[i] - mean) * w[i];
  }
}
""",
    _keys(
        ("a", "in", "f32", '["R", "C"]'), ("b", "in", "f32", '["R", "C"]'), ("w", "in", "f32", '["C"]'),
        ("sum", "out", "f32", '["R", "C"]'), ("y", "out", "f32", '["R", "C"]'),
    ),
    """
def layer(inputs, sizes):
    s = inputs["a"] + inputs["b"]
    return {"sum": s, "y": (s - s.mean(1, keepdims=True)) * inputs["w"]}
""",
)  # fmt: skip
LARGEST = Style(
    HEAD
    + """// The largest of a row.
extern "C" __global__ void layer(const float* x, float* y, int C) {
  __shared__ float most[64];
  float m = 0;
  for (int i = threadIdx.x; i < C; i += 64) m = fmaxf(m, fabsf(x[blockIdx.x * C + i]));
  most[threadIdx.x] = m;
  __syncthreads();
  for (int i = 0; i < 64; ++i) m = fmaxf(m, most[i]);
  if (threadIdx.x == 0) y[blockIdx.x] = m;
}
""",
    _keys(("x", "in", "f32", '["R", "C"]'), ("y", "out", "f32", '["R"]')),
    """
import numpy as np
def layer(inputs, sizes):
    return {"y": np.abs(inputs["x"]).max(1)}
""",
)
STYLES = {"scan": SCAN, "centred": CENTRED, "largest": LARGEST}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_right_kernels_are_green(tmp_path: Path, style: Style) -> None:
    found = verdict(tmp_path, style)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0)


def test_plain_integers_are_not_taken_apart_into_codes(tmp_path: Path) -> None:
    """The sum leaves out the first element: no nibble and no zero point has to do with it."""
    found = verdict(tmp_path, SCAN, (("j = 0", "j = 1"),))
    assert found.findings
    assert not any("nibble" in f.what or "byte" in f.what for f in found.findings), found.findings


def test_an_addend_that_one_of_two_uses_leaves_out_is_no_factor(tmp_path: Path) -> None:
    """As a factor of 1 it would change the other output, too, which is right."""
    edits = (("mean += p[i] + q[i]", "mean += p[i]"), ("(p[i] + q[i] - mean)", "(p[i] - mean)"))
    (found,) = verdict(tmp_path, CENTRED, edits).findings
    assert "b has no effect on y, and other outputs take it" in found.what, found
    assert "factor" not in found.what


def test_zeros_alone_are_no_explanation(tmp_path: Path) -> None:
    """C / 64 is 0 at the second size, and everything is then: any fault that makes zeros would explain that."""
    found = verdict(tmp_path, LARGEST, (("i < C; i += 64) m", "i < C / 64 * 64; i += 64) m"),)).findings
    assert found
    assert all("taken as 0" not in f.what for f in found), found


def _finding(*says: str) -> Finding:
    def of(one: str) -> Finding:
        return Finding(OTHER_INPUT if one else WRONG_VALUES, f"y is wrong: {one or 'somewhere'}", PLACE)

    pairs = tuple((one, of(one)) for one in (*says, "")) if says else ()
    return Finding(OTHER_INPUT, f"y is wrong: {says[0]}", PLACE, explained=pairs) if says else of("")


PLACE = Place(element=Element("y", (0,)))
SMALL, LARGE = (("M", 1),), (("M", 2),)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (("one", "other"), ("one", "other"), "y is wrong: one"),
        (("one", "other"), ("other",), "y is wrong: other"),
        (("one",), ("other",), "y is wrong: somewhere"),
        (("one",), (), "y is wrong: somewhere"),
    ],
)
def test_an_explanation_holds_at_every_size(
    first: tuple[str, ...], second: tuple[str, ...], told: str
) -> None:
    found = agreed([(SMALL, _finding(*first)), (LARGE, _finding(*second))])
    assert {one.what for _, one in found} == {told}
