"""An operand of a matrix instruction as a report: what its registers hold, beside what they need."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.capture.capture import Evidence
from layoutprobe.checks import epilogue, operand_provenance
from layoutprobe.layouts.explain import explain
from layoutprobe.manifest.model import Sizes, size_title
from layoutprobe.report.finding import Finding
from layoutprobe.report.inspection import Site
from layoutprobe.report.layout import LayoutReport
from layoutprobe.trace.moment import Fragment, Group
from layoutprobe.trace.subject import Subject

CHECKS = (operand_provenance.CHECK, epilogue.CHECK)
"""Whose findings an operand can show."""


def held_report(
    subject: Subject,
    site: Site,
    fragment: Fragment,
    group: Group,
    turn: int,
    *,
    evidence: Evidence,
    toolchain: Mapping[str, str],
    findings: tuple[Finding, ...] | None = None,
) -> LayoutReport:
    """An operand in one execution by every wave of a workgroup.

    Args:
        subject: the kernel.
        site: the matrix instruction.
        fragment: what was seen.
        group, turn: the workgroup, and which execution of each wave it is.
        evidence, toolchain: of the run.
        findings: about it; where None, those of the checks that look at operands.
    """
    if findings is None:
        findings = _findings(subject, fragment) if fragment.mismatch.any() else ()
    of = Of(subject.case.name, subject.code.target, subject.sizes, evidence, toolchain)
    return report_of(of, site, fragment, group, turn, findings)


class Of(Struct, frozen=True):
    """Whose operand it is: the kernel and its size, and what is known of the run."""

    kernel: str
    target: str
    sizes: Sizes
    evidence: Evidence
    toolchain: Mapping[str, str]


def report_of(
    of: Of, site: Site, fragment: Fragment, group: Group, turn: int, findings: tuple[Finding, ...] = ()
) -> LayoutReport:
    """The same of a kernel that need not be there; arguments as of `held_report`."""
    least, most = site.times
    often = f"{most}" if least == most else f"{least} to {most}"
    about: tuple[tuple[str, str], ...] = (
        ("kernel", f"{of.kernel}, {size_title(of.sizes)}"),
        ("at", f"matrix instruction {site.number}, {site.place.site}, PC {site.place.pc:#x}"),
        ("registers", _registers(fragment)),
        ("moment", f"workgroup {group}, execution {turn} of {often} by each wave"),
    )
    if fragment.role != fragment.matrix and fragment.role in "AB":
        about += (("feeds", f"{fragment.matrix}, transposed, is the instruction's {fragment.role}"),)
    return LayoutReport(
        command="inspect",
        arch=of.target,
        instruction=site.place.instruction,
        matrix=fragment.loaded.matrix,
        dtype="",
        lds="",
        tile=(of.sizes.get("M", 0), of.sizes.get("N", 0), of.sizes.get("K", 0)),
        patterns=(),
        loaded=fragment.loaded,
        needed=fragment.needed,
        mismatch=fragment.mismatch,
        live=fragment.live,
        readers=None,
        closed_form=explain(fragment.loaded),
        needed_form=explain(fragment.needed),
        convention="",
        ambiguity="",
        coverage=None,
        findings=findings,
        evidence=(of.evidence,),
        toolchain=of.toolchain,
        about=about,
    )


def _findings(subject: Subject, fragment: Fragment) -> tuple[Finding, ...]:
    """What `check` finds about the matrix."""
    results = (check.run(subject) for check in CHECKS)
    about = (fragment.matrix, fragment.role)
    return tuple(f for result in results for f in result.findings if f.place.matrix in about)


def _registers(fragment: Fragment) -> str:
    """ "v72 to v79, which are v0 to v7 below"."""
    count = fragment.loaded.vgprs * max(1, fragment.loaded.field_bits // 32)
    last = replace(fragment.first, index=fragment.first.index + count - 1)
    shown = "v0" if fragment.loaded.vgprs == 1 else f"v0 to v{fragment.loaded.vgprs - 1}"
    return f"{fragment.first} to {last}, which are {shown} below"
