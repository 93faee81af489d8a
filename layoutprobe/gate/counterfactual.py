"""What a kernel would have to do otherwise: small changes of its instructions, each executed until one mends it.

Where outputs are wrong, the place where they are stored says little about why. So single instructions are executed
otherwise (`isa.edits`), on the smallest size that shows it; a change with which every element of every run at every
size is right names the line. No compiler is needed, and no source. What is tried is bounded by instructions that are
executed, and not by a clock: the answer is the same on every machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks import numerics
from layoutprobe.checks.base import diagnosed
from layoutprobe.engine.choice import NUMPY
from layoutprobe.engine.registry import make_engine
from layoutprobe.gate.candidates import Candidate, Candidates
from layoutprobe.gate.causes import linked
from layoutprobe.gate.runner import KernelRunner, Prepared
from layoutprobe.gate.tally import Tally
from layoutprobe.isa.edit import Values
from layoutprobe.manifest.model import Sizes
from layoutprobe.observe.work import Work, WorkRecorder
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Related, Role
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.comparisons import compared_in, with_outputs
from layoutprobe.trace.places import in_caller
from layoutprobe.trace.subject import RunSpec, Subject
from layoutprobe.trace.value_causes import CHANGED, MISPLACED, ROUNDED

COST = 5_000_000
"""What all tries together may cost, about a microsecond of a processor each."""
OF_ACCESSES = 3_000_000
"""The same where a finding is about accesses, which says much already."""
AFTER = 600_000
"""The same for other changes that mend it, too, once one is found."""
_LAUNCH, _LEFT, _EACH = 4_000, 150, 0.05
"""What a launch costs, an instruction that is changed, each time that a wave executes it, and any other one."""
_TOGETHER = 45
"""What an instruction costs that all waves execute together, where numpy is the faster engine."""
_BYTES = 1 << 22
"""Of all buffers of a size at which changes are tried."""
_LINES = 3
"""Lines that are named."""
_IDLE = 2
"""Changes of an instruction that move nothing which is wrong, before others of it come last."""


@dataclass(frozen=True)
class Mended:
    """A change with which all that is compared is right.

    Attributes:
        says: what is otherwise with it.
        place: where.
        at_loop: that is the head of a loop.
    """

    says: str
    place: Place
    at_loop: bool = False


def mended_by(tally: Tally, findings: Sequence[Finding]) -> tuple[Mended, ...]:
    """Changes of one line each with which everything that is compared is right, the likeliest first.

    Args:
        tally: the kernel, whose outputs are wrong.
        findings: which say so.
    """
    if not isinstance(tally.backend, EmulatorBackend) or tally.endless:
        return ()
    red = [dict(size) for found in findings for size in (found.sizes or (found.place.size,))]
    of_values = any(found.rule.check == numerics.NAME for found in findings)
    return _Search(tally, red or list(tally.case.sizes)).run(COST if of_values else OF_ACCESSES)


def explained(tally: Tally, results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The results of all checks, whose findings about values lead with what mends them, where anything does."""
    judged = linked(results)
    pairs = [
        pair
        for result, known in zip(results, judged, strict=True)
        for pair in zip(result.findings, known.findings, strict=True)
        if result.check in _OF_VALUES
    ]
    disordered = any(
        one.follows is None for result in judged if result.check in _OF_ORDER for one in result.findings
    )
    still = [
        found
        for found, known in pairs
        if known.follows is None
        and found.name not in _EXACT
        and not (disordered and found.rule.check != numerics.NAME)
    ]
    if not still:
        return tuple(results)
    told = diagnosed(lambda: _all_told(tally, still), lambda why: _noted(still, why))
    return tuple(
        replace(result, findings=tuple(told.get(id(found), found) for found in result.findings))
        for result in results
    )


def _all_told(tally: Tally, still: Sequence[Finding]) -> dict[int, Finding]:
    """Finding (by identity) -> the same with what mends it."""
    mended = mended_by(tally, still)
    behind = {id(root): [one for one in mended if _is_behind(root, one)] for root in still}
    return {
        id(root): _told(root, behind[id(root)], len(tally.case.sizes)) for root in still if behind[id(root)]
    }


def _noted(still: Sequence[Finding], why: str) -> dict[int, Finding]:
    return {id(root): replace(root, hint=f"{root.hint}; {why}") for root in still}


