"""Findings about a pointer that is moved by a wrong distance, at the instruction that moves it.

Where it shows, at a load or a store, is often far below.
"""

from __future__ import annotations

from dataclasses import replace

from layoutprobe.observe.advances import Advance, AdvanceRecorder, Advances
from layoutprobe.report.finding import Finding, Related, Role
from layoutprobe.trace.places import where
from layoutprobe.trace.subject import RunSpec, Subject


def at_batch_advance(subject: Subject, found: Finding, buffer: str, role: Role) -> Finding:
    """A wrong batch stride, at the addition of a wrong distance to the buffer's pointer, where a workgroup was seen
    to make exactly one such.

    Args:
        subject: the kernel.
        found: the finding, at the access.
        buffer: name of the buffer.
        role: what the access does.
    """
    access = found.place
    if access.workgroup is None:
        return found
    x, y, z = access.workgroup
    wide, high, _ = subject.binding.grid
    alone = frozenset([x + wide * (y + high * z)])
    moved = [
        one
        for one in subject.runner(RunSpec("integers", (AdvanceRecorder,), alone=alone)).record(Advances).found
        if one.buffer == f"buffer {buffer}" and _is_wrong(subject, one, buffer)
    ]
    if len(moved) != 1:
        return found
    place = replace(
        where(subject, moved[0].inst), workgroup=access.workgroup, wave=access.wave, matrix=access.matrix
    )
    if not place.line:
        return found
    way = found.related if any(step.place.pc == access.pc for step in found.related) else None
    related = way or (Related(role, access), *found.related)
    return replace(found, place=place, related=related)


def _is_wrong(subject: Subject, advance: Advance, buffer: str) -> bool:
    """It moves the pointer, and not by whole batches."""
    bound = subject.binding.buffers[buffer]
    right = bound.strides[0] * bound.itemsize if len(bound.strides) > 2 else 0
    return advance.by != 0 and (right == 0 or advance.by % right != 0)
