"""What it means that a kernel is accepted."""

from __future__ import annotations

from collections.abc import Mapping

from layoutprobe.report.gate import KernelVerdict


def assert_accepted(verdict: KernelVerdict, *, undecided: Mapping[str, str] | None = None) -> None:
    """Every check holds or does not apply; nothing is found.

    Args:
        verdict: of one kernel.
        undecided: check -> part of the reason, for those that cannot decide and say truly why.
    """
    assert not verdict.error, verdict.error
    assert verdict.results
    expected = dict(undecided or {})
    for result in verdict.results:
        told = f"{result.check}: {result.reason} {[finding.what for finding in result.findings]}"
        assert not result.findings, told
        if result.check in expected:
            assert result.status == "undecided", told
            assert expected.pop(result.check) in result.reason, told
        else:
            assert result.status in ("holds", "skipped"), told
            assert result.status == "holds" or result.reason, told
    assert not expected, f"never judged: {sorted(expected)}"


def judged(verdict: KernelVerdict) -> set[str]:
    """Names of the checks that hold."""
    return {result.check for result in verdict.results if result.status == "holds"}
