"""What the checks say of one kernel, size by size; which sizes count is somebody else's choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from math import prod
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.brief import brief
from layoutprobe.checks.acceptance import accept
from layoutprobe.checks.base import Check
from layoutprobe.errors import ExecutionError, ProbeError
from layoutprobe.gate.answers import answerable
from layoutprobe.gate.applying import apply, with_faults
from layoutprobe.gate.build import Built
from layoutprobe.gate.causes import linked
from layoutprobe.gate.copies import has_assembly
from layoutprobe.gate.merge import Sized, merge
from layoutprobe.gate.plan import SIZES, Plan, Step, launches_of, volume
from layoutprobe.gate.runner import KernelRunner
from layoutprobe.gate.unproven import unproven
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.binding import Binding, bind
from layoutprobe.manifest.inputs import coding_of
from layoutprobe.manifest.model import KernelCase, Sizes, size_title
from layoutprobe.manifest.sampling import sample_of
from layoutprobe.observe.choices import ChoiceRecorder, Choices, tests_of
from layoutprobe.observe.coverage import Coverage
from layoutprobe.observe.cuts import cuts_of
from layoutprobe.report.coverage import CodeCoverage
from layoutprobe.report.gate import CheckResult, Pictures
from layoutprobe.text import clipped, one_line
from layoutprobe.trace.coverage import code_coverage
from layoutprobe.trace.orders import signals
from layoutprobe.trace.subject import Subject

_LIKE = 2
"""A launch with at least one part in so many of the bytes of one that took too long is not begun."""


class LostCellError(Exception):
    """The process or worker that had a size to check is gone."""

    def __str__(self) -> str:
        said = ": ".join(str(part) for part in self.args if str(part))
        return f"the process that ran this is gone, perhaps for want of memory ({clipped(one_line(said))})"


def subject_of(
    runner: KernelRunner,
    checks: Sequence[Check],
    load_insts: Callable[[], Mapping[int, Inst]],
    reference: Callable[..., object] | None = None,
) -> Subject:
    """One kernel at one size, for checks that look at the same runs of it."""
    return Subject(
        runner.binding.case,
        runner.binding,
        runner.built.arch,
        runner.built.code,
        runner.built.kernel,
        load_insts,
        runner.coding,
        runner,
        tuple(dict.fromkeys(factory for check in checks for factory in check.observers)),
        reference,
        runner.sample,
        partial(has_assembly, runner.binding.case, runner.built.code.target),
    )


class Outcome(Struct, frozen=True, eq=False):
    """One size.

    Attributes:
        sizes: the size.
        results: check -> what it says, in the order of the checks.
        bytes: of the buffers.
        endless: what ended a launch that took too long, or None.
        coverage, choices: what of the code ran, and how its tests against numbers came out; None where unknown.
        pictures: of this size, as far as those that were kept before do not suffice.
    """

    sizes: Sizes
    results: Mapping[str, CheckResult]
    bytes: int
    endless: ExecutionError | None
    coverage: Coverage | None
    choices: Choices | None
    pictures: Pictures

    __repr__ = brief

    def broken(self, case: KernelCase) -> set[str]:
        """Rules that are broken, and that the manifest does not let pass."""
        results = (result.without(case.skip) for result in self.results.values())
        return {found.rule.id for result in results for found in result.findings}


Explained = Callable[["Tally", Sequence[CheckResult]], Sequence[CheckResult]]
"""The results of a kernel's checks, with more of what is behind their findings."""
Bring = Callable[[Sizes], Outcome]
"""Brings what the checks say of one size, or raises what stopped them there."""


