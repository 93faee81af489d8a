"""The two searches for changes of a kernel's source: what may lead a finding, and what is shown as a fix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from layoutprobe.gate.costs import MOST_SPENT
from layoutprobe.gate.holding import Held, likeliest
from layoutprobe.gate.mending import Mender
from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.gate.suspects import Suspects, by_suspicion, suspects
from layoutprobe.gate.trying import Mended, Trials
from layoutprobe.place import SourceLine
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import KernelVerdict, Mending
from layoutprobe.trace.subject import RunSpec

MOST = 3000
"""Changes that `--suggest` tries for a kernel."""
_AFTER, _AFTER_MORE, _AFTER_CHECKED = 80, 900, 12
"""Further changes that are tried once one holds: whoever reads of it should know of others that do. More, where it
is one that another may beat; fewer, where a check is asked of each, which takes a hundred times as long as a run."""
_OF_ORDER = ("barriers", "moved")
"""Kinds of changes of what keeps waves in an order; see `ordering.py`."""
_UNASKED, _ASKED = 144, 1200
"""The likeliest changes, which are tried first; and how many times another value is asked for what moves with it."""
_WORST = 16
"""Expressions in whose place all else is tried."""
_CAUSES = 2
"""Findings whose lines are changed."""


def source_changes(
    mender: Mender,
    trials: Trials | None,
    findings: Sequence[Finding],
    known: Sequence[Mended],
    most: int,
    step: Callable[[float], None],
) -> list[Held]:
    """Changes of the source with which all holds, and which may lead a finding; the likeliest first.

    Args:
        mender: of the kernel.
        trials: its runs; None where their values decide nothing.
        findings: what is wrong.
        known: instructions that mend it.
        most: changes that are tried.
        step: told which share of all that may be tried is done.
    """
    bound = most

    def goes_on() -> bool:
        step(max(mender.tried / bound, mender.costs.spent / MOST_SPENT))
        return mender.tried < bound and mender.costs.spent < MOST_SPENT

    edits = _in_turn(mender, trials, findings, known)
    if (
        trials is not None
    ):  # waves are run in one order: what they compute does not tell what keeps them in another
        edits = [edit for edit in edits if edit.rewrite.kind not in _OF_ORDER]
    held: list[Held] = []
    turns = edits if trials is None else _by_suspicion(edits, held, mender, trials, findings, known)
    for one in mender.holding(turns, trials, goes_on):
        if one.may_lead(findings):
            held.append(one)
            if len(held) == 1:
                beside = mender.beside(one.edit, edits, trials, goes_on)
                held += [other for other in beside if other.may_lead(findings)]
            if not one.is_doubtful(mender.case):
                more = _AFTER_MORE if one.may_be_beaten else _AFTER
                bound = min(bound, mender.tried + (more if trials is not None else _AFTER_CHECKED))
    usual = trials.most.whole_work if trials is not None and not trials.most.unseen else None
    return likeliest(held, mender.case, usual)


def _in_turn(
    mender: Mender, trials: Trials | None, findings: Sequence[Finding], known: Sequence[Mended]
) -> list[SourceEdit]:
    """All changes of the source, the likeliest first."""
    lines = _lines(known)
    ran = trials.first.lines if trials is not None else ()
    return mender.edits.in_turn(findings[:_CAUSES], lines, ran, [one.says for one in known])


def _suspected(
    mender: Mender,
    trials: Trials,
    telling: RunSpec,
    finding: Finding,
    lines: Sequence[SourceLine],
) -> Suspects:
    """What expressions go into, by runs of them with other values."""
    asked = mender.edits.with_other_values(finding, lines, trials.first.lines)[:_ASKED]
    texts = {file: source.text for file, source in mender.edits.sources.items()}
    return suspects(mender.moved(asked, trials), [c.wrong for c in trials.first.of(telling)], texts)


def _lines(known: Sequence[Mended]) -> list[SourceLine]:
    return [one.place.source for one in known if one.place.source is not None]


def _by_suspicion(
    edits: Sequence[SourceEdit],
    held: Sequence[Held],
    mender: Mender,
    trials: Trials,
    findings: Sequence[Finding],
    known: Sequence[Mended],
) -> Iterator[SourceEdit]:
    """The first changes; where none of them holds, all others by what each expression goes into, with more of those
    expressions of which that says most. `held`: what has been found by then."""
    yield from edits[:_UNASKED]
    if held or trials.telling is None:
        yield from edits[_UNASKED:]
        return
    lines, ran = _lines(known), trials.first.lines
    if mender.suspects is None:
        mender.suspects = _suspected(mender, trials, trials.telling, findings[0], lines)
    found = mender.suspects
    worst = [(one.file, one.start, one.end) for one in found.worst(_WORST)]
    more = mender.edits.instead(worst, findings[0], lines, ran)
    yield from by_suspicion([*edits[_UNASKED:], *more], found)


def mend(
    mender: Mender,
    verdict: KernelVerdict,
    trials: Trials | None,
    known: Sequence[Mended],
    held: Sequence[Held],
    seconds: float,
) -> Mending:
    """The first change with which all holds, at sizes that nobody listed, too; else the first at those listed.

    Args:
        mender: of the kernel.
        verdict: what was found.
        trials: see `source_changes`.
        known: instructions that mend it.
        held: changes that hold, of a search before.
        seconds: for how long to look for one, where there are none.
    """
    start, most = time.monotonic(), mender.tried + MOST

    def goes_on() -> bool:
        return time.monotonic() <= start + seconds and mender.tried < most

    findings = verdict.findings
    if held:
        place = mender.mended(held[0], "").place
        beside = next((one for one in findings if one.place.source == place.source), findings[0])
        return Mending(mender.tried, mender.compiled, 0.0, mender.fix(held[0], beside))
    fix = None
    if mender.possible:
        edits = _in_turn(mender, trials, findings, known)
        turns = edits if trials is None else _by_suspicion(edits, (), mender, trials, findings, known)
        for one in mender.holding(turns, trials, goes_on):
            fix = mender.fix(one, one.edit.finding) if fix is None or not one.unlisted else fix
            if not one.unlisted:
                break
    return Mending(mender.tried, mender.compiled, time.monotonic() - start, fix)
