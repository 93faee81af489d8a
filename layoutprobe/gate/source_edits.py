"""Which small changes of a kernel's source are tried, and in which order: those near what is wrong come first.

What a statement offers is `codegen.rewrites`; here is which statements, and what counts more. From the places of a
finding it goes back through what gives names their values, and in the end to every line that ran.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.checks import numerics
from layoutprobe.codegen.declarations import declarations, is_headed
from layoutprobe.codegen.expressions import Rewrite, Spot, function_around
from layoutprobe.codegen.macros import macros
from layoutprobe.codegen.rewrites import KINDS, rewrites
from layoutprobe.codegen.scope import Outer, scope
from layoutprobe.codegen.statements import Source
from layoutprobe.codegen.tree import ASSIGNMENTS
from layoutprobe.gate.copies import SourceCopy
from layoutprobe.gate.strides import numbers_told, scalars_for
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.model import KernelCase
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding


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
                    if edit.key not in ranked or edit.rank < ranked[edit.key].rank:
                        ranked[edit.key] = edit
        return sorted(ranked.values(), key=lambda edit: edit.rank)

    def _at(self, place: _Near, finding: Finding) -> Iterator[SourceEdit]:
        """What a statement offers."""
        order, scalars = _order(finding), scalars_for(self._copy.case, finding)
        far = place.far * _told(finding)
        sources = list(self.sources.values())
        steps = _STEP.findall(finding.what)
        lacking = _LACKING.search(finding.what)
        spot = Spot(place.source, place.within, sources, scalars, self._axes, place.outer, self._told, steps)
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
                if lacking and _adds(place.source, rewrite, lacking[1] or lacking[2]):
                    rank -= _SURE
                yield SourceEdit(place.file, rewrite, rank, finding)

    def _is_meant(self, source: Source, rewrite: Rewrite) -> bool:
        """Whether a change is one of a name, and an instruction is right with the same one."""
        names = [_NAME.fullmatch(text) for text in (rewrite.text, source.text[rewrite.start : rewrite.end])]
        return tuple(found[1] if found else "" for found in names) in self._meant

    def _statements(
        self, finding: Finding, known: Sequence[SourceLine], ran: Sequence[SourceLine]
    ) -> list[_Near]:
        """Statements with how far each is from what is wrong."""
        starts = [(line, _KNOWN + n * _FARTHER) for n, line in enumerate(known)]
        starts += [
            (line, n * _FARTHER) for n, line in enumerate(_lines(finding, self._copy.original.file.name))
        ]
        about = [line.line for line in (*known, finding.place.source) if line is not None][:1]
        rest = sorted(
            [*ran, *self._without_code(ran)],
            key=lambda line: min((abs(line.line - at) for at in about), default=0),
        )
        starts += [(line, (_BESIDE if known else _RAN) + n * _ASIDE) for n, line in enumerate(rest)]
        nearest: dict[tuple[Path, int], _Near] = {}
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
            waiting.extend(_inside(near))
            waiting.extend(_readers(near))
            waiting.extend(self._definitions(near))
        return list(nearest.values())

    def _types(self) -> Iterator[_Near]:
        """Types of the file's own that have a sign, or none: `typedef signed char act_t;`."""
        for file, source in self.sources.items():
            for i in (i for i, token in enumerate(source.tokens) if token.text in ("typedef", "using")):
                within = source.around(i)
                if _SIGNED.search(source.slice(within.start, within.stop)):
                    yield _Near(_BESIDE, file, source, within, 0)

    def _without_code(self, ran: Sequence[SourceLine]) -> Iterator[SourceLine]:
        """Heads of branches and loops of functions that ran, that have no instruction of their own: what comes of
        them, a compiler knows."""
        lines = defaultdict[Path, dict[int, SourceLine]](dict)
        for line in ran:
            if (file := self._copy.find(line)) in self.sources and file is not None:
                lines[file][line.line] = line
        for file, known in lines.items():
            source = self.sources[file]
            for i in (i for i, token in enumerate(source.tokens) if token.text in _HEADS):
                at, around = source.line_of(source.tokens[i].start), function_around(source, i)
                last = source.line_of(source.tokens[around.stop - 1].start)
                first = source.line_of(source.tokens[around.start].start)
                beside = next((line for n, line in known.items() if first <= n <= last), None)
                if at not in known and beside is not None and _in_function(source, i):
                    yield replace(beside, line=at)

    def _of_line(self, line: SourceLine, far: float) -> Iterator[_Near]:
        """Its statements, as short lambdas and blocks have theirs beside each other: the one at the column first."""
        file = self._copy.find(line)
        source = self.sources.get(file) if file is not None else None
        if file is None or source is None:
            return
        offset = source.offset(line.line, line.column or 1)
        found = list(islice(source.statements_of(line.line), _OF_LINE))
        here = next((n for n, one in enumerate(found) if offset < source.tokens[one.stop - 1].end), 0)
        for n, within in enumerate(found):
            yield _Near(far + abs(n - here) * _FARTHER, file, source, within, offset)

    def _bodies(self, here: _Near) -> Iterator[_Near]:
        """Statements of the macros that another one uses: what they expand to has its line."""
        for name in dict.fromkeys(here.source.tokens[i].text for i in here.within):
            if name in self._macros:
                file, one = self._macros[name]
                outer = (*_known(here), *((name, "") for name in one.parameters))
                for n, within in enumerate(
                    islice(one.body.statements(0, len(one.body.tokens)), _LONGEST_MACRO)
                ):
                    used = here.used or here
                    far = here.far + _FARTHER + n * _FARTHER / 4
                    yield _Near(far, file, one.body, within, 0, outer, used)

    def _copy_behind(self, here: _Near) -> Iterator[_Near]:
        """The statement behind another one, where it copies a name: that has no code, and no line of it ran."""
        source = here.source
        if here.within.stop + _COPY < len(source.tokens) and source.tokens[here.within.stop].text == ";":
            within = source.around(here.within.stop + 1)
            words = source.tokens[within.start : within.stop]
            if len(words) == _COPY and words[1].text == "=" and words[0].kind == words[2].kind == "name":
                yield _Near(here.far + _FARTHER, here.file, source, within, 0)

    def _definitions(self, here: _Near) -> Iterator[_Near]:
        """Statements that give the names of another one their values, and those of short functions that it calls."""
        source, steps = here.source, count()
        names = dict.fromkeys(source.tokens[i].text for i in here.within if source.tokens[i].kind == "name")
        for file, there, at in _known_at(here, names):
            far = here.far + _DEFINED + next(steps) * _FARTHER / 4
            yield _Near(far, file, there, there.around(at), 0)
        for at in _changed_at(here, names):
            far = here.far + _DEFINED + next(steps) * _FARTHER / 4
            yield _Near(far, here.file, source, source.around(at), 0)
        for name in names:
            for file, there in self.sources.items():
                for body in _body(there, name):
                    yield _Near(here.far + _DEFINED + next(steps) * _FARTHER / 4, file, there, body, 0)


