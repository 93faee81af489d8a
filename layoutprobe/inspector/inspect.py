"""`layoutprobe inspect`: what the operands of matrix instructions hold in a kernel of the user's, at a moment of
its run. It runs what the checks run, and reads what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack

from msgspec.structs import replace

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.registry import CHECKS as CHECKED
from layoutprobe.checks.registry import RULES, check_names
from layoutprobe.drafting.draft import guessed, is_source
from layoutprobe.engine.base import DEFAULT_BUDGET
from layoutprobe.errors import UsageError
from layoutprobe.gate.build import build
from layoutprobe.gate.excerpts import whole_sources
from layoutprobe.gate.gate import chosen
from layoutprobe.gate.held import CHECKS, held_report
from layoutprobe.gate.record import record, with_needs
from layoutprobe.gate.runner import KernelRunner
from layoutprobe.gate.session import check_kernel
from layoutprobe.gate.tally import subject_of
from layoutprobe.inspector.timeline import page_of, timeline_of
from layoutprobe.inspector.viewing import shown_as
from layoutprobe.isa.store import load_instructions
from layoutprobe.layouts.declared import Declared
from layoutprobe.layouts.views import PACKED, VIEWS, OperandViews
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.inputs import coding_of
from layoutprobe.manifest.model import KernelCase, Sizes, size_title
from layoutprobe.manifest.read import read_manifest
from layoutprobe.place import Place
from layoutprobe.recording.difference import differences
from layoutprobe.recording.model import Recording
from layoutprobe.recording.questions import Asked, asked
from layoutprobe.report.answer import Answer
from layoutprobe.report.declared import Agreement
from layoutprobe.report.finding import Finding
from layoutprobe.report.inspection import Held, Operands, Owners, Site, Sites
from layoutprobe.report.kernel_view import KernelView, Opened, OutputView, Timeline
from layoutprobe.report.layout import LayoutReport
from layoutprobe.trace.declared import beside
from layoutprobe.trace.moment import Fragment, Group, first_wrong, fragment_of, sites_of
from layoutprobe.trace.moments import moments_of, output_of
from layoutprobe.trace.places import where
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.stores import owners_of
from layoutprobe.trace.subject import RunStoppedError, Subject, UndecidedError
from layoutprobe.trace.views import views_of

MATRICES = ("A", "B", "C")


class When(TypedDict, total=False):
    """A moment, as `Inspection.moment` takes it."""

    wave: int
    iteration: int
    workgroup: Group


Told = TypeVar("Told")


class Inspection:
    """A kernel at one size, to be looked into.

    >>> import layoutprobe
    >>> kernel = layoutprobe.inspect("layoutprobe.toml", "gemm")  # doctest: +SKIP
    >>> kernel.operand("A", at=3, iteration=1).closed_form  # doctest: +SKIP
    """

    def __init__(
        self, case: KernelCase, subject: Subject, backend: WatchedBackend, toolchain: Mapping[str, str]
    ) -> None:
        self._case, self._subject, self._backend, self._toolchain = case, subject, backend, toolchain
        self.guesses: tuple[str, ...] = ()
        """Without a manifest: what of the launch was guessed, in a manifest's words."""

    def __repr__(self) -> str:
        return f"<Inspection: {self._case.name} for {self._subject.code.target} at {self._size}>"

    @property
    def _size(self) -> str:
        return size_title(self._subject.sizes)

    @property
    def sites(self) -> Sites:
        """The matrix instructions of the kernel.

        Raises:
            UsageError: it has none, or cannot be followed.
        """
        found = self._told(lambda subject: subject.once(sites_of))
        return Sites(self._case.name, self._subject.code.target, self._size, found, (self._backend.evidence,))

    @property
    def overview(self) -> Sites:
        """The same, with what `check` finds at this size: operands may be right where a barrier is missing.

        Nothing is asked of `check` where the launch was guessed: too small a grid would be a finding, and no fault.

        Raises:
            UsageError: as `sites`.
        """
        return self.sites if self.guesses else replace(self.sites, findings=self._every_finding())

    @property
    def unjudged(self) -> str:
        """Why operands are held beside nothing: there is no product that says what belongs into them. Else ""."""
        try:
            self._subject.once(sites_of)
        except NoProductError as reason:
            return str(reason)
        except (UndecidedError, RunStoppedError):
            return ""
        return ""

    def recording(self, *workgroups: Group) -> Recording:
        """A run of some workgroups, instruction by instruction; by default of workgroup (0, 0, 0).

        `layoutprobe.recording.replay.Replay` gives any state of it.

        Raises:
            UsageError: the launch has no such workgroup.
        """
        return record(self._subject, self._backend, workgroups or ((0, 0, 0),))

    def kept(self, workgroup: Group = (0, 0, 0)) -> Recording:
        """A recording of a workgroup with what operands of matrix instructions need, for who has no contract; or with
        the reason why nobody knows.

        Raises:
            UsageError: the launch has no such workgroup.
        """
        return with_needs(self.recording(workgroup), self._subject, workgroup)

    def moment(
        self,
        at: str | None = None,
        *,
        wave: int = 0,
        iteration: int = 0,
        workgroup: Group = (0, 0, 0),
    ) -> Asked:
        """A moment of a recorded run, to be asked what registers and LDS hold, why, and where elements are.

        Args:
            at: "FILE:LINE", a PC as "0x1f58", or a kind and a number in the order of the code: "mfma:3",
                "barrier:0". By default the first matrix instruction.
            wave: of the workgroup.
            iteration: of the executions by that wave, from 0.
            workgroup: x, y, z.

        Raises:
            UsageError: there is no such moment.
        """
        return asked(self.recording(workgroup), at, wave=wave, iteration=iteration, group=workgroup)

    def operand(
        self,
        matrix: str = "A",
        at: int | str | None = None,
        *,
        workgroup: Group | None = None,
        iteration: int | None = None,
        view: str = PACKED,
    ) -> LayoutReport:
        """What an operand of a matrix instruction holds in every wave of a workgroup, beside what it needs.

        Args:
            matrix: "A", "B", or "C": where the accumulators are stored.
            at: which matrix instruction: its number in `sites`, its PC as "0x1f58", or "FILE:LINE". By default
                the first at which the operand is wrong, else the first of all.
            workgroup: x, y, z; by default the first in which the operand is wrong there, else (0, 0, 0).
            iteration: of the executions by each wave, from 0; by default the first wrong one, else 0.
            view: "packed": what the instruction reads. Of an operand that comes through transposing loads also
                "raw", what the lanes fetch, and "received", what they get of it.

        Raises:
            UsageError: there is no such matrix, instruction, workgroup, execution or view, or it cannot be followed.
        """
        name = matrix.upper().replace("D", "C")
        if name not in MATRICES:
            raise UsageError(f"no matrix {matrix!r:.40}", expected="one of: " + ", ".join(MATRICES))
        site = None if at is None else self.sites.find(str(at))
        pc = None if site is None else site.place.pc
        first = self._told(lambda subject: first_wrong(subject, pc, name))
        if site is None:
            wanted = first[0] if first else self.sites.sites[0].place.pc
            site = next(site for site in self.sites.sites if site.place.pc == wanted)
        assert site.place.pc is not None
        inst = self._subject.insts[site.place.pc]
        group = workgroup or (first[1] if first else (0, 0, 0))
        turn = iteration if iteration is not None else first[2] if first and group == first[1] else 0
        if view not in VIEWS:
            raise UsageError(f"no view {view!r:.40}", expected="one of: " + ", ".join(VIEWS))
        if view == PACKED:
            fragment = self._told(lambda subject: fragment_of(subject, inst, name, group, turn))
            return self._report(site, fragment, group, turn)
        seen = self._told(lambda subject: views_of(subject, inst, name, group, turn))
        return shown_as(view, seen, self._report(site, seen.fragment, group, turn))

    def operands(
        self, at: int | str = 0, wave: int = 0, *, iteration: int = 0, workgroup: Group = (0, 0, 0)
    ) -> Operands:
        """A, B and C of a matrix instruction in one execution by one wave; arguments as of `operand`.

        Raises:
            UsageError: as `operand`; or the workgroup has no such wave.
        """
        reports = [self.operand(m, at, workgroup=workgroup, iteration=iteration) for m in MATRICES]
        waves = reports[0].loaded.waves
        if not 0 <= wave < waves:
            raise UsageError(f"no wave {wave}", expected=f"0 to {waves - 1}")
        return Operands(*(Held.of(report, wave) for report in reports))

    def owners(self, output: str | None = None) -> Owners:
        """Which workgroup, wave, lane and register stored each element of an output last.

        Args:
            output: its name; by default the first.

        Raises:
            UsageError: there is no such output.
            ExecutionError: the run did not come to its end.
        """
        outputs = [b.name for b in self._subject.binding.buffers.values() if b.argument.role != "in"]
        return self._told(lambda subject: owners_of(subject, output or (outputs or [""])[0]))

    def registers(self, wanted: str, at: str | None = None, **when: Unpack[When]) -> Answer:
        """What registers hold at a moment; see `moment`, and `Asked.registers`."""
        return self.moment(at, **when).registers(wanted)

    def lds(
        self, first: int = 0, last: int | None = None, at: str | None = None, **when: Unpack[When]
    ) -> Answer:
        """What LDS holds at a moment, from byte to byte; see `moment`."""
        return self.moment(at, **when).lds(first, last)

    def why(self, slot: str, at: str | None = None, **when: Unpack[When]) -> Answer:
        """Where the content of a register of a lane, as "v40:3", comes from; see `moment`."""
        return self.moment(at, **when).why(slot)

    def diff(self, other: Inspection | Recording, at: str | None = None, **when: Unpack[When]) -> Answer:
        """Where the run of a workgroup differs from that of another kernel, or of another version of this one.

        Args:
            other: the other kernel, or a recording of it.
            at: one moment alone, slot by slot, see `moment`; by default all moments, the first difference first.

        Raises:
            UsageError: they have no workgroup in common, or buffers of other shapes; or there is no such moment.
        """
        group = when.get("workgroup", (0, 0, 0))
        theirs = other.recording(group) if isinstance(other, Inspection) else other
        return differences(self.recording(group), theirs, at, **when)

    def views(
        self, matrix: str, at: int | str, *, workgroup: Group = (0, 0, 0), iteration: int = 0
    ) -> OperandViews:
        """The three views of an operand that comes through transposing loads; arguments as of `operand`.

        Raises:
            UsageError: as `operand`; or it does not come through such loads.
        """
        inst = self._subject.insts[self.sites.find(str(at)).place.pc or 0]
        name = matrix.upper()
        if name not in "AB":
            raise UsageError(f"no operand {matrix!r:.40}", expected="A or B")
        return self._told(lambda subject: views_of(subject, inst, name, workgroup, iteration)).views

    def view(
        self,
        matrix: str | None = None,
        at: int | str | None = None,
        *,
        workgroup: Group | None = None,
        iteration: int | None = None,
        wave: int | None = None,
    ) -> KernelView:
        """All of it at once: what the page shows. The arguments say what it shows first, as for `operand`.
        Without a product as contract: what a recording of the workgroup shows, and what `check` finds.

        Raises:
            UsageError: as `operand`.
        """
        if why := self.unjudged:
            return self._unjudged_view(workgroup or (0, 0, 0), why)
        sites = self.overview
        if any(wanted is not None for wanted in (matrix, at, workgroup, iteration)):
            self.operand(
                matrix or "A", at, workgroup=workgroup, iteration=iteration
            )  # refuses what is not there
        wrong = [self._told(partial(first_wrong, pc=None, matrix=name)) for name in MATRICES]
        group = workgroup or next((found[1] for found in wrong if found), (0, 0, 0))
        opened = Opened(
            matrix and matrix.upper().replace("D", "C"),
            None if at is None else self.sites.find(str(at)).number,
            iteration,
            workgroup,
            wave,
        )
        output, why = self._output()
        return KernelView(
            sites,
            self._told(lambda subject: moments_of(subject, group)),
            output,
            why,
            whole_sources(self._case, self._places()),
            self._timeline(group),
            opened,
            self._toolchain,
        )

    def _unjudged_view(self, group: Group, why: str) -> KernelView:
        page = page_of(replace(self.recording(group), unjudged=why))
        findings = None if self.guesses else self._every_finding()
        return replace(page, sites=replace(page.sites, findings=findings), toolchain=self._toolchain)

    def beside(self, declared: Declared) -> Agreement:
        """What a text declares of the kernel's layouts, as `layoutprobe.claims.ttgir` reads it, beside what it did.

        Raises:
            UsageError: the kernel cannot be followed.
        """
        found = self._told(lambda subject: beside(subject, declared))
        return replace(found, evidence=(self._backend.evidence,))

    def _every_finding(self) -> tuple[Finding, ...]:
        """What `check` finds at this size, each cause once."""
        case = replace(self._case, sizes=(self._subject.sizes,))
        checks = [check for check in CHECKED if check.per_size]
        return check_kernel(
            case, self._subject.code.target, checks, backend=self._backend, beside=False, draw=False
        ).findings

    def _timeline(self, group: Group) -> Timeline | None:
        """What the waves of a workgroup did when."""
        arch = self._subject.arch
        return timeline_of(self.recording(group), arch.lds.banks if arch else 0)

    def _output(self) -> tuple[OutputView | None, str]:
        """The output on small integers, or why there is none."""
        try:
            return output_of(self._subject), ""
        except (NoProductError, UndecidedError, RunStoppedError) as reason:
            return None, str(reason)

    def _places(self) -> Iterator[Place]:
        """Where the kernel's instructions stand, and the calls around them."""
        for inst in self._subject.insts.values():
            place = where(self._subject, inst)
            yield place
            yield from (replace(place, source=call.source) for call in place.inlined_at)

    def _report(self, site: Site, fragment: Fragment, group: Group, turn: int) -> LayoutReport:
        return held_report(
            self._subject, site, fragment, group, turn,
            evidence=self._backend.evidence, toolchain=self._toolchain,
        )  # fmt: skip

    def _told(self, ask: Callable[[Subject], Told]) -> Told:
        """What the kernel's runs tell.

        Raises:
            UsageError: they do not, in the words of the checks.
        """
        try:
            return ask(self._subject)
        except NoProductError as reason:
            raise UsageError(
                f"{self._case.name} at {self._size}: {reason}",
                expected="a contract of kind gemm, or a product beside the reference: what belongs into an operand "
                "follows from it",
                hint="what a register or LDS holds, and where that comes from, needs no contract: --at mfma:0 with "
                "--registers, --lds or --why",
            ) from reason
        except UndecidedError as reason:
            raise UsageError(f"{self._case.name} at {self._size}: {reason}") from reason
        except RunStoppedError as stopped:
            raise stopped.fault from stopped


