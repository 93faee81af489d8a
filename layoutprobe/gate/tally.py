"""What the checks say of one kernel, size by size; which sizes count is somebody else's choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from math import prod
from typing import TypeVar

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.brief import brief
from layoutprobe.checks import memory
from layoutprobe.checks.acceptance import accept
from layoutprobe.checks.base import Check
from layoutprobe.checks.faults import FAULT_RULES, fault_finding
from layoutprobe.errors import DEBUG, CodeObjectError, ExecutionError, ProbeError, UsageError, debugging
from layoutprobe.gate.build import Built
from layoutprobe.gate.causes import linked
from layoutprobe.gate.merge import Sized, merge
from layoutprobe.gate.pictures import more_pictures, pictures_of
from layoutprobe.gate.plan import SIZES, Plan, Step, launches_of, volume
from layoutprobe.gate.runner import KernelRunner
from layoutprobe.gate.unproven import unproven
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.binding import Binding, bind
from layoutprobe.manifest.inputs import coding_of
from layoutprobe.manifest.model import Gemm, KernelCase, Reference, Sizes, Tolerance, size_title
from layoutprobe.manifest.sampling import sample_of
from layoutprobe.observe.choices import ChoiceRecorder, Choices, tests_of
from layoutprobe.observe.coverage import Coverage
from layoutprobe.observe.cuts import cuts_of
from layoutprobe.report.coverage import CodeCoverage
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, Pictures, Status
from layoutprobe.text import clipped, one_line
from layoutprobe.trace.coverage import code_coverage
from layoutprobe.trace.narrow import arithmetic, passed_through
from layoutprobe.trace.orders import signals
from layoutprobe.trace.rounding import narrower, widened
from layoutprobe.trace.subject import Recorded, RunSpec, RunStoppedError, Subject, UndecidedError

_UNDEFINED_DATA = ("lds-safety/undefined-read", "numerics/never-defined", "operand-provenance/unexplained")
"""Rules that undefined data breaks, wherever it comes from."""
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
    )


@dataclass(frozen=True, eq=False)
class Outcome:
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
        """The same code under another entry of a manifest, or for some of the checks, with nothing kept."""
        return Tally(case, self.built, checks, self.backend, self.reference, self.step, draw and self.draw)

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

    def widened(self) -> tuple[str, ...]:
        """That an output is judged by a type narrower than its own, where the manifest gives no tolerance."""
        contract, given = self.case.contract, self.case.tolerance
        if self.coverage is None or given != Tolerance():
            return ()
        buffers = bind(self.case, self.case.sizes[0]).buffers
        if isinstance(contract, Reference):
            outputs = [b for b in buffers.values() if b.argument.role == "out" and b.element.is_float]
            found = (narrower(passed_through(self.coverage), b.name, b.dtype) for b in outputs)
            return tuple(says for says in found if says)
        if not isinstance(contract, Gemm):
            return ()
        dtype = buffers[contract.d].dtype
        says = widened(arithmetic(self.coverage), contract.d, dtype)
        return (says,) if says else ()

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
        return subject_of(runner, self.active, self.load_insts, self.reference), runner

    def _like_sized(self, binding: Binding) -> ExecutionError | None:
        """What ended a launch that was not much larger, if one took too long."""
        fits = (error for size, error in self.endless if _bytes(binding) * _LIKE >= size)
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
        found = (finding for result in results.values() for finding in result.findings)
        pictures = self.pictures
        if self.draw:
            pictures = pictures_of(pictures, subject, found, self.backend.evidence, self.built.toolchain)
        choices = _choices(runner)
        return Outcome(
            sizes,
            with_faults(results, runner.faults),
            _bytes(subject.binding),
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

    def keep(self, outcome: Outcome) -> None:
        """Let a size count."""
        if outcome.endless is not None:
            self.endless.append((outcome.bytes, outcome.endless))
        self.coverage = _both(self.coverage, outcome.coverage)
        self.choices = _both(self.choices, outcome.choices)
        self.pictures = more_pictures(self.pictures, outcome.pictures)
        self.ran = True
        for name, result in outcome.results.items():
            self.collected[name].append((tuple(outcome.sizes.items()), result))
        self.outcomes.append(outcome)


def _choices(runner: KernelRunner) -> Choices | None:
    """How tests against numbers came out, and what was cut to 16 bits, where the kernel has any; one run more."""
    if (
        runner.sample
        or runner.coverage is None
        or runner.endless is not None
        or not (tests_of(runner.coverage.ran) or cuts_of(runner.coverage.ran))
    ):
        return None
    found = runner(RunSpec("integers", (ChoiceRecorder,))).record(Choices)
    return found


_Joined = TypeVar("_Joined", Coverage, Choices)


def _both(one: _Joined | None, other: _Joined | None) -> _Joined | None:
    """What both saw together."""
    if one is None or other is None:
        return one if other is None else other
    return one | other


def apply(check: Check, subject: Subject) -> CheckResult:
    """What a check says of a kernel at one size; whatever stops it is why it is undecided.

    Raises:
        UsageError, CodeObjectError: the kernel cannot be launched so.
    """
    asked: list[Recorded] = []

    def remember(spec: RunSpec) -> Recorded:
        asked.append(subject.runner(spec))
        return asked[-1]

    try:
        result = check.run(replace(subject, runner=remember))
    except RunStoppedError as stopped:
        return check.undecided(_stopped(stopped.fault))
    except (UsageError, CodeObjectError, MemoryError):
        raise
    except (ProbeError, UndecidedError) as error:
        return check.undecided(str(error))
    except Exception as error:
        # One broken check must not take the verdict of the others away.
        if debugging():
            raise
        problem = f"{type(error).__name__}: {error}"
        return check.undecided(
            f"a bug in layoutprobe, not in your kernel: {problem}; {DEBUG}=1 shows the traceback"
        )
    judged = (recorded for recorded in asked if not recorded.spec.asks_only)
    faults = [recorded.fault for recorded in judged if recorded.fault is not None]
    if result.status == "holds" and faults:
        # It saw a part of the run only, and silence is never green.
        return replace(result, status="undecided", reason=_stopped(faults[-1]))
    return result


def _bytes(binding: Binding) -> int:
    return sum(buffer.nbytes for buffer in binding.buffers.values())


def with_faults(
    results: Mapping[str, CheckResult], faults: Sequence[ExecutionError]
) -> dict[str, CheckResult]:
    """Results with every fault of the kernel as a finding of the check whose law it breaks.

    An undefined address or branch is a consequence: it is no finding of its own where another check
    has found what led to it. Where the check of a fault was not asked for or does not apply, `memory`
    reports it; without that, too, it is a reason for the others not to decide.
    """
    merged = made_up(without_consequences(results, faults), faults)
    # The load and the store of one statement go astray together: the store tells more.
    for fault in sorted(
        faults,
        key=lambda fault: (
            fault.kind.startswith("undefined"),
            fault.place.lds_byte is None,
            "store" not in fault.kind,
        ),
    ):
        explained = any(result.findings for result in merged.values())
        rule = FAULT_RULES.get(fault.kind)
        law = rule.check if rule else None
        if law is not None and (law not in merged or merged[law].status == "skipped"):
            law = memory.NAME
        if law not in merged or (fault.kind.startswith("undefined") and explained):
            continue
        owner = merged[law]
        pc = fault.place.pc
        if any(_same_statement(fault, known) for result in merged.values() for known in result.findings):
            continue
        if pc is None or all(known.place.pc != pc for known in owner.findings):
            findings = (*owner.findings, fault_finding(fault))
            merged[law] = replace(owner, status="finding", findings=findings, reason="")
    return merged


def without_consequences(
    results: Mapping[str, CheckResult], faults: Sequence[ExecutionError]
) -> dict[str, CheckResult]:
    """Results without findings about undefined data, where a load from outside of every buffer brought it."""
    astray = next((fault for fault in faults if fault.kind == "global-load"), None)
    merged = dict(results)
    for name, result in results.items() if astray is not None else ():
        kept = tuple(found for found in result.findings if found.rule.id not in _UNDEFINED_DATA)
        if astray is not None and len(kept) < len(result.findings):
            reason = f"undefined data comes from the load outside of every buffer ({astray.place.site})"
            status: Status = "finding" if kept else "undecided"
            merged[name] = replace(result, status=status, findings=kept, reason=reason)
    return merged


_OF_VALUES = ("operand-provenance", "epilogue", "numerics", "swizzle", "lds-safety")
"""Checks of what a kernel computes and where it puts it."""


def made_up(results: Mapping[str, CheckResult], faults: Sequence[ExecutionError]) -> dict[str, CheckResult]:
    """Results without findings about values, where undefined LDS decided what is executed, and the run went on with
    zeros in its place: they may follow from that."""
    early = next((f for f in faults if f.kind.startswith("undefined") and f.place.lds_byte is not None), None)
    merged = dict(results)
    for name in _OF_VALUES if early is not None else ():
        if early is not None and name in merged and merged[name].findings:
            reason = f"what {early.place.site} reads was never stored, and decides what is executed"
            merged[name] = replace(merged[name], status="undecided", findings=(), reason=reason)
    return merged


def _same_statement(fault: ExecutionError, known: Finding) -> bool:
    """On one line, and of one kind or beside one buffer, which `expected` names.

    A statement that loads and stores one element goes astray twice for one reason. Where a load and a store of a
    line miss different buffers, the one says nothing of the other.
    """
    line, rule = fault.place.line, FAULT_RULES.get(fault.kind)
    same_line = bool(line) and (line, fault.what) == (known.place.line, known.what)
    return same_line and (rule == known.rule or fault.expected == known.expected)


def _stopped(fault: ProbeError) -> str:
    place = ", ".join(
        f"{key} {fault.where[key]}" for key in ("line", "near line", "PC") if key in fault.where
    )
    return f"the run stopped early: {fault.what}" + (f" ({place})" if place else "")