class Tally:
    """Results of all checks as they come in, size by size."""

    def __init__(
        self,
        case: KernelCase,
        built: Built,
        checks: Sequence[Check],
        backend: WatchedBackend,
        reference: Callable[..., object] | None,
        step: Step,
        draw: bool = True,
    ) -> None:
        self.case = case
        self.built = built
        self.checks = checks
        self.active = [c for c in checks if c.name not in case.skip]
        self.backend = backend
        self.reference = reference
        self.step = step
        self._plan: Plan | None = None
        self.draw = draw
        self.ran = False
        self.outcomes: list[Outcome] = []
        self.coverage: Coverage | None = None
        self.choices: Choices | None = None
        self.pictures = Pictures()
        self.endless: list[tuple[int, ExecutionError]] = []  # of launches with so many bytes of buffers
        self.collected: dict[str, list[Sized]] = {check.name: [] for check in checks}
        self.load_insts = cache(lambda: load_instructions(built.code, built.kernel))
        self._waiting = cache(lambda: any(map(signals, self.load_insts().values())))

    def of(self, case: KernelCase, checks: Sequence[Check], *, draw: bool = True) -> Tally:
        """The same code under another entry of a manifest, or for some of the checks, with nothing kept but what
        ended launches that took too long."""
        other = Tally(case, self.built, checks, self.backend, self.reference, self.step, draw and self.draw)
        other.endless = list(self.endless)
        return other

    def covered(self) -> CodeCoverage | None:
        """What of the code ran; None where nothing did."""
        return self.covered_with()

    def covered_with(self, *others: Outcome) -> CodeCoverage | None:
        """What of the code ran, with other sizes that are not kept; None where nothing did."""
        coverage, choices = self.coverage, self.choices
        for outcome in others:
            coverage, choices = _both(coverage, outcome.coverage), _both(choices, outcome.choices)
        if coverage is None:
            return None
        if choices is not None:
            seen = [(one.sizes, one.choices) for one in (*self.outcomes, *others) if one.choices is not None]
            choices = answerable(choices, self.case, seen)
        return code_coverage(self.built.code, self.built.kernel, coverage, choices)

    def unproven(self) -> tuple[str, ...]:
        """What nobody has proven of the instructions; nothing where none ran, as they may not even decode."""
        return unproven(self.load_insts().values()) if self.coverage else ()

    def sampled(self) -> tuple[str, ...]:
        """At which sizes some workgroups were looked at, and not all."""
        bound = [(sizes, bind(self.case, sizes)) for sizes in self.case.sizes if self.coverage]
        return tuple(
            f"{len(sample)} of {prod(binding.grid)} workgroups looked at with {size_title(sizes)}, of all the values"
            for sizes, binding in bound
            if (sample := self._sample(binding))
        )

    def _sample(self, binding: Binding) -> frozenset[int]:
        """Workgroups that are looked at; all where some may wait for others: these run in their order."""
        return frozenset() if self._waiting() else sample_of(binding)

    def results(self, explained: Explained | None = None) -> tuple[CheckResult, ...]:
        """One per check, in order, and one on what is accepted. A check that was never reached is undecided.

        Args:
            explained: gives results whose findings say more of their causes.
        """
        merged = []
        for check in self.checks:
            sized = self.collected[check.name]
            if check.name in self.case.skip:
                waived = check.skipped(f"the manifest skips it: {self.case.skip[check.name]}")
                merged.append(replace(waived, waived=True))
            else:
                result = merge(sized) if sized else check.undecided("it was not reached")
                merged.append(result.without(self.case.skip))
        if explained is not None:
            merged = list(explained(self, merged))
        accepted = accept(merged, self.case.accept, self.built.code.target, date.today())
        return linked(accepted)

    def run(self, elsewhere: Bring | None = None) -> None:
        """Apply every active check.

        Args:
            elsewhere: brings the outcomes of sizes that ran somewhere else.

        Raises:
            UsageError, CodeObjectError: the kernel cannot be launched as the manifest says.
        """
        static = [check for check in self.active if not check.per_size]
        if static:
            subject, _ = self.subject(self.case.sizes[0])
            for check in static:
                self.step(check.name, 0.0)
                self.collected[check.name].append(((), apply(check, subject)))
        dynamic = [check for check in self.active if check.per_size]
        if dynamic and self.built.arch is None:
            for check in dynamic:
                reason = f"the emulator does not execute {self.built.code.target}"
                self.collected[check.name].append(((), check.undecided(reason)))
            return
        if elsewhere is None:
            self._plan = Plan([*map(self._volume, self.case.sizes)], [c.name for c in dynamic], self.step)
        for sizes in self.case.sizes if dynamic else ():
            self.keep(self.at(sizes) if elsewhere is None else self._brought(sizes, elsewhere))

    def _volume(self, sizes: Sizes) -> float:
        """What a size counts in the plan; what is wrong with it is said when its turn comes."""
        try:
            binding = bind(self.case, sizes)
            return volume(sizes, len(self._sample(binding)), binding.grid)
        except ProbeError:
            return volume(sizes, 0, ())

    def _brought(self, sizes: Sizes, elsewhere: Bring) -> Outcome:
        """An outcome from somewhere else: what `at` would have said."""
        if self._like_sized(bind(self.case, sizes)) is not None:
            return self.at(sizes)  # no launch begins
        try:
            return elsewhere(sizes)
        except LostCellError as lost:
            undecided = {c.name: c.undecided(str(lost)) for c in self.active if c.per_size}
            return Outcome(sizes, undecided, 0, None, None, None, Pictures())

    def subject(self, sizes: Sizes) -> tuple[Subject, KernelRunner]:
        """The kernel at one size, and what runs it."""
        binding = bind(self.case, sizes)
        runner = KernelRunner(
            self.built,
            binding,
            coding_of(binding),
            self.backend,
            self._like_sized(binding),
            self._sample(binding),
            self._plan.launched if self._plan is not None else None,
        )
        subject = subject_of(runner, self.active, self.load_insts, self.reference)
        if not runner.sample:  # how tests come out is told of all workgroups or not at all
            subject = replace(subject, observers=(*subject.observers, ChoiceRecorder))
        return subject, runner

    def _like_sized(self, binding: Binding) -> ExecutionError | None:
        """What ended a launch that was not much larger, if one took too long."""
        fits = (error for size, error in self.endless if binding.nbytes * _LIKE >= size)
        return next(fits, None)

    def at(self, sizes: Sizes) -> Outcome:
        """What the checks say of one size; nothing is kept.

        Raises:
            UsageError, CodeObjectError: the kernel cannot be launched so.
        """
        subject, runner = self.subject(sizes)
        title = size_title(sizes)
        results: dict[str, CheckResult] = {}
        self.ran = True
        for check in self.active:
            if check.per_size:
                self._begin(f"{title}: {check.name}" if title else check.name, check, subject)
                results[check.name] = apply(check, subject)
        found = [finding for result in results.values() for finding in result.findings]
        pictures = self.pictures
        if self.draw and found:
            from layoutprobe.gate.pictures import pictures_of  # a kernel that holds needs none

            pictures = pictures_of(pictures, subject, found, self.backend.evidence, self.built.toolchain)
        choices = _choices(subject, runner)
        return Outcome(
            sizes,
            _with_faults(results, subject, runner.faults),
            subject.binding.nbytes,
            runner.endless,
            runner.coverage,
            choices,
            pictures,
        )

    def _begin(self, text: str, check: Check, subject: Subject) -> None:
        if self._plan is None:
            self.step(text, SIZES)
        else:
            self._plan.next(text, launches_of(check.name, subject.coding.code.digits))

    def shun(self, outcome: Outcome) -> None:
        """Begin no launch like one that took too long, if that did."""
        if outcome.endless is not None:
            self.endless.append((outcome.bytes, outcome.endless))

    def keep(self, outcome: Outcome) -> None:
        """Let a size count."""
        self.shun(outcome)
        self.coverage = _both(self.coverage, outcome.coverage)
        self.choices = _both(self.choices, outcome.choices)
        if outcome.pictures is not self.pictures:
            from layoutprobe.gate.pictures import more_pictures

            self.pictures = more_pictures(self.pictures, outcome.pictures)
        self.ran = True
        for name, result in outcome.results.items():
            self.collected[name].append((tuple(outcome.sizes.items()), result))
        self.outcomes.append(outcome)


def _with_faults(
    results: dict[str, CheckResult], subject: Subject, faults: Sequence[ExecutionError]
) -> dict[str, CheckResult]:
    if not faults:
        return results
    from layoutprobe.gate.stray import stray_finding  # a kernel that holds needs none

    return with_faults(results, faults, partial(stray_finding, subject))


def _choices(subject: Subject, runner: KernelRunner) -> Choices | None:
    """How tests against numbers came out, and what was cut, where the kernel has any."""
    if (
        runner.sample
        or runner.coverage is None
        or runner.endless is not None
        or not (tests_of(runner.coverage.ran) or cuts_of(runner.coverage.ran))
    ):
        return None
    return subject.plain(partial=True).record(Choices)


_Joined = TypeVar("_Joined", Coverage, Choices)


def _both(one: _Joined | None, other: _Joined | None) -> _Joined | None:
    """What both saw together."""
    if one is None or other is None:
        return one if other is None else other
    return one | other
