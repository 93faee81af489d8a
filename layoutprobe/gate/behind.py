"""Kernels that are launched behind others: which of their findings come of wrong values that these have made."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from layoutprobe.manifest.model import Gemm, KernelCase
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import KernelVerdict

_OF_VALUES = ("operand-provenance", "epilogue", "numerics")
"""Checks that say that an output is wrong."""


def behind(verdict: KernelVerdict, case: KernelCase, others: Collection[KernelVerdict]) -> KernelVerdict:
    """The verdict, in which wrong values lead to the finding of a kernel before that has made wrong ones.

    Args:
        verdict: of a kernel.
        case: the same in the manifest.
        others: verdicts that are known, of any kernels.
    """
    for before in case.before:
        for one in others:
            causes = [found for found in one.findings if found.check in _OF_VALUES]
            if (one.name, one.target) == (before.name, verdict.target) and causes:
                return _referring(verdict, one, causes[0], _of_what_was_made(case))
    return verdict


def _of_what_was_made(case: KernelCase) -> tuple[str, ...]:
    """Checks whose findings are about what a kernel reads: its operands are its own where it has them."""
    own = {argument.name for argument in case.arguments}
    multiplied_before = isinstance(case.contract, Gemm) and case.contract.a not in own
    return ("operand-provenance", "numerics") if multiplied_before else ("numerics",)


def _referring(
    verdict: KernelVerdict, before: KernelVerdict, cause: Finding, checks: Collection[str]
) -> KernelVerdict:
    """One finding of all that are consequences, and those that are none."""
    at = f" at {cause.place.line}" if cause.place.line else ""
    what = f"it goes on with wrong values: {before.name}, launched before, has {cause.rule.id}{at}"
    first: Finding | None = None
    results = []
    for result in verdict.results:
        findings = []
        for found in result.findings:
            if found.check in checks:
                told = found.what if found.name == "never-defined" else what
                found = replace(
                    found, what=told, hint=f"mend {before.name} first: {cause.what}", follows=first
                )
                first = first or found
            findings.append(found)
        results.append(replace(result, findings=tuple(findings)))
    return replace(verdict, results=tuple(results))
