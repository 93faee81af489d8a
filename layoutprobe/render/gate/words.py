"""What a gate report says in words, the same in every format."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.place import Place, SourceLine
from layoutprobe.render.layout import words
from layoutprobe.render.layout.words import Verdict, plural
from layoutprobe.render.look import WORDS
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, Fix, GateReport, KernelVerdict, Table

MOST_RESERVATIONS = 6
"""So many the headline of several kernels tells in full; each kernel's own tells all."""
TAB = 4
"""Columns of a tab in source lines."""
FIX = "fix"
"""Label of the change that mends a finding; its text has a line for each line of code."""
LONG_FIGURE = 32
"""Characters of a figure that is no number any more."""


class Spot(Struct, frozen=True):
    """Where a reviewer has to look.

    Attributes:
        file: path relative to the directory where the gate ran, if it lies below.
        line: counted from 1; None where only the file is known.
        column: counted from 1; None where it is not known.
    """

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Open(Struct, frozen=True):
    """Something that could not be decided.

    Attributes:
        check: its name; "" where no check of the kernel could run.
        reason: why.
        also: other checks that say the same, in order.
    """

    check: str
    reason: str
    also: tuple[str, ...] = ()

    @property
    def checks(self) -> str:
        """ "epilogue, numerics": all of them."""
        return ", ".join((self.check, *self.also))


def title(report: GateReport) -> str:
    """One line: the command and its object."""
    return f"layoutprobe check: {report.manifest}"


def kernel_title(verdict: KernelVerdict) -> str:
    """ "standard (gfx1151)": unique in a report."""
    return f"{verdict.name} ({verdict.target})" if verdict.target else verdict.name


def outcome(verdict: KernelVerdict) -> Verdict:
    """The outcome of one kernel in a word and a sentence."""
    return Verdict(WORDS[verdict.exit_code], _sentence(verdict), basis([verdict]))


def _sentence(verdict: KernelVerdict) -> str:
    if verdict.error:
        return "it could not be checked"
    counts = Counter(result.status for result in verdict.results)
    parts = [plural(len(verdict.findings), "finding")] if verdict.findings else []
    if held := counts["holds"]:
        parts.append(f"{plural(held, 'check')} {'holds' if held == 1 else 'hold'}")
    counts["skipped"] -= sum(r.waived or bool(r.accepted and not r.findings) for r in verdict.results)
    parts += [f"{counts[status]} {status}" for status in ("undecided", "skipped") if counts[status]]
    parts += _waivers(verdict.waived, verdict.accepted)
    if verdict.reservations:
        parts.append(f"with reservations ({'; '.join(verdict.reservations)})")
    return ", ".join(parts) or "no check ran"


def _waivers(checks: Iterable[str], rules: Iterable[str]) -> list[str]:
    """What a headline must not hide: checks that nobody made, and findings that the author accepts."""
    said = {"not checked, as the manifest says": ", ".join(checks), "found and let pass": ", ".join(rules)}
    return [f"{what}: {names}" for what, names in said.items() if names]


def gate_outcome(report: GateReport, *, beside: bool = False) -> Verdict:
    """The outcome of the whole gate in a word and a sentence.

    Args:
        report: of the gate.
        beside: that of each kernel stands beside it, with its reservations in full: here they are counted.
    """
    sentence = "; ".join(filter(None, (_kernels_sentence(report, beside), relaxed_title(report))))
    return Verdict(WORDS[report.exit_code], sentence, basis(report.verdicts))


def relaxed_title(report: GateReport) -> str:
    """ "3 relaxations of the manifest since main"; "" where there are none."""
    count = len(report.relaxations)
    return f"{plural(count, 'relaxation')} of the manifest since {report.base}" if count else ""


