"""Arrays of pointers in device memory: batched products of which each lies wherever it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct

from layoutprobe.errors import UsageError
from layoutprobe.gate.gate import check
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

SOURCE = Path(__file__).parent / "kernels" / "pointers.hip"
MANIFEST = """
[[kernel]]
name = "batched"
source = "kernel.hip"
block = [32]
grid = ["(N + 15) / 16", "(M + 15) / 16", "G"]
sizes = [{ M = 16, N = 32, K = 16, G = 3 }, { M = 21, N = 19, K = 37, G = 2 }]
contract = { kind = "gemm", bias = "bias" }
argument = [
  { name = "A", role = "in", dtype = "f16", shape = ["G", "M", "K"], matrix = "A", pointers = true },
  { name = "B", role = "in", dtype = "f16", shape = ["G", "K", "N"], matrix = "B", pointers = true },
  { name = "bias", role = "in", dtype = "f32", shape = ["G", 1, "N"], pointers = true },
  { name = "C", role = "out", dtype = "f32", shape = ["G", "M", "N"], matrix = "C", pointers = true },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]
"""


def verdict(folder: Path, old: str = "", new: str = "") -> KernelVerdict:
    text = SOURCE.read_text()
    assert not old or text.count(old) == 1
    (folder / "kernel.hip").write_text(text.replace(old, new))
    (folder / "layoutprobe.toml").write_text(MANIFEST)
    return check(folder / "layoutprobe.toml").verdicts[0]


def test_a_right_one_is_green_and_its_operands_are_followed(tmp_path: Path) -> None:
    found = verdict(tmp_path)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0)
    results = {one.check: one.status for one in found.results}
    assert results["operand-provenance"] == results["epilogue"] == results["numerics"] == "holds"


class Fault(Struct, frozen=True):
    """An edit, and what is said of it: a rule, words of the finding, and a text of its line."""

    old: str
    new: str
    rule: str
    words: str
    at: str


FAULTS = {
    "the first product's A for all": Fault(
        "a_of = A[g]",
        "a_of = A[0]",
        "operand-provenance/batch-stride",
        "every batch takes A of batch 0: its first pointer is taken for all; A[1][0][0]",
        "a_of[",
    ),
    "A transposed": Fault(
        "As[lane % 16][i]", "As[i][lane % 16]", "operand-provenance/transposed", "A[0][0][1]", "a[i] ="
    ),
    "as if one allocation": Fault(
        "b_of = B[g]",
        "b_of = B[0] + g * K * N",
        "operand-provenance/batch-stride",
        "from its first pointer on, and each lies where a pointer of its own leads; B[1][0][0]",
        "b_of = B[0]",
    ),
    "the next product's C": Fault(
        "c_of = C[g]", "c_of = C[(g + 1) % gridDim.z]", "epilogue/", "C[1][0][0]", "c_of["
    ),
    "the bias of the first": Fault(
        "bias[g][col]",
        "bias[0][col]",
        "numerics/wrong-epilogue",
        "every batch takes bias of batch 0",
        "bias[0]",
    ),
    "beyond the last pointer": Fault(
        "a_of = A[g]", "a_of = A[g + 1]", "memory/load-out-of-bounds", "the pointers of buffer A", "A[g + 1]"
    ),
    "a row too many": Fault(
        "row < M && col < N)", "row <= M && col < N)", "epilogue/into-padding", "C", "c_of["
    ),
    "the last row of A without a guard": Fault(
        "row0 + r < M &&", "row0 + r <= M &&", "memory/load-out-of-bounds", "buffer A", "a_of["
    ),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.every_case
def test_a_wrong_one_is_red_with_its_operand_and_line(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    found = verdict(tmp_path, fault.old, fault.new)
    assert found.exit_code == 1, found
    first = found.findings[0]
    told = f"{first.rule.id}: {first.what}; {first.expected}; {first.observed}"
    assert first.rule.id.startswith(fault.rule), told
    assert fault.words in told
    assert first.place.source is not None
    assert fault.at in (tmp_path / "kernel.hip").read_text().split("\n")[first.place.source.line - 1]


def test_the_pointers_themselves_are_not_the_kernels_to_change(tmp_path: Path) -> None:
    found = verdict(tmp_path, "c_of = C[g]", "c_of = (float*)C")
    rules = {one.rule.id: one.what for one in found.every}
    assert rules["memory/read-only-store"] == "store into the pointers of buffer C, which is read-only"


def test_what_pointers_lead_to_lies_apart(tmp_path: Path) -> None:
    """Aligned as by hipMalloc, with memory between that is nobody's, and none behind the last."""
    (tmp_path / "kernel.hip").write_text(SOURCE.read_text())
    (tmp_path / "layoutprobe.toml").write_text(MANIFEST)
    (case,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
    a = bind(case, {"M": 21, "N": 19, "K": 37, "G": 3}).buffers["A"]
    assert (a.shape, a.strides) == ((3, 21, 37), (1024, 37, 1))
    assert a.pointers == (0, 2048, 4096)
    assert a.size == 2 * 1024 + 21 * 37
    assert bind(case, {"M": 21, "N": 19, "K": 37, "G": 3}).buffers["bias"].strides == (128, 19, 1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('shape = ["G", "M", "K"]', 'shape = ["K"]', "two axes or more"),
        ('shape = ["G", 1, "N"]', 'shape = ["G", "N"], order = "col"', "behind that of the pointers"),
        ('matrix = "A", pointers = true', 'matrix = "A", pointers = 3', "pointers"),
    ],
)
def test_what_makes_no_array_of_pointers_is_refused(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert MANIFEST.count(old) == 1
    (tmp_path / "layoutprobe.toml").write_text(MANIFEST.replace(old, new))
    with pytest.raises(UsageError, match=says):
        read_manifest(tmp_path / "layoutprobe.toml")
