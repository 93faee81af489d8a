"""Which small changes of a kernel's source are tried, and in which order: those near what is wrong come first.

What a statement offers is `rewrites.registry`; here is which statements, and what counts more. From the places of a
finding it goes back through what gives names their values, and in the end to every line that ran.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.checks import numerics
from layoutprobe.gate.copies import SourceCopy
from layoutprobe.gate.nearness import (
    DEFINED,
    FARTHER,
    LONGEST_MACRO,
    SIGNED,
    Near,
    bare,
    body_of,
    carried_at,
    changed_at,
    head_of,
    in_function,
    inside,
    known_at,
    known_names,
    readers,
    returns_beside,
)
from layoutprobe.gate.strides import numbers_told, scalars_for
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.model import Expression, KernelCase
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding
from layoutprobe.rewrites.moving import moving
from layoutprobe.rewrites.registry import KINDS, rewrites
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.rewrites.substitutes import substitutes
from layoutprobe.source.expressions import function_around, function_name
from layoutprobe.source.macros import macros
from layoutprobe.source.statements import Source


class SourceEdit(Struct, frozen=True):
    """One change of the text of one file.

    Attributes:
        file: which.
        rewrite: the change.
        rank: how late it is tried.
        finding: what it may mend.
    """

    file: Path
    rewrite: Rewrite
    rank: float
    finding: Finding

    @property
    def key(self) -> object:
        """Equal for equal changes."""
        return self.file, self.rewrite.start, self.rewrite.end, self.rewrite.text


class SourceEdits:
    """Those of one kernel."""

    def __init__(self, copy: SourceCopy) -> None:
        self._copy = copy
        self.sources = {file: Source(text) for file, text in copy.texts.items()}
        self._axes, self._told = _axes(copy.case), numbers_told(copy.case)
        self._meant: set[tuple[str, str]] = set()
        self._macros = {one.name: (file, one) for file, text in copy.texts.items() for one in macros(text)}

    def in_turn(
        self,
        findings: Sequence[Finding],
        known: Sequence[SourceLine] = (),
        ran: Sequence[SourceLine] = (),
        mended: Sequence[str] = (),
    ) -> list[SourceEdit]:
        """All of them, the likeliest first.

        Args:
            findings: what is wrong.
            known: lines of which something else says that they are to be changed.
            ran: all lines of what was executed.
            mended: what is otherwise in instructions with which all is right.
        """
        self._meant = {pair for says in mended for pair in _ARGUMENTS.findall(says)}
        ranked: dict[object, SourceEdit] = {}
        for finding in findings:
            for place in self._statements(finding, known, ran):
                for edit in self._at(place, finding):
                    first = ranked.setdefault(edit.key, edit)  # it belongs to the finding that comes first
                    if edit.rank < first.rank:
                        ranked[edit.key] = replace(edit, finding=first.finding)
        return sorted(ranked.values(), key=lambda edit: edit.rank)

    def with_other_values(
        self, finding: Finding, known: Sequence[SourceLine], ran: Sequence[SourceLine]
    ) -> list[SourceEdit]:
        """Each expression with other values, those first that are near; they show what it goes into."""
        found: dict[object, SourceEdit] = {}
        for place in sorted(self._statements(finding, known, ran), key=lambda near: near.far):
            for rewrite in moving(self._spot(place, finding)):
                edit = SourceEdit(place.file, rewrite, place.far, finding)
                found.setdefault(edit.key, edit)
        return list(found.values())

    def instead(
        self,
        expressions: Sequence[tuple[Path, int, int]],
        finding: Finding,
        known: Sequence[SourceLine],
        ran: Sequence[SourceLine],
    ) -> Iterator[SourceEdit]:
        """All that may stand in place of a few expressions, each a file with where it begins and ends."""
        for place in self._statements(finding, known, ran):
            spot = self._spot(place, finding)
            first, last = (place.source.tokens[i] for i in (place.within.start, place.within.stop - 1))
            for file, start, end in expressions:
                if file == place.file and first.start <= start and end <= last.end:
                    for rewrite in substitutes(spot, start, end):
                        yield SourceEdit(file, rewrite, _INSTEAD + rewrite.rank, finding)

    def near(self, edit: SourceEdit, edits: Iterable[SourceEdit]) -> Iterator[SourceEdit]:
        """Those of the statement of one of them, and of calls of its function."""
        source = self.sources[edit.file]
        at = source.token_at(edit.rewrite.start)
        within = {edit.file: [source.span(source.around(at))]}
        if name := function_name(source, at):
            for file, other in self.sources.items():
                within.setdefault(file, []).extend(map(other.span, other.calls_of(name)))
        for one in edits:
            if any(one.rewrite.start in span for span in within.get(one.file, ())):
                yield one

    def find(self, line: SourceLine) -> Path | None:
        """The file of a line, where it is one of those that are changed."""
        file = self._copy.find(line)
        return file if file in self.sources else None

    def _at(self, place: Near, finding: Finding) -> Iterator[SourceEdit]:
        """What a statement offers."""
        order, far = _order(finding), place.far * _told(finding)
        lacking, spot = _lacking(finding.what, self._copy.case), self._spot(place, finding)
        for kind in (kind for kind, one in KINDS.items() if far + one.first < _TOO_LATE):
            found = rewrites(spot, kind)
            if kind == "numbers":  # a statement has many; the one that an instruction has is beside it
                near = _in_turn(found, place.offset)
                found = [replace(one, rank=early.rank) for one, early in zip(near, found, strict=True)]
            if finding.name.endswith("out-of-bounds"):  # a XOR brings any address back, whatever is wrong
                found = [one for one in found if one.text != "^"]
            if place.used is not None:  # of a macro: the end of a line would be its end
                found = [replace(one, text=_LINES.sub(" ", one.text)) for one in found]
            for rewrite in found:
                before = rewrite.start < place.offset
                rank = far + rewrite.rank - order.get(kind, 0.0) + before * _BEFORE
                if self._meant and self._is_meant(place.source, rewrite):
                    rank -= _SURE
                if any(_adds(place.source, rewrite, name) for name in lacking):
                    rank -= _SURE
                yield SourceEdit(place.file, rewrite, rank, finding)

    def _spot(self, place: Near, finding: Finding) -> Spot:
        """A statement with what is known of it."""
        steps = _in_arguments(steps_told(finding.what), self._copy.case)
        sources, scalars = list(self.sources.values()), scalars_for(self._copy.case, finding)
        return Spot(
            place.source,
            place.within,
            sources,
            scalars,
            self._axes,
            place.outer,
            self._told,
            steps,
            finding.what,
        )

    def _is_meant(self, source: Source, rewrite: Rewrite) -> bool:
        """Whether a change is one of a name, and an instruction is right with the same one."""
        names = [_NAME.fullmatch(text) for text in (rewrite.text, source.text[rewrite.start : rewrite.end])]
        return tuple(found[1] if found else "" for found in names) in self._meant

    def _statements(
        self, finding: Finding, known: Sequence[SourceLine], ran: Sequence[SourceLine]
    ) -> list[Near]:
        """Statements with how far each is from what is wrong."""
        starts = [(line, _KNOWN + n * FARTHER) for n, line in enumerate(known)]
        starts += [
            (line, n * FARTHER) for n, line in enumerate(_lines(finding, self._copy.original.file.name))
        ]
        about = [line.line for line in (*known, finding.place.source) if line is not None][:1]
        rest = sorted(
            [*ran, *self._without_code(ran)],
            key=lambda line: min((abs(line.line - at) for at in about), default=0),
        )
        starts += [(line, (_BESIDE if known else _RAN) + n * _ASIDE) for n, line in enumerate(rest)]
        nearest: dict[tuple[Path, int], Near] = {}
        waiting = deque(near for line, far in starts for near in self._of_line(line, far))
        waiting.extend(self._types())
        while waiting:
            near = waiting.popleft()
            key = near.file, near.source.tokens[near.within.start].start
            if key in nearest and nearest[key].far <= near.far:
                continue
            nearest[key] = near
            waiting.extend(self._copy_behind(near))
            waiting.extend(self._bodies(near))
            waiting.extend(inside(near))
            waiting.extend(readers(near))
            waiting.extend(head_of(near))
            waiting.extend(returns_beside(near))
            waiting.extend(self._definitions(near))
        return list(nearest.values())

    def _types(self) -> Iterator[Near]:
        """Types of the file's own that have a sign, or none: `typedef signed char act_t;`."""
        for file, source in self.sources.items():
            for i in (i for i, token in enumerate(source.tokens) if token.text in ("typedef", "using")):
                within = source.around(i)
                if SIGNED.search(source.slice(within.start, within.stop)):
                    yield Near(_BESIDE, file, source, within, 0)

    def _without_code(self, ran: Sequence[SourceLine]) -> Iterator[SourceLine]:
        """Heads of branches and loops of functions that ran, and calls, that have no instruction of their own: what
        comes of them, a compiler knows, and of two calls that end alike it makes one."""
        lines = defaultdict[Path, dict[int, SourceLine]](dict)
        for line in ran:
            if (file := self._copy.find(line)) in self.sources and file is not None:
                lines[file][line.line] = line
        for file, known in lines.items():
            source = self.sources[file]
            for i in bare(source):
                at, around = source.line_of(source.tokens[i].start), function_around(source, i)
                last = source.line_of(source.tokens[around.stop - 1].start)
                first = source.line_of(source.tokens[around.start].start)
                beside = next((line for n, line in known.items() if first <= n <= last), None)
                if at not in known and beside is not None and in_function(source, i):
                    yield replace(beside, line=at)

    def _of_line(self, line: SourceLine, far: float) -> Iterator[Near]:
        """Its statements, as short lambdas and blocks have theirs beside each other: the one at the column first."""
        file = self._copy.find(line)
        source = self.sources.get(file) if file is not None else None
        if file is None or source is None:
            return
        offset = source.offset(line.line, line.column or 1)
        found = list(islice(source.statements_of(line.line), _OF_LINE))
        here = next((n for n, one in enumerate(found) if offset < source.tokens[one.stop - 1].end), 0)
        for n, within in enumerate(found):
            yield Near(far + abs(n - here) * FARTHER, file, source, within, offset)

    def _bodies(self, here: Near) -> Iterator[Near]:
        """Statements of the macros that another one uses: what they expand to has its line."""
        for name in dict.fromkeys(here.source.tokens[i].text for i in here.within):
            if name in self._macros:
                file, one = self._macros[name]
                outer = (*known_names(here), *((name, "") for name in one.parameters))
                for n, within in enumerate(
                    islice(one.body.statements(0, len(one.body.tokens)), LONGEST_MACRO)
                ):
                    used = here.used or here
                    far = here.far + FARTHER + n * FARTHER / 4
                    yield Near(far, file, one.body, within, 0, outer, used)

    def _copy_behind(self, here: Near) -> Iterator[Near]:
        """The statement behind another one, where it copies a name: that has no code, and no line of it ran."""
        source = here.source
        if here.within.stop + _COPY < len(source.tokens) and source.tokens[here.within.stop].text == ";":
            within = source.around(here.within.stop + 1)
            words = source.tokens[within.start : within.stop]
            if len(words) == _COPY and words[1].text == "=" and words[0].kind == words[2].kind == "name":
                yield Near(here.far + FARTHER, here.file, source, within, 0)

    def _definitions(self, here: Near) -> Iterator[Near]:
        """Statements that give the names of another one their values, and those of short functions that it calls."""
        source, steps = here.source, count()
        names = dict.fromkeys(source.tokens[i].text for i in here.within if source.tokens[i].kind == "name")
        for file, there, at in known_at(here, names):
            far = here.far + DEFINED + next(steps) * FARTHER / 4
            yield Near(far, file, there, there.around(at), 0)
        for at in (*changed_at(here, names), *carried_at(here, names)):
            far = here.far + DEFINED + next(steps) * FARTHER / 4
            yield Near(far, here.file, source, source.around(at), 0)
        for name in names:
            for file, there in self.sources.items():
                for body in body_of(there, name):
                    yield Near(here.far + DEFINED + next(steps) * FARTHER / 4, file, there, body, 0)


