"""All checks of one kernel for one target."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import check_names
from layoutprobe.engine.base import DEFAULT_BUDGET
from layoutprobe.errors import ProbeError
from layoutprobe.gate.beside import Glance, glance
from layoutprobe.gate.build import Built, build
from layoutprobe.gate.counterfactual import explained
from layoutprobe.gate.excerpts import excerpts
from layoutprobe.gate.hunt import go_on, with_hunted
from layoutprobe.gate.mending import Judge, mend
from layoutprobe.gate.plan import SIZES, Step
from layoutprobe.gate.reference import load_reference
from layoutprobe.gate.tally import Bring, Outcome, Tally
from layoutprobe.manifest.model import KernelCase, Sizes, size_title
from layoutprobe.manifest.reservations import reservations
from layoutprobe.report.gate import Hunt, KernelVerdict, Pictures


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
    tally: Tally | None = None
    built: Built | None = None
    hunted: Hunt | None = None
    glanced = Glance(None)
    error = ""
    try:
        step("compiling" if case.source else "loading", 0.0)
        built = build(case, target)
        backend = backend or _emulator(case)
        tally = Tally(case, built, checks, backend, _reference(case, allow_reference), step, draw)
        tally.run(elsewhere)
        if hunt:
            hunted = go_on(tally, hunt)
        elif beside:
            glanced = glance(tally)
    except ProbeError as problem:
        error = str(problem)
    except MemoryError:
        error = "the memory of this machine does not suffice for this kernel: check a smaller size"
    covered = glanced.covered or (tally.covered() if tally else None)
    results = tally.results(explained if explain else None) if tally else ()
    verdict = KernelVerdict(
        name=case.name,
        symbol=built.kernel.name if built else case.symbol,
        target=built.code.target if built else target,
        source=str(case.file),
        sizes=tuple(dict.fromkeys(map(size_title, (*case.sizes, *(hunted.sizes if hunted else ()))))),
        results=results,
        evidence=(backend.evidence,) if backend and tally and tally.ran else (),
        toolchain=dict(built.toolchain) if built else {},
        seconds=time.monotonic() - start,
        error=error,
        reservations=(
            *reservations(case, check_names(), uneven=glanced.uneven),
            *(covered.reservations if covered else ()),
            *(tally.unproven() if tally else ()),
            *(tally.widened() if tally else ()),
            *(tally.sampled() if tally else ()),
            *glanced.says,
            *(says for result in results for says in result.reserved),
        ),
        coverage=covered,
        excerpts=excerpts(case, [finding for result in results for finding in result.findings]),
        hunt=hunted,
        unlisted=glanced.says,
        pictures=tally.pictures if tally else Pictures(),
    )
    if not suggest or tally is None or not verdict.findings:
        return verdict
    step("changes that may mend it", SIZES)
    everywhere = with_hunted(case, hunted) if hunted else case
    judge = Judge(
        checks,
        tally.reference,
        partial(
            check_kernel,
            target=target,
            checks=checks,
            allow_reference=allow_reference,
            explain=False,
            draw=False,
        ),
    )
    return replace(verdict, mending=mend(everywhere, target, verdict, judge, suggest))


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