def _adds(source: Source, rewrite: Rewrite, name: str) -> bool:
    """Whether a name stands once more behind a change."""
    before, behind = source.text[rewrite.start : rewrite.end], rewrite.text
    return len(re.findall(rf"\b{name}\b", behind)) > len(re.findall(rf"\b{name}\b", before))


def _known_at(here: _Near, names: Iterable[str]) -> Iterator[tuple[Path, Source, int]]:
    """Where names of a statement are given their values: before it, or where the macro is used that it is of."""
    for near in (here, here.used) if here.used is not None else (here,):
        source, stop = near.source, near.within.start
        around = function_around(source, stop)
        given = {i for i in range(stop) if source.defines(i)} | _variables(source, stop)
        defined = {source.tokens[i].text: i for i in sorted(given)}
        for name in names:
            at = defined.get(name)
            if at is not None and (at in around or not _in_function(source, at)):
                yield near.file, source, at


def _changed_at(here: _Near, names: Collection[str]) -> list[int]:
    """Where names of a statement are added to before it, in its function: a compiler makes one of all that."""
    tokens, around = here.source.tokens, function_around(here.source, here.within.start)
    found = (
        i
        for i in range(here.within.start - 1, around.start, -1)
        if tokens[i].text in names and tokens[i + 1].text in ASSIGNMENTS and tokens[i + 1].text != "="
    )
    return list(islice(found, _MOST_CHANGES))


