"""One instruction executed otherwise, and all is right: the line comes first, with what is otherwise.

Each fault is one edit of a right kernel. The line is that of the edit, and the words say what was meant.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.test_references import HEAD, Style, verdict
from msgspec import Struct

from layoutprobe.gate import explaining

RIGHT = "everything that is compared is right"
LAYER = Style(
    HEAD
    + """// A row a wave: masked, scaled, summed, and what is left is written with its row's offset.
extern "C" __global__ void layer(const float* x, const int* codes, const float* bias, float* y, int N, int P, int L,
                                 float scale) {
  const int row = blockIdx.x, lane = threadIdx.x;
  float sum = 0;
  for (int i = lane; i < N; i += 32)
    sum += x[row * P + i];
  for (int o = 16; o; o >>= 1)
    sum += __shfl_xor(sum, o);
  for (int i = lane; i < N; i += 32) {
    float v = x[row * P + i];
    v = i > row + 1 ? 0.0f : v;
    const int code = (codes[i] >> 4) & 15;
    const float w = (float)(code - 8);
    const float gated = v * (1.0f / (1.0f + expf(-w)));
    const float kept = fmaxf(gated, -0.25f);
    y[row * L + i] = kept * scale - sum * bias[i];
  }
}
""",
    """block = [32]
grid = ["M"]
sizes = [{ M = 5, N = 20, P = 24, L = 21 }, { M = 3, N = 41, P = 43, L = 47 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "P"] },
  { name = "codes", role = "in", dtype = "i32", shape = ["N"] },
  { name = "bias", role = "in", dtype = "f32", shape = ["N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"], ld = "L" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "P", role = "scalar", dtype = "i32", value = "P" },
  { name = "L", role = "scalar", dtype = "i32", value = "L" },
  { name = "scale", role = "scalar", dtype = "f32", value = 0.75 },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    N = sizes["N"]
    x = inputs["x"][:, :N]
    v = np.where(np.arange(N) > np.arange(len(x))[:, None] + 1, 0, x)
    w = (inputs["codes"] >> 4 & 15) - 8.0
    kept = np.maximum(v / (1 + np.exp(-w)), -0.25)
    return {"y": kept * 0.75 - x.sum(1, keepdims=True) * inputs["bias"]}
""",
)


class Meant(Struct, frozen=True):
    """A fault: its edit, words that say what was meant, and text of the line."""

    edit: tuple[str, str]
    words: str
    at: str


FAULTS = {
    "a comparison": Meant(("i > row + 1", "i >= row + 1"), "one side of the comparison", "0.0f : v"),
    "a bound of a loop": Meant(
        ("i < N; i += 32)\n    sum", "i < N - 1; i += 32)\n    sum"), "in place of", "i < N - 1"
    ),
    "an integer": Meant(("code - 8", "code - 7"), "-8 in place of -7", "code -"),
    "a shift": Meant((">> 4)", ">> 5)"), "4 in place of 5", "codes[i]"),
    "a mask": Meant(("& 15", "& 31"), "4 in place of 5", "codes[i]"),
    "a float": Meant(("-0.25f", "-0.5f"), "-0.25 in place of -0.5", "fmaxf"),
    "a sign": Meant(("expf(-w)", "expf(w)"), "in place of", "expf"),
    "a difference": Meant(("scale - sum", "scale + sum"), "the sign of", "kept * scale"),
    "a minimum": Meant(("fmaxf(", "fminf("), "max", "kept ="),
    # Compilers give what they move out of a loop the line of its head.
    "an argument": Meant(
        ("x[row * P + i];\n    v", "x[row * N + i];\n    v"), "argument P in place of N", "i < N; i += 32"
    ),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", FAULTS)
def test_the_line_comes_first_with_what_is_meant(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    found = verdict(tmp_path, LAYER, (fault.edit,))
    assert not found.error, found.error
    first = found.findings[0]
    assert first.rule.check == "numerics", first
    assert RIGHT in first.what, first.what
    assert fault.words in first.what, first.what
    assert first.place.source is not None
    assert fault.at in (tmp_path / "kernel.hip").read_text().split("\n")[first.place.source.line - 1], first


RUNNING = Style(
    HEAD
    + """// A lane a row: a weighted mean, rescaled to the largest score so far.
extern "C" __global__ void mean(const float* x, const float* v, float* y, int N, float scale) {
  const int row = threadIdx.x;
  float most = -1e30f, sum = 0, kept = 0;
  for (int i = 0; i < N; ++i) {
    const float score = (x[row * N + i] + 0.25f) * scale;
    const float now = fmaxf(most, score);
    const float old = expf(most - now), e = expf(score - now);
    sum *= old;
    kept *= old;
    sum += e;
    kept += e * v[i];
    most = now;
  }
  y[row] = kept / sum;
}
""",
    """block = [32]