_OF_VALUES = (numerics.NAME, "operand-provenance", "epilogue", "swizzle", "lds-safety", "memory")
"""Checks of what an index, a factor or a bound may be behind."""
_OF_ORDER = ("races", "waits")
"""Checks after whose findings a store is where it is by the order of waves: no address or bound needs to be wrong."""
_EXACT = ("foreign-element", "lost-nonfinite", "depends-on-order", "wrong-factor", "unread-input")
"""Names of rules of which the cause is known, or cannot be one instruction: nothing is searched for."""
_WHOLE = ("input-taken-otherwise", "wrong-epilogue", CHANGED, MISPLACED, ROUNDED)
"""Names of rules whose sentence names the cause at a place of its own: the line of the change stands in the words."""
_BOUNDED = (
    "out-of-bounds", "load-out-of-bounds", "scratch-out-of-bounds", "beyond-edge", "into-padding", "into-input",
    "never-written", "written-twice", "incomplete-sum", "stale-tile", "undefined-read", "undefined-control",
    "accumulator-not-reset", "accumulator-lost", "accumulator-doubled", "unexplained",
)  # fmt: skip
"""Names of rules about what too many or too few lanes or passes do: a test may be behind them."""
_MATRIX = ("v_wmma", "v_swmmac", "v_mfma", "v_smfmac")
_STEP = "other-step"
"""The name of one whose place is behind what is wrong: a line of the change itself is nearer."""
_ROUTED = "other-elements"
"""The name of one whose place is where an element goes: what is moved out of a loop has the line of its head."""


def _told(found: Finding, mended: Sequence[Mended], sizes: int) -> Finding:
    """A finding that says what mends it; one about values is at that place, too."""
    first, *others = mended
    more = [f"with {other.says} at {other.place.line or other.place.site}" for other in others]
    right = "everything that is compared is right" + (f" (or: {'; or: '.join(more)})" if more else "")
    hint = (
        f"emulated with this change alone, every output of every run at {'all sizes' if sizes > 1 else 'this size'} "
        "is right: is that what was meant? The change is one of the compiled instruction"
    )
    if found.rule.check != numerics.NAME:
        return _at_the_change(found, first, right, hint)
    about, _, rest = found.what.partition(": ")
    behind = found.name == _STEP and found.place.source is not None and bool(first.place.near)
    if found.name in _WHOLE or behind or (found.name == _ROUTED and first.at_loop):
        says = f"{rest}; with {first.says} at {first.place.line or first.place.site} {right}"
        there = Related("computed by", first.place)  # where somebody looks who is to mend it
        return replace(found, what=f"{about}: {says}", hint=hint, related=(there, *found.related))
    old, says = found.place, f"with {first.says} {right}; {rest}"
    place = replace(first.place, element=old.element, size=old.size)
    related = (*found.related, *_before(old, first))
    return replace(found, what=f"{about}: {says}", place=place, hint=hint, related=related)


def _is_behind(found: Finding, change: Mended) -> bool:
    """Whether a change may be what a finding comes of. Where elements lie follows from no test, and from no operands
    of a matrix instruction: exchanged, they mend a result that is stored transposed."""
    if found.rule.check == numerics.NAME:
        return True
    name = change.place.instruction
    return not name.startswith(_MATRIX) and (found.name in _BOUNDED or "_cmp" not in name)


def _at_the_change(found: Finding, first: Mended, right: str, hint: str) -> Finding:
    """A finding about an access, whose address or bound is computed elsewhere: there it is to be changed."""
    what = f"{found.what}; with {first.says} at {first.place.line or first.place.site} {right}"
    old = found.place
    # What a compiler moved out of a loop has the line of its head; what counts its passes is scalar.
    hoisted = first.at_loop and (
        first.says.startswith("argument") or first.place.instruction.startswith("v_")
    )
    if hoisted or first.place.near or first.place.source is None or old.line == first.place.line:
        return replace(found, what=what)
    place = replace(first.place, element=old.element, size=old.size, matrix=old.matrix, buffer=old.buffer)
    return replace(found, what=what, place=place, related=(*_before(old, first), *found.related))


def _before(old: Place, first: Mended) -> Iterator[Related]:
    """The load or store at which a finding was told before."""
    roles: Mapping[str, Role] = {"_store_": "stored by", "_load_": "loaded by"}
    for part, role in roles.items():
        if part in old.instruction and old.pc != first.place.pc:
            yield Related(role, replace(old, element=None, size=()))


