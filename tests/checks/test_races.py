"""Races and barriers: each kind red at its lines, whatever order the emulator runs waves in; neighbours green."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import INTERIOR, KERNELS, Edit, line, only, tiled
from checks.watched import launch, small, verdict

from layoutprobe.checks import numerics, races
from layoutprobe.report.gate import CheckResult


def result_of(kernel: str, *, block: int = 64) -> CheckResult:
    given = launch(small("lds_small"), [np.arange(64, dtype=np.int32)], kernel=kernel, block=block)
    return verdict(races.CHECK, given)


def at(text: str) -> str:
    """ "lds_small.hip:12": the one line with that text."""
    lines = (KERNELS / "lds_small.hip").read_text().split("\n")
    (found,) = (i for i, one in enumerate(lines, 1) if text in one)
    return f"lds_small.hip:{found}"


@pytest.mark.parametrize(
    "kernel",
    [
        "handed_over",
        "own_wave_only",
        "overwritten_in_time",
        "both_store_the_same",
        "both_add",
        "specialised_waves",
    ],
)
def test_what_is_ordered_or_harmless_holds(kernel: str) -> None:
    result = result_of(kernel)
    assert (result.status, result.reason) == ("holds", "2 waves a workgroup"), result


def test_equal_values_are_counted() -> None:
    assert result_of("both_store_the_same").metrics["harmless double stores"] == 32


RACES = {
    # Kernel: words, kind, who comes second and where, who comes first and where.
    "no_barrier": (
        "reads what another wave writes",
        "read after write",
        "no_barrier loads",
        "no_barrier stores",
    ),
    "overwritten_early": (
        "overwrites what another wave reads",
        "write after read",
        "overwritten_early stores",
        "overwritten_early loads",
    ),
    "both_store": (
        "overwrites what another wave writes",
        "write after write",
        "both_store: wave",
        "both_store: wave",
    ),
}


@pytest.mark.parametrize("kernel", RACES)
def test_a_race_is_named_with_both_lines(kernel: str) -> None:
    words, kind, second, first = RACES[kernel]
    finding = only(result_of(kernel))
    assert words in finding.what
    assert finding.what.endswith(f"with no barrier between: {kind}")
    (first_place,) = (other.place for other in finding.related)
    place = finding.place
    assert (place.kernel, place.workgroup) == (kernel, (0, 0, 0))
    waves = {place.wave, first_place.wave}
    assert waves == {0, 1}
    lines = [place.line, first_place.line]
    if kernel == "both_store":
        assert set(lines) == {at("both_store: wave 0"), at("both_store: wave 1")}
    else:
        assert lines == [at(second), at(first)]
    byte, lane = place.lds_byte, place.lane
    assert byte is not None
    assert lane is not None
    assert place.wave is not None
    # The element of `tile` that the second wave touches.
    mine = place.wave * 32 + lane
    assert byte // 4 == {"no_barrier": mine ^ 32, "overwritten_early": mine, "both_store": lane}[kernel]
    assert finding.expected.startswith("a barrier between ")


@pytest.mark.parametrize("wave", [0, 1])
def test_sums_are_read_before_the_other_wave_has_added(wave: int) -> None:
    """Whichever wave reads: its own atomic does not hide the other's."""
    finding = only(result_of(f"added_up_read_by_{wave}"))
    assert finding.what.startswith(f"wave {wave} reads what another wave writes (wave {1 - wave})")
    assert finding.place.line == at("// added_up reads")
    assert at("// added_up adds") in finding.related_text


def test_a_store_over_another_waves_atomic() -> None:
    finding = only(result_of("added_up_overwritten"))
    assert finding.what.startswith("wave 1 overwrites what another wave writes (wave 0)")
    assert finding.place.line == at("// overwritten stores")
    assert at("// overwritten adds") in finding.related_text


@pytest.mark.parametrize(
    ("kernel", "first", "second"),
    [
        ("zeroed_and_counted", "// counted stores", "// counted adds"),
        ("scattered_over", "// scattered stores", "// scattered again"),
    ],
)
def test_what_the_same_wave_did_hides_no_race(kernel: str, first: str, second: str) -> None:
    finding = only(result_of(kernel))
    assert finding.what.endswith("with no barrier between: write after write")
    assert {finding.place.line, finding.related[0].place.line} == {at(first), at(second)}
    assert {finding.place.wave, finding.related[0].place.wave} == {0, 1}


def test_one_wave_races_with_nobody() -> None:
    result = result_of("own_wave_only", block=32)
    assert (result.status, result.reason) == ("holds", "one wave a workgroup: nobody to race with")


def test_waves_that_meet_at_different_barriers() -> None:
    finding = only(result_of("barrier_in_one_wave"))
    assert finding.what.startswith("divergent barrier: wave ")
    lines = {
        str(finding.place.line),
        *(part.split(",")[0].split(";")[0] for part in finding.observed.split(" at ")[1:]),
    }
    assert {at("// one wave's barrier"), at("// everybody's barrier")} <= lines
    assert finding.expected == "every wave of the workgroup passes the same barriers"
    assert (
        "they passed 2 and 1 barriers in all" in finding.observed or "they passed 1 and 2" in finding.observed
    )


def test_a_wave_that_never_comes_to_a_barrier() -> None:
    finding = only(result_of("barrier_skipped"))
    assert finding.rule.id == "races/divergent-barrier"
    assert finding.what.startswith("divergent barrier: wave 1 never comes to the barrier that wave 0 passes")
    assert finding.place.line == at("// skipped by the other")
    assert finding.observed.startswith("1 of 2 waves end without it")
    assert at("// reads what was stored before") in finding.related_text


def test_a_wave_may_leave_early() -> None:
    assert result_of("leaves_early").status == "holds"


def test_without_lds_there_is_nothing_to_check() -> None:
    assert result_of("no_lds").status == "skipped"


# In a GEMM: one missing barrier is one finding, also where the result happens to be right.

END = ("    buffer ^= 1;\n    __syncthreads();", "    buffer ^= 1;")
FIRST = ("stage(0, 0);\n  __syncthreads();", "stage(0, 0);")
SINGLE = ("stage(buffer ^ 1, k0 + DEPTH)", "stage(buffer, k0 + DEPTH)"), ("    buffer ^= 1;\n", "")
LOADS, STORES = (" a[k] =", " b[k] ="), ("= a_in ?", "= b_in ?")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("edits", "kinds"),
    [
        ((END,), {"read after write", "write after read"}),
        ((FIRST,), {"read after write"}),
        (SINGLE, {"read after write"}),
    ],
    ids=["end of the loop", "before the loop", "one buffer instead of two"],
)
def test_a_missing_barrier_is_one_finding(tmp_path: Path, edits: tuple[Edit, ...], kinds: set[str]) -> None:
    results = tiled(tmp_path, *edits, sizes=(INTERIOR,), checks=(races.CHECK, numerics.CHECK))
    finding = only(results["races"])
    assert set(finding.observed.split(": ")[1].split(", ")) >= kinds
    stores = {line(tmp_path, text) for text in STORES}
    ends = {finding.place.line, finding.related[0].place.line}
    assert ends & stores
    if edits == (FIRST,):
        assert results["numerics"].status == "holds", "lock-step hides it from the result"
    else:  # of the step that is peeled, the compiler gives the line of the loop
        assert ends - stores <= {line(tmp_path, text) for text in LOADS}