def steps_told(what: str) -> list[str]:
    """The steps that a finding says a reference has and the kernel has not, each with its sign first."""
    found = _STEP.findall(_HANDED.sub(r"\2", what))
    return [one if one[0] in "-+*/" else f"{one[-1]} {one[:-2]}" for one in found]


def _in_arguments(steps: Sequence[str], case: KernelCase) -> list[str]:
    """Steps of a reference, and the same in the arguments that are its sizes: `+ kvLen - qLen` for `+ L - T`."""
    names = {
        one.value.text: one.name
        for one in case.arguments
        if one.role == "scalar" and isinstance(one.value, Expression)
    }
    renamed = (re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), step) for step in steps)
    return list(dict.fromkeys((*steps, *renamed)))


def _lacking(what: str, case: KernelCase) -> list[str]:
    """Arguments that a finding says are missing; of a reference's number those that have it for their value."""
    named = [one or other for one, other in _LACKING.findall(what)]
    numbers = {float(one or other) for one, other in _NUMBER_LOST.findall(what)}
    values = {
        one.name: one.value.text if isinstance(one.value, Expression) else one.value
        for one in case.arguments
        if one.role == "scalar"
    }
    return named + [name for name, value in values.items() if _number(value) in numbers]


def _number(value: float | str) -> float | None:
    """Of what has no size in it."""
    return float(value) if re.fullmatch(r"-?\d+(?:\.\d*)?", str(value)) else None


