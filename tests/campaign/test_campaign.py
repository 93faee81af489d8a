"""The campaign: every planted fault is found and named, and the correct kernels are clean.

docs/campaign.md shows what was found, see benchmarks/campaign.py. In the quick profile one fault of each
class is planted and the odd size is asked of the correct ones; in CI, and with HYPOTHESIS_PROFILE=thorough, all.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from campaign.fault import BLOCK, ODD, RAGGED, Fault, plant
from campaign.faults import FAULTS
from campaign.planting import Edit, empty_folder, judged, kernels, sources
from examples import WHOLE, one_of_each

from layoutprobe.arch import DEFAULT
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import KernelVerdict

SEEN = [fault for fault in FAULTS if not fault.unseen]
UNSEEN = [fault for fault in FAULTS if fault.unseen]
NUMERICS = "numerics"
"""Whatever goes wrong may show in the values as well."""
SITE = re.compile(r"([\w.]+\.(?:hip|h)):(\d+)")


@pytest.fixture
def verdict(fault: Fault, request: pytest.FixtureRequest) -> KernelVerdict:
    """What the gate says of a fault. Its folder is the same in every run, for the compiler's cache."""
    return judged(plant(empty_folder(request.config, "campaign", fault.name), fault))


PLANTED, MISSED = (one_of_each(faults, lambda fault: fault.kind) for faults in (SEEN, UNSEEN))


@pytest.mark.every_case
@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_fault_is_found_and_named(fault: Fault, verdict: KernelVerdict) -> None:
    assert not verdict.error
    assert verdict.exit_code == 1
    assert {finding.check for finding in verdict.every} <= {fault.check, NUMERICS, *fault.also}
    # One fault is one finding, and all others follow from it.
    cause, *others = verdict.findings
    assert {finding.check for finding in others} == {*fault.beside}, verdict.findings
    assert len(others) == len(fault.beside), verdict.findings
    assert cause.check == fault.check
    assert all(word in _text(cause) for word in fault.words), cause
    if "never written" not in cause.what:
        assert _stands_in_a_source(fault, cause), cause
        assert cause.place.near or _is_at_the_fault(fault, cause), (cause, cause.place.inlined_at)


@pytest.mark.all_in_ci
@pytest.mark.few(1)
@pytest.mark.parametrize("fault", MISSED, ids=lambda fault: fault.name)
def test_what_is_listed_as_unseen_is_not_seen(fault: Fault, verdict: KernelVerdict) -> None:
    """An improvement shows here: then the fault becomes one that must be found."""
    assert verdict.exit_code == 0, [str(finding) for finding in verdict.findings]


@pytest.mark.all_in_ci
@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", [name for name, case in kernels().items() if case.arches == (DEFAULT,)])
def test_correct_kernels_are_clean(kernel: str, tmp_path: Path) -> None:
    name = f"{kernel}: correct"
    sizes = (*BLOCK, *RAGGED, *ODD) if WHOLE else ODD
    verdict = judged(plant(tmp_path, Fault(name, "none", kernel, (), sizes=sizes)))
    assert verdict.findings == ()
    assert verdict.exit_code == 0


def test_the_campaign_is_as_large_as_it_says() -> None:
    assert len(SEEN) >= 100
    assert {fault.kernel for fault in SEEN} == set(kernels())
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {fault.check for fault in PLANTED} == {fault.check for fault in SEEN}, (
        "each check finds one at a desk, too"
    )
    for fault in FAULTS:
        assert fault.unseen or (fault.check and all(fault.words) and fault.words)


def _text(finding: Finding) -> str:
    return " ".join((finding.what, finding.expected, finding.observed, finding.hint))


def _stands_in_a_source(fault: Fault, finding: Finding) -> bool:
    """The finding, or where its value came from, names lines that exist in the kernel or its helpers."""
    files = {path.name: path for path in sources(kernels()[fault.kernel]).values()}
    places = SITE.findall(f"{finding.place.source} {finding.related_text}")
    added = sum(edit.new.count("\n") - edit.old.count("\n") for edit in fault.edits if isinstance(edit, Edit))
    lines = {name: len(path.read_text().splitlines()) + max(added, 0) for name, path in files.items()}
    return bool(places) and all(1 <= int(line) <= lines.get(name, 0) for name, line in places)


REACH = 10
"""Lines between an edit and the access that it spoils."""
CLOSE = 1
"""The same where another line is meant: a change that mends it may be found at the edit."""


def _is_at_the_fault(fault: Fault, cause: Finding) -> bool:
    """The place of the cause, or the call that it came from, is near an edit or at the line that is meant.

    Where the compiler gives the instruction no line, nothing can be asked of it.
    """
    files = sources(kernels()[fault.kernel])
    own = next(iter(files))
    lines = [line for line in (cause.place.source, *(c.source for c in cause.place.inlined_at)) if line]
    named = {(Path(line.file).name, line.line) for line in lines}
    meant = {
        (path.name, number)
        for path in files.values()
        for number, text in enumerate(path.read_text().split("\n"), 1)
        if fault.at and fault.at in text
    }
    reach = CLOSE if fault.at else REACH
    edited = []
    for edit in fault.edits:
        if isinstance(edit, Edit):
            path = files[edit.file or own]
            edited.append((path.name, path.read_text().partition(edit.old)[0].count("\n") + 1))
    near = any(file == where and abs(line - at) <= reach for file, line in named for where, at in edited)
    return bool(meant & named) or near or not (meant or edited)


def test_the_page_lists_every_fault() -> None:
    """Written anew by `python benchmarks/campaign.py`."""
    page = (Path(__file__).parents[2] / "docs" / "campaign.md").read_text()
    rows = {line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")}
    assert {fault.name for fault in FAULTS} <= rows
    assert "not found |" not in page.split("## Not found")[0].split("## Found")[1]