class _AtSize:
    """The kernel at one size, with what its outputs should be."""

    def __init__(self, subject: Subject, runner: KernelRunner) -> None:
        self.subject, self.runner = subject, runner
        self._ready: dict[RunSpec, Prepared] = {}

    @cached_property
    def compared(self) -> list[Comparison]:
        """Every output of every run; the runs that are wrong come first."""
        return sorted(compared_in(self.subject), key=lambda c: not c.wrong.any())

    @property
    def is_wrong(self) -> bool:
        """What is right, or what nothing is compared with, shows no change that mends it."""
        return bool(self.compared) and bool(self.compared[0].wrong.any() or self.subject.plain().astray)

    @cached_property
    def work(self) -> Work:
        """Of one run."""
        return self.subject.run(RunSpec(self.compared[0].spec.inputs, (WorkRecorder,))).record(Work)

    def take_the_faster(self) -> None:
        """Have the engine run what is tried that takes less time; both give the same."""
        if not self.subject.small:
            return
        nothing = Candidate({}, Place(), 0, 0)
        mine, other = self.runner.backend, EmulatorBackend(engine=make_engine(NUMPY))
        taken = []
        for backend in (mine, other):
            self.runner.backend = backend
            self.changed(nothing, self.specs[0])
            start = time.process_time()
            self.changed(nothing, self.specs[0])
            taken.append(time.process_time() - start)
        self.runner.backend = mine if taken[0] <= taken[1] else other

    @property
    def budget(self) -> int:
        """Instructions that a changed run may issue."""
        return 20_000 + 4 * self.work.longest

    def holds(self, candidate: Candidate, spec: RunSpec) -> bool:
        """Whether all outputs of a run are right with a change."""
        found = self.changed(candidate, spec)
        return found is not None and _right(found)

    def moves(self, found: Sequence[Comparison], spec: RunSpec) -> bool:
        """Whether anything that is wrong is another value in a changed run."""
        with np.errstate(invalid="ignore"):
            return any(
                bool(
                    (old.observed != new.observed)[old.wrong].any() or (old.undefined != new.undefined).any()
                )
                for old, new in zip(self._of(spec), found, strict=True)
            )

    def _of(self, spec: RunSpec) -> list[Comparison]:
        return [c for c in self.compared if replace(c.spec, observers=()) == spec]

    def changed(self, candidate: Candidate, spec: RunSpec) -> list[Comparison] | None:
        """The outputs of a run with a change; None where it fails."""
        if spec not in self._ready:
            self._ready[spec] = self.runner.prepared(spec)
        ready = self._ready[spec]
        values = self._values(ready)
        changes = {pc: edit.make(values) for pc, edit in candidate.edits.items()}
        found = self.runner.with_changes(ready, changes, self.budget)
        if found.fault is not None or found.stray or found.astray:
            return None
        return [with_outputs(self.subject, c, found) for c in self._of(spec)]

    def _values(self, ready: Prepared) -> Values:
        """Scalar arguments of 32 bits."""
        case = self.subject.case
        pairs = zip(case.arguments, ready.launch.args, strict=True)
        return {
            argument.name: int(np.atleast_1d(value).view(np.uint32)[0])
            for argument, value in pairs
            if isinstance(value, np.generic) and value.nbytes == 4
        }

    @cached_property
    def specs(self) -> list[RunSpec]:
        """All runs."""
        return list(dict.fromkeys(replace(c.spec, observers=()) for c in self.compared))


def _right(found: Sequence[Comparison]) -> bool:
    return not any(c.wrong.any() for c in found)


def _error(found: Sequence[Comparison]) -> float:
    """How far off outputs are that are right."""
    with np.errstate(all="ignore"):
        return float(sum(np.nansum(np.abs(c.observed - c.expected)) for c in found))