def _adds(source: Source, rewrite: Rewrite, name: str) -> bool:
    """Whether a name stands once more behind a change."""
    before, behind = source.text[rewrite.start : rewrite.end], rewrite.text
    return len(re.findall(rf"\b{name}\b", behind)) > len(re.findall(rf"\b{name}\b", before))


_ARGUMENTS = re.compile(r"argument (\w+) in place of (\w+)")
"""What an instruction is right with."""
_NAME = re.compile(r"(?:\w+(?:\.|->))*(\w+)")
_LINES = re.compile(r"\s*\n\s*")
_STEP = re.compile(r"without `([-+*/] [\w.\[\]]+(?: [-+*/] [\w.\[\]]+)*|[\w.\[\]]+ [+*])`")
"""What a finding says of a step of the reference: `+ tk - tq`, or `2 *`."""
_HANDED = re.compile(r"\b(?:sizes|inputs)\[(['\"])(\w+)\1\]")
"""How a reference writes what it is handed."""
_LACKING = re.compile(r"added without (\w+)|\b(alpha|beta)(?: \* C)? is missing")
"""The factor that a finding says is missing; see `trace.gemm_faults`."""
_NUMBER_LOST = re.compile(r"without `(?:[-+*/] (\d[\d.]*)|(\d[\d.]*) [-+*/])`")
"""A number of the reference that the kernel computes without."""