Opening = TypeVar("Opening", bound=Inspection)


def inspect(
    manifest: Path | str,
    kernel: str | None = None,
    *,
    size: Sizes | None = None,
    arch: str | None = None,
    backend: WatchedBackend | None = None,
) -> Inspection:
    """Build a kernel of a manifest, to look into it.

    Args:
        manifest: the file. A source or code object may stand for one: its launch is guessed, see `guesses`.
        kernel: its name there (of a source: its symbol); may be left out where there is one.
        size: the problem size, all names of it; by default the manifest's first.
        arch: target to compile for; by default the manifest's first.
        backend: where it runs; an emulator by default.

    Raises:
        UsageError: the manifest does not hold, or names something that does not exist.
        ToolchainError, CodeObjectError: it does not compile, or cannot be read.
    """
    path = Path(manifest)
    if not is_source(path):
        return look_into(_case(path, kernel), size=size, arch=arch, backend=backend)
    case, guesses = guessed(path, kernel, arch)
    made = look_into(case, size=size, arch=arch, backend=backend)
    made.guesses = guesses
    return made


def look_into(
    case: KernelCase,
    *,
    size: Sizes | None = None,
    arch: str | None = None,
    backend: WatchedBackend | None = None,
) -> Inspection:
    """The same for a kernel that was read already."""
    return opened(Inspection, case, size=size, arch=arch, backend=backend)


