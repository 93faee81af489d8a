"""What a report says in words, the same in every format: label and sentence, in reading order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from layoutprobe.layouts.layout import HOLE
from layoutprobe.render.layout.cells import number_list
from layoutprobe.render.layout.groups import empty_lanes, replicas
from layoutprobe.render.layout.view import View
from layoutprobe.report.finding import Finding
from layoutprobe.report.layout import Coverage, LayoutReport

Lines = list[tuple[str, str]]
"""(label, sentence) pairs."""


class Verdict(Struct, frozen=True):
    """The outcome.

    Attributes:
        word: "holds", "finding" or "undecided": the stable name that JSON carries too.
        sentence: what that means for this report.
        basis: the kinds of evidence behind it; a verdict never travels without.
    """

    word: str
    sentence: str
    basis: str

    def __str__(self) -> str:
        return f"{self.word.upper()} ({self.basis}): {self.sentence}"


def plural(count: int, one: str, many: str = "") -> str:
    """ "1 slot", "2 slots"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def title(report: LayoutReport) -> str:
    """One line: the command and its object."""
    of = f" of {report.instruction}" if report.instruction else ""
    return f"layoutprobe {report.command}: matrix {report.matrix}{of} on {report.arch}"


def verdict(report: LayoutReport) -> Verdict:
    """The outcome in a word and a sentence."""
    basis = ", ".join(dict.fromkeys(evidence.kind for evidence in report.evidence)) or "no evidence"
    if report.findings:
        return Verdict("finding", _found(report), basis)
    if report.undecided:
        return Verdict("undecided", report.undecided, basis)
    return Verdict("holds", _held(report), basis)


def plural_name(name: str, numbers: Sequence[int]) -> str:
    """ "lane" for one of them, "lanes" for several."""
    return name if len(numbers) == 1 else name + "s"


def _held(report: LayoutReport) -> str:
    if report.needed is None:
        held = int((report.loaded.row != HOLE).sum())
        return f"no finding in {plural(held, 'slot')} of {_waves(report)}"
    used = int((report.needed.row != HOLE).sum())
    slots = "the 1 slot" if used == 1 else f"all {used} slots"
    if report.matrix in "CD":
        return f"{slots} {'is' if used == 1 else 'are'} stored to the element that the instruction puts there"
    return f"{slots} {'holds' if used == 1 else 'hold'} what the instruction needs"


def _found(report: LayoutReport) -> str:
    wrong = int(report.mismatch.sum())
    if not wrong:
        about = list(dict.fromkeys(f.place.matrix for f in report.findings if f.place.matrix))
        return plural(len(report.findings), "finding") + (f", about {' and '.join(about)}" if about else "")
    waves = np.flatnonzero(report.mismatch.any(axis=(1, 2, 3))).tolist()
    where = f"{'wave' if len(waves) == 1 else 'waves'} {number_list(waves)}"
    slots = f"{wrong} of {report.mismatch.size} slots wrong, in {where}"
    return f"{len(report.findings)} findings; {slots}" if len(report.findings) > 1 else slots


def _waves(report: LayoutReport) -> str:
    return plural(report.loaded.waves, "wave")


def setup(report: LayoutReport) -> Lines:
    """What was probed, and what the result rests on."""
    if report.about and not report.patterns:
        return [*report.about, ("evidence", "; ".join(map(str, report.evidence)) or "none")]
    operand = report.matrix in "AB"
    patterns = " and ".join(report.patterns)
    parts = [
        f"dtype {report.dtype}" if report.dtype else "",
        f"LDS {report.lds}" if report.lds and operand else "",
        "tile " + " ".join(f"{axis}={size}" for axis, size in zip("MNK", report.tile, strict=True) if size),
        _waves(report),
        "in AccVGPRs" if report.acc else "",
    ]
    beside = f"loads of A and B, coded by {patterns}, through LDS {report.lds}" if patterns else ""
    lines = [
        ("probed", ", ".join(filter(None, parts))),
        ("patterns", patterns if operand else ""),
        ("lds index", report.lds_form),
        ("with", "" if operand else beside),
        *report.about,
        ("evidence", "; ".join(map(str, report.evidence)) or "none"),
    ]
    return [(label, text) for label, text in lines if text]


def forms(report: LayoutReport) -> Lines:
    """Closed forms of what was loaded (or stored) and what is needed."""
    none = "no closed form reproduces the table"
    if not report.loaded.identified:
        none = "not known: the patterns leave elements open"
    lines = [("loaded" if report.matrix in "AB" else "stored", report.closed_form or none)]
    if report.needed is not None:
        empty = not (report.needed.row != HOLE).any()
        form = "nothing: no element belongs there" if empty else "no closed form reproduces the table"
        lines.append(("needed", report.needed_form or form))
    return lines


def details(view: View) -> Lines:
    """Coverage, replication, which copies are read, and what execution cannot tell."""
    report = view.report
    lines = []
    if report.coverage is not None:
        lines += [("coverage", coverage(report, report.coverage))]
        lines += [("copies", replication(report, view.waves[0]))]
    if report.readers is not None and _has_copies(report):
        lines.append(("read by", readers(report, view.waves[0])))
    if report.live is not None and not report.live.all():
        lines.append(("dead", dead(report, view.waves[0])))
    if report.convention:
        lines.append(("anchored", report.convention))
    if report.ambiguity:
        lines.append(("ambiguity", report.ambiguity))
    return lines


