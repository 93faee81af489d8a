"""A matrix instruction behind a branch that some lanes do not take, in a run whose outputs are wrong."""

from __future__ import annotations

from functools import partial
from math import prod

from msgspec.structs import replace

from layoutprobe.observe.idle_lanes import IdleLaneRecorder, IdleLanes
from layoutprobe.place import Place
from layoutprobe.trace.places import where
from layoutprobe.trace.subject import RunSpec, Subject


def idle_lanes(subject: Subject, spec: RunSpec) -> tuple[str, Place] | None:
    """What such an instruction takes of idle lanes, in words, and where it is: the first whose operands are undefined
    there, or else the first; None where there is none."""
    watched = replace(spec, observers=(partial(IdleLaneRecorder, prod(subject.binding.block)),))
    found = sorted(
        subject.run(watched, partial=True).record(IdleLanes).found, key=lambda one: not one.undefined
    )
    if not found:
        return None
    first = found[0]
    place = where(subject, first.inst, first.who)
    held = (
        f"{first.undefined} is undefined" if first.undefined else "A and B are as they were before a branch"
    )
    says = (
        f"{first.inst.name} at {place.line} takes the registers of all lanes, and in lane {first.who.lane}, which is "
        f"switched off ({first.active} of {first.lanes} are active), {held}"
    )
    return says, place
