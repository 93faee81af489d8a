"""Planted faults of layout and order for which `check --suggest` finds a change that mends them.

The change is put into the planted source, and the kernel is run from there once more.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign.fault import plant
from campaign.faults import FAULTS
from campaign.planting import empty_folder

from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel

ENOUGH = 3600
"""Seconds: the search ends with what it finds, however slow the machine is."""
MENDED = (
    "asmOpt: second B fragment 15 rows on",
    "kunroll: B fragments of the first half of the step only",
    "coop: second chunk of A loaded from the rows of the first",
    "highOcc: rows and columns of a chunk of B exchanged",
    "zerocopy: B fragments without the lane's column",
    "swizzled: A filled down a column (the historical bug)",
    "swizzled: B filled along a row",
    "standard: B read without the padding",
    "hilbert: A stored without the padding",
    "highOcc: rows of B one chunk too far apart on the load side",
    "kunroll: rows of LDS 32 halves apart for loads of A, 40 for stores",
    "coop: the tile of B read at the place of A",
    "swizzled: swizzle on the load of A only",
    "swizzled: swizzle on the store of B only",
    "xor_optimized: stores of A without the swizzle",
    "standard: no barrier at the end of the step",
    "hilbert: no barrier before the first step",
    "noPrefetch: no barrier between stores and loads",
    "quad: no barrier between prologue and first step",
    "adaptive: no barrier at the end of the step",
    "standard: the K loop ends a step too early",
    "coop: a step too many, on the stale tile",
    "adaptive: tiles advance by half a step",
    "adaptive: C is added without beta",
    "f16-16x16: no barrier before the next tile",
)
"""Names of faults of the campaign."""


@pytest.mark.long
@pytest.mark.few(2)
@pytest.mark.parametrize("name", MENDED)
def test_the_change_that_is_shown_mends_the_fault(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fault,) = [fault for fault in FAULTS if fault.name == name]
    folder = empty_folder(request.config, "fixes", name)
    monkeypatch.chdir(folder)
    case = plant(folder, fault)
    before = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
    verdict = check_kernel(case, case.arches[0], CHECKS, suggest=ENOUGH)
    assert verdict.exit_code == 1
    assert {path: path.read_text() for path in before} == before, "the user's files stay as they are"
    assert verdict.mending is not None
    fix = verdict.mending.fix
    assert fix is not None, verdict.mending
    assert fix.finding in verdict.findings
    path = (case.file.parent / fix.file).resolve()
    _replace(path, fix.line, fix.old, fix.new)
    mended = check_kernel(
        case, case.arches[0], [check for check in CHECKS if check.name == fix.finding.check]
    )
    assert mended.exit_code == 0, mended.findings


def _replace(path: Path, line: int, old: tuple[str, ...], new: tuple[str, ...]) -> None:
    lines = path.read_text().split("\n")
    assert tuple(lines[line - 1 : line - 1 + len(old)]) == old
    lines[line - 1 : line - 1 + len(old)] = new
    path.write_text("\n".join(lines))


def test_there_are_as_many_as_said() -> None:
    assert len(set(MENDED)) >= 20
