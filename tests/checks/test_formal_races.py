"""Loads of what another wave stores: red where their value is used, and green where it is dropped."""

from __future__ import annotations

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import launch, small, verdict

from layoutprobe.checks import races
from layoutprobe.report.gate import CheckResult


def result_of(kernel: str) -> CheckResult:
    row = np.arange(128, dtype=np.int32)
    return verdict(
        races.CHECK, launch(small("formal_races"), [row, np.int32(32)], kernel=kernel, grid=2, block=64)
    )


@pytest.mark.parametrize("kernel", ["masked", "through_lds_masked"])
def test_what_a_load_gets_and_a_mask_drops_matters_to_nobody(kernel: str) -> None:
    result = result_of(kernel)
    assert result.status == "holds", result
    assert "1 with nothing between them, but what is loaded is never used" in result.reason


@pytest.mark.parametrize("kernel", ["lds_masked", "lds_masked_in_a_loop"])
def test_what_is_loaded_from_lds_and_dropped(kernel: str) -> None:
    result = result_of(kernel)
    assert result.status == "holds", result
    assert "with nothing between them, but what is loaded is never used" in result.reason


@pytest.mark.parametrize("kernel", ["lds_used", "lds_used_in_a_loop"])
def test_what_is_loaded_from_lds_and_used(kernel: str) -> None:
    finding = only(result_of(kernel))
    assert finding.rule.id in ("races/read-after-write", "races/write-after-read"), finding


@pytest.mark.parametrize("kernel", ["masked_but_one", "decided", "through_lds"])
def test_what_is_used_of_another_waves_row_is_red(kernel: str) -> None:
    finding = only(result_of(kernel))
    assert finding.rule.id == "races/global-overwrite", finding
