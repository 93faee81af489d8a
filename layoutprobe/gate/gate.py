"""`layoutprobe check`: a manifest in, verdicts out. It wires, and decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from msgspec.structs import replace

from layoutprobe import __version__
from layoutprobe.backends.base import WatchedBackend
from layoutprobe.checks.registry import RULES, check_names, find_check
from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.gate.base import relaxed
from layoutprobe.gate.baseline import with_baseline
from layoutprobe.gate.behind import behind
from layoutprobe.gate.cells import PROCESSES, Job, Progress, serial, spread
from layoutprobe.manifest.model import Acceptance, KernelCase, Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import GateReport, KernelVerdict


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
    suggest: float = 0,
    edits: int = 0,
    draw: bool = True,
    jobs: int = 1,
    executor: Executor | str = PROCESSES,
    progress: Progress | None = None,
    each: Callable[[KernelVerdict], None] | None = None,
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
        suggest: seconds for which to look, for each kernel with findings, for a change of its source with which it
            holds; see `gate.mending`.
        edits: small changes of its source that are tried, for each kernel with findings about values, so that these
            name the one with which all is right: a second or two for each ten. None by default, as not everybody who
            asks for a verdict wants to wait for its cause; the command tries some.
        draw: make the pictures that HTML reports, and notebooks, show beside findings: a report without them costs
            fewer runs of kernels that fail.
        jobs: kernels that are checked at the same time, in processes of their own.
        executor: where else they are checked, and each size by itself: an Executor of `concurrent.futures`, or the
            name of one (`executors.executor_named`), which gets that many workers.
        progress: see `cells.Progress`.
        each: told each verdict as it comes: of an executor the first that is there, else in the manifest's order.

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
    whole = bool(hunt or suggest) or executor == PROCESSES
    work = [
        Job(case, target, _selected(case, checks), allow_reference, hunt, whole, suggest, edits, draw)
        for case in chosen(manifest, kernels)
        for target in case.arches or ("",)
    ]
    verdicts: dict[int, KernelVerdict] = {}
    for index, verdict in _verdicts(work, backend, jobs, executor, progress):
        verdict = replace(verdict, strict=strict)
        verdicts[index] = behind(verdict, work[index].case, verdicts.values())
        if each is not None:
            each(verdicts[index])
    # Of an executor they come in any order.
    ordered = tuple(
        behind(verdicts[index], work[index].case, verdicts.values()) for index in range(len(work))
    )
    return GateReport(str(manifest.path), ordered, __version__, base, relaxations, strict)


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


def _verdicts(
    work: Sequence[Job],
    backend: WatchedBackend | None,
    jobs: int,
    executor: Executor | str,
    progress: Progress | None,
) -> Iterator[tuple[int, KernelVerdict]]:
    if backend is not None or (executor == PROCESSES and min(jobs, len(work)) == 1):
        yield from serial(work, backend, progress)
    elif isinstance(executor, Executor):
        yield from spread(work, executor, progress)
    else:
        from layoutprobe.gate.executors import executor_named  # 6 ms that one process does not need

        with executor_named(executor, min(jobs, sum(job.cells for job in work))) as named:
            yield from spread(work, named, progress)
