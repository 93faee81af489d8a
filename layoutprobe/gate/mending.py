"""`check --suggest`: small changes of the lines that a finding is about, each compiled and checked until one holds.

The changes are guesses (`codegen/rewrites.py`). What decides is the gate: a change is shown only if every check holds
at every size with it. Sources are changed in a copy; the user's files are read, and never written.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import layoutprobe
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.base import Check
from layoutprobe.codegen.expressions import Rewrite, Spot, function_around
from layoutprobe.codegen.rewrites import KINDS, rewrites
from layoutprobe.codegen.statements import Source
from layoutprobe.engine.base import DEFAULT_BUDGET
from layoutprobe.engine.choice import NUMPY
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import ProbeError
from layoutprobe.gate.build import Built, build, files_of
from layoutprobe.gate.excerpts import MOST_BYTES, in_tree
from layoutprobe.gate.strides import scalars_for
from layoutprobe.gate.tally import Tally
from layoutprobe.manifest.files import ASSEMBLY
from layoutprobe.manifest.model import KernelCase
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import Fix, KernelVerdict, Mending
from layoutprobe.trace.comparisons import wrong_on_integers
from layoutprobe.trace.subject import RunStoppedError, UndecidedError

MOST = 300
"""Changes that are tried for a kernel."""
_CAUSES = 2
"""Findings whose lines are changed."""
_SEEN_IN_VALUES = ("numerics/wrong-values", "numerics/misplaced")


@dataclass(frozen=True)
class Judge:
    """How a change is judged.

    Attributes:
        checks: that found what is wrong.
        reference: see `Tally`.
        whole: all checks at all sizes.
    """

    checks: Sequence[Check]
    reference: Callable[..., object] | None
    whole: Callable[[KernelCase], KernelVerdict]


def mend(case: KernelCase, target: str, verdict: KernelVerdict, judge: Judge, seconds: float) -> Mending:
    """Look for a change of one statement with which the kernel is green.

    Args:
        case: the kernel, compiled from a source.
        target: what it was compiled for.
        verdict: what was found.
        judge: says what holds.
        seconds: for how long.

    Returns:
        What was tried, and the change if there is one.
    """
    nothing = Mending(0, 0, 0.0, None)
    if case.source is None or case.source.suffix.lower() in ASSEMBLY:
        return nothing
    start = time.monotonic()
    with TemporaryDirectory(prefix="layoutprobe-") as folder:
        copy = _Copy(case, target, Path(folder))
        if not copy.compiles_alike(target, verdict.toolchain):
            return nothing
        return _Search(copy, target, verdict, judge, start + seconds).run(start)


class _Copy:
    """The files that a kernel is compiled from, beside each other as they are."""

    def __init__(self, case: KernelCase, target: str, folder: Path) -> None:
        self.original = case
        files = [case.file.resolve(), *_read_by(case, target)]
        self.files = list(dict.fromkeys(file for file in files if file == files[0] or _is_own(file)))
        self.root = Path(os.path.commonpath([file.parent for file in self.files]))
        self.folder = folder
        for file in self.files:
            self.of(file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, self.of(file))
        include = tuple(
            self.of(path.resolve()) if path.resolve().is_relative_to(self.root) else path
            for path in case.include
        )
        self.case = replace(case, source=self.of(case.file.resolve()), include=include)

    def compiles_alike(self, target: str, toolchain: Mapping[str, str]) -> bool:
        """Whether the copy is whole: it compiles to the code that was checked."""
        try:
            return build(self.case, target).toolchain["code_object"] == toolchain.get("code_object")
        except ProbeError:
            return False

    def of(self, file: Path) -> Path:
        """Where the copy of a file lies."""
        return self.folder / file.relative_to(self.root)

    def find(self, line: SourceLine) -> Path | None:
        """The file of a line, where it is one of the user's."""
        case = self.original
        own = Path(line.file).name == case.file.name
        found = (case.file if own else case.file.parent / line.file).resolve()
        return found if found in self.files and in_tree(case, found) else None


def _read_by(case: KernelCase, target: str) -> list[Path]:
    return [file.resolve() for file in files_of(replace(case, arches=(target,)))[1:] if file.is_file()]


def _is_own(file: Path) -> bool:
    """A file of the user's, and not of a compiler's, which may lie in the same tree."""
    foreign = (Path(sys.prefix), Path(layoutprobe.__file__).parent)
    return (
        not any(file.is_relative_to(root.resolve()) for root in foreign) and file.stat().st_size <= MOST_BYTES
    )


