"""What `inspect` marks is what `check` finds: over the campaign's faults, and over kernels without any."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from campaign.fault import ODD, Fault, plant
from campaign.faults import FAULTS
from campaign.planting import empty_folder, kernels
from examples import one_of_each
from msgspec.structs import replace

from layoutprobe.arch import DEFAULT
from layoutprobe.errors import ProbeError
from layoutprobe.gate.gate import check
from layoutprobe.inspector.inspect import Inspection, look_into
from layoutprobe.layouts.layout import element_name
from layoutprobe.manifest.model import KernelCase, Manifest
from layoutprobe.report.gate import KernelVerdict
from layoutprobe.trace.analysis import analysis_of
from layoutprobe.trace.moment import fragment_of
from layoutprobe.trace.subject import UndecidedError

OPERANDS, EPILOGUE = "operand-provenance", "epilogue"
SHOWN = one_of_each(
    [fault for fault in FAULTS if fault.check in (OPERANDS, EPILOGUE) and not fault.unseen],
    lambda fault: (fault.kind, fault.check),
)
_NO_SLOT = ("incomplete-sum", "copies-differ", "not-zero", "not-reset")
"""Names of rules that are about no slot of an operand."""


@pytest.fixture
def case(fault: Fault, request: pytest.FixtureRequest) -> KernelCase:
    return plant(empty_folder(request.config, "campaign-inspect", fault.name), fault)


def red(kernel: Inspection) -> Counter[tuple[int, str]]:
    """Wrong slots by matrix instruction and matrix, of every execution by every wave of every workgroup."""
    subject, found, seen = kernel._subject, Counter[tuple[int, str]](), 0
    groups = {(int(x), int(y), int(z)) for x, y, z in analysis_of(subject).operands.waves.group}
    for site in kernel.sites.sites:
        for matrix, group, turn in product("ABC", sorted(groups), range(site.times[1])):
            try:
                fragment = fragment_of(subject, subject.insts[site.place.pc or 0], matrix, group, turn)
            except UndecidedError:  # this workgroup executes it less often
                continue
            found[site.number, matrix] += int(fragment.mismatch.sum())
            seen += 1
    assert seen >= len(groups)
    return +found


def judged(case: KernelCase) -> KernelVerdict:
    """By the two laws, at the size that `inspect` takes by default."""
    one = replace(case, sizes=case.sizes[:1], arches=case.arches[:1])
    (verdict,) = check(Manifest(case.file, (one,)), checks=(OPERANDS, EPILOGUE)).verdicts
    return verdict


@pytest.mark.few(2)
@pytest.mark.parametrize("fault", SHOWN, ids=lambda fault: fault.name)
def test_slots_are_marked_where_the_finding_is(fault: Fault, case: KernelCase) -> None:
    verdict, kernel = judged(case), look_into(case)
    findings = [finding for finding in verdict.every if finding.name not in _NO_SLOT]
    try:
        marked = {matrix for site in kernel.sites.sites for matrix, _ in site.wrong}
    except ProbeError:  # a store from outside of every buffer ended the run, say
        assert verdict.exit_code, "check saw more than inspect can show"
        return
    named = {f.place.matrix for f in findings if f.check == OPERANDS and f.place.matrix in ("A", "B")}
    assert named <= marked
    assert bool(findings) or not marked
    every = red(kernel)
    assert set(every) == {(site.number, matrix) for site in kernel.sites.sites for matrix, _ in site.wrong}
    for matrix in "AB":
        told = sum(f.count for f in findings if f.check == OPERANDS and f.place.matrix == matrix)
        shown = sum(count for (_, of), count in every.items() if of == matrix)
        assert shown <= told, "a finding counts a slot whose partner alone is wrong, too"
        assert bool(shown) == bool(told)
    for finding in findings:
        matrix = finding.place.matrix
        if matrix not in ("A", "B") or not finding.expected.startswith(f"{matrix}["):
            continue
        report = kernel.operand(matrix)
        assert report.mismatch.any()
        assert report.needed is not None
        slots = [tuple(slot) for slot in np.argwhere(report.mismatch)]
        needed = {element_name(matrix, int(report.needed.row[s]), int(report.needed.col[s])) for s in slots}
        assert finding.expected in needed


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", [name for name, case in kernels().items() if case.arches == (DEFAULT,)])
def test_right_kernels_have_no_mark(kernel: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    case = plant(tmp_path_factory.mktemp(kernel), Fault(f"{kernel}: correct", "none", kernel, (), sizes=ODD))
    inside = look_into(case)
    assert not any(site.wrong or site.lost for site in inside.sites.sites)
    assert not red(inside), "of any execution"
