"""Kernels that are launched one after the other on shared buffers: each by itself, and what they make together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import Struct

from layoutprobe.errors import UsageError
from layoutprobe.gate.gate import check
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

SOURCE = Path(__file__).parent / "kernels" / "sequence.hip"
HEAD = '[[kernel]]\nsource = "kernel.hip"\n'
SPLIT = f"""{HEAD}name = "partial"
symbol = "partial"
block = [32]
grid = ["(N + 15) / 16", "(M + 15) / 16", "S"]
sizes = [{{ M = 16, N = 32, K = 48, S = 3 }}, {{ M = 21, N = 19, K = 37, S = 2 }}]
contract = {{ kind = "gemm", split_k = true }}
argument = [
  {{ name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" }},
  {{ name = "B", role = "in", dtype = "f16", shape = ["K", "N"], matrix = "B" }},
  {{ name = "parts", role = "out", dtype = "f32", shape = ["S", "M", "N"], matrix = "D" }},
  {{ name = "M", role = "scalar", dtype = "i32", value = "M" }},
  {{ name = "N", role = "scalar", dtype = "i32", value = "N" }},
  {{ name = "K", role = "scalar", dtype = "i32", value = "K" }},
  {{ name = "depth", role = "scalar", dtype = "i32", value = "(K + S - 1) / S" }},
]
{HEAD}name = "reduce"
symbol = "reduce"
after = ["partial"]
block = [64]
grid = ["(M * N + 63) / 64"]
sizes = [{{ M = 16, N = 32, K = 48, S = 3 }}, {{ M = 21, N = 19, K = 37, S = 2 }}]
contract = {{ kind = "gemm", bias = "bias", activation = "relu" }}
argument = [
  {{ name = "parts", role = "in", dtype = "f32", shape = ["S", "M", "N"] }},
  {{ name = "bias", role = "in", dtype = "f32", shape = ["N"] }},
  {{ name = "C", role = "out", dtype = "f32", shape = ["M", "N"], matrix = "D" }},
  {{ name = "M", role = "scalar", dtype = "i32", value = "M" }},
  {{ name = "N", role = "scalar", dtype = "i32", value = "N" }},
  {{ name = "splits", role = "scalar", dtype = "i32", value = "S" }},
]
"""
QUANTISED = f"""{HEAD}name = "quantise"
symbol = "quantise"
block = [32]
grid = ["M"]
sizes = [{{ M = 16, N = 32, K = 16 }}, {{ M = 21, N = 19, K = 37 }}]
contract = {{ kind = "none" }}
argument = [
  {{ name = "x", role = "in", dtype = "f32", shape = ["M", "K"] }},
  {{ name = "q", role = "out", dtype = "i8", shape = ["M", "K"] }},
  {{ name = "scale", role = "out", dtype = "f32", shape = ["M", 1] }},
  {{ name = "K", role = "scalar", dtype = "i32", value = "K" }},
]
{HEAD}name = "gemm"
symbol = "gemm_i8"
after = ["quantise"]
block = [32]
grid = ["(N + 15) / 16", "(M + 15) / 16"]
sizes = [{{ M = 16, N = 32, K = 16 }}, {{ M = 21, N = 19, K = 37 }}]
contract = {{ kind = "reference", function = "reference.py:layer" }}
argument = [
  {{ name = "q", role = "in", dtype = "i8", shape = ["M", "K"], matrix = "A" }},
  {{ name = "scale", role = "in", dtype = "f32", shape = ["M", 1] }},
  {{ name = "w", role = "in", dtype = "i8", shape = ["K", "N"], matrix = "B" }},
  {{ name = "y", role = "out", dtype = "f32", shape = ["M", "N"], matrix = "D" }},
  {{ name = "M", role = "scalar", dtype = "i32", value = "M" }},
  {{ name = "N", role = "scalar", dtype = "i32", value = "N" }},
  {{ name = "K", role = "scalar", dtype = "i32", value = "K" }},
]
"""
PYTHON = """
import numpy as np
def layer(inputs, sizes):
    x = inputs["x"].astype(np.float32)
    most = np.abs(x).max(1, keepdims=True)
    s = np.where(most > 0, most / np.float32(127), np.float32(1))
    return {"y": (np.rint(x / s).astype(np.float64) @ inputs["w"]) * s}
"""


def verdicts(
    folder: Path,
    manifest: str,
    old: str = "",
    new: str = "",
    more: tuple[str, str] = ("", ""),
    python: str = PYTHON,
) -> Mapping[str, KernelVerdict]:
    text = SOURCE.read_text()
    assert not old or text.count(old) == 1
    assert not more[0] or manifest.count(more[0]) == 1
    (folder / "kernel.hip").write_text(text.replace(old, new))
    (folder / "reference.py").write_text(python)
    (folder / "layoutprobe.toml").write_text(manifest.replace(*more) if more[0] else manifest)
    report = check(folder / "layoutprobe.toml", allow_reference=True)
    return {one.name: one for one in report.verdicts}


@pytest.mark.parametrize("manifest", [SPLIT, QUANTISED], ids=["split K", "quantised"])
def test_right_ones_are_green_by_one_contract(manifest: str, tmp_path: Path) -> None:
    found = verdicts(tmp_path, manifest)
    for verdict in found.values():
        assert (verdict.error, verdict.findings, verdict.exit_code) == ("", (), 0), verdict
        assert not any("not judged" in one for one in verdict.reservations)
    first, last = found.values()
    statuses = {one.check: one.status for one in last.results}
    assert statuses["numerics"] == "holds"
    if manifest is SPLIT:
        assert {one.check: one.status for one in first.results}["operand-provenance"] == "holds"
    else:
        reasons = {one.check: one.reason for one in first.results}
        assert reasons["numerics"].endswith("values: gemm, which is launched behind it, is judged by them")


@pytest.mark.parametrize("wrong", [False, True])
def test_a_reference_that_takes_what_was_there_before_is_the_cause(tmp_path: Path, wrong: bool) -> None:
    """But not where the kernel is wrong as well: what it stores comes of no contents of the buffer then."""
    cleared = 'name = "q", role = "out"', 'name = "q", role = "inout", initial = "zero"'
    early = PYTHON.replace("np.rint(x / s)", 'inputs["q"]')
    edit = ("scale[row] * acc[i]", "scale[row] * acc[i ^ 1]") if wrong else ("", "")
    verdict = verdicts(tmp_path, QUANTISED, *edit, more=cleared, python=early)["gemm"]
    named = [one for one in verdict.findings if one.name == "reference-of-before"]
    assert verdict.exit_code == 1
    assert bool(named) is not wrong
    assert wrong or "takes q as it was before the first launch, where quantise makes it" in named[0].what


@pytest.mark.parametrize("steps", [16, 32])
def test_a_part_for_which_no_k_is_left_is_zero(tmp_path: Path, steps: int) -> None:
    """It has no accumulator. Where k were left for it, they are missing."""
    partial = SPLIT[: SPLIT.index(f'{HEAD}name = "reduce"')].replace("(K + S - 1) / S", "16")
    sizes = f"sizes = [{{ M = 16, N = 16, K = {steps}, S = 3 }}]"
    text = re.sub("sizes = .*", sizes, partial)
    idle = "first = blockIdx.z == 1 ? K : blockIdx.z * depth"
    (verdict,) = verdicts(tmp_path, text, "first = blockIdx.z * depth", idle).values()
    statuses = {one.check: one.status for one in verdict.results}
    expected = "holds" if steps == 16 else "finding"
    assert (statuses["operand-provenance"], statuses["epilogue"]) == (expected, "holds")
    assert statuses["numerics"] == expected


class Fault(Struct, frozen=True):
    """An edit of the source or the manifest, and what is said of it.

    Attributes:
        manifest: which sequence.
        old, new: the edit of the source.
        kernel, rule: which launch is red, and its first finding.
        words: of that finding.
        at: a text of its line; "" where it has none.
        more: an edit of the manifest.
    """

    manifest: str
    old: str
    new: str
    kernel: str
    rule: str
    words: str
    at: str
    more: tuple[str, str] = ("", "")


FAULTS = {
    "a launch leaves out a column": Fault(
        SPLIT,
        "if (row < M && c < N) parts",
        "if (row < M && c < N - 1) parts",
        "reduce",
        "numerics/never-defined",
        "parts[0][0][31] is read, which partial, launched before, has not stored",
        "sum += parts",
    ),
    "a launch has too few workgroups": Fault(
        SPLIT,
        "",
        "",
        "reduce",
        "numerics/never-defined",
        "parts[2][0][0] is read, which partial, launched before, has not stored",
        "sum += parts",
        ('"(M + 15) / 16", "S"]', '"(M + 15) / 16", "S - 1"]'),
    ),
    "some rows have no scale": Fault(
        QUANTISED,
        "if (lane == 0) scale",
        "if (lane == 0 && row % 4) scale",
        "gemm",
        "numerics/never-defined",
        "scale[0][0] is read, which quantise, launched before, has not stored",
        "scale[row] * acc",
    ),
    "the last part is not added": Fault(
        SPLIT, "s < splits", "s < splits - 1", "reduce", "operand-provenance/incomplete-sum", "k 32-47", ""
    ),
    "the bias of the row": Fault(
        SPLIT,
        "bias[at % N]",
        "bias[at / N]",
        "reduce",
        "numerics/wrong-epilogue",
        "bias is indexed by the row",
        "bias[at / N]",
    ),
    "what a launch before made is overwritten": Fault(
        SPLIT,
        "  C[at] = fmaxf(sum, 0.f);",
        "  C[at] = fmaxf(sum, 0.f);\n  const_cast<float*>(parts)[at] = 0.f;",
        "reduce",
        "epilogue/into-input",
        "parts",
        "const_cast",
    ),
    "a launch before runs over its input": Fault(
        SPLIT,
        "? A[r * K + k0 + i]",
        "? A[r * K + k0 + i + M * K]",
        "reduce",
        "memory/load-out-of-bounds",
        "partial, which is launched before: ",
        "A[r * K",
    ),
    "bytes are cut off, not rounded": Fault(
        QUANTISED,
        "(signed char)rintf(",
        "(signed char)(",
        "gemm",
        "numerics/wrong-values",
        "y is wrong",
        "scale[row] * acc",
    ),
    "an operand behind another launch is transposed": Fault(
        QUANTISED,
        "w[(k0 + i) * N + c]",
        "w[c * K + k0 + i]",
        "gemm",
        "operand-provenance/transposed",
        "B is loaded",
        "w[c * K",
    ),
    "the scale of the column": Fault(
        QUANTISED,
        "scale[row] * acc",
        "scale[r] * acc",
        "gemm",
        "numerics/wrong-epilogue",
        "scale is indexed by the column",
        "scale[r]",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.every_case
def test_a_wrong_one_is_red_where_it_shows(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    verdict = verdicts(tmp_path, fault.manifest, fault.old, fault.new, fault.more)[fault.kernel]
    found = verdict.findings[0]
    assert (found.rule.id, verdict.exit_code) == (fault.rule, 1), verdict.findings
    assert fault.words in found.what
    if fault.at:
        assert found.place.source is not None
        assert fault.at in (tmp_path / "kernel.hip").read_text().split("\n")[found.place.source.line - 1]


def test_what_is_wrong_before_is_told_once(tmp_path: Path) -> None:
    """The last launch has no fault of its own: its finding leads to that of the first."""
    found = verdicts(tmp_path, SPLIT, "? A[r * K + k0 + i]", "? A[r * K + k0 + (i ^ 1)]")
    (first, *_), (last,) = (found[name].findings for name in ("partial", "reduce"))
    assert first.rule.id.startswith("operand-provenance/")
    said = (
        f"it goes on with wrong values: partial, launched before, has {first.rule.id} at {first.place.line}"
    )
    assert (last.what, found["reduce"].exit_code) == (said, 1)
    assert last.hint == f"mend partial first: {first.what}"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('after = ["partial"]', 'after = ["reduce"]', "after"),
        ('after = ["partial"]', 'after = ["nobody"]', "after"),
        ('"in", dtype = "f32", shape = ["S", "M", "N"]', '"in", dtype = "f32", shape = ["M", "N"]', "another size"),
        ('kind = "gemm", bias = "bias"', 'kind = "gemm", bias = "parts"', "does not fit"),
    ],
)  # fmt: skip
def test_what_makes_no_sequence_is_refused(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert SPLIT.count(old) == 1
    (tmp_path / "layoutprobe.toml").write_text(SPLIT.replace(old, new))
    with pytest.raises(UsageError, match=says):
        read_manifest(tmp_path / "layoutprobe.toml")


def test_a_kernel_alone_brings_those_before_it(tmp_path: Path) -> None:
    """And without them its contract has no A."""
    verdicts(tmp_path, SPLIT)
    report = check(tmp_path / "layoutprobe.toml", kernels=["reduce"])
    assert [(one.name, one.exit_code) for one in report.verdicts] == [("reduce", 0)]
    (tmp_path / "layoutprobe.toml").write_text(SPLIT.replace('after = ["partial"]\n', ""))
    with pytest.raises(UsageError, match="contract"):
        read_manifest(tmp_path / "layoutprobe.toml")