def _text(file: Path) -> str | None:
    """What a file holds, with its line ends as they are; None where it is no UTF-8."""
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True)
class _Candidate:
    file: Path
    rewrite: Rewrite
    rank: float
    finding: Finding


class _Search:
    """One kernel's."""

    def __init__(self, copy: _Copy, target: str, verdict: KernelVerdict, judge: Judge, until: float) -> None:
        self.copy, self.target, self.verdict, self.judge, self.until = copy, target, verdict, judge, until
        self.texts = {file: text for file in copy.files if (text := _text(file)) is not None}
        self.sources = {file: Source(text) for file, text in self.texts.items()}
        self.tried = self.compiled = 0
        # Most changes that do not mend it show in one run, where the fault itself does.
        self.by_values = any(one.rule.id.startswith(_SEEN_IN_VALUES) for one in verdict.every)

    def run(self, start: float) -> Mending:
        """The first change with which all holds, at sizes that nobody listed, too; else the first at those listed."""
        fix = None
        objects = {self.verdict.toolchain.get("code_object", "")}
        for candidate in self._candidates():
            if time.monotonic() > self.until or self.tried >= MOST:
                break
            self.tried += 1
            found = self._try(candidate, objects)
            fix = found if found is not None and (fix is None or not found.unlisted) else fix
            if fix is not None and not fix.unlisted:
                break
        return Mending(self.tried, self.compiled, time.monotonic() - start, fix)

    def _try(self, candidate: _Candidate, objects: set[str]) -> Fix | None:
        """The change as a fix, where everything holds with it."""
        text = candidate.rewrite.apply(self.texts[candidate.file])
        copy = self.copy.of(candidate.file)
        copy.write_bytes(text.encode())
        try:
            built = build(self.copy.case, self.target)
            self.compiled += 1
            digest = built.toolchain["code_object"]
            if digest in objects:
                return None
            objects.add(digest)
            case = self.copy.case
            if self._is_wrong(case, built, candidate.finding):
                return None
            verdict = self.judge.whole(case)
            if verdict.exit_code != 0:
                return None
            return replace(
                _fix(self.copy, candidate, self.texts[candidate.file], text), unlisted=verdict.unlisted
            )
        except (ProbeError, MemoryError):
            return None
        finally:
            copy.write_bytes(self.texts[candidate.file].encode())

    def _is_wrong(self, case: KernelCase, built: Built, found: Finding) -> bool:
        """Whether the finding is still there, or values are wrong, as far as one run or one check tells."""
        size = dict((found.sizes or (found.place.size,))[0]) or case.sizes[0]
        backend = EmulatorBackend(
            budget=case.limits.instructions or DEFAULT_BUDGET, engine=make_engine(NUMPY)
        )
        asked = [] if self.by_values else [check for check in self.judge.checks if check.name == found.check]
        tally = Tally(case, built, asked, backend, self.judge.reference, lambda *_: None, draw=False)
        if not self.by_values:
            return any(result.findings for result in tally.at(size).results.values())
        subject, runner = tally.subject(size)
        try:
            return wrong_on_integers(subject) or bool(runner.faults)
        except (RunStoppedError, UndecidedError):
            return True

    def _candidates(self) -> Iterator[_Candidate]:
        best: dict[tuple[Path, int, int, str], _Candidate] = {}
        for finding in self.verdict.findings[:_CAUSES]:
            order, scalars = _order(finding), scalars_for(self.copy.case, finding)
            for place in self._statements(finding):
                spot = Spot(self.sources[place.file], place.within, list(self.sources.values()), scalars)
                for kind in KINDS:
                    found = rewrites(spot, kind)
                    if (
                        kind == "numbers"
                    ):  # a statement has many; the one that an instruction has is beside it
                        near = sorted(found, key=lambda one: abs(one.start - place.offset))
                        found = [
                            replace(one, rank=early.rank) for one, early in zip(near, found, strict=True)
                        ]
                    for rewrite in found:
                        key = (place.file, rewrite.start, rewrite.end, rewrite.text)
                        before = rewrite.start < place.offset
                        rank = place.far + rewrite.rank - order.get(kind, 0.0) + before * _BEFORE
                        if key not in best or rank < best[key].rank:
                            best[key] = _Candidate(place.file, rewrite, rank, finding)
        yield from sorted(best.values(), key=lambda candidate: candidate.rank)

    def _statements(self, finding: Finding) -> Iterator[_Near]:
        """Statements at the finding's places, those of the kernel's own file first; and what defines their names."""
        seen = set[tuple[Path, int]]()
        for step, line in enumerate(_lines(finding, self.copy.original.file.name)):
            file = self.copy.find(line)
            source = self.sources.get(file) if file is not None else None
            within = source.statement(line.line) if source is not None else range(0)
            if not within or file is None:
                continue
            here = _Near(
                step * _FARTHER, file, within, self.sources[file].offset(line.line, line.column or 1)
            )
            for near in (here, *self._definitions(here)):
                if (near.file, near.within.start) not in seen:
                    seen.add((near.file, near.within.start))
                    yield near

    def _definitions(self, here: _Near) -> Iterator[_Near]:
        """Statements that give the names of another one their values, and those of short functions that it calls."""
        source, steps = self.sources[here.file], count()
        names = dict.fromkeys(source.tokens[i].text for i in here.within if source.tokens[i].kind == "name")
        around = function_around(source, here.within.start)
        defined = {source.tokens[i].text: i for i in range(here.within.start) if source.defines(i)}
        for name in names:
            at = defined.get(name)
            if at is not None and (at in around or source.block_around(at) is None):
                yield _Near(here.far + _DEFINED + next(steps) * _FARTHER / 4, here.file, source.around(at), 0)
        for name, _ in source.calls(here.within):
            for file, there in self.sources.items():
                for body in _body(there, name):
                    yield _Near(here.far + _DEFINED + next(steps) * _FARTHER / 4, file, body, 0)