def _in_turn(found: Sequence[Rewrite], offset: int) -> list[Rewrite]:
    """Changes of numbers, two of each at a time: of that which is nearest to a place in the text first, then two more
    of it and the first two of the next one; where no place is known, in turn."""
    near = sorted({one.start for one in found}, key=lambda start: abs(start - offset))
    often, turns = Counter[int](), list[tuple[int, int]]()
    for one in found:
        away = near.index(one.start) if offset else 0
        turns.append((often[one.start] // 2 + away, away))
        often[one.start] += 1
    return [found[n] for n in sorted(range(len(found)), key=lambda n: turns[n])]


def _axes(case: KernelCase) -> frozenset[str]:
    """Coordinates and extents of launches that are more than one value: the others name nothing."""
    found = set[str]()
    for size in case.sizes:
        binding = bind(case, size)
        for axis, grid, block in zip("xyz", binding.grid, binding.block, strict=True):
            found |= {f"blockIdx.{axis}", f"gridDim.{axis}"} if grid > 1 else set()
            found |= {f"threadIdx.{axis}", f"blockDim.{axis}"} if block > 1 else set()
    return frozenset(found)


_OF_LINE = 6
_COPY = 3
"""Words of `b1 = nb1`."""


def _lines(finding: Finding, own: str) -> Iterator[SourceLine]:
    """Lines of a finding's places and of the calls around them; of a place those in the kernel's file first."""
    places: list[Place] = [finding.place, *(other.place for other in finding.related)]
    for place in places:
        lines = [place.source] if place.source is not None else []
        lines += [call.source for call in place.inlined_at]
        yield from sorted(lines, key=lambda line: Path(line.file).name != own)


_ORDERS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("races/buffer-in-use", ("parity", "names", "numbers")),
    (
        "races/global-overwrite",
        ("names", "moves", "grown", "atomic", "terms", "scalars", "operators", "numbers"),
    ),
    ("races/lost-store", ("atomic", "names", "grown", "terms", "numbers")),
    ("races/", ("barriers", "parity")),
    ("lds-safety/undefined-read", ("barriers", "parity", "otherwise")),
    ("lds-safety/out-of-bounds", ("both", "borrow", "names", "numbers", "operators", "terms")),
    ("lds-safety/", ("borrow", "names", "numbers", "operators", "terms")),
    ("numerics/wrong-factor", ("factors", "swap")),
    ("numerics/wrong-epilogue", ("factors", "swap")),
    ("numerics/input-taken-otherwise", ("words", "numbers", "operators", "names", "swap")),
    ("epilogue/never-written", ("clamps", "rounding", "operators", "names", "numbers")),
    ("epilogue/written-twice", ("atomic", "names", "grown", "terms", "numbers")),
    ("epilogue/leading-dimension", ("scalars", "names", "terms")),
    ("epilogue/batch-stride", ("scalars", "names", "terms")),
    (
        "epilogue/out-of-bounds",
        ("names", "limits", "asked", "first_asked", "weights", "swap", "terms", "numbers"),
    ),
    ("epilogue/", ("weights", "lanes", "swap", "names", "terms", "numbers")),
    ("memory/load-out-of-bounds", ("operators", "asked", "clamps", "names", "limits", "terms", "numbers")),
    ("memory/", ("operators", "asked", "names", "terms", "numbers")),
    ("operand-provenance/leading-dimension", ("scalars", "names", "terms")),
    ("operand-provenance/batch-stride", ("scalars", "names", "terms")),
    ("operand-provenance/incomplete-sum", ("rounding", "terms", "operators", "names", "numbers")),
    ("operand-provenance/transposed", ("swap",)),
    ("operand-provenance/line-order", ("striped", "names", "borrow", "swap", "numbers")),
    ("operand-provenance/other-buffer", ("parity", "names", "numbers")),
    ("operand-provenance/half-wave", ("lanes", "operators", "more", "names")),
    ("operand-provenance/accumulator-not-reset", ("resets", "initial", "names")),
    ("operand-provenance/", ("names", "borrow", "more", "numbers", "terms")),
    ("swizzle/collision", ("masks", "numbers", "operators")),
    ("swizzle/", ("scheme", "borrow", "swap", "operators", "names")),
)
"""Beginning of a rule -> kinds of changes that are tried first."""


def _order(finding: Finding) -> dict[str, float]:
    """Kind of change -> how much likelier it is where such a rule found something."""
    first = next((kinds for rule, kinds in _ORDERS if finding.rule.id.startswith(rule)), ())
    return {kind: _LIKELIER - at * _NEXT + _NAMED * (kind == "scalars") for at, kind in enumerate(first)}


def _told(finding: Finding) -> float:
    """How much more than values a rule says of where it is mended; what never happens has no place, and an order may
    be wrong where something is loaded, or where results are stored."""
    return 1.0 if finding.rule.check == numerics.NAME or finding.name in _ANYWHERE else _SURE


_ANYWHERE = ("never-written", "incomplete-sum", "line-order")


# What is added to the rank of a change, or taken from it: what has the rank of another one is as likely. The likely
# ones of a statement lie within one; so those of many statements come before the rest of any.
_LIKELIER, _NEXT = 0.9, 0.25
_NAMED = 4.0  # a rule about strides has measured which argument it should be
_KNOWN, _BESIDE, _RAN, _ASIDE = -0.6, 0.1, 0.7, 0.02
_BEFORE = 0.15
_INSTEAD = 5.0  # of an expression that is suspected, which brings them forward
_TOO_LATE = 9.0  # nobody gets so far
_SURE = 3.0
