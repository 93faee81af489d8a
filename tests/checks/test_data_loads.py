"""Loads from behind the caches that fetch data: ordered like any others, unless what they bring is compared."""

from __future__ import annotations

import numpy as np
import pytest
from checks.gemm_lab import KERNELS
from checks.watched import TARGET, verdict

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.checks import races
from layoutprobe.codeobj.elf import load
from layoutprobe.report.gate import CheckResult
from layoutprobe.toolchain.compile import compile_hip


def result_of(bug: int) -> CheckResult:
    source = KERNELS / "last_workgroup.hip"
    code = load(compile_hip(source, target=TARGET, defines={"BUG": str(bug)}).data)
    numbers = np.arange(2000, dtype=np.float32)
    buffers = [numbers, np.zeros(4, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32)]
    arguments: list[Buffer | np.generic] = [*map(Buffer, buffers), np.int32(2000)]
    return verdict(races.CHECK, Launch(code, "reduce", (4, 1, 1), (128, 1, 1), arguments, 0))


@pytest.mark.parametrize("right", [0, 4, 5])
def test_partial_sums_behind_a_fence_and_a_counter_are_in_order(right: int) -> None:
    """Also without the second fence, as these loads bypass the caches; and with it, by plain loads."""
    assert result_of(right).status == "holds"


@pytest.mark.parametrize(
    ("bug", "rule"),
    [(1, "races/signal-before-store"), (2, "races/global-handover")],
    ids=["no fence before the counter", "one workgroup too early"],
)
def test_partial_sums_that_are_taken_too_early(bug: int, rule: str) -> None:
    findings = result_of(bug).findings
    assert findings[0].rule.id == rule
    assert "flat_load_b32" in findings[0].observed
