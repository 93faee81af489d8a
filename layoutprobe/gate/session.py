"""All checks of one kernel for one target."""

from __future__ import annotations

import time
from collections.abc import Sequence

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import check_names
from layoutprobe.engine.base import DEFAULT_BUDGET
from layoutprobe.errors import ProbeError
from layoutprobe.gate.build import Built, build
from layoutprobe.gate.excerpts import excerpts
from layoutprobe.gate.hunt import go_on
from layoutprobe.gate.reference import load_reference
from layoutprobe.gate.tally import Step, Tally
from layoutprobe.manifest.model import KernelCase, size_title
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
    """
    start = time.monotonic()
    step = step or (lambda _: None)
    tally: Tally | None = None
    built: Built | None = None
    hunted: Hunt | None = None
    error = ""
    try:
        step("compiling" if case.source else "loading")
        built = build(case, target)
        reference = load_reference(case.contract, allowed=allow_reference, seconds=case.limits.seconds)
        backend = backend or EmulatorBackend(budget=case.limits.instructions or DEFAULT_BUDGET)
        tally = Tally(case, built, checks, backend, reference, step)
        tally.run()
        hunted = go_on(tally, hunt) if hunt else None
    except ProbeError as problem:
        error = str(problem)
    except MemoryError:
        error = "the memory of this machine does not suffice for this kernel: check a smaller size"
    covered = tally.covered() if tally else None
    results = tally.results() if tally else ()
    return KernelVerdict(
        name=case.name,
        symbol=built.kernel.name if built else case.symbol,
        target=built.code.target if built else target,
        source=str(case.file),
        sizes=tuple(size_title(sizes) for sizes in (*case.sizes, *(hunted.sizes if hunted else ()))),
        results=results,
        evidence=(backend.evidence,) if backend and tally and tally.ran else (),
        toolchain=dict(built.toolchain) if built else {},
        seconds=time.monotonic() - start,
        error=error,
        reservations=(
            *reservations(case, check_names()),
            *(covered.reservations if covered else ()),
            *(tally.unproven() if tally else ()),
            *(tally.widened() if tally else ()),
            *(tally.sampled() if tally else ()),
            *(says for result in results for says in result.reserved),
        ),
        coverage=covered,
        excerpts=excerpts(case, [finding for result in results for finding in result.findings]),
        hunt=hunted,
        pictures=tally.pictures if tally else Pictures(),
    )