def _has_copies(report: LayoutReport) -> bool:
    """Elements are held more than once, or by slots that no output reads: who reads which is a question."""
    held_twice = report.coverage is not None and report.coverage.copies[1] > 1
    return held_twice or (report.readers is not None and bool((report.readers < 0).any()))


def coverage(report: LayoutReport, found: Coverage) -> str:
    """Which elements of the tile were seen, and how often."""
    rows, cols = report.loaded.shape
    low, high = found.copies
    often = f"each in {plural(low, 'slot')}" if low == high else f"each in {low} to {high} slots"
    seen = f"all {found.elements}" if found.seen == found.elements else f"{found.seen} of {found.elements}"
    parts = [f"{seen} elements of {report.matrix} ({rows}x{cols}) seen, {often} of a wave"]
    if found.missing_rows:
        parts.append(f"missing rows {number_list(found.missing_rows)}")
    if found.missing_cols:
        parts.append(f"missing columns {number_list(found.missing_cols)}")
    if found.fold:
        parts.append(found.fold)
    return "; ".join(parts)


def replication(report: LayoutReport, wave: int) -> str:
    """Which lanes of a wave hold the same elements."""
    groups, empty = replicas(report, wave), empty_lanes(report, wave)
    alike = all(
        replicas(report, other) == groups and empty_lanes(report, other) == empty
        for other in range(report.loaded.waves)
    )
    which = "" if alike else f" of wave {wave}"
    if not groups:
        return f"no lane{which} holds an element"
    bare = f"{lanes_in_words(empty)}{which} hold no element; " if empty else ""
    return bare + _replicated(groups, which, "other lane" if empty else "lane")


def _replicated(groups: list[tuple[int, ...]], which: str, lane: str) -> str:
    by_step: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for group in groups:
        by_step.setdefault(tuple(lane - group[0] for lane in group), []).append(group)
    step, regular = max(by_step.items(), key=lambda item: len(item[0]) * len(item[1]))
    if len(step) == 1:
        return (
            f"every {lane}{which} holds elements of its own" if len(by_step) == 1 else _listed(groups, which)
        )
    names = ["L", *(f"L+{n}" for n in step[1:])]
    text = f"lanes {', '.join(names[:-1])} and {names[-1]}{which} hold the same elements"
    text += f" (L = {number_list(sorted(group[0] for group in regular))})"
    others = sorted(lane for group in groups if group not in regular for lane in group)
    return f"replicated: {text}" + (f"; not so lanes {number_list(others)}" if others else "")


def _listed(groups: list[tuple[int, ...]], which: str) -> str:
    copied = [f"{{{number_list(group)}}}" for group in groups if len(group) > 1]
    return f"lanes{which} that hold the same elements: {'; '.join(copied)}; each other lane its own"


def lanes_in_words(lanes: list[int]) -> str:
    """ "lanes 0-15", "even lanes 0-14 and odd lanes 17-31"."""
    parts: list[str] = []
    start = 0
    while start < len(lanes):
        end, step = start + 1, lanes[start + 1] - lanes[start] if start + 1 < len(lanes) else 0
        while end < len(lanes) and lanes[end] - lanes[end - 1] == step:
            end += 1
        if step != 2 or end - start < 3:
            step = 1
            end = start + 1
            while end < len(lanes) and lanes[end] - lanes[end - 1] == 1:
                end += 1
        kind = ("even " if lanes[start] % 2 == 0 else "odd ") if step == 2 else ""
        span = str(lanes[start]) if end - start == 1 else f"{lanes[start]}-{lanes[end - 1]}"
        parts.append(f"{kind}{'lane' if end - start == 1 else 'lanes'} {span}")
        start = end
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def readers(report: LayoutReport, wave: int) -> str:
    """Which half-wave's outputs read the copies in which lanes."""
    assert report.readers is not None
    table = report.readers[wave]
    half = report.loaded.lanes // 2
    parts = []
    for who in sorted(set(table.ravel().tolist())):
        lanes = np.flatnonzero((table == who).any(axis=(1, 2))).tolist()
        if who >= 0:
            one = f"outputs in lanes {number_list(range(who * half, (who + 1) * half))} read"
            both = who > 1
            parts.append(
                f"{'outputs in both half-waves read' if both else one} the copies in {lanes_in_words(lanes)}"
            )
    if not parts:
        return "no output reads any of these slots"
    text = "; ".join(parts)
    if not any(evidence.on_card for evidence in report.evidence):
        text += " (the emulator's model; on a card: unmeasured"
        text += "; AMD's documents want both copies)" if (table < 0).any() else ")"
    return text


def dead(report: LayoutReport, wave: int) -> str:
    """Slots that no output depends on."""
    assert report.live is not None
    unread = ~report.live[wave]
    lanes = np.flatnonzero(unread.any(axis=(1, 2))).tolist()
    if not lanes:
        return f"no slot of wave {wave}; {int((~report.live).sum())} slots of other waves"
    slots = plural(int(unread.sum()), "slot")
    return f"no output depends on {slots} of wave {wave}, in {lanes_in_words(lanes)}"


def finding(found: Finding) -> Lines:
    """A finding below its first sentence: where, expected, observed, next."""
    more = f" and {len(found.sizes) - 1} more" if len(found.sizes) > 1 else ""
    lines = [
        ("where", f"{found.place}{more}"),
        ("expected", found.expected),
        ("observed", found.observed),
        ("related", found.related_text),
        ("blocks", found.blocks),
        ("slots", f"{found.count} show it" if found.count > 1 else ""),
        ("next", found.hint),
    ]
    return [(label, text) for label, text in lines if text]