_MOST_CHANGES = 4
_ARGUMENTS = re.compile(r"argument (\w+) in place of (\w+)")
"""What an instruction is right with."""
_NAME = re.compile(r"(?:\w+(?:\.|->))*(\w+)")
_HEADS = ("if", "for", "while")
_LINES = re.compile(r"\s*\n\s*")
_STEP = re.compile(r"without `([-+*/] [\w.]+)`")
"""What a finding says of a step of the reference."""
_LACKING = re.compile(r"added without (\w+)|\b(alpha|beta)(?: \* C)? is missing")
"""The factor that a finding says is missing; see `trace.gemm_faults`."""


def _in_turn(found: Sequence[Rewrite], offset: int) -> list[Rewrite]:
    """Changes of numbers: those nearest to a place in the text first; where none is known, the two likeliest of each
    number, then two more of each."""
    if offset:
        return sorted(found, key=lambda one: abs(one.start - offset))
    often, turns = Counter[int](), list[int]()
    for one in found:
        turns.append(often[one.start] // 2)
        often[one.start] += 1
    return [found[n] for n in sorted(range(len(found)), key=lambda n: turns[n])]


def _in_function(source: Source, at: int) -> bool:
    """Whether a name is declared in a function, and not for all of a file, namespace or structure."""
    block = source.block_around(at)
    while block is not None and block[0] and not is_headed(source, block[0]):
        block = source.block_around(block[0])
    return block is not None and block[0] > 0


def _axes(case: KernelCase) -> frozenset[str]:
    """Coordinates and extents of launches that are more than one value: the others name nothing."""
    found = set[str]()
    for size in case.sizes:
        binding = bind(case, size)
        for axis, grid, block in zip("xyz", binding.grid, binding.block, strict=True):
            found |= {f"blockIdx.{axis}", f"gridDim.{axis}"} if grid > 1 else set()
            found |= {f"threadIdx.{axis}", f"blockDim.{axis}"} if block > 1 else set()
    return frozenset(found)


def _variables(source: Source, stop: int) -> set[int]:
    """Names before a token that are declared, but no parameters: `View a{p, k};`, `Tile t(p);`, `Acc x;`."""
    found = {i for i, _ in declarations(source) if i < stop}
    return {i for i in found if source.parent[i] < 0 or _is_local(source, i)}


def _is_local(source: Source, i: int) -> bool:
    return source.is_block(source.parent[i]) and _in_function(source, i)


def _inside(here: _Near) -> Iterator[_Near]:
    """Statements of the lambda that a call goes on with, as what a wrapper calls may have the wrapper's line alone;
    and of a loop whose head is told."""
    source, brace = here.source, here.within.stop
    if brace + 1 >= len(source.tokens) or not source.is_block(brace):
        return
    behind = source.partner.get(brace - 1, 0) - 1 if source.tokens[brace - 1].text == ")" else brace - 1
    told = here.far <= _OF_HEADS and source.tokens[behind].text in ("for", "while")
    if told or source.tokens[behind].text == "]":
        body = islice(source.statements(brace + 1, source.partner[brace]), _LONGEST_BODY)
        for n, within in enumerate(body):
            yield _Near(here.far + _FARTHER + n * _FARTHER / 4, here.file, source, within, 0)


def _readers(here: _Near) -> Iterator[_Near]:
    """Statements that read the array which one that is told stores to: what is lost in it may be so there."""
    source, tokens = here.source, here.source.tokens
    stores = [
        i
        for i in here.within
        if tokens[i].kind == "name"
        and source.defines(i)
        and tokens[i + 1].text == "["
        and _is_stored(source, i)
    ]
    if here.far > _OF_HEADS or not stores:
        return
    name, around = tokens[stores[0]].text, function_around(source, here.within.start)
    uses = [
        i
        for i in around
        if tokens[i].text == name and i not in here.within and i not in _variables(source, i + 1)
    ]
    found = dict.fromkeys(source.around(i) for i in uses if not _is_stored(source, i))
    for n, within in enumerate(islice(found, _MOST_CHANGES)):
        yield _Near(here.far + _DEFINED + n * _FARTHER, here.file, source, within, 0)


def _is_stored(source: Source, i: int) -> bool:
    """Whether an element of an array is what is assigned to."""
    last = i + 1
    while last in source.partner and source.tokens[last].text == "[":
        last = source.partner[last] + 1
    return last < len(source.tokens) and source.tokens[last].text in ASSIGNMENTS


class _Near(Struct, frozen=True):
    """A statement: how far it is from what is wrong, from where in the file on it is meant, what it knows; for one of
    a macro, what uses that."""

    far: float
    file: Path
    source: Source
    within: range
    offset: int
    outer: Outer = ()
    used: _Near | None = None


def _known(here: _Near) -> Outer:
    """Names that a statement may use, with their sorts, those first that stand near it: so may the bodies of its
    macros."""
    around = function_around(here.source, here.within.start)
    known = scope(here.source, around.start, around.stop, here.outer).at(
        max(here.within.stop - 1, here.within.start)
    )
    far = dict[str, int]()
    for i in around:
        text, away = here.source.tokens[i].text, abs(i - here.within.start)
        far[text] = min(far.get(text, away), away)
    return tuple(sorted(known.items(), key=lambda one: far.get(one[0], len(far) + around.stop)))


_OF_HEADS = 0.15
"""How far from what is told the head of a loop is at most, for what is in it to be as near."""
_OF_LINE = 6
_COPY = 3
"""Words of `b1 = nb1`."""
_LONGEST_BODY, _LONGEST_MACRO = 12, 48
"""Statements of a function that is called, and of a macro, which may be a whole kernel."""


def _body(source: Source, name: str) -> Iterator[range]:
    """Statements of a short function; its head, where that has more than parameters, or one with a sign or none."""
    for opened in _brackets(source).get(name, ()):
        close = source.partner[opened]
        brace = _brace(source, close + 1)
        if brace is None:
            continue
        head = source.slice(opened, close)
        if source.tokens[close + 1].text == ":" or "=" in head or _SIGNED.search(head):
            yield source.around(opened)
        if source.is_block(brace):
            yield from islice(source.statements(brace + 1, source.partner[brace]), _LONGEST_BODY)


@lru_cache(maxsize=32)
def _brackets(source: Source) -> Mapping[str, list[int]]:
    """Names of what is called or declared, and the brackets behind them."""
    found = defaultdict[str, list[int]](list)
    for name, opened in source.calls(range(len(source.tokens))):
        found[name].append(opened)
    return found


def _brace(source: Source, first: int) -> int | None:
    """The brace of a function's body, behind its parameters and what its members begin with; None for a call."""
    tokens, i, initialises = source.tokens, first, source.tokens[first : first + 1]
    members = bool(initialises) and initialises[0].text == ":"
    while i < min(first + _LONGEST_HEAD, len(tokens)) and (members or tokens[i].text not in (",", ")", "}")):
        if tokens[i].text == "{" and not (members and tokens[i - 1].kind == "name"):
            return i if i in source.partner else None
        if tokens[i].text in (";", "="):
            return None
        i = source.partner.get(i, i) + 1 if tokens[i].text in ("(", "{") else i + 1
    return None


_LONGEST_HEAD = 80
_SIGNED = re.compile(r"\b(?:un)?signed\b|\bu?int(?:8|16|32)_t\b|\bchar\b")


def _lines(finding: Finding, own: str) -> Iterator[SourceLine]:
    """Lines of a finding's places and of the calls around them; of a place those in the kernel's file first."""
    places: list[Place] = [finding.place, *(other.place for other in finding.related)]
    for place in places:
        lines = [place.source] if place.source is not None else []
        lines += [call.source for call in place.inlined_at]
        yield from sorted(lines, key=lambda line: Path(line.file).name != own)


_ORDERS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("races/buffer-in-use", ("parity", "names", "numbers")),
    ("races/global-overwrite", ("names", "terms", "scalars", "operators", "numbers")),
    ("races/lost-store", ("atomic", "names", "terms", "numbers")),
    ("races/", ("barriers", "parity")),
    ("lds-safety/undefined-read", ("barriers", "parity")),
    ("lds-safety/out-of-bounds", ("both", "borrow", "names", "numbers", "operators", "terms")),
    ("lds-safety/", ("borrow", "names", "numbers", "operators", "terms")),
    ("numerics/wrong-factor", ("factors", "swap")),
    ("numerics/wrong-epilogue", ("factors", "swap")),
    ("numerics/input-taken-otherwise", ("words", "numbers", "operators", "names", "swap")),
    ("epilogue/never-written", ("clamps", "rounding", "operators", "names", "numbers")),
    ("epilogue/written-twice", ("atomic", "names", "terms", "numbers")),
    ("epilogue/leading-dimension", ("scalars", "names", "terms")),
    ("epilogue/batch-stride", ("scalars", "names", "terms")),
    ("epilogue/", ("weights", "lanes", "swap", "names", "terms", "numbers")),
    ("memory/load-out-of-bounds", ("operators", "clamps", "names", "limits", "terms", "numbers")),
    ("memory/", ("operators", "names", "terms", "numbers")),
    ("operand-provenance/leading-dimension", ("scalars", "names", "terms")),
    ("operand-provenance/batch-stride", ("scalars", "names", "terms")),
    ("operand-provenance/incomplete-sum", ("rounding", "terms", "operators", "names", "numbers")),
    ("operand-provenance/transposed", ("swap",)),
    ("operand-provenance/other-buffer", ("parity", "names", "numbers")),
    ("operand-provenance/half-wave", ("lanes", "operators", "more", "names")),
    ("operand-provenance/", ("names", "borrow", "more", "numbers", "terms")),
    ("swizzle/", ("scheme", "borrow", "swap", "operators", "names")),
)
"""Beginning of a rule -> kinds of changes that are tried first."""


def _order(finding: Finding) -> dict[str, float]:
    """Kind of change -> how much likelier it is where such a rule found something."""
    first = next((kinds for rule, kinds in _ORDERS if finding.rule.id.startswith(rule)), ())
    return {kind: _LIKELIER - at * _NEXT + _NAMED * (kind == "scalars") for at, kind in enumerate(first)}


def _told(finding: Finding) -> float:
    """How much more than values a rule says of where it is mended; what never happens has no place."""
    return 1.0 if finding.rule.check == numerics.NAME or finding.name in _NEVER else _SURE


_NEVER = ("never-written", "incomplete-sum")


# What is added to the rank of a change, or taken from it: what has the rank of another one is as likely. The likely
# ones of a statement lie within one; so those of many statements come before the rest of any.
_LIKELIER, _NEXT = 0.9, 0.25
_NAMED = 4.0  # a rule about strides has measured which argument it should be
_FARTHER, _DEFINED = 0.05, 0.12
_KNOWN, _BESIDE, _RAN, _ASIDE = -0.6, 0.1, 0.7, 0.02
_BEFORE = 0.15
_TOO_LATE = 9.0  # nobody gets so far
_SURE = 3.0
