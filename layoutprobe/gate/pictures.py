"""What a report draws beside findings: the operand that is wrong, lane by lane, and which elements of the output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from layoutprobe.capture.capture import Evidence
from layoutprobe.gate.held import CHECKS, held_report
from layoutprobe.gate.lds_pictures import lds_picture_of
from layoutprobe.isa.kind import Kind
from layoutprobe.manifest.model import size_title
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import Pictures, lds_key
from layoutprobe.report.kernel_view import OutputView
from layoutprobe.report.layout import LayoutReport
from layoutprobe.trace.moment import first_wrong, fragment_of, sites_of
from layoutprobe.trace.moments import output_of
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.subject import RunStoppedError, Subject, UndecidedError

MOST = 4
"""Operands that are drawn of a kernel, each a picture of all lanes of a wave, and pictures of LDS."""
Key = TypeVar("Key")
Drawn = TypeVar("Drawn")
_OPERANDS = tuple(check.name for check in CHECKS)


def pictures_of(
    known: Pictures,
    subject: Subject,
    findings: Iterable[Finding],
    evidence: Evidence,
    toolchain: Mapping[str, str],
) -> Pictures:
    """The pictures so far, and those of what was found at one more size.

    Args:
        known: of the sizes before, whose pictures stay.
        subject: the kernel at this size, which has run.
        findings: what was found.
        evidence, toolchain: of the runs.
    """
    findings = tuple(findings)
    if not findings:
        return known
    operands = dict(known.operands)
    for key, finding in _places(subject, findings):
        if key not in operands and len(operands) < MOST:
            report = _operand(subject, *key, finding, evidence, toolchain)
            operands |= {key: report} if report is not None else {}
    lds = dict(known.lds)
    for found in findings:
        if lds_key(found) not in lds and len(lds) < MOST:
            picture = lds_picture_of(subject, found)
            lds |= {lds_key(found): picture} if picture is not None else {}
    output = known.output or _output(subject)
    title = known.size if known.output else size_title(subject.sizes)
    return Pictures(operands, output, title, lds)


def more_pictures(known: Pictures, more: Pictures) -> Pictures:
    """The pictures so far, and those of another size, as far as there is room."""
    first = known if known.output or not more.size else more
    operands, lds = _joined(known.operands, more.operands), _joined(known.lds, more.lds)
    return Pictures(operands, first.output, first.size, lds)


def _joined(known: Mapping[Key, Drawn], more: Mapping[Key, Drawn]) -> dict[Key, Drawn]:
    fresh = [(key, one) for key, one in more.items() if key not in known]
    return {**known, **dict(fresh[: MOST - len(known)])}


def _places(subject: Subject, findings: tuple[Finding, ...]) -> Iterator[tuple[tuple[int, str], Finding]]:
    """PC of the matrix instruction and letter of the matrix of each finding about an operand."""
    for finding in findings:
        if finding.check not in _OPERANDS or not finding.place.matrix:
            continue
        for place in (finding.place, *(other.place for other in finding.related)):
            inst = subject.insts.get(-1 if place.pc is None else place.pc)
            if inst is not None and Kind.MATRIX in inst.kind:
                yield (inst.pc, finding.place.matrix), finding
                break


def _operand(
    subject: Subject, pc: int, matrix: str, finding: Finding, evidence: Evidence, toolchain: Mapping[str, str]
) -> LayoutReport | None:
    """The operand where it is wrong first; None where it cannot be drawn."""
    try:
        found = first_wrong(subject, pc, matrix)
        if found is None:
            return None
        _, group, turn = found
        fragment = fragment_of(subject, subject.insts[pc], matrix, group, turn)
        site = next(site for site in subject.once(sites_of) if site.place.pc == pc)
    except (NoProductError, UndecidedError, RunStoppedError):
        return None
    return held_report(
        subject, site, fragment, group, turn, evidence=evidence, toolchain=toolchain, findings=(finding,)
    )


def _output(subject: Subject) -> OutputView | None:
    """The output, where something in it is wrong."""
    try:
        found = output_of(subject)
    except (NoProductError, UndecidedError, RunStoppedError):
        return None
    return found if found.wrong.any() or found.undefined.any() else None
