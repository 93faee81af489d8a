"""Integers that a Python reference rounds in float64: where f32 is at a tie, a right kernel is not wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from checks.gemm_lab import edited
from checks.test_references import HEAD, Style, verdict
from numpy.typing import NDArray

from layoutprobe.numbers import rounded
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.subject import RunSpec, Subject, UndecidedError
from layoutprobe.trace.ties import between_steps, rounded_between, settled

QUANTISED = Style(
    HEAD
    + """// int8 by rows: the largest of a row becomes 127.
extern "C" __global__ void layer(const float* x, signed char* q, int N) {
  float peak = 0;
  for (int i = 0; i < N; ++i) peak = fmaxf(peak, fabsf(x[blockIdx.x * N + i] * 0.1f));
  const float by = peak > 0 ? 1 / (peak / 127) : 1;
  for (int i = threadIdx.x; i < N; i += 32) q[blockIdx.x * N + i] = (int)rintf(x[blockIdx.x * N + i] * 0.1f * by);
}
""",
    """block = [32]
grid = ["M"]
sizes = [{ M = 40, N = 3 }, { M = 9, N = 35 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "N"] },
  { name = "q", role = "out", dtype = "i8", shape = ["M", "N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"] * 0.1
    peak = np.abs(x).max(1, keepdims=True)
    return {"q": np.rint(x / np.where(peak > 0, peak / 127, 1))}
""",
)
TOLD = "elements of q at a tie of its rounding pass on either side"
MUTANTS = {
    "cut off": ("(int)rintf(", "(int)("),
    "rounded down": ("(int)rintf(", "(int)floorf("),
    "one more everywhere": ("(int)rintf(", "1 + (int)rintf("),
    "a zero point": ("* by);", "* by + 0.5f);"),
    "another largest": ("peak / 127", "peak / 126"),
}


def test_a_right_kernel_holds_and_the_headline_says_why(tmp_path: Path) -> None:
    found = verdict(tmp_path, QUANTISED)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found
    assert TOLD in found.reservations


@pytest.mark.parametrize("name", MUTANTS)
def test_another_rounding_is_wrong(tmp_path: Path, name: str) -> None:
    found = verdict(
        tmp_path, Style(edited(QUANTISED.source, (MUTANTS[name],)), QUANTISED.keys, QUANTISED.python)
    )
    assert found.findings, found.reservations
    assert found.findings[0].rule.check == "numerics"
    if name == "rounded down":  # what mends it is told though the kernel is then at ties, too
        assert "with v_rndne_f32 in place of v_floor_f32" in found.findings[0].what


RESIZED = Style(
    HEAD
    + """// Rows of another length, by lines between pixels: how far along one lies comes of the sizes alone.
extern "C" __global__ void layer(const unsigned char* x, unsigned char* q, int I, int O) {
  const float scale = (float)I / (float)O;
  for (int o = threadIdx.x; o < O; o += 32) {
    const float at = fmaxf((o + 0.5f) * scale - 0.5f, 0.0f);
    const int a = min((int)at, I - 1), b = min(a + 1, I - 1);
    const float one = x[blockIdx.x * I + a], other = x[blockIdx.x * I + b];
    q[blockIdx.x * O + o] = (unsigned char)(one + (other - one) * (at - a) + 0.5f);
  }
}
""",
    """block = [32]
grid = ["M"]
sizes = [{ M = 64, I = 40, O = 35 }, { M = 9, I = 19, O = 8 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "u8", shape = ["M", "I"] },
  { name = "q", role = "out", dtype = "u8", shape = ["M", "O"] },
  { name = "I", role = "scalar", dtype = "i32", value = "I" },
  { name = "O", role = "scalar", dtype = "i32", value = "O" },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    x, many = inputs["x"].astype(np.float64), sizes["I"]
    at = np.maximum((np.arange(sizes["O"]) + 0.5) * (many / sizes["O"]) - 0.5, 0)
    a = np.minimum(at.astype(int), many - 1)
    part = at - a
    return {"q": np.floor(x[:, a] * (1 - part) + x[:, np.minimum(a + 1, many - 1)] * part + 0.5)}
""",
)


def test_a_tie_may_come_of_sizes_alone(tmp_path: Path) -> None:
    """Pixel 3 of 35 lies half-way between two of 40, or a little beside that, by f32."""
    found = verdict(tmp_path, RESIZED)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found
    assert TOLD in found.reservations


@pytest.mark.parametrize("edit", [(" + 0.5f);", ");"), ("(o + 0.5f)", "o"), ("(at - a)", "(at - a + 1e-2f)")])
def test_a_wrong_place_is_no_tie(tmp_path: Path, edit: tuple[str, str]) -> None:
    found = verdict(tmp_path, Style(edited(RESIZED.source, (edit,)), RESIZED.keys, RESIZED.python))
    assert {one.rule.check for one in found.findings} == {"numerics"}


def test_a_tolerance_of_one_output_goes_before_the_kernels(tmp_path: Path) -> None:
    source = edited(QUANTISED.source, (MUTANTS["rounded down"],))
    for own, wrong in (("absolute = 1", False), ("absolute = 0.5", True)):
        keys = QUANTISED.keys.replace('dtype = "i8",', f'dtype = "i8", tolerance = {{ {own} }},')
        given = "tolerance = { absolute = 9 }\n" if wrong else ""
        found = verdict(tmp_path, Style(source, given + keys, QUANTISED.python))
        assert bool(found.findings) == wrong
        assert any("loose tolerance of q" in one for one in found.reservations)


Inputs = Mapping[str, NDArray[Any]]
_X = np.array([[1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 7.0, 8.0]])


def _undecided(reference: Callable[[Inputs], NDArray[Any]], dtype: str = "i8", by: float = 1.0) -> int:
    """How many elements pass at a tie, of an output that is off by one everywhere."""
    expected = rounded(np.asarray(reference({"x": _X}), np.float64), dtype)
    observed = expected - by
    c = Comparison("q", "q", RunSpec(), dtype, observed, expected, np.zeros(observed.shape, np.bool_), 0.0)
    subject = SimpleNamespace(reference=lambda inputs, sizes: {"q": reference(inputs)}, sizes={}, memo={})
    (found,) = settled(cast(Subject, subject), {"x": _X}, [c])
    assert c.wrong.sum() - found.wrong.sum() == found.tied
    return found.tied


def _in_place(inputs: Inputs) -> NDArray[Any]:
    x = inputs["x"].astype(np.float32).astype(np.float64)
    x *= 1.5 / 0.3
    x /= 10
    return np.rint(x)


def _fails(inputs: Inputs) -> NDArray[Any]:
    if type(inputs["x"]) is not np.ndarray:
        raise UndecidedError("it takes plain arrays alone")
    return np.rint(inputs["x"] * 0.1 * 5)


@pytest.mark.parametrize(
    ("reference", "tied"),
    [
        (lambda inputs: np.rint(inputs["x"] * 0.1 * 5), 3),  # 1.5 twice, 3.5; 0.5 becomes 0, and never less
        (lambda inputs: np.rint(inputs["x"] / 2), 0),  # f32 makes no error
        (lambda inputs: np.rint(inputs["x"] * 0.3), 0),  # no tie
        (_in_place, 3),
        (lambda inputs: np.rint((inputs["x"] - 5 * inputs["x"].mean(1, keepdims=True) / 3) / 4 + 9), 0),
        (lambda inputs: np.exp(inputs["x"] // 4).argmax(1), 0),  # what is equal stays equal
        (_fails, 0),
    ],
)
def test_which_elements_are_at_a_tie(reference: Callable[[Inputs], NDArray[Any]], tied: int) -> None:
    assert _undecided(reference) == tied


def test_floats_of_eight_bits_are_rounded_as_integers_are() -> None:
    """Between 16 and 32 fp8 holds even numbers: 19 (twice) and 23 become 18 and 22 as well."""
    assert _undecided(lambda inputs: inputs["x"] * 0.1 * 10 + 16, "fp8", 2.0) == 3


_P = np.exp(np.random.default_rng(3).standard_normal((40, 30)))
_V = np.random.default_rng(4).integers(-9, 10, (30, 40)).astype(np.float64)


def _summed(inputs: Inputs) -> NDArray[Any]:
    return np.asarray(np.einsum("ik,kj->ij", np.log(inputs["p"]), inputs["v"]))


def _exactly(inputs: Inputs) -> NDArray[Any]:
    return np.asarray(np.dot(np.rint(inputs["p"]), inputs["v"]))


@pytest.mark.parametrize(
    ("reference", "count", "times", "right"),
    [
        (_summed, 1, 1.5, True),
        (_summed, 1, 3.0, False),  # farther off than rounding makes it
        (_summed, 9, 1.5, False),  # many are
        (_exactly, 1, 1.5, False),  # nothing is rounded
    ],
)
def test_single_elements_may_be_farther_off_where_sums_of_rounded_numbers_cancel(
    reference: Callable[[Inputs], NDArray[Any]], count: int, times: float, *, right: bool
) -> None:
    expected = reference({"p": _P, "v": _V})
    observed = expected.copy()
    observed.reshape(-1)[:count] += times * 0.01
    c = Comparison("y", "y", RunSpec(), "bf16", observed, expected, np.zeros(observed.shape, np.bool_), 0.01)
    subject = SimpleNamespace(reference=lambda inputs, sizes: {"y": reference(inputs)}, sizes={}, memo={})
    (found,) = between_steps(cast(Subject, subject), {"p": _P, "v": _V}, ["bf16"], [c])
    assert (int(c.wrong.sum()), bool(found.wrong.any()), found.between) == (
        count,
        not right,
        count if right else 0,
    )
    assert len(rounded_between([found])) == right


_LOG = np.log(np.random.default_rng(5).integers(1, 9, (90, 30)) / 64)
_LOG[7, 3] = np.log(3.5 / 64)


def _in_steps(inputs: Inputs) -> NDArray[Any]:
    """Rounded on the way, to 64ths: one element lies half-way between two."""
    return np.asarray((np.rint(np.exp(inputs["x"]) * 64) / 64) @ inputs["v"])


@pytest.mark.parametrize(
    ("row", "jumps", "right"),
    [(7, 1, True), (7, 3, False), (8, 1, False)],
    ids=["the other side", "farther than that", "where nothing is half-way"],
)
def test_elements_of_what_is_rounded_on_the_way_may_lie_on_the_other_side(
    row: int, jumps: int, *, right: bool
) -> None:
    """Of a reference that rounds itself: f32 rounds before that, and lands elsewhere."""
    inputs = {"x": _LOG, "v": _V}
    sides = [_in_steps(inputs | {"x": _LOG + by}) for by in (-1e-6, 1e-6)]
    expected = _in_steps(inputs)
    other = next(side for side in sides if (side != expected).any())
    observed = expected.copy()
    observed[row] += jumps * (other - expected)[7]
    c = Comparison("y", "y", RunSpec(), "f32", observed, expected, np.zeros(observed.shape, np.bool_), 1e-4)
    subject = SimpleNamespace(reference=lambda inputs, sizes: {"y": _in_steps(inputs)}, sizes={}, memo={})
    (found,) = between_steps(cast(Subject, subject), inputs, (), [c])
    assert c.wrong.sum() > 9
    assert bool(found.wrong.any()) is not right


@pytest.mark.parametrize("observed", [5.0, np.inf, np.nan])
def test_what_is_not_judged_is_right_whatever_is_there(observed: float) -> None:
    """Also where another launch has stored something else there, as with a change that mends the rest."""
    expected = np.array([300.0, 1.0])
    judged = np.array([False, True])
    seen = np.array([observed, observed])
    c = Comparison("y", "y", RunSpec(), "fp8", seen, expected, np.zeros(2, np.bool_), 0.1, judged=judged)
    assert c.wrong.tolist() == [False, True]
