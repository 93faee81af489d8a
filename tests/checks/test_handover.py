"""Global memory between waves: never green where waves hand it over, and green where each has its own."""

from __future__ import annotations

import numpy as np
import pytest
from checks.gemm_lab import KERNELS, only
from checks.watched import launch, small, verdict

from layoutprobe.checks import races
from layoutprobe.report.gate import CheckResult


def result_of(kernel: str) -> CheckResult:
    buffers = [np.zeros(128, np.int32), np.zeros(128, np.int32)]
    return verdict(races.CHECK, launch(small("global_small"), buffers, kernel=kernel, grid=2, block=64))


def at(text: str) -> str:
    """ "global_small.hip:12": the one line with that text."""
    lines = (KERNELS / "global_small.hip").read_text().split("\n")
    (found,) = (i for i, one in enumerate(lines, 1) if text in one)
    return f"global_small.hip:{found}"


@pytest.mark.parametrize("kernel", ["own_only", "halves", "everybody_adds"])
def test_waves_that_share_nothing_have_nothing_to_order(kernel: str) -> None:
    assert result_of(kernel).status == "skipped", result_of(kernel)


@pytest.mark.parametrize("kernel", ["with_barrier", "next_workgroup"])
def test_a_handover_is_undecided_and_names_both_lines(kernel: str) -> None:
    """A barrier orders the waves, but not their caches; of workgroups, nothing orders even the waves."""
    result = result_of(kernel)
    assert result.status == "undecided", result
    assert at(f"// {kernel} loads") in result.reason
    assert f"from global_store_b32 at {at(f'// {kernel} stores')}" in result.reason


def test_a_handover_within_a_workgroup_wants_a_barrier() -> None:
    finding = only(result_of("no_barrier"))
    assert finding.what == "a wave loads global memory that another wave stores, with no barrier between"
    assert finding.place.line == at("// no_barrier loads")
    assert at("// no_barrier stores") in finding.related_text
    assert finding.count == 128


def test_a_store_among_the_atomics_of_another_workgroup() -> None:
    finding = only(result_of("one_stores"))
    assert finding.what.endswith("is stored by one wave and added to by another, in no given order")
    lines = {finding.place.line, finding.related[0].place.line}
    assert lines == {at("// one_stores stores"), at("// one_stores adds")}


def test_a_counter_may_order_a_store_and_atomics() -> None:
    result = result_of("waits_for_a_counter")
    assert result.status == "undecided", result
    assert at("// waits_for_a_counter stores") in result.reason
