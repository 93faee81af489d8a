"""All checks of one kernel for one target."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import check_names
from layoutprobe.engine.base import DEFAULT_BUDGET
from layoutprobe.errors import ProbeError, debugging
from layoutprobe.gate.beside import Glance, glance
from layoutprobe.gate.build import Built, build
from layoutprobe.gate.excerpts import excerpts
from layoutprobe.gate.plan import SIZES, Step
from layoutprobe.gate.reference import load_reference
from layoutprobe.gate.tally import Bring, Outcome, Tally
from layoutprobe.manifest.model import KernelCase, Sizes, size_title
from layoutprobe.manifest.reservations import reservations
from layoutprobe.report.coverage import CodeCoverage
from layoutprobe.report.gate import CheckResult, Hunt, KernelVerdict, Mending, Pictures


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
    except ProbeError as problem:
        done.error = str(problem)
    except MemoryError:
        done.error = "the memory of this machine does not suffice for this kernel: check a smaller size"
    verdict = done.verdict(case, target, explain=explain, start=start)
    if not suggest or done.tally is None or not verdict.findings:
        return verdict
    step("changes that may mend it", SIZES)
    again = partial(
        check_kernel, target=target, checks=checks, allow_reference=allow_reference, explain=False, draw=False
    )
    return replace(verdict, mending=_mended(case, target, verdict, done, again, suggest))


@dataclass
class _Done:
    """What was done for one kernel until the work ended, or was stopped."""

    backend: WatchedBackend | None
    built: Built | None = None
    tally: Tally | None = None
    hunted: Hunt | None = None
    glanced: Glance = field(default_factory=lambda: Glance(None))
    error: str = ""

    def verdict(self, case: KernelCase, target: str, *, explain: bool, start: float) -> KernelVerdict:
        """What it comes to; `explain` as in `check_kernel`, `start`: when the work began."""
        tally, built, hunted = self.tally, self.built, self.hunted
        covered = self.glanced.covered or (tally.covered() if tally else None)
        results = tally.results(_explained if explain else None) if tally else ()
        return KernelVerdict(
            name=case.name,
            symbol=built.kernel.name if built else case.symbol,
            target=built.code.target if built else target,
            source=str(case.file),
            sizes=tuple(dict.fromkeys(map(size_title, (*case.sizes, *(hunted.sizes if hunted else ()))))),
            results=results,
            evidence=(self.backend.evidence,) if self.backend and tally and tally.ran else (),
            toolchain=dict(built.toolchain) if built else {},
            reservations=self._reservations(case, covered, results),
            coverage=covered,
            excerpts=excerpts(case, [finding for result in results for finding in result.findings]),
            hunt=hunted,
            unlisted=self.glanced.says,
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
            *((*tally.unproven(), *tally.widened(), *tally.sampled()) if tally else ()),
            *self.glanced.says,
            *(says for result in results for says in result.reserved),
        )


def _explained(tally: Tally, results: Sequence[CheckResult]) -> Sequence[CheckResult]:
    """See counterfactual.explained: a kernel that holds needs none of what that imports."""
    if not any(result.findings for result in results):
        return results
    from layoutprobe.gate.counterfactual import explained

    return explained(tally, results)


def _mended(
    case: KernelCase,
    target: str,
    verdict: KernelVerdict,
    done: _Done,
    again: Callable[[KernelCase], KernelVerdict],
    seconds: float,
) -> Mending:
    """What looking for a change brings. Whatever goes wrong there must not cost the verdict that was found before."""
    from layoutprobe.gate.hunt import with_hunted
    from layoutprobe.gate.mending import Judge, mend

    assert done.tally is not None
    judge = Judge(done.tally.checks, done.tally.reference, again)
    try:
        everywhere = with_hunted(case, done.hunted) if done.hunted else case
        return mend(everywhere, target, verdict, judge, seconds)
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
