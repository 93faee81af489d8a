"""`check --hunt`: faults that no size shows, but values do: kinds of inputs that are not usual, and other seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import edited
from checks.test_hunt import ENOUGH, MANIFEST, TILE
from checks.test_references import HEAD

from layoutprobe.errors import UsageError
from layoutprobe.gate.gate import check
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

SOURCE = (
    HEAD
    + """// Softmax of each row, then its product with a factor of the row: x / sqrt(mean of squares).
extern "C" __global__ void layer(const float* x, float* y, int N) {
  __shared__ float shared[32];
  const int t = threadIdx.x;
  float most = -__builtin_inff(), squares = 0;
  for (int i = t; i < N; i += 32) {
    const float v = x[blockIdx.x * N + i];
    most = fmaxf(most, v);
    squares += v * v;
  }
  for (int by = 16; by; by >>= 1) {
    most = fmaxf(most, __shfl_xor(most, by, 32));
    squares += __shfl_xor(squares, by, 32);
  }
  float sum = 0;
  for (int i = t; i < N; i += 32) sum += expf(x[blockIdx.x * N + i] - most);
  for (int by = 16; by; by >>= 1) sum += __shfl_xor(sum, by, 32);
  const float by = 1 / (sum * sqrtf(squares / N + 1e-9f));
  for (int i = t; i < N; i += 32) y[blockIdx.x * N + i] = expf(x[blockIdx.x * N + i] - most) * by;
}
"""
)
KEYS = """block = [32]
grid = ["M"]
sizes = [{ M = 3, N = 20 }, { M = 5, N = 33 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]"""
PYTHON = """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"]
    e = np.exp(x - x.max(1, keepdims=True))
    return {"y": e / e.sum(1, keepdims=True) / np.sqrt((x * x).mean(1, keepdims=True) + 1e-9)}
"""
FAULTS = {
    "the largest value is not subtracted": (
        [("N + i] - most);\n  for", "N + i]);\n  for"), ("N + i] - most) * by", "N + i]) * by")],
        "high x",
    ),
    "the largest value begins at -100": ([("most = -__builtin_inff()", "most = -100")], "low x"),
    "squares go no further than 1e6": ([("squares += v * v", "squares += fminf(v * v, 1e6f)")], "huge x"),
    "nothing is added to a row of zeros": ([(" + 1e-9f", "")], "tiny x"),
    "an infinity spoils its row": (
        [("N + i] - most);\n  for", "N + i] - most) + 0 * x[blockIdx.x * N + i];\n  for")],
        "infinite x",
    ),
}
"""Fault -> its edits, and the kind of inputs that show it."""


def hunted(
    folder: Path, edits: list[tuple[str, str]], more: str = "", hunt: float = ENOUGH, changes: int = 0
) -> KernelVerdict:
    (folder / "layer.hip").write_text(edited(SOURCE, edits))
    (folder / "reference.py").write_text(PYTHON)
    path = folder / "layoutprobe.toml"
    path.write_text(f'[[kernel]]\nname = "layer"\nsource = "layer.hip"\n{more}\n{KEYS}\n')
    return check(path, checks=["numerics"], hunt=hunt, allow_reference=True, edits=changes).verdicts[0]


@pytest.mark.every_case
@pytest.mark.parametrize("fault", FAULTS)
def test_values_that_a_kernel_does_not_bear(fault: str, tmp_path: Path) -> None:
    edits, kind = FAULTS[fault]
    plain = hunted(tmp_path, edits, hunt=0)
    assert (plain.exit_code, plain.error) == (0, "")
    verdict = hunted(tmp_path, edits)
    assert verdict.hunt is not None
    assert verdict.hunt.fails
    assert (verdict.exit_code, [one.rule.id for one in verdict.findings]) == (1, ["numerics/not-borne"])
    told = verdict.hunt.bears
    assert told.partition(" ")[0] in kind.split() or _shows(tmp_path, edits, kind), told
    # What is proposed shows it without a hunt.
    assert f'bears = ["{told}"]' in str(verdict.hunt)
    again = hunted(tmp_path, edits, f'bears = ["{told}"]', hunt=0)
    assert again.exit_code == 1
    assert not any("far off" in one for one in again.reservations if told in one)


def test_what_mends_a_kernel_that_does_not_bear_them_leads(tmp_path: Path) -> None:
    """The runs that are right without are not asked alone: most changes leave them as they are."""
    edits = [("sqrtf(squares / N + 1e-9f)", "(sqrtf(squares / N) + 1e-9f)")]
    (found,) = hunted(tmp_path, edits, 'bears = ["tiny x"]', hunt=0, changes=300).findings
    assert found.rule.id == "numerics/not-borne"
    assert "squares / N + 1e-9f" in found.what
    assert "all is right" in found.what
    assert found.place.source is not None
    assert "sqrtf(squares" in SOURCE.split("\n")[found.place.source.line - 1]


def _shows(folder: Path, edits: list[tuple[str, str]], kind: str) -> bool:
    """An earlier kind may show it, too."""
    return hunted(folder, edits, f'bears = ["{kind}"]', hunt=0).exit_code == 1


def test_a_right_kernel_bears_them_all(tmp_path: Path) -> None:
    kinds = '["low x", "high x", "blank", "tiny x", "huge x", "infinite x", "nan x"]'
    verdict = hunted(tmp_path, [], f"bears = {kinds}", hunt=0)
    assert (verdict.exit_code, verdict.findings) == (0, ())
    (numerics,) = verdict.results[:1]
    assert "x is NaN here and there" in numerics.reason


def test_what_need_not_be_borne_is_not_tried(tmp_path: Path) -> None:
    verdict = hunted(tmp_path, FAULTS["the largest value begins at -100"][0], "bears = []", hunt=4)
    assert verdict.exit_code == 0
    assert verdict.hunt is not None
    assert (verdict.hunt.values, verdict.hunt.bears) == (0, "")


RARE = [("const float by = 1 /", "const float by = (most > 3.1f && most < 3.9f ? 2.f : 1.f) /")]


def test_only_a_seed_shows_it(tmp_path: Path) -> None:
    """Few of 165 numbers lie so far out, and none of the manifest's seed; no extent can vary."""
    (tmp_path / "layer.hip").write_text(edited(SOURCE, RARE))
    (tmp_path / "reference.py").write_text(PYTHON)
    keys = KEYS.replace("sizes = [{ M = 3, N = 20 }, { M = 5, N = 33 }]\n", "bears = []\nsizes = [{}]\n")
    for old, new in (('["M"]', "[5]"), ('["M", "N"]', "[5, 33]"), ('value = "N"', "value = 33")):
        keys = keys.replace(old, new)
    path = tmp_path / "layoutprobe.toml"
    head = '[[kernel]]\nname = "layer"\nsource = "layer.hip"\nseed = '
    path.write_text(f"{head}1\n{keys}\n")
    (verdict,) = check(path, checks=["numerics"], hunt=ENOUGH, allow_reference=True).verdicts
    assert verdict.hunt is not None
    assert verdict.hunt.fails
    path.write_text(f"{head}{verdict.hunt.seed}\n{keys}\n")
    assert check(path, checks=["numerics"], allow_reference=True).verdicts[0].exit_code == 1


def test_a_product_in_f32_bears_what_is_huge(tmp_path: Path) -> None:
    path = tmp_path / "layoutprobe.toml"
    path.write_text(
        MANIFEST % (0, TILE + '\nbears = ["huge A", "tiny B", "infinite A", "nan B", "high A", "blank"]')
    )
    (verdict,) = check(path, checks=["numerics"]).verdicts
    assert (verdict.exit_code, verdict.error, verdict.findings) == (0, "", ())


@pytest.mark.parametrize("wrong", ['["larger A"]', '["high C"]', '["high"]', '["blank A"]', '"blank"', "[3]"])
def test_a_kind_that_there_is_not_is_refused(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "layoutprobe.toml"
    path.write_text(MANIFEST % (0, TILE + f"\nbears = {wrong}"))
    with pytest.raises(UsageError, match="bears"):
        read_manifest(path)
