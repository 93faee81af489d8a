"""What one check says of a kernel at one size, and what the faults of its runs make of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from layoutprobe.checks import memory
from layoutprobe.checks.base import Check
from layoutprobe.checks.faults import FAULT_RULES, fault_finding
from layoutprobe.errors import DEBUG, CodeObjectError, ExecutionError, ProbeError, UsageError, debugging
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, Status
from layoutprobe.trace.subject import Recorded, RunSpec, RunStoppedError, Subject, UndecidedError

_UNDEFINED_DATA = ("lds-safety/undefined-read", "numerics/never-defined", "operand-provenance/unexplained")
"""Rules that undefined data breaks, wherever it comes from."""


def apply(check: Check, subject: Subject) -> CheckResult:
    """What a check says of a kernel at one size; whatever stops it is why it is undecided.

    Raises:
        UsageError, CodeObjectError: the kernel cannot be launched so.
    """
    asked: list[Recorded] = []

    def remember(spec: RunSpec) -> Recorded:
        asked.append(subject.runner(spec))
        return asked[-1]

    try:
        result = check.run(replace(subject, runner=remember))
    except RunStoppedError as stopped:
        return check.undecided(_stopped(stopped.fault))
    except (UsageError, CodeObjectError, MemoryError):
        raise
    except (ProbeError, UndecidedError) as error:
        return check.undecided(str(error))
    except Exception as error:
        # One broken check must not take the verdict of the others away.
        if debugging():
            raise
        problem = f"{type(error).__name__}: {error}"
        return check.undecided(
            f"a bug in layoutprobe, not in your kernel: {problem}; {DEBUG}=1 shows the traceback"
        )
    judged = (recorded for recorded in asked if not recorded.spec.asks_only)
    faults = [recorded.fault for recorded in judged if recorded.fault is not None]
    if result.status == "holds" and faults:
        # It saw a part of the run only, and silence is never green.
        return replace(result, status="undecided", reason=_stopped(faults[-1]))
    return result


def with_faults(
    results: Mapping[str, CheckResult],
    faults: Sequence[ExecutionError],
    worded: Callable[[ExecutionError], Finding] = fault_finding,
) -> dict[str, CheckResult]:
    """Results with every fault of the kernel as a finding of the check whose law it breaks, in words of `worded`.

    An undefined address or branch is a consequence: it is no finding of its own where another check
    has found what led to it. Where the check of a fault was not asked for or does not apply, `memory`
    reports it; without that, too, it is a reason for the others not to decide.
    """
    merged = made_up(without_consequences(results, faults), faults)
    told: list[ExecutionError] = []
    for fault in sorted(faults, key=_tells_less):
        law = _law_of(fault, merged)
        known = [finding for result in merged.values() for finding in result.findings]
        if law is None or (fault.kind.startswith("undefined") and known):
            continue
        if any(_same_statement(fault, other) for other in told):
            continue
        owner, pc = merged[law], fault.place.pc
        if pc is None or all(finding.place.pc != pc for finding in owner.findings):
            told.append(fault)
            findings = (*owner.findings, worded(fault))
            merged[law] = replace(owner, status="finding", findings=findings, reason="")
    return merged


def _tells_less(fault: ExecutionError) -> tuple[bool, bool, bool]:
    """Orders faults. The load and the store of one statement go astray together: the store tells more."""
    return fault.kind.startswith("undefined"), fault.place.lds_byte is None, "store" not in fault.kind


def _law_of(fault: ExecutionError, results: Mapping[str, CheckResult]) -> str | None:
    """Name of the check that reports a fault, where it was asked for."""
    rule = FAULT_RULES.get(fault.kind)
    law = rule.check if rule else None
    if law is not None and (law not in results or results[law].status == "skipped"):
        law = memory.NAME
    return law if law in results else None


def without_consequences(
    results: Mapping[str, CheckResult], faults: Sequence[ExecutionError]
) -> dict[str, CheckResult]:
    """Results without findings about undefined data, where a load from outside of every buffer brought it."""
    astray = next((fault for fault in faults if fault.kind == "global-load"), None)
    merged = dict(results)
    for name, result in results.items() if astray is not None else ():
        kept = tuple(found for found in result.findings if found.rule.id not in _UNDEFINED_DATA)
        if astray is not None and len(kept) < len(result.findings):
            reason = f"undefined data comes from the load outside of every buffer ({astray.place.site})"
            status: Status = "finding" if kept else "undecided"
            merged[name] = replace(result, status=status, findings=kept, reason=reason)
    return merged


_OF_VALUES = ("operand-provenance", "epilogue", "numerics", "swizzle", "lds-safety")
"""Checks of what a kernel computes and where it puts it."""


def made_up(results: Mapping[str, CheckResult], faults: Sequence[ExecutionError]) -> dict[str, CheckResult]:
    """Results without findings about values, where undefined LDS decided what is executed, and the run went on with
    zeros in its place: they may follow from that."""
    early = next((f for f in faults if f.kind.startswith("undefined") and f.place.lds_byte is not None), None)
    merged = dict(results)
    for name in _OF_VALUES if early is not None else ():
        if early is not None and name in merged and merged[name].findings:
            reason = f"what {early.place.site} reads was never stored, and decides what is executed"
            merged[name] = replace(merged[name], status="undecided", findings=(), reason=reason)
    return merged


def _same_statement(fault: ExecutionError, known: ExecutionError) -> bool:
    """On one line, and of one kind or beside one buffer, which `expected` names.

    A statement that loads and stores one element goes astray twice for one reason. Where a load and a store of a
    line miss different buffers, the one says nothing of the other.
    """
    line = fault.place.line
    same_line = bool(line) and (line, fault.what) == (known.place.line, known.what)
    return same_line and (fault.kind == known.kind or fault.expected == known.expected)


def _stopped(fault: ProbeError) -> str:
    place = ", ".join(
        f"{key} {fault.where[key]}" for key in ("line", "near line", "PC") if key in fault.where
    )
    return f"the run stopped early: {fault.what}" + (f" ({place})" if place else "")
