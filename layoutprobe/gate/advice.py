"""The next step of a finding, where it depends on what the other checks of the kernel have come to.

A rule says where one would look. A check that was skipped has nothing to show there, and one that holds has shown
that nothing is wrong there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, Status

_SOURCES = {
    "numerics/wrong-values": ("operand-provenance", "epilogue"),
    "numerics/never-defined": ("epilogue", "lds-safety"),
}
"""Rules that send to other checks, and to which."""
_RIGHT = {
    "numerics/wrong-values": "the operands of matrix instructions and the places of stores are right: look at what "
    "is computed between the last matrix instruction and this store, conversions included",
    "numerics/never-defined": "the stores are all there, and so is what was loaded from LDS: which value of these "
    "elements is computed of something that was never set?",
}
"""Where these checks hold."""
_UNKNOWN = {
    "numerics/wrong-values": "compute the first wrong element by hand, step by step as the kernel does, and hold "
    "each step against the contract: indices of loads first, then what is made of them",
    "numerics/never-defined": "which code should store these elements? Look at the bounds tests around the stores, "
    "and at what the headline says never ran",
}
"""Where they say nothing."""


def advised(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The results, whose findings send nobody to a check that has nothing to show."""
    status = {result.check: result.status for result in results}
    return tuple(
        replace(result, findings=tuple(_advised(found, status) for found in result.findings))
        if any(found.rule.id in _SOURCES for found in result.findings)
        else result
        for result in results
    )


def _advised(found: Finding, status: Mapping[str, Status]) -> Finding:
    rule = found.rule.id
    if rule not in _SOURCES or found.hint != found.rule.mend:
        return found
    told = {status.get(check, "skipped") for check in _SOURCES[rule]}
    if "finding" in told:
        return found
    return replace(found, hint=(_RIGHT if told == {"holds"} else _UNKNOWN)[rule])