@dataclass(frozen=True)
class _Near:
    """A statement: how far it is from the finding, and from where in the file on it is meant."""

    far: float
    file: Path
    within: range
    offset: int


_LONGEST_BODY = 6


def _body(source: Source, name: str) -> Iterator[range]:
    """Statements of a short function."""
    for called, opened in source.calls(range(len(source.tokens))):
        close = source.partner[opened]
        if called == name and close + 1 < len(source.tokens) and source.tokens[close + 1].text == "{":
            at, end = close + 2, source.partner.get(close + 1, close + 2)
            for _ in range(_LONGEST_BODY):
                if at >= end:
                    break
                within = source.around(at)
                yield within
                at = max(within.stop, at) + 1


def _lines(finding: Finding, own: str) -> Iterator[SourceLine]:
    """Lines of a finding's places and of the calls around them; of a place those in the kernel's file first."""
    places: list[Place] = [finding.place, *(other.place for other in finding.related)]
    for place in places:
        lines = [place.source] if place.source is not None else []
        lines += [call.source for call in place.inlined_at]
        yield from sorted(lines, key=lambda line: Path(line.file).name != own)


_ORDERS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("races/buffer-in-use", ("parity", "names", "numbers")),
    ("races/", ("barriers", "parity")),
    ("lds-safety/undefined-read", ("barriers", "parity")),
    ("lds-safety/", ("borrow", "names", "numbers", "operators", "terms")),
    ("numerics/wrong-factor", ("factors", "swap")),
    ("numerics/wrong-epilogue", ("factors", "swap")),
    ("numerics/input-taken-otherwise", ("numbers", "operators", "names", "swap")),
    ("epilogue/leading-dimension", ("scalars", "names", "terms")),
    ("epilogue/batch-stride", ("scalars", "names", "terms")),
    ("epilogue/", ("weights", "lanes", "swap", "names", "terms", "numbers")),
    ("memory/", ("operators", "names", "terms", "numbers")),
    ("operand-provenance/leading-dimension", ("scalars", "names", "terms")),
    ("operand-provenance/batch-stride", ("scalars", "names", "terms")),
    ("operand-provenance/incomplete-sum", ("terms", "operators", "names", "numbers")),
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
    return {kind: _LIKELIER - at * _NEXT for at, kind in enumerate(first)}


# What is added to the rank of a change, or taken from it: what is the rank of another one is as likely.
_LIKELIER = 6.0
_NEXT = 1.6
_FARTHER = 0.6
_DEFINED = 1.5
_BEFORE = 1.0


def _fix(copy: _Copy, candidate: _Candidate, before: str, after: str) -> Fix:
    """The change as lines that are replaced."""
    rewrite, source = candidate.rewrite, Source(before)
    first, last = source.line_of(rewrite.start), source.line_of(max(rewrite.end - 1, rewrite.start))
    old, new = before.split("\n"), after.split("\n")
    added = len(new) - len(old)
    relative = os.path.relpath(candidate.file, copy.original.file.resolve().parent)
    return Fix(
        finding=candidate.finding,
        file=relative,
        line=first,
        old=tuple(old[first - 1 : last]),
        new=tuple(new[first - 1 : last + added]),
        sizes=len(copy.case.sizes),
    )
