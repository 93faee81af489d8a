"""`layoutprobe check`: a manifest in, verdicts out. It wires, and decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from layoutprobe import __version__
from layoutprobe.backends.base import WatchedBackend
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import CHECKS, RULES, check_names, find_check
from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.gate.base import relaxed
from layoutprobe.gate.baseline import with_baseline
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.model import Acceptance, KernelCase, Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import GateReport, KernelVerdict

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many kernels are done, and how many there are."""


@dataclass(frozen=True)
class _Job:
    """One kernel for one target, in a form that another process understands."""

    case: KernelCase
    target: str
    checks: tuple[str, ...]
    allow_reference: bool
    hunt: float


def check(
    manifest: Path | str | Manifest,
    *,
    kernels: Sequence[str] = (),
    checks: Sequence[str] = (),
    backend: WatchedBackend | None = None,
    allow_reference: bool = False,
    strict: bool = False,
    baseline: Mapping[str, tuple[Acceptance, ...]] | None = None,
    base: str = "",
    hunt: float = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> GateReport:
    """Apply the checks to the kernels of a manifest.

    Args:
        manifest: the file, or what was read from one.
        kernels: names of the kernels to check; empty for all.
        checks: names of the checks to apply; empty for all. Each kernel's own `checks` and `skip`
            hold as well.
        backend: where kernels run; a fresh emulator per kernel by default.
        allow_reference: import and call the Python references that the manifest names. They are
            code: allow it for manifests that you trust as you trust the tests of the repository.
        strict: what a headline states as a reservation (code that never ran, a loose tolerance...) is undecided.
        baseline: name of a kernel -> findings that are let pass besides those that the manifest accepts; see
            `manifest.acceptances`.
        base: a commit, or a file: the manifest is compared with the one there, see `gate.base`.
        hunt: seconds for which to look, for each kernel, for other sizes at which it fails; see `gate.hunt`.
        jobs: kernels that are checked at the same time, in processes of their own.
        progress: see Progress.

    Returns:
        One verdict per kernel and target, in the order of the manifest. What stops the work on one
        kernel is the error of its verdict.

    Raises:
        UsageError: the manifest does not hold, or names are unknown.
    """
    for name in checks:
        find_check(name)
    if not isinstance(manifest, Manifest):
        manifest = read_manifest(Path(manifest), checks=check_names(), rules=[rule.id for rule in RULES])
    relaxations = relaxed(base, manifest) if base else ()
    if baseline:
        manifest = with_baseline(manifest, baseline)
    work = [
        _Job(case, target, _selected(case, checks), allow_reference, hunt)
        for case in chosen(manifest, kernels)
        for target in case.arches or ("",)
    ]
    if jobs > 1 and len(work) > 1 and backend is None:
        verdicts = tuple(_parallel(work, jobs, progress))
    else:
        verdicts = tuple(_serial(work, backend, progress))
    verdicts = tuple(replace(verdict, strict=strict) for verdict in verdicts)
    return GateReport(str(manifest.path), verdicts, __version__, base, relaxations, strict)


def chosen(manifest: Manifest, names: Sequence[str]) -> list[KernelCase]:
    """The kernels of those names, all where there are none.

    Raises:
        UsageError: the manifest has no kernel of a name.
    """
    known = [case.name for case in manifest.kernels]
    for name in names:
        if name not in known:
            raise UsageError(
                f"the manifest has no kernel named {name!r}",
                where={"file": manifest.path},
                expected="one of " + ", ".join(known),
                hint=did_you_mean(name, known),
            )
    return [case for case in manifest.kernels if not names or case.name in names]


def _selected(case: KernelCase, names: Sequence[str]) -> tuple[str, ...]:
    """Checks that both the caller and the manifest want, in the order of the registry."""
    return tuple(
        name
        for name in check_names()
        if (not names or name in names) and (not case.checks or name in case.checks)
    )


def _apply(job: _Job, backend: WatchedBackend | None, step: Callable[[str], None] | None) -> KernelVerdict:
    chosen: list[Check] = [check for check in CHECKS if check.name in job.checks]
    return check_kernel(
        job.case,
        job.target,
        chosen,
        backend=backend,
        allow_reference=job.allow_reference,
        step=step,
        hunt=job.hunt,
    )


def _serial(
    work: Sequence[_Job], backend: WatchedBackend | None, progress: Progress | None
) -> Iterator[KernelVerdict]:
    for done, job in enumerate(work):

        def step(text: str, job: _Job = job, done: int = done) -> None:
            if progress is not None:
                progress(f"{job.case.name}: {text}", done, len(work))

        yield _apply(job, backend, step)


def _alone(job: _Job) -> KernelVerdict:
    return _apply(job, None, None)


def _parallel(work: Sequence[_Job], jobs: int, progress: Progress | None) -> Iterator[KernelVerdict]:
    # Spawned, not forked: the caller may have threads (a spinner, a debugger).
    with ProcessPoolExecutor(min(jobs, len(work)), mp_context=get_context("spawn")) as pool:
        for done, (job, verdict) in enumerate(zip(work, pool.map(_alone, work), strict=True)):
            if progress is not None:
                progress(job.case.name, done + 1, len(work))
            yield verdict
