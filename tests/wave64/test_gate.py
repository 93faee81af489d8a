"""The gate on gfx11 in wave64: correct GEMMs of every type are green, wrong layouts and copies are red."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import Edit
from gfx12.gate_lab import TYPES, direct, finding_of, statuses, through_lds

from layoutprobe.checks import epilogue, numerics, operand_provenance, races
from layoutprobe.checks.registry import CHECKS

TARGET = "gfx1151"
EVERY = {check.name for check in CHECKS}
LAYOUT = (operand_provenance.CHECK, epilogue.CHECK, numerics.CHECK)
A = "x[e] = a[lane % 16][k_of(lane, e)]"
ROW = "row + row_of(lane, v)"
SYNC = """    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
"""


def test_a_correct_gemm_is_green(tmp_path: Path) -> None:
    results = through_lds(tmp_path, TARGET, 64)
    assert statuses(results) == dict.fromkeys(EVERY, "holds") | {"bank-conflicts": "skipped"}
    assert results["bank-conflicts"].reason.startswith("no LDS phase rules for waves of 64 lanes")


@pytest.mark.parametrize(("form", "opsel"), [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0)])
def test_every_type(tmp_path: Path, form: int, opsel: int) -> None:
    results = direct(tmp_path, TARGET, 64, form, opsel=opsel, checks=LAYOUT)
    assert set(statuses(results).values()) == {"holds"}, TYPES[form]


WRONG: dict[str, tuple[tuple[Edit, ...], str, str, str]] = {
    # Edits: check, expected, observed.
    "rows as in wave32": (((ROW, "row + 2 * v + lane / 16"),), "epilogue", "C[4][0]", "stored to C[2][0]"),
    "columns of the upper lanes": (
        (("+ 16 * wave + lane % 16] = sum[v]", "+ 16 * wave + lane % 32 % 16 ^ lane / 32] = sum[v]"),),
        *("epilogue", "C[2][0]", "stored to C[2][1]"),
    ),
    "A in half of the lanes": (
        ((A, "x[e] = lane < 32 ? a[lane % 16][e] : (half)0"),), "operand-provenance", "A[2][0]", "zero",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_layout_is_red(tmp_path: Path, case: str) -> None:
    edits, check, expected, observed = WRONG[case]
    results = through_lds(tmp_path, TARGET, 64, *edits, checks=LAYOUT)
    finding = finding_of(results, check)
    assert (finding.expected, finding.observed) == (expected, observed)
    assert {name for name, status in statuses(results).items() if status != "holds"} == {check, "numerics"}


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_a_stale_copy_is_red_though_the_result_is_right(tmp_path: Path, apart: int) -> None:
    """Row i of A is read from lanes 16 * (i % 4) + i; the copy in the group that lies `apart` is wrong."""
    wrong = f"(lane / 16 - lane % 4 & 3) == {apart}"
    results = through_lds(
        tmp_path, TARGET, 64, (A, f"x[e] = {wrong} ? (half)0 : a[lane % 16][e]"), checks=LAYOUT
    )
    assert results["numerics"].status == "holds"
    finding = finding_of(results, "operand-provenance")
    assert finding.what.startswith("the copies of A in lanes ")
    lane = finding.place.lane
    assert isinstance(lane, int)
    assert (lane // 16 - lane % 4) % 4 == apart
    assert finding.expected == f"A[{lane % 16}][0], as in lane {lane % 16 + 16 * (lane % 4)}"
    assert finding.observed == "zero"


def test_a_missing_barrier_is_red(tmp_path: Path) -> None:
    edit = (SYNC + "    Fragment x, y;", "    Fragment x, y;")
    finding = finding_of(through_lds(tmp_path, TARGET, 64, edit, checks=(races.CHECK,)), "races")
    assert "read after write" in finding.what
    edit = ("    sum = WMMA(x, y, sum);\n" + SYNC, "    sum = WMMA(x, y, sum);\n")
    finding = finding_of(through_lds(tmp_path, TARGET, 64, edit, checks=(races.CHECK,)), "races")
    assert "write after read" in finding.observed


def test_lanes_beyond_the_32nd_are_told_apart(tmp_path: Path) -> None:
    """A finding in the upper half of a wave names its lane, and traces the value to the lane that stored it."""
    wrong = "a[lane % 16 ^ (lane == 38)][e]"
    results = through_lds(tmp_path, TARGET, 64, (A, f"x[e] = {wrong}"), checks=LAYOUT)
    finding = finding_of(results, "operand-provenance")
    assert (finding.place.lane, finding.expected, finding.observed) == (38, "A[6][0]", "A[7][0]")
    # Element 16 * 7 of the tile, which thread 112 stored.
    assert "stored by ds_store_b16" in finding.related_text
    assert "(wave 1, lane 48)" in finding.related_text
