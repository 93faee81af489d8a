"""What a baseline file of a report has in it: adoption on code that has findings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from msgspec.structs import replace

from layoutprobe.checks import acceptance
from layoutprobe.errors import UsageError
from layoutprobe.manifest.acceptances import baseline_text
from layoutprobe.manifest.model import Acceptance, Manifest
from layoutprobe.report.gate import GateReport

DAYS = 180
"""So long a new entry lets its finding pass."""
_REASON = "was there when the baseline was written"


def with_baseline(manifest: Manifest, baseline: Mapping[str, tuple[Acceptance, ...]]) -> Manifest:
    """The manifest with what a baseline accepts.

    Raises:
        UsageError: the baseline names a kernel that the manifest has not.
    """
    known = {case.name for case in manifest.kernels}
    for name in baseline:
        if name not in known:
            raise UsageError(
                f"the baseline accepts findings of kernel {name[:64]!r}, which the manifest has not",
                where={"file": manifest.path},
                hint="delete its entries, or write the baseline again",
            )
    kernels = (replace(c, accept=(*c.accept, *baseline.get(c.name, ()))) for c in manifest.kernels)
    return replace(manifest, kernels=tuple(kernels))


def new_baseline(report: GateReport, old: Mapping[str, tuple[Acceptance, ...]], today: date) -> str:
    """The text of a file that accepts all findings of a report.

    Args:
        report: of the gate.
        old: the baseline that the report was made with: entries that still accept something are kept.
        today: new entries hold for DAYS from then on.
    """
    kernels: dict[str, list[Acceptance]] = {}
    until = today + timedelta(days=DAYS)
    for verdict in report.verdicts:
        listed = kernels.setdefault(verdict.name, [])
        passed = [found for result in verdict.results for found, _ in result.accepted]
        kept = [one for one in old.get(verdict.name, ()) if one.arch in ("", verdict.target)]
        listed += [one for one in kept if any(acceptance.fits(one, found) for found in passed)]
        several = sum(other.name == verdict.name for other in report.verdicts) > 1
        # Each by itself, and not with its cause: another cause may bring the same about tomorrow.
        for found in verdict.every:
            if found.check != acceptance.NAME:
                line = acceptance.lines_of(found)[0]
                arch = verdict.target if several else ""
                listed.append(Acceptance(found.rule.id, line, _REASON, until, arch, baseline=True))
    return baseline_text({name: list(dict.fromkeys(listed)) for name, listed in kernels.items()})