class _Search:
    """One kernel's."""

    def __init__(self, tally: Tally, red: Sequence[Sizes]) -> None:
        self.tally = tally
        every = [dict(size) for size in (*red, *tally.case.sizes)]
        keyed = {tuple(sorted(size.items())): size for size in every}
        shown = {tuple(sorted(size.items())) for size in red}
        order = sorted(keyed, key=lambda key: (key not in shown, self._bytes(keyed[key])))
        self.sizes = [keyed[key] for key in order]
        self._at: dict[int, _AtSize] = {}
        self._moving: set[int] = set()

    def _bytes(self, sizes: Sizes) -> int:
        subject, _ = self.tally.subject(sizes)
        return sum(buffer.nbytes for buffer in subject.binding.buffers.values())

    def at(self, n: int) -> _AtSize:
        """The kernel at a size."""
        if n not in self._at:
            subject, runner = self.tally.subject(self.sizes[n])
            self._at[n] = _AtSize(replace(subject, observers=()), runner)
        return self._at[n]

    def run(self, cost: float) -> tuple[Mended, ...]:
        """What mends it, where all tries together cost no more."""
        first = self.at(0)
        if first.subject.sample or self._bytes(self.sizes[0]) > _BYTES or not first.is_wrong:
            return ()
        first.take_the_faster()
        found: dict[object, tuple[Candidate, float]] = {}
        left = cost
        for candidate in self._in_turn():
            line = (candidate.place.line, candidate.place.near)
            known = found.get(line)
            if known is not None and not self._alike(candidate, known[0]):
                continue
            if (left := left - self._cost(candidate)) < 0:
                break
            mended = self._mended(candidate)
            if mended is None:
                continue
            left = min(left, AFTER) if not found else left
            error = _error(mended)
            if known is None or error < known[1]:
                found[line] = candidate, error
        return tuple(
            Mended(self._says(one), in_caller(first.subject, one.place), self._at_loop(one))
            for one, _ in list(found.values())[:_LINES]
        )

    @cached_property
    def _offered(self) -> Candidates:
        first = self.at(0)
        return Candidates(first.subject, first.work)

    def _cost(self, candidate: Candidate) -> float:
        """About what a try takes; of what is counted, so that it is the same on every machine."""
        times = sum(self._times.get(pc, 0) for pc in candidate.edits)
        work = self.at(0).work
        return max(_LAUNCH + _LEFT * times + _EACH * work.all, _TOGETHER * work.longest)

    @cached_property
    def _times(self) -> Mapping[int, int]:
        """How often waves execute each instruction."""
        work = self.at(0).work
        blocks = self._offered.blocks
        return {inst.pc: times for start, times in work.blocks.items() for inst in blocks[start]}

    def _mended(self, candidate: Candidate) -> list[Comparison] | None:
        """The outputs of the first run, where all of all runs are right with a change."""
        first = self.at(0)
        found = first.changed(candidate, first.specs[0])
        if found is None:
            return None
        if first.moves(found, first.specs[0]):
            self._moving.add(candidate.group)
        if not _right(found) or not all(self.at(n).holds(candidate, spec) for n, spec in self._others()):
            return None
        return found

    @staticmethod
    def _alike(one: Candidate, other: Candidate) -> bool:
        """The same constant, another value."""
        return (one.group, one.edit.key[:-1]) == (other.group, other.edit.key[:-1]) and len(one.edits) == len(
            other.edits
        )

    def _in_turn(self) -> Iterator[Candidate]:
        """By rank; those of an instruction last of which some changes moved nothing that is wrong."""
        tried: dict[int, int] = {}
        late = []
        for candidate in self._offered:
            tried[candidate.group] = tried.get(candidate.group, 0) + 1
            if tried[candidate.group] > _IDLE and candidate.group not in self._moving:
                late.append(candidate)
            else:
                yield candidate
        yield from late

    def _others(self) -> Iterator[tuple[int, RunSpec]]:
        for n in range(len(self.sizes)):
            yield from ((n, spec) for spec in self.at(n).specs[n == 0 :])

    def _at_loop(self, candidate: Candidate) -> bool:
        return self._offered.text(candidate.place).lstrip().startswith(("for", "while"))

    def _says(self, candidate: Candidate) -> str:
        says = candidate.edit.says
        if candidate.edit.key[-2:-1] == ("compare",):
            return _as_written(says, self._offered.text(candidate.place))
        return says


_TESTS = re.compile(r"(?<![<>=!-])(<=|>=|==|!=|<|>)(?![<>=])")
_STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def _as_written(says: str, line: str) -> str:
    """A change of a comparison in the words of the source, where one is meant: compilers turn them round."""
    written = _TESTS.findall(line.partition("//")[0])
    told = re.findall(r"`([^`]*)`", says)
    if len(told) != 2:
        return says
    pair = [sign.removeprefix("not ") for sign in told]
    if len(written) > 1:  # which of them it is, is only known of one that is as strict as no other
        written = [sign for sign in written if sign in ("<=", ">=")] if pair[1] in ("<=", ">=") else []
    if len(written) != 1:
        return says
    if _STRICT.get(pair[0]) == pair[1] and written[0] in _STRICT:
        return f"`{_STRICT[written[0]]}` in place of `{written[0]}`"
    return says
