"""What a workgroup loads of LDS and stores there, in a run of its own."""

from __future__ import annotations

from layoutprobe.observe.lds_traffic import Group, Traffic, TrafficOf
from layoutprobe.trace.subject import RunSpec, Subject


def traffic_of(subject: Subject, group: Group, alone: frozenset[int] = frozenset()) -> Traffic | None:
    """All passages of a workgroup, up to a fault where there is one.

    Args:
        subject: the kernel.
        group: the workgroup.
        alone: numbers of the workgroups that run; empty for all.

    Returns:
        None where a launch that has happened, as under `run`, is not made again.
    """
    spec = RunSpec("integers", (TrafficOf(group),), alone=alone)
    try:
        return subject.run(spec, partial=True).record(Traffic)
    except LookupError:
        return None