def _kernels_sentence(report: GateReport, beside: bool) -> str:
    total = len(report.verdicts)
    if not total:
        return "no kernel was checked"
    sentence = _counted(report, total) + _targets(report)
    checks = dict.fromkeys(name for verdict in report.verdicts for name in verdict.waived)
    rules = dict.fromkeys(name for verdict in report.verdicts for name in verdict.accepted)
    if checks or rules:
        some = sum(bool(verdict.waived or verdict.accepted) for verdict in report.verdicts)
        sentence = "; ".join([sentence, *_waivers(checks, rules)]) + _share(some, total)
    if reserved := [verdict.reservations for verdict in report.verdicts if verdict.reservations]:
        said = list(dict.fromkeys(reason for reasons in reserved for reason in reasons))
        more = [f"and {len(said) - MOST_RESERVATIONS} more"] if len(said) > MOST_RESERVATIONS else []
        texts = "; ".join([*said[:MOST_RESERVATIONS], *more])
        with_them = f"with {plural(len(said), 'reservation')}" if beside else f"with reservations: {texts}"
        sentence += f"; {with_them}{_share(len(reserved), total)}"
    return sentence


def _targets(report: GateReport) -> str:
    """A kernel counts once for each target; "" where there is one target."""
    targets = {verdict.target for verdict in report.verdicts}
    names = {verdict.name for verdict in report.verdicts}
    return f" ({plural(len(names), 'kernel')} for {len(targets)} targets)" if len(targets) > 1 else ""


def _share(some: int, total: int) -> str:
    return f" (in {some} of {total} kernels)" if total > 1 else ""


def _counted(report: GateReport, total: int) -> str:
    codes = [verdict.exit_code for verdict in report.verdicts]
    if not any(codes):
        return "the 1 kernel holds" if total == 1 else f"all {total} kernels hold"
    parts = []
    if wrong := codes.count(1):
        findings = sum(len(verdict.findings) for verdict in report.verdicts)
        parts.append(f"{plural(findings, 'finding')} in {wrong} of {plural(total, 'kernel')}")
    if unclear := codes.count(2):
        parts.append(f"{unclear} of {plural(total, 'kernel')} undecided")
    if right := codes.count(0):
        parts.append(f"{right} {'holds' if right == 1 else 'hold'}")
    return "; ".join(parts)


def basis(verdicts: Iterable[KernelVerdict]) -> str:
    """The kinds of evidence; a verdict never travels without."""
    kinds = dict.fromkeys(found.kind for verdict in verdicts for found in verdict.evidence)
    return ", ".join(kinds) or "nothing was executed"


def searched(verdict: KernelVerdict) -> list[str]:
    """What was looked for beyond the manifest, where somebody asked: sizes that fail, changes that mend."""
    hunted = [f"hunted: {verdict.hunt}"] if verdict.hunt is not None else []
    return hunted + ([f"tried: {verdict.mending}"] if verdict.mending is not None else [])


def about(verdict: KernelVerdict, *, in_full: bool) -> list[str]:
    """What was run, with what evidence: sentences below the name of a kernel."""
    ran = f"ran {verdict.coverage}" if verdict.coverage is not None else ""
    seconds = f"{verdict.seconds:.1f} s"
    hunted = searched(verdict)
    if in_full:
        evidence = "; ".join(map(str, verdict.evidence)) or basis([verdict])
        return [
            *filter(None, (verdict.source, "; ".join(verdict.sizes), f"{evidence}, {seconds}", ran)),
            *hunted,
        ]
    count = len(verdict.sizes)
    sizes = f"{count} sizes, figures of {verdict.sizes[-1]}" if count > 1 else "".join(verdict.sizes)
    covered = verdict.coverage
    # Others are copies that the compiler made, traps, and code on the way past a loop: nothing to act on.
    blocks = f"ran {covered.blocks_run} of {covered.blocks} blocks" if covered and covered.missed else ""
    return ["; ".join(filter(None, (sizes, blocks, seconds))), *hunted]


