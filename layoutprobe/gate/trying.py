"""A wrong kernel with something changed in it: whether all that is compared is right then, run by run.

Inputs and what is expected are those of the runs that the checks have made: a change costs its launches alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.inlining import place_of
from layoutprobe.engine.registry import busy_engine
from layoutprobe.gate.build import Built
from layoutprobe.gate.runner import KernelRunner, Prepared
from layoutprobe.gate.tally import Tally
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.store import load_instructions
from layoutprobe.machine.observer import Observer
from layoutprobe.manifest.model import Sizes
from layoutprobe.observe.coverage import Coverage
from layoutprobe.observe.work import Work, WorkRecorder
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.comparisons import compared_in, with_outputs
from layoutprobe.trace.places import where
from layoutprobe.trace.subject import Recorded, RunSpec, RunStoppedError, Subject
from layoutprobe.trace.unusual import borne

LAUNCH, EACH, TOGETHER = 3_000, 0.03, 45
"""What a launch costs, an instruction that a wave executes in C, and one that all waves execute together in numpy:
microseconds."""
BEFORE = "before"
Change = Callable[[Prepared], Mapping[str, Any]]
"""Says what is otherwise in a launch: its code, or some of its instructions; and, as BEFORE, in those before it."""
_LONGER = 8
"""How many times as many instructions a program of few changes may issue: it asks which it is to execute."""
_ASKS = 4
"""Changes of a program for which it may issue once more as many: in an inner loop it asks in each pass."""
_LEAST = 10_000
"""Instructions that a changed run may issue, however short the kernel is."""
_UNSEEN = 200_000
"""Instructions that a wave may have had before it, where a fault ended the kernel as it is."""
_MUCH = 2
"""How many times as long a run is with a change that is doubted for that."""
BYTES = 1 << 22
"""Of all buffers of a size at which changes are tried."""


class Before(Struct, frozen=True, eq=False):
    """A kernel that is launched before another one, as it might be.

    Attributes:
        built: its code.
        changes: instructions in place of others.
    """

    built: Built
    changes: Mapping[int, tuple[Inst, ...]] = {}


class Mended(Struct, frozen=True):
    """A change with which all that is compared is right.

    Attributes:
        says: what is otherwise with it.
        place: where.
        at_loop: that is the head of a loop.
        of_source: it is one of the source, and not of an instruction; every check holds with it.
        beyond: what goes wrong with it at sizes that are not listed; "" for nothing.
        idle: a line of which no load or store is executed with it: other code does what that should.
    """

    says: str
    place: Place
    at_loop: bool = False
    of_source: bool = False
    beyond: str = ""
    idle: SourceLine | None = None


class AtSize:
    """The kernel at one size, with what its outputs should be."""

    def __init__(self, subject: Subject, runner: KernelRunner, unseen: int = 0) -> None:
        """Args: subject, runner: the kernel; unseen: what a wave may have left where a fault ended it."""
        self.subject, self.runner, self.unseen = subject, runner, unseen
        self._ready: dict[RunSpec, Prepared] = {}

    @cached_property
    def compared(self) -> list[Comparison]:
        """Every output of every run, also on inputs that it bears where the manifest names them or usual ones show
        nothing; the runs that are wrong come first."""
        usual = compared_in(self.subject)
        if self.subject.case.bears is None and any(one.wrong.any() for one in usual):
            return sorted(usual, key=lambda c: not c.wrong.any())
        bears = [one for one in borne(self.subject, usual) if isinstance(one, Comparison)]
        return sorted([*usual, *bears], key=lambda c: not c.wrong.any())

    @property
    def is_wrong(self) -> bool:
        """What is right, or what nothing is compared with, shows no change that mends it."""
        plain = self.subject.plain()
        return bool(self.compared) and bool(self.compared[0].wrong.any() or plain.astray or plain.stray)

    @cached_property
    def work(self) -> Work:
        """Of one run."""
        return self.subject.run(RunSpec(self.compared[0].spec.inputs, (WorkRecorder,))).record(Work)

    def is_much_longer(self, change: Change, backend: WatchedBackend) -> bool:
        """Whether some wave has several times as much to do with a change: one does what others should, perhaps."""
        if self.unseen:
            return False
        fault = self.launched(self.specs[0], change, backend, budget=_MUCH * self.work.longest).fault
        return fault is not None and fault.kind == "budget"

    def work_with(self, change: Change, backend: WatchedBackend) -> Work | None:
        """Of one run with a change; None where that ends early."""
        recorder = WorkRecorder()
        found = self.launched(self.specs[0], change, backend, watching=[recorder])
        return recorder.record() if found.fault is None else None

    @cached_property
    def whole_work(self) -> Work:
        """Of one run, with the kernels before it."""
        return self.with_before(self.work, self.runner.built.before)

    def with_before(self, work: Work, builts: Sequence[Built]) -> Work:
        """What a run does, with the kernels before it, as these might be."""
        ready, recorder = self.prepared(self.specs[0]), WorkRecorder()
        if not ready.chained:
            return work
        self.runner.following(ready, builts, [{} for _ in builts], self.runner.backend, [recorder])
        before = recorder.record()
        return replace(work, all=work.all + before.all, longest=max(work.longest, before.longest))

    def cost(self, more: float = 0.0) -> float:
        """About what a launch takes, in microseconds of a processor, where what is changed takes so much more; of
        what is counted, so that it is the same on every machine."""
        return max(self.cost_in_c + more, TOGETHER * self.work.longest)

    @property
    def cost_in_c(self) -> float:
        """The same where C executes it."""
        return LAUNCH + EACH * self.work.all

    @cached_property
    def lines(self) -> list[SourceLine]:
        """Lines of all that was executed, and of the kernels before."""
        subject = self.subject
        flow = subject.plain().record(Coverage).flow.blocks
        places = [where(subject, inst) for start in self.work.blocks for inst in flow[start]]
        for built in self.runner.built.before:  # of which nobody has asked what ran
            insts = load_instructions(built.code, built.kernel).values()
            places += [place_of(built.code, built.kernel, inst.pc, inst.name) for inst in insts]
        found: dict[tuple[str, int], SourceLine] = {}
        for place in places:
            for line in (place.source, *(call.source for call in place.inlined_at)):
                if line is not None:
                    found.setdefault((line.file, line.line), replace(line, column=None))
        return list(found.values())

    @cached_property
    def specs(self) -> list[RunSpec]:
        """All runs."""
        return list(dict.fromkeys(replace(c.spec, observers=()) for c in self.compared))

    def budget(self, longer: int) -> int:
        """Instructions that a changed run may issue, or one whose code takes so many times as many: waves that wait
        for ever take them all."""
        return _LEAST + self.unseen + 4 * longer * self.work.longest

    def prepared(self, spec: RunSpec) -> Prepared:
        """What a run launches."""
        if spec not in self._ready:
            self._ready[spec] = self.runner.prepared(spec)
        return self._ready[spec]

    def outputs(
        self,
        spec: RunSpec,
        change: Change,
        backend: WatchedBackend | None = None,
        longer: int = 1,
        *,
        defined: bool = False,
    ) -> list[Comparison] | None:
        """The outputs of a run beside what they should be; None where it fails.

        Args:
            spec: which run.
            change: what is otherwise in its launch.
            backend: where it runs; where all others did without.
            longer: how many times as many instructions as else it may issue.
            defined: see `Launch`.
        """
        return self.beside(self.launched(spec, change, backend, longer, defined=defined), spec)

    def launched(
        self,
        spec: RunSpec,
        change: Change,
        backend: WatchedBackend | None = None,
        longer: int = 1,
        watching: Sequence[Observer] = (),
        *,
        defined: bool = False,
        budget: int = 0,
    ) -> Recorded:
        """What a run did; see `outputs`. Besides:

        Args:
            watching: who is told of it.
            budget: instructions that it may issue; 0 for so many times as else.
        """
        ready, where = self.prepared(spec), backend or self.runner.backend
        given = dict(change(ready))
        before: Sequence[Before] = given.pop(BEFORE, ())
        if ready.chained and before:
            fields = [{"defined": defined, "changes": one.changes} for one in before]
            ready = self.runner.following(ready, [one.built for one in before], fields, where)
        # Of workgroups that run one after the other a launch issues what all do together.
        budget = budget or self.budget(longer) * (prod(ready.launch.grid) if spec.order else 1)
        launch = replace(ready.launch, budget=budget, defined=defined, **given)
        return self.runner.tried(ready, launch, where, watching)

    def beside(self, found: Recorded, spec: RunSpec) -> list[Comparison] | None:
        """Its outputs beside what they should be; None where it failed."""
        if found.fault is not None or found.stray or found.astray:
            return None
        return [with_outputs(self.subject, c, found) for c in self.of(spec)]

    def moves(self, found: Sequence[Comparison], spec: RunSpec) -> bool:
        """Whether anything that is wrong is another value in a changed run."""
        with np.errstate(invalid="ignore"):
            return any(
                bool(
                    (old.observed != new.observed)[old.wrong].any() or (old.undefined != new.undefined).any()
                )
                for old, new in zip(self.of(spec), found, strict=True)
            )

    def moved(
        self, spec: RunSpec, change: Change, backend: WatchedBackend, longer: int
    ) -> list[NDArray[np.bool_]] | None:
        """Which elements of each output are others with a change; None where the run ends early. See `outputs`."""
        found = self.launched(spec, change, backend, longer, defined=True)
        if found.fault is not None:
            return None
        with np.errstate(invalid="ignore"):
            pairs = [(c.observed, np.asarray(found.outputs[c.output], np.float64)) for c in self.of(spec)]
        if any(old.shape != new.shape for old, new in pairs):  # of partial products
            return None
        return [(old != new) & ~(np.isnan(old) & np.isnan(new)) for old, new in pairs]

    def of(self, spec: RunSpec) -> list[Comparison]:
        """The outputs of a run of the kernel as it is."""
        return [c for c in self.compared if replace(c.spec, observers=()) == spec]


def longer_with(of_program: int) -> int:
    """How many times as many instructions a program of so many changes may issue; of none what it does without."""
    return _LONGER + of_program // _ASKS if of_program else 1


class Trials:
    """A wrong kernel at all sizes, first the smallest that shows it."""

    def __init__(self, tally: Tally, findings: Sequence[Finding]) -> None:
        """Args: tally: the kernel; findings: that say what is wrong."""
        self._tally = tally
        red = [dict(size) for found in findings for size in (found.sizes or (found.place.size,)) if size]
        keyed = {tuple(sorted(size.items())): size for size in (*red, *map(dict, tally.case.sizes))}
        shown = {tuple(sorted(size.items())) for size in red}
        order = sorted(keyed, key=lambda key: (bool(shown) and key not in shown, self._bytes(keyed[key])))
        self._sizes = [keyed[key] for key in order]
        self._at: dict[int, AtSize] = {}

    def _bytes(self, sizes: Sizes) -> int:
        subject, _ = self._tally.subject(sizes)
        return subject.binding.nbytes

    def at(self, n: int) -> AtSize:
        """The kernel at a size."""
        if n not in self._at:
            subject, runner = self._tally.subject(self._sizes[n])
            subject = replace(subject, observers=())
            at = AtSize(subject, runner)
            if subject.plain(partial=True).fault is not None or _stops(at):
                at = AtSize(replace(subject, runner=runner.as_ended, memo={}), runner, unseen=_UNSEEN)
            self._at[n] = at
        return self._at[n]

    @property
    def first(self) -> AtSize:
        """The kernel at the first size."""
        return self.at(0)

    @cached_property
    def most(self) -> AtSize:
        """The kernel at the largest size that is small: at a smaller one it may do nothing as it is, and much with
        any change."""
        small = [n for n, sizes in enumerate(self._sizes) if self._bytes(sizes) <= BYTES]
        return self.at(max(small, key=lambda n: self._bytes(self._sizes[n]), default=0))

    @cached_property
    def possible(self) -> bool:
        """Whether the first size is small, all of it is looked at, and a run of it shows what is wrong."""
        return not self.first.subject.sample and self._bytes(self._sizes[0]) <= BYTES and self.first.is_wrong

    def _others(self) -> Iterator[tuple[AtSize, RunSpec]]:
        """All runs but the first of the first size."""
        for n in range(len(self._sizes)):
            yield from ((self.at(n), spec) for spec in self.at(n).specs[n == 0 :])

    @cached_property
    def telling(self) -> RunSpec | None:
        """The run of the first size in which the fewest elements are wrong, and some are: there those that are right
        tell most. Not one of inputs that are mostly zeros: what is taken for another is a zero, too. None where only
        accesses are wrong."""
        share = {spec: _share_wrong(self.first.of(spec)) for spec in self.first.specs}
        wrong = [spec for spec in share if share[spec]]
        return min(wrong, key=lambda spec: (spec.inputs == "sparse", share[spec]), default=None)

    def right(self, change: Change, backend: WatchedBackend | None = None, *, of_program: int = 0) -> bool:
        """Whether all outputs of all runs are right with a change.

        Args:
            change: what is otherwise.
            backend: see `AtSize.outputs`.
            of_program: it is one of so many in a program, whose compiler may leave undefined what only others define:
                nothing is said of undefined bits.
        """
        first, spec = self.first, self.first.specs[0]
        longer = longer_with(of_program)
        # What is right whatever undefined bits are, is right where they are defined: such a run is the faster one.
        if not is_right(first.outputs(spec, change, backend, longer, defined=True)):
            return False
        if of_program:
            return self.right_elsewhere(change, backend, longer, defined=True)
        return is_right(first.outputs(spec, change, backend)) and self.right_elsewhere(change, backend)

    def right_elsewhere(
        self,
        change: Change,
        backend: WatchedBackend | None = None,
        longer: int = 1,
        *,
        defined: bool = False,
    ) -> bool:
        """The same of all runs but the first at the first size."""
        return all(
            is_right(at.outputs(spec, change, backend, longer, defined=defined))
            for at, spec in self._others()
        )


def _stops(at: AtSize) -> bool:
    """Whether a run on other numbers stops, where the plain one does not."""
    try:
        _ = at.compared
    except RunStoppedError:
        return True
    return False


def _share_wrong(found: Sequence[Comparison]) -> float:
    return sum(int(c.wrong.sum()) for c in found) / max(sum(c.wrong.size for c in found), 1)


def is_right(found: Sequence[Comparison] | None) -> bool:
    """Whether a run has ended, with nothing wrong."""
    return found is not None and not any(c.wrong.any() for c in found)


def as_built(built: Built) -> tuple[Change, EmulatorBackend]:
    """What a change is compiled to in place of the kernel's code, and where it runs."""
    before = [Before(one) for one in built.before]
    change = {"code": built.code, "kernel": built.kernel.name, BEFORE: before}
    return (lambda _: change), EmulatorBackend(engine=busy_engine())
