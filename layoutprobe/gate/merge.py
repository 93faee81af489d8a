"""One result per check out of one per size: a cause that shows at three sizes is one finding."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from msgspec.structs import replace

from layoutprobe.checks.faults import FAULT_RULES
from layoutprobe.gate.agreed import agreed
from layoutprobe.place import Place, Size, in_words
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, Status
from layoutprobe.solver.diagnose import UNEXPLAINED
from layoutprobe.trace.unusual import WHERE

ORDER: tuple[Status, ...] = ("finding", "undecided", "holds", "skipped")
"""Which status of several sizes counts: the first that occurs."""

ODD = "odd-read"
"""Name of a rule that says which load is unlike the others, and not what the kernel needs."""
_SHAPED = ("operand-provenance", "epilogue", "swizzle", "numerics")
"""Checks that look for a cause in the shape of what is wrong."""

Sized = tuple[Size, CheckResult]
"""A problem size, () where a check has none; and what the check came to."""


def merge(results: Sequence[Sized]) -> CheckResult:
    """The result of one check over all sizes (at least one)."""
    by_size = {in_words(size): result.metrics for size, result in results if size}
    if len(results) == 1:
        size, only = results[0]
        placed = tuple(_placed(f, [size]) for f in only.findings)
        return replace(only, findings=placed, by_size=by_size, reserved=_reserved([only]))
    first = results[0][1]
    reason, at_last = _reasons(results)
    return CheckResult(
        first.check,
        first.law,
        min((result.status for _, result in results), key=ORDER.index),
        _findings(results),
        reason,
        _metrics(results),
        at_last,
        by_size,
        reserved=_reserved(result for _, result in results),
    )


def _findings(results: Sequence[Sized]) -> tuple[Finding, ...]:
    groups: dict[Hashable, list[tuple[Size, Finding]]] = {}
    for size, finding in agreed([(size, found) for size, result in results for found in result.findings]):
        groups.setdefault(_cause(finding), []).append((size, finding))
    merged = []
    for group in _by_place(_joined(_by_pairs(list(groups.values())))):
        sizes = list(dict.fromkeys(size for size, _ in group))
        total = sum(finding.count for _, finding in group)
        merged.append(_placed(replace(group[0][1], count=total), sizes))
    return tuple(merged)


def _by_pairs(groups: list[list[tuple[Size, Finding]]]) -> list[list[tuple[Size, Finding]]]:
    """Groups, races that have a pair of accesses in common as one: behind the one that shows the most pairs.

    A missing barrier leaves other accesses unordered where a loop has other passes.
    """
    joined: list[list[tuple[Size, Finding]]] = []
    for group in groups:
        pairs = _pairs(group)
        home = next((known for known in joined if _pairs(known) & pairs), None)
        if home is None:
            joined.append(group)
        else:
            home += group
            home.sort(key=lambda one: -len(one[1].pairs))
    return joined


def _pairs(group: list[tuple[Size, Finding]]) -> frozenset[tuple[int, int]]:
    return frozenset().union(*(finding.pairs for _, finding in group))


def _by_place(groups: list[list[tuple[Size, Finding]]]) -> list[list[tuple[Size, Finding]]]:
    """Groups, those about one place that show at different sizes as one: what is wrong there looks like something
    else where a tile is ragged, or where fewer waves share it. The words that fit most sizes lead."""
    joined: list[list[tuple[Size, Finding]]] = []
    for group in groups:
        sizes = {size for size, _ in group}
        home = next(
            (
                known
                for known in joined
                if _one_culprit(known[0][1], group[0][1]) and sizes.isdisjoint(size for size, _ in known)
            ),
            None,
        )
        if home is None:
            joined.append(group)
        else:
            first, then = sorted([list(home), group], key=_leads)
            home[:] = first + then
    return joined


def _leads(group: list[tuple[Size, Finding]]) -> tuple[bool, int]:
    """Orders groups: a guess from the pattern of loads alone comes last, and what shows at most sizes first."""
    return group[0][1].name == ODD, -len({size for size, _ in group})


def _one_culprit(one: Finding, other: Finding) -> bool:
    """The same instruction, matrix and output; or one is a guess about an output of which the other knows more."""
    a, b = one.place, other.place
    if one.check != other.check or _output(a) != _output(b) or one.check not in _SHAPED:
        return False
    if _output(a) and ODD in (one.name, other.name):
        return True
    return a.pc is not None and (a.pc, a.matrix, a.buffer) == (b.pc, b.matrix, b.buffer)


def _output(place: Place) -> str:
    return place.element.matrix if place.element else ""


def _joined(groups: list[list[tuple[Size, Finding]]]) -> list[list[tuple[Size, Finding]]]:
    """Groups, those that nothing is known of with one that has a name and is about the same accesses."""
    named = [group for group in groups if group[0][1].name != UNEXPLAINED]
    for group in groups:
        first = group[0][1]
        if first.name != UNEXPLAINED:
            continue
        home = next((known for known in named if _same_accesses(first, known[0][1])), None)
        if home is None:
            named.append(group)
        else:
            home += group
    return named


def _same_accesses(one: Finding, other: Finding) -> bool:
    about = (one.check, one.place.matrix) == (other.check, other.place.matrix)
    return about and bool(one.sites & other.sites)


def _cause(finding: Finding) -> Hashable:
    """Equal for findings that differ in size only: by rule, place in the code, and what it is about.

    Of an access that goes astray the line is enough: compilers make several instructions of it, and other ones
    go astray at other sizes. Elements of an output are stored by other code where a tile is ragged.
    """
    place = finding.place
    if finding.rule in FAULT_RULES.values():
        # What is shown at a test that lets it through happens at the access, which is told beside it.
        access = finding.related[0].place if finding.related else place
        if access.line:
            return finding.rule.id, access.line, place.buffer or finding.what
    if place.element:
        return finding.rule.id, place.element.matrix
    return finding.rule.id, place.source, place.pc, place.matrix, place.buffer


def _placed(finding: Finding, sizes: Sequence[Size]) -> Finding:
    named = tuple(size for size in sizes if size)
    if not named:
        return finding
    return replace(finding, place=replace(finding.place, size=named[0]), sizes=named)


def _reasons(results: Sequence[Sized]) -> tuple[str, str]:
    """Reasons of the sizes that made the status, said once where all say the same; else that of the last, too."""
    decisive = min((result.status for _, result in results), key=ORDER.index)
    given = [(in_words(size), r.reason) for size, r in results if r.status == decisive and r.reason]
    reasons: dict[str, list[str]] = {}
    for size, reason in given:
        reasons.setdefault(reason, []).append(size)
    if len(reasons) <= 1:
        return next(iter(reasons), ""), ""
    more = {reason: f" and {len(sizes) - 1} more" * (len(sizes) > 1) for reason, sizes in reasons.items()}
    said = [f"{sizes[0]}{more[reason]}: {reason}" for reason, sizes in reasons.items()]
    return "; ".join(said), given[-1][1]


def _metrics(results: Sequence[Sized]) -> dict[str, object]:
    """Figures: numbers that differ stand side by side in the order of the sizes; of anything else the
    last size's counts."""
    metrics: dict[str, object] = {}
    for name in dict.fromkeys(name for _, result in results for name in result.metrics):
        values = [result.metrics[name] for _, result in results if name in result.metrics]
        differ = any(value != values[0] for value in values)
        numbers = all(isinstance(value, int | float) for value in values)
        metrics[name] = " / ".join(map(_figure, values)) if differ and numbers else values[-1]
    return metrics


def _figure(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _reserved(results: Iterable[CheckResult]) -> tuple[str, ...]:
    """What is reserved at any size, each once; of an output one sentence for all inputs where something is so."""
    found = dict[str, list[str]]()
    for says in dict.fromkeys(says for result in results for says in result.reserved):
        what, where, when = says.partition(WHERE)
        found.setdefault(what + where, []).append(when)
    return tuple(what + f", or{WHERE}".join(when) for what, when in found.items())
