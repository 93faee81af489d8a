"""What is accepted leaves the findings; and what accepts nothing any more is a finding itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from layoutprobe.checks import memory
from layoutprobe.checks.faults import FAULT_RULES
from layoutprobe.manifest.model import Acceptance
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult, Status

NAME = "acceptance"
LAW = "every finding that is accepted is still found, and its day is not over"
NOT_FOUND = Rule(
    "acceptance/not-found",
    "an accepted finding is found no more",
    "What accepts nothing today accepts the next bug of that kind at that line tomorrow, unseen.",
    "delete the entry; where the code only moved, correct its line",
)
EXPIRED = Rule(
    "acceptance/expired",
    "the day until which a finding was accepted is over",
    "A finding is accepted for a time, so that somebody comes back to it. It counts again from now on.",
    "mend the finding, or accept it for longer and say why",
)
RULES = (NOT_FOUND, EXPIRED)


def accept(
    results: Sequence[CheckResult], accepted: Collection[Acceptance], target: str, today: date
) -> tuple[CheckResult, ...]:
    """The results without what is accepted, and a result on the acceptances themselves where there are any.

    Args:
        results: of one kernel.
        accepted: what its manifest and the baseline accept.
        target: what it was compiled for.
        today: decides what has expired.
    """
    asked = [one for one in accepted if one.arch in ("", target)]
    if not asked:
        return tuple(results)
    valid = [one for one in asked if one.until >= today]
    kept = tuple(result.accepting(lambda found: _why(found, valid)) for result in results)
    found = [each for result in results for each in result.findings]
    open_ones = [one for one in valid if not _judged(one.rule, results)]
    stale = [
        _gone(one) for one in valid if one not in open_ones and not any(fits(one, each) for each in found)
    ]
    stale += [_expired(one, today) for one in asked if one.until < today]
    status: Status = "finding" if stale else "holds"
    text = "" if stale else f"{len(asked)} accepted, each still found"
    if open_ones and not stale:
        return (*kept, CheckResult(NAME, LAW, "skipped", (), "the checks of what is accepted did not decide"))
    return (*kept, CheckResult(NAME, LAW, status, tuple(stale), text))


def _judged(rule: str, results: Sequence[CheckResult]) -> bool:
    """The check of a rule came to a result; of faults that is `memory`, where their own was not made."""
    made = {result.check: result.status for result in results}
    check = rule.partition("/")[0]
    if check not in made and any(rule == fault.id for fault in FAULT_RULES.values()):
        check = memory.NAME
    return made.get(check) in ("holds", "finding")


def _why(found: Finding, valid: Sequence[Acceptance]) -> str | None:
    one = next((one for one in valid if fits(one, found)), None)
    return None if one is None else f"{_where(one)} accepts it until {one.until}: {one.reason}"


def _where(one: Acceptance) -> str:
    return "the baseline" if one.baseline else "the manifest"


def fits(one: Acceptance, found: Finding) -> bool:
    """It is the finding that is accepted."""
    return one.rule == found.rule.id and one.line in lines_of(found)


def lines_of(found: Finding) -> tuple[str, ...]:
    """The names under which the line of a finding may be accepted: its own, and those of the calls around it."""
    place = found.place
    sources = [place.source, *(call.source for call in place.inlined_at)]
    named = tuple(str(source) for source in sources if source is not None)
    return named or ("",)


def _gone(one: Acceptance) -> Finding:
    return Finding(
        NOT_FOUND,
        f"{_where(one)} accepts {one.rule}{_at(one)}, and it is not found",
        _place(one),
        expected=f"{one.rule}{_at(one)}",
        observed="no such finding",
        hint=NOT_FOUND.mend,
    )


def _expired(one: Acceptance, today: date) -> Finding:
    return Finding(
        EXPIRED,
        f"{_where(one)} accepted {one.rule}{_at(one)} until {one.until}",
        _place(one),
        expected=f"a day from {today} on",
        observed=str(one.until),
        hint=EXPIRED.mend,
    )


def _at(one: Acceptance) -> str:
    return f" at {one.line}" if one.line else ""


def _place(one: Acceptance) -> Place:
    file, _, line = one.line.rpartition(":")
    return Place(source=SourceLine(file, int(line))) if file and line.isdecimal() else Place()
