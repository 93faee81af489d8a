"""Records a run of a kernel of a manifest: chosen workgroups, on the inputs of the plain run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from layoutprobe.backends.base import WatchedBackend
from layoutprobe.errors import UsageError
from layoutprobe.gate.excerpts import whole_sources
from layoutprobe.manifest.binding import Binding
from layoutprobe.manifest.model import Gemm
from layoutprobe.recording.model import Buffer, Group, Recording
from layoutprobe.recording.recorder import LIMIT, Record
from layoutprobe.trace.moments import moments_of
from layoutprobe.trace.orders import signals
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.subject import RunSpec, RunStoppedError, Subject, UndecidedError


def record(
    subject: Subject, backend: WatchedBackend, groups: Sequence[Group] = ((0, 0, 0),), *, limit: int = LIMIT
) -> Recording:
    """A recording of some workgroups.

    Args:
        subject: the kernel at one size; it runs once more.
        backend: where it runs, which is what the recording rests on.
        groups: ids of the workgroups.
        limit: bytes that the recording may take; one that would take more ends early, see `Recording.cut`.

    Raises:
        UsageError: the launch has no such workgroup, or was never begun.
    """
    for group in groups:
        if any(not 0 <= at < extent for at, extent in zip(group, subject.binding.grid, strict=True)):
            x, y, z = subject.binding.grid
            raise UsageError(f"the launch has no workgroup {group}", expected=f"below {x}, {y}, {z}")
    watched = Record(tuple(groups), tuple(_buffers(subject.binding)), limit)
    spec = RunSpec("integers", (watched,), alone=alone(subject, groups))
    run = subject.run(spec, partial=True)
    if run.fault is not None and run.fault.__cause__ is not None:
        raise run.fault  # ours, and none of the kernel's
    made = run.record(Recording)
    cut = made.cut or (f"the run stopped: {run.fault.what}" if run.fault is not None else "")
    return replace(
        made,
        kernel=subject.case.name,
        size=subject.sizes,
        evidence=backend.evidence,
        cut=cut,
        sources=whole_sources(subject.case, (one.place for one in made.code)),
    )


def with_needs(made: Recording, subject: Subject, group: Group) -> Recording:
    """A recording with what operands of matrix instructions need, for who has no contract; or with the reason why
    nobody knows. The kernel runs again, on coded inputs."""
    try:
        return replace(made, moments=moments_of(subject, group, alone=True), unjudged="")
    except (NoProductError, UndecidedError, RunStoppedError) as reason:
        return replace(made, unjudged=str(reason))


def alone(subject: Subject, groups: Sequence[Group]) -> frozenset[int]:
    """Numbers of the workgroups that need to run; empty for all, as where these tell each other something."""
    x, y, z = subject.binding.grid
    if len(set(groups)) == x * y * z or any(map(signals, subject.insts.values())):
        return frozenset()
    return frozenset(map(subject.binding.number_of, groups))


def _buffers(binding: Binding) -> Iterable[Buffer]:
    contract = binding.case.contract
    letters = {contract.d: "C", contract.a: "A", contract.b: "B"} if isinstance(contract, Gemm) else {}
    for buffer in binding.buffers.values():
        yield Buffer(
            buffer.name, buffer.dtype, buffer.shape, buffer.strides, 0, buffer.nbytes,
            letters.get(buffer.name, ""), buffer.argument.role,
        )  # fmt: skip
