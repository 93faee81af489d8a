"""All checks of one kernel for one target."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import check_names
from layoutprobe.engine.base import DEFAULT_BUDGET
from layoutprobe.errors import ProbeError, debugging
from layoutprobe.gate.beside import Glance, glance
from layoutprobe.gate.build import Built, build
from layoutprobe.gate.excerpts import excerpts
from layoutprobe.gate.merge import Sized
from layoutprobe.gate.plan import SIZES, Step
from layoutprobe.gate.reference import load_reference
from layoutprobe.gate.tally import Bring, Explained, Outcome, Tally
from layoutprobe.manifest.model import KernelCase, Sizes, size_title
from layoutprobe.manifest.reservations import reservations
from layoutprobe.report.coverage import CodeCoverage
from layoutprobe.report.gate import CheckResult, Hunt, KernelVerdict, Mending, Pictures

if TYPE_CHECKING:
    from layoutprobe.gate.explaining import Explainer
    from layoutprobe.gate.mending import Mender


def check_kernel(
    case: KernelCase,
    target: str,
    checks: Sequence[Check],
    *,
    backend: WatchedBackend | None = None,
    allow_reference: bool = False,
    step: Step | None = None,
    hunt: float = 0,
    elsewhere: Bring | None = None,
    suggest: float = 0,
    edits: int = 0,
    beside: bool = True,
    explain: bool = True,
    draw: bool = True,
) -> KernelVerdict:
    """Build one kernel and apply checks to it. What stops the work becomes the verdict's error.

    Args:
        case: the kernel.
        target: what it is compiled for.
        checks: what to apply.
        backend: where it runs.
        allow_reference: see `gate.check`.
        step: told what is done.
        hunt: seconds for which to look for sizes at which it fails, where those of the manifest hold.
        elsewhere: brings the outcomes of sizes that were run by `check_size`; they are run here without it.
        suggest: seconds for which to look for a change of the source with which it holds, where it does not.
        edits: small changes of the source that are tried for the words of findings, where it does not hold.
        beside: take a glance at sizes that the manifest does not have, for the headline.
        explain: look for changes of instructions that mend wrong values, for the words of findings.
        draw: make the pictures of findings, for reports that show them: that takes further runs.
    """
    start = time.monotonic()
    step = step or (lambda *_: None)
    done = _Done(backend)
    try:
        step("compiling" if case.source else "loading", 0.0)
        done.built = build(case, target)
        done.backend = backend = backend or _emulator(case)
        reference = _reference(case, allow_reference)
        done.tally = tally = Tally(case, done.built, checks, backend, reference, step, draw)
        tally.run(elsewhere)
        if hunt:
            from layoutprobe.gate.hunt import go_on

            done.hunted = go_on(tally, hunt)
        elif beside:
            done.glanced = glance(tally)
            if done.glanced.meant is not None:
                tally.keep(tally.at(done.glanced.meant))
    except ProbeError as problem:
        done.error = str(problem)
    except MemoryError:
        done.error = "the memory of this machine does not suffice for this kernel: check a smaller size"
    if done.tally is None or not (explain and any(map(_has_findings, done.tally.collected.values()))):
        return done.verdict(case, target, start=start)
    again = partial(
        check_kernel, target=target, checks=checks, allow_reference=allow_reference, explain=False, draw=False
    )
    return _explained(case, target, done, again, suggest=suggest, edits=edits, start=start)


class _Done(Struct):
    """What was done for one kernel until the work ended, or was stopped."""

    backend: WatchedBackend | None
    built: Built | None = None
    tally: Tally | None = None
    hunted: Hunt | None = None
    glanced: Glance = field(default_factory=lambda: Glance(None))
    error: str = ""

    @property
    def more(self) -> tuple[Sizes, ...]:
        """Sizes that count, and that the manifest does not list."""
        meant = self.glanced.meant
        return self.hunted.sizes if self.hunted else (meant,) if meant is not None else ()

    def verdict(
        self, case: KernelCase, target: str, *, start: float, explained: Explained | None = None
    ) -> KernelVerdict:
        """What it comes to; `explained` as in `Tally.results`, `start`: when the work began."""
        tally, built = self.tally, self.built
        covered = self.glanced.covered or (tally.covered() if tally else None)
        results = tally.results(explained) if tally else ()
        return KernelVerdict(
            name=case.name,
            symbol=built.kernel.name if built else case.symbol,
            target=built.code.target if built else target,
            source=str(case.file),
            sizes=tuple(dict.fromkeys(map(size_title, (*case.sizes, *self.more)))),
            results=results,
            evidence=(self.backend.evidence,) if self.backend and tally and tally.ran else (),
            toolchain=dict(built.toolchain) if built else {},
            reservations=self._reservations(case, covered, results),
            coverage=covered,
            excerpts=excerpts(case, [finding for result in results for finding in result.findings]),
            hunt=self.hunted,
            unlisted=self.glanced.wrong,
            pictures=tally.pictures if tally else Pictures(),
            seconds=time.monotonic() - start,
            error=self.error,
        )

    def _reservations(
        self, case: KernelCase, covered: CodeCoverage | None, results: Sequence[CheckResult]
    ) -> tuple[str, ...]:
        """What the headline names beside the verdict, in the order in which it does."""
        tally = self.tally
        return (
            *reservations(case, check_names(), uneven=self.glanced.uneven),
            *(covered.reservations if covered else ()),
            *((*tally.unproven(), *tally.sampled()) if tally else ()),
            *(one.says for one in self.glanced.wrong),
            *(says for result in results for says in result.reserved),
        )


def _has_findings(sized: Sequence[Sized]) -> bool:
    return any(result.findings for _, result in sized)


def _explained(
    case: KernelCase,
    target: str,
    done: _Done,
    again: Callable[[KernelCase], KernelVerdict],
    *,
    suggest: float,
    edits: int,
    start: float,
) -> KernelVerdict:
    """What it comes to, where there are findings: with what is behind them, and with a fix where one is asked for."""
    from layoutprobe.gate.explaining import Explainer  # a kernel that holds needs none of what these import
    from layoutprobe.gate.hunt import with_hunted, with_sizes
    from layoutprobe.gate.mending import Judge, Mender

    assert done.tally is not None
    assert done.built is not None
    everywhere = with_hunted(case, done.hunted) if done.hunted else with_sizes(case, done.more)
    judge = Judge(done.tally.checks, done.tally.reference, again)
    with Mender(everywhere, target, done.built.toolchain, judge) as mender:
        explainer = Explainer(mender, edits)
        verdict = done.verdict(case, target, start=start, explained=explainer)
        if not suggest or not verdict.findings:
            return verdict
        done.tally.step("changes that may mend it", SIZES)
        return replace(verdict, mending=_mended(mender, verdict, done.tally, explainer, suggest))


def _mended(
    mender: Mender, verdict: KernelVerdict, tally: Tally, explained: Explainer, seconds: float
) -> Mending:
    """What looking for a change brings. Whatever goes wrong there must not cost the verdict that was found before."""
    from layoutprobe.gate.explaining import trials_of
    from layoutprobe.gate.searches import mend

    try:
        trials, _ = trials_of(tally, verdict.findings)
        return mend(mender, verdict, trials, explained.instructions, explained.held, seconds)
    except Exception as problem:
        if debugging():
            raise
        return Mending(0, 0, 0.0, None, problem=f"{type(problem).__name__}: {problem}")


def check_size(
    case: KernelCase,
    target: str,
    checks: Sequence[Check],
    sizes: Sizes,
    *,
    allow_reference: bool = False,
    draw: bool = True,
) -> Outcome:
    """What checks say of one kernel at one size, for whoever puts a verdict together (`check_kernel`).

    Raises:
        ProbeError, MemoryError: what stops the work on this kernel.
    """
    reference = _reference(case, allow_reference)
    tally = Tally(case, build(case, target), checks, _emulator(case), reference, lambda *_: None, draw)
    return tally.at(sizes)


def _emulator(case: KernelCase) -> WatchedBackend:
    return EmulatorBackend(budget=case.limits.instructions or DEFAULT_BUDGET)


def _reference(case: KernelCase, allowed: bool) -> Callable[..., object] | None:
    return load_reference(case.contract, allowed=allowed, seconds=case.limits.seconds)