def opened(
    kind: type[Opening],
    case: KernelCase,
    *,
    size: Sizes | None = None,
    arch: str | None = None,
    backend: WatchedBackend | None = None,
) -> Opening:
    """The same, as a kind of Inspection."""
    built = build(case, arch or next(iter(case.arches), ""))
    if built.arch is None:
        raise UsageError(f"the emulator does not execute {built.code.target}")
    backend = backend or EmulatorBackend(budget=case.limits.instructions or DEFAULT_BUDGET)
    binding = bind(case, _size(case, size))
    runner = KernelRunner(built, binding, coding_of(binding), backend)
    insts = cache(lambda: load_instructions(built.code, built.kernel))
    return kind(case, subject_of(runner, CHECKS, insts), backend, built.toolchain)


def _case(path: Path, name: str | None) -> KernelCase:
    manifest = read_manifest(path, checks=check_names(), rules=[rule.id for rule in RULES])
    if name is None and len(manifest.kernels) > 1:
        known = ", ".join(case.name for case in manifest.kernels)
        raise UsageError("the manifest has several kernels", where={"file": path}, expected=f"one of {known}")
    return chosen(manifest, [] if name is None else [name])[0]


def _size(case: KernelCase, given: Sizes | None) -> Sizes:
    first = case.sizes[0]
    if given is None:
        return first
    if set(given) != set(first):
        raise UsageError(
            f"a size of {case.name} has other names",
            expected=", ".join(first) or "none",
            observed=", ".join(given) or "none",
        )
    return given