def frame(verdict: KernelVerdict, place: Place, width: int = 0) -> list[str]:
    """The source line of a place and those around it, as compilers print them; empty where nobody kept it.

    Args:
        verdict, place: whose.
        width: columns that there are; of longer lines a window around the meant column is shown. 0: all.
    """
    if place.source is None or place.near:
        return []
    kept, meant = verdict.excerpts.get(place.source.file, {}), place.source
    if meant.line not in kept:
        return []
    near = [n for n in sorted(kept) if abs(n - meant.line) <= 1]
    edge = len(str(near[-1])) + 4
    caret = len(kept[meant.line][: (meant.column or 1) - 1].expandtabs(TAB))
    whole = len(kept[meant.line].expandtabs(TAB))
    room = max(width - edge, _LEAST) if width else whole
    # As much as can be of what stands behind the column: the expression that is meant.
    start = min(max(whole - room, 0), caret // 2) if whole > room and caret > room // 3 else 0
    start = max(start, caret - room + _BEHIND) if start else 0
    lines = []
    for number in near:
        mark = ">" if number == meant.line else " "
        text = _window(kept[number].expandtabs(TAB), start, room if width else None)
        lines.append(f"{mark} {number:>{edge - 4}}  {text}".rstrip())
        if number == meant.line and meant.column:
            lines.append(f"{'':{edge}}{'':{caret - start}}^")
    return lines


_LEAST = 20
"""Columns of source that are shown, however narrow the page."""
_BEHIND = 16
"""Columns behind the meant one that are shown at least."""
_CUT = "..."


def _window(text: str, start: int, room: int | None) -> str:
    """A part of a line; what is cut off at an end is said. A line that ends before it is shown from its start."""
    if not text[start:].strip():
        start = 0
    shown = text[start:] if room is None else text[start : start + room]
    if start:
        shown = _CUT + shown[len(_CUT) :]
    if room is not None and len(text) > start + room:
        shown = shown[: -len(_CUT)] + _CUT
    return shown


def open_questions(verdict: KernelVerdict) -> Iterator[Open]:
    """Why a kernel is not green although nothing was found; also next to findings."""
    if verdict.error:
        yield Open("", verdict.error)
    for result in verdict.results:
        if result.status == "undecided":
            yield Open(result.check, result.reason or "no reason was given")
    nothing_held = not any(result.status in ("holds", "finding", "undecided") for result in verdict.results)
    if nothing_held and not verdict.error:
        yield Open("", "no check applied to this kernel, so nothing is known about it")
    for reservation in verdict.reservations if verdict.strict else ():
        yield Open("", f"a reservation, and --strict allows none: {reservation}")


def open_causes(verdict: KernelVerdict) -> Iterator[Open]:
    """Open questions, those of one reason as one: a run that stops early leaves most checks open."""
    groups: dict[str, list[str]] = {}
    for question in open_questions(verdict):
        groups.setdefault(question.reason, []).append(question.check)
    for reason, (first, *others) in groups.items():
        yield Open(first, reason, tuple(others))


def repeated(verdict: KernelVerdict) -> dict[str, str]:
    """Check -> the check above it in the list that gives the same reason for being undecided."""
    return {name: cause.check for cause in open_causes(verdict) if cause.check for name in cause.also}


def spot(verdict: KernelVerdict, found: Finding | None = None) -> Spot:
    """The file and line of a finding; of a kernel where there is no finding or it names no line.

    A line that is only near (the compiler gave none for the instruction) names the file alone: what
    stands beside a line must be about that line. The finding's own words say which it is near.
    """
    return Spot(shown(verdict.source)) if found is None else spot_of(verdict, found.place)


def spot_of(verdict: KernelVerdict, place: Place) -> Spot:
    """The file and line of a place in a kernel."""
    source = place.source
    if source is None or place.near:
        return Spot(file_of(verdict, place))
    return Spot(file_of(verdict, place), source.line, source.column)


def located(verdict: KernelVerdict, place: Place) -> Place:
    """The same place with every file as a reviewer finds it."""
    if place.source is None:
        return place
    calls = tuple(
        replace(call, source=replace(call.source, file=_file(verdict, call.source)))
        for call in place.inlined_at
    )
    return replace(place, source=replace(place.source, file=_file(verdict, place.source)), inlined_at=calls)


def file_of(verdict: KernelVerdict, place: Place) -> str:
    """The file of a place; line tables name files relative to the source's own directory."""
    return shown(verdict.source) if place.source is None else _file(verdict, place.source)


def _file(verdict: KernelVerdict, source: SourceLine) -> str:
    if PurePosixPath(source.file).name == PurePosixPath(verdict.source).name:
        return shown(verdict.source)
    return shown(os.path.join(os.path.dirname(verdict.source), source.file))


def in_full(verdict: KernelVerdict, found: Finding) -> str:
    """A finding in plain lines: place and diagnosis, then a line per label."""
    lines = [f"{spot(verdict, found)}: {found.what}"]
    return "\n".join([*lines, *(f"{label + ':':<10}{text}" for label, text in details(verdict, found))])


def details(verdict: KernelVerdict, found: Finding) -> words.Lines:
    """A finding below its first sentence, and what else shows because of it, or what it shows because of."""
    lines = words.finding(found)
    if explained := _explained(verdict.consequences(found)):
        lines.append(("explains", explained))
    if found.follows is not None:
        lines.append(("follows", f"from {found.follows.rule.id}, {spot(verdict, found.follows)}"))
    if fix := verdict.fix(found):
        lines.append((FIX, "\n".join([fix_title(verdict, fix), *fix_lines(fix)])))
    return lines


def fix_title(verdict: KernelVerdict, fix: Fix) -> str:
    """ "gemm.hip:62, with which every check holds at 3 sizes (emulated):"."""
    where = _file(verdict, SourceLine(fix.file, fix.line))
    sizes = plural(fix.sizes, "size")
    but = f", but it {fix.unlisted[0].says}" if fix.unlisted else ""
    return f"{where}:{fix.line}, with which every check holds at {sizes}{but} ({basis([verdict])}):"


def fix_lines(fix: Fix) -> list[str]:
    """What is replaced, and what comes there, as `diff` has it."""
    return [*(f"- {line.strip()}" for line in fix.old), *(f"+ {line.strip()}" for line in fix.new)]


def _explained(followers: Iterable[Finding]) -> str:
    """The consequences, one sentence for those of a rule: they differ in the matrix or the place only."""
    rules: dict[str, list[str]] = {}
    for other in followers:
        rules.setdefault(other.rule.id, []).append(other.what)
    more = {rule: f" (and {len(said) - 1} more)" if len(said) > 1 else "" for rule, said in rules.items()}
    return "; ".join(f"{rule}: {said[0]}{more[rule]}" for rule, said in rules.items())


def counted(result: CheckResult) -> str:
    """ "1 finding, 2 more that follow from races/read-after-write"."""
    followed = [found.follows.rule.id for found in result.findings if found.follows is not None]
    causes = len(result.findings) - len(followed)
    parts = [plural(causes, "finding")] if causes else []
    if followed:
        parts.append(f"{len(followed)} more" if causes else plural(len(followed), "finding"))
        parts[-1] += f" that {'follows' if len(followed) == 1 else 'follow'} from "
        parts[-1] += " and ".join(dict.fromkeys(followed))
    return ", ".join(parts)


def shown(path: str) -> str:
    """Relative to the working directory where it lies below, with forward slashes."""
    if os.path.isabs(path):
        with_base = os.path.relpath(path) if "\0" not in path else path
        path = path if with_base.startswith("..") else with_base
    return os.path.normpath(path).replace(os.sep, "/")


def figures(result: CheckResult) -> list[tuple[str, str]]:
    """(name, value) of a check's figures, as people read them; without tables."""
    single = {name: value for name, value in result.metrics.items() if not isinstance(value, Table)}
    return [(name, _figure(value)) for name, value in single.items()]


def _figure(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def tables(result: CheckResult) -> Iterator[tuple[str, Table]]:
    """(name, table) of a check's figures."""
    return ((name, value) for name, value in result.metrics.items() if isinstance(value, Table))


def rows(table: Table) -> Iterator[list[str]]:
    """The values as people read them."""
    return (list(map(_figure, row)) for row in table.rows)


def aligned(table: Table) -> list[str]:
    """Column heads and rows as lines of one width: names to the left, figures to the right."""
    texts = [table.columns, *rows(table)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [
        "  ".join(
            [f"{row[0]:<{widths[0]}}", *(f"{x:>{w}}" for x, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in texts
    ]


def is_long(figure: tuple[str, str]) -> bool:
    """A sentence rather than a number: it wants a line of its own."""
    return len(figure[1]) > LONG_FIGURE