grid = [1]
sizes = [{ N = 9 }, { N = 14 }]
contract = { kind = "reference", function = "reference.py:mean" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["32", "N"] },
  { name = "v", role = "in", dtype = "f32", shape = ["N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["32"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "scale", role = "scalar", dtype = "f32", value = 0.375 },
]""",
    """
import numpy as np
def mean(inputs, sizes):
    x = (inputs["x"] + 0.25) * 0.375
    e = np.exp(x - x.max(1, keepdims=True))
    return {"y": (e * inputs["v"]).sum(1) / e.sum(1)}
""",
)
LEFT_OUT = {
    "a sum is not rescaled": Meant(("    sum *= old;\n", ""), "multiplied by the factor of", "sum += e"),
    "another is not": Meant(("    kept *= old;\n", ""), "multiplied by the factor of", "kept +="),
    "an argument is not used": Meant((" * scale", ""), "argument scale, which nothing reads", "score ="),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_factor_that_was_left_out_is_named(tmp_path: Path, name: str) -> None:
    fault = LEFT_OUT[name]
    first = verdict(tmp_path, RUNNING, (fault.edit,)).findings[0]
    assert RIGHT in first.what, first.what
    assert fault.words in first.what, first.what
    assert first.place.source is not None
    assert fault.at in (tmp_path / "kernel.hip").read_text().split("\n")[first.place.source.line - 1], first


ROWS_OF_A_LANE = Style(
    RUNNING.source.replace("A lane a row", "A lane three rows")
    .replace("float most = -1e30f, sum = 0, kept = 0;", "float mosts[3], sums[3] = {}, all[3] = {};\n"
             "  for (int r = 0; r < 3; ++r) mosts[r] = -1e30f;")
    .replace("    const float score", "    for (int r = 0; r < 3; ++r) {\n"
             "    float &most = mosts[r], &sum = sums[r], &kept = all[r];\n    const float score")
    .replace("x[row * N", "x[(row * 3 + r) * N")
    .replace("kept *= old;", "kept *= old; asm volatile(\"\" : \"+v\"(kept), \"+v\"(sum));")
    .replace("most = now;", "most = now; }")
    .replace("y[row] = kept / sum", "for (int r = 0; r < 3; ++r) y[row * 3 + r] = all[r] / sums[r]"),
    RUNNING.keys.replace('["32"', '["96"'),
    RUNNING.python,
)  # fmt: skip
"""A lane rescales what it keeps of a row before it goes on, as where a matrix instruction adds to that."""


def test_a_factor_of_each_row_that_was_left_out_is_named(tmp_path: Path) -> None:
    """A lane has a sum, and a factor, for each of its rows."""
    assert not verdict(tmp_path, ROWS_OF_A_LANE).findings
    first = verdict(tmp_path, ROWS_OF_A_LANE, (("    sum *= old;\n", ""),)).findings[0]
    assert "multiplied by the factor of" in first.what, first.what
    assert first.place.source is not None
    assert "sum += e" in (tmp_path / "kernel.hip").read_text().split("\n")[first.place.source.line - 1], first


def test_the_right_kernel_is_green(tmp_path: Path) -> None:
    found = verdict(tmp_path, LAYER)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found


def test_where_no_small_change_mends_it_nothing_is_claimed(tmp_path: Path) -> None:
    edits = (("kept * scale", "kept * kept * scale"), ("sum * bias[i]", "sum * bias[i] * bias[i]"))
    found = verdict(tmp_path, LAYER, edits)
    assert [one.rule.check for one in found.findings] == ["numerics"]
    assert RIGHT not in found.findings[0].what
    assert found.findings[0].place.instruction.startswith("global_store")


def test_two_lines_that_mend_it_are_named_both(tmp_path: Path) -> None:
    source = "const float half = v * -0.5f;\n    const float gated = half * (2.0f / (1.0f + expf(-w)));"
    found = verdict(tmp_path, LAYER, (("const float gated = v * (1.0f / (1.0f + expf(-w)));", source),))
    said = found.findings[0].what
    assert RIGHT in said, said
    assert "(or: with " in said, said


def test_a_change_counts_only_if_every_size_is_right_with_it(tmp_path: Path) -> None:
    # At M = 5, P = 24 the row stride 24 is a constant that only fits that size.
    found = verdict(tmp_path, LAYER, (("row * L + i", "row * 24 + i"),))
    assert all("21 in place of 24" not in one.what for one in found.findings)


def test_a_diagnosis_that_fails_leaves_the_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError("planted")

    monkeypatch.delenv("LAYOUTPROBE_DEBUG", raising=False)
    monkeypatch.setattr(explaining, "mended_by", broken)
    monkeypatch.setattr("layoutprobe.checks.wrong_values._diagnosis", broken)
    found = verdict(tmp_path, LAYER, (("code - 8", "code - 7"),))
    assert found.exit_code == 1
    (first,) = found.findings
    assert first.rule.id == "numerics/wrong-values"
    assert "ZeroDivisionError: planted" in first.hint, first.hint
    assert np.isfinite(float(first.expected))
