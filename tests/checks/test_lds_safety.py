"""LDS safety: undefined bits that come out, and accesses beyond the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import INTERIOR, RAGGED, Edit, line, only, tiled
from checks.test_races import at
from checks.watched import assembly_kernel, launch, small, verdict

from layoutprobe.checks import lds_safety, memory
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.subject import RunStoppedError

NAME = lds_safety.NAME
CHECKS = (lds_safety.CHECK, memory.CHECK)


def result_of(kernel: str, *, dynamic_lds: int = 0) -> CheckResult:
    out = np.full(64, 8, np.int32)
    return verdict(
        lds_safety.CHECK, launch(small("lds_small"), [out], kernel=kernel, block=64, dynamic_lds=dynamic_lds)
    )


def test_an_undefined_dword_that_comes_out() -> None:
    finding = only(result_of("half_stored"))
    assert "reads LDS that was never stored, and the value reaches the output" in finding.what
    assert finding.place.line == at("half_stored loads")
    assert (finding.place.wave, finding.place.lane, finding.place.lds_byte) == (0, 0, 63 * 4)
    assert "up to byte 251" in finding.observed
    (beside,) = (one.place for one in finding.related if one.role == "neighbour stored by")
    assert (beside.line, beside.wave, beside.lane) == (at("half_stored stores"), 1, 30)
    assert "undefined: 32 elements of p0" in finding.observed
    assert finding.count == 32


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        ("handed_over", "all that was loaded had been stored"),
        ("half_stored_half_used", "undefined bits were loaded, and none of them reached the output"),
    ],
)
def test_what_does_not_come_out_holds(kernel: str, reason: str) -> None:
    """Copying an undefined value is legal."""
    result = result_of(kernel)
    assert (result.status, result.reason) == ("holds", reason)


def test_without_lds_there_is_nothing_to_check() -> None:
    assert result_of("no_lds").status == "skipped"


def test_dynamic_lds_counts() -> None:
    with pytest.raises(RunStoppedError, match="LDS access of 4 bytes beyond the allocation") as stopped:
        result_of("beyond_the_end", dynamic_lds=256)
    assert stopped.value.fault.where["line"] == at("beyond_the_end loads")
    assert stopped.value.fault.kind == "lds-bounds"
    assert only(result_of("beyond_the_end", dynamic_lds=256 + 4 * 8)).place.lds_byte == 256


# In a GEMM, through the gate.


def test_a_tile_that_is_filled_by_half(tmp_path: Path) -> None:
    """Both operands: two lines, two stores that lack, two findings."""
    edit = ("i < BLOCK * DEPTH; i += 128", "i < BLOCK * DEPTH; i += 256")
    findings = tiled(tmp_path, edit, sizes=(INTERIOR,), checks=CHECKS)[NAME].findings
    assert [f.place.line for f in findings] == [line(tmp_path, " a[k] ="), line(tmp_path, " b[k] =")]
    # Every other group of 8 rows of A is stored, and every other group of 4 k of B.
    assert [f.place.lds_byte for f in findings] == [8 * 24 * 2, 2 * 32 * 24 * 2 + 4 * 2]
    assert [(f.place.matrix, f.place.lane) for f in findings] == [("A", 8), ("B", 0)]
    assert all(line(tmp_path, "acc = __builtin") in f.related_text for f in findings)


def test_a_ragged_tile_whose_tail_is_not_stored(tmp_path: Path) -> None:
    """Rows beyond M need no values, as their results are not stored; k beyond K does."""
    store = "a_lds[buffer][a_row * STRIDE + a_col] = a_in"
    only_rows = (store, f"if (block_m + a_row < M) {store}")
    result = tiled(tmp_path, only_rows, sizes=(RAGGED,), checks=CHECKS)[NAME]
    assert (result.status, result.reason) == (
        "holds",
        "undefined bits were loaded, and none of them reached the output",
    )
    tail = (store, f"if (a_in) {store}")
    finding = only(tiled(tmp_path, tail, sizes=("M = 40, N = 57, K = 3",), checks=CHECKS)[NAME])
    assert finding.place.line == line(tmp_path, " a[k] =")
    # Shown in a wave whose results are stored; other waves hold nothing but rows beyond M.
    assert (finding.place.matrix, finding.place.workgroup, finding.place.wave) == ("A", (0, 0, 0), 0)
    assert (finding.place.lane, finding.place.lds_byte) == (0, 3 * 2)


def test_a_register_that_nothing_has_given_a_value_is_stored() -> None:
    """The store has filled the byte: what lacks is a value. What another store has left before is none of it."""
    code = assembly_kernel(
        """
  .file 1 "k.s"
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v8, 0
  .loc 1 3
  ds_store_b32 v1, v8
  .loc 1 4
  ds_store_b32 v1, v9
  s_waitcnt lgkmcnt(0)
  .loc 1 5
  ds_load_b32 v2, v1
  .loc 1 6
  ds_store_b32 v1, v8
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v2, s[4:5]
""",
        pointers=1,
        lds=128,
    )
    finding = only(verdict(lds_safety.CHECK, launch(code, [np.zeros(32, np.int32)])))
    assert "ds_store_b32 stores registers to LDS that nothing has given a value" in finding.what
    assert (finding.place.line, finding.place.lane, finding.place.lds_byte) == ("k.s:4", 0, 0)
    assert [(one.role, one.place.line) for one in finding.related] == [("loaded by", "k.s:5")]


BEYOND: dict[str, tuple[tuple[Edit, ...], str, int]] = {
    "store": ((("a_lds[2][", "a_lds[1]["), ("b_lds[2][", "b_lds[1][")), "= b_in ?", 2 * 32 * 24 * 2),
    "load": (
        (("b[k] = b_lds[buffer][(wave_n", "b[k] = b_lds[buffer][32 * STRIDE + (wave_n"),),
        " b[k] =",
        4 * 32 * 24 * 2,
    ),
}


@pytest.mark.parametrize("name", BEYOND)
def test_an_access_beyond_the_end(tmp_path: Path, name: str) -> None:
    edits, text, first = BEYOND[name]
    results = tiled(tmp_path, *edits, sizes=(INTERIOR,), checks=CHECKS)
    finding = only(results[NAME])
    assert "beyond the allocation" in finding.what
    assert finding.place.line == line(tmp_path, text)
    assert finding.expected == f"byte addresses below {first}"
    assert int(finding.observed.split()[-1]) >= first - 15
    assert results["memory"].status == "undecided", "nothing follows from a run that stopped"
