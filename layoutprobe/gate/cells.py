"""A gate in cells, on any executor: a kernel for a target at one size each, or at all of them.

A cell of one size brings its outcome. Who asked for it puts the outcomes of a kernel together, size after size, as if
it had run them itself: so a verdict depends neither on where its cells ran nor on which ended first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed, wait
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import CHECKS
from layoutprobe.errors import ProbeError, debugging
from layoutprobe.gate.session import check_kernel, check_size
from layoutprobe.gate.tally import LostCellError, Outcome
from layoutprobe.manifest.model import KernelCase, Sizes
from layoutprobe.report.gate import KernelVerdict

PROCESSES = "processes"
"""Cells are checked in processes of this machine; for what else there is see `executors`."""
Progress = Callable[[str, float, int], None]
"""Told what is being done, how many cells are done, that under way by its share, and how many there are."""


class Job(Struct, frozen=True):
    """One kernel for one target, in a form that another process understands."""

    case: KernelCase
    target: str
    checks: tuple[str, ...]
    allow_reference: bool
    hunt: float
    whole: bool
    """All sizes are one cell, which pays once what a kernel costs at each; a hunt goes from size to size anyway."""
    suggest: float
    edits: int
    draw: bool

    @property
    def chosen(self) -> list[Check]:
        """The checks that are applied."""
        return [check for check in CHECKS if check.name in self.checks]

    @property
    def cells(self) -> int:
        """How many there are."""
        return 1 if self.whole else len(self.case.sizes)


def serial(
    work: Sequence[Job], backend: WatchedBackend | None, progress: Progress | None
) -> Iterator[tuple[int, KernelVerdict]]:
    """The verdict of each job, in this process, with its place in `work`."""
    for index, job in enumerate(work):

        def step(text: str, share: float, job: Job = job, done: int = index) -> None:
            if progress is not None:
                progress(f"{job.case.name}: {text}", done + share, len(work))

        yield index, _verdict(job, backend=backend, step=step)


def spread(
    work: Sequence[Job], executor: Executor, progress: Progress | None
) -> Iterator[tuple[int, KernelVerdict]]:
    """The verdict of each job, with its place in `work`, when its last cell has ended on an executor."""
    cells = [_submitted(job, executor) for job in work]
    owner = {future: index for index, futures in enumerate(cells) for future in futures}
    left = [len(futures) for futures in cells]
    # Whole kernels are told of in the order of the manifest, as in one process; sizes as they end.
    for done, future in enumerate(owner if all(job.whole for job in work) else as_completed(owner), 1):
        wait((future,))
        index = owner[future]
        left[index] -= 1
        if progress is not None:
            progress(work[index].case.name, done, len(owner))
        if not left[index]:
            yield index, _together(work[index], cells[index])


def _submitted(job: Job, executor: Executor) -> list[Future[Any]]:
    if job.whole:
        return [executor.submit(_verdict, job)]
    return [executor.submit(_outcome, job, sizes) for sizes in job.case.sizes]


def _verdict(job: Job, **how: Any) -> KernelVerdict:
    return check_kernel(
        job.case,
        job.target,
        job.chosen,
        allow_reference=job.allow_reference,
        hunt=job.hunt,
        suggest=job.suggest,
        edits=job.edits,
        draw=job.draw,
        **how,
    )


def _outcome(job: Job, sizes: Sizes) -> Outcome:
    return check_size(
        job.case, job.target, job.chosen, sizes, allow_reference=job.allow_reference, draw=job.draw
    )


def _together(job: Job, cells: Sequence[Future[Any]]) -> KernelVerdict:
    """The verdict of a job whose cells have all ended."""
    if job.whole:
        try:
            found: KernelVerdict = _result(cells[0])
        except LostCellError as lost:
            return replace(_verdict(replace(job, checks=(), hunt=0)), error=str(lost))
        return found
    ended = dict(zip((tuple(sizes.items()) for sizes in job.case.sizes), cells, strict=True))
    return _verdict(job, elsewhere=lambda sizes: _result(ended[tuple(sizes.items())]))


def _result(cell: Future[Any]) -> Any:
    """What a cell brought.

    Raises:
        ProbeError, MemoryError: what stopped it.
        LostCellError: it did not end by itself.
    """
    try:
        return cell.result()
    except (ProbeError, MemoryError):
        raise
    except Exception as error:  # a process that died, or whatever a cluster says of a worker that is gone
        if debugging():
            raise
        raise LostCellError(type(error).__name__, error) from None
