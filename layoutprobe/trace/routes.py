"""Where an element of an input goes in a kernel: the instructions that hold other values where it is another one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.lanes import passes_between_lanes
from layoutprobe.observe.footprints import Footprints, Group, Trail, WatchFootprints
from layoutprobe.observe.sites import LoadSiteRecorder, LoadSites
from layoutprobe.observe.who import Who
from layoutprobe.place import Place
from layoutprobe.report.finding import Related
from layoutprobe.trace.places import loop_around, where
from layoutprobe.trace.subject import RunSpec, Subject

Lanes = frozenset[tuple[Group, int, int]]
"""Workgroup, wave in it, and lane."""


class Route(Struct, frozen=True):
    """What is to blame for where an element goes, or does not.

    Attributes:
        place: the instruction.
        how: one clause; "" for nothing.
        clock: when that was, of all steps.
        related: the load of the element, where that is another place.
    """

    place: Place
    how: str
    clock: int
    related: tuple[Related, ...] = ()


class _Touch(Struct, frozen=True, eq=False):
    """Lanes in which an instruction holds the element's effect: in what it leaves, or (not `brings`) reads alone."""

    inst: Inst
    clock: int
    group: Group
    wave: int
    lanes: tuple[int, ...]
    brings: bool

    __repr__ = brief

    @property
    def who(self) -> Who:
        return Who(self.group, self.wave, self.lanes[0])


class Sharing(Struct, frozen=True):
    """Who else there is in a workgroup, beside lanes that have an element and should not.

    Attributes:
        shared: others rightly have it.
        spared: lanes that store outputs in which it rightly has no part.
    """

    shared: bool
    spared: Lanes


def route_in(
    subject: Subject, runs: tuple[RunSpec, RunSpec], group: Group, lanes: Lanes, name: str, sharing: Sharing
) -> Route | None:
    """How an element comes into lanes that should not have it: by the load of it, from where it lies for others, or
    past what keeps it out of others.

    Args:
        subject: the kernel.
        runs: two whose inputs differ in the element.
        group: workgroup of the lanes.
        lanes: that store outputs in which the element has no part.
        name: of the input.
        sharing: of the workgroup.
    """
    touches = _touches(subject, runs, group)
    mine = [one for one in touches if one.brings and _in(one, lanes)]
    loads = [
        one for one in touches if one.brings and Kind.LDS not in one.inst.kind and Kind.LOAD in one.inst.kind
    ]
    if not mine or not loads:
        return None
    first, how = _entrance(touches, mine, loads, sharing), ""
    kept_out = [one for one in touches if _in(one, sharing.spared - lanes)]
    passed = {one.inst.pc for one in mine}
    if kept_out and not kept_out[-1].brings and kept_out[-1].inst.pc in passed:
        first, how = kept_out[-1], "and passes what keeps it out of others"
    way = () if first.inst is loads[0].inst else (
        Related("loaded by", where(subject, loads[0].inst, loads[0].who)),
    )  # fmt: skip
    return Route(replace(where(subject, first.inst, first.who), buffer=name), how, first.clock, way)


def _entrance(touches: list[_Touch], mine: list[_Touch], loads: list[_Touch], sharing: Sharing) -> _Touch:
    """Where it comes into the lanes; into the workgroup, where nobody there should have it."""
    if not sharing.shared:
        return loads[0]
    handed = any(_hands_over(one.inst) for one in touches)
    lent = [one for one in mine if Kind.LDS in one.inst.kind] if handed else []
    return (lent or mine)[0]


def taken_from_lds(
    subject: Subject, usual: RunSpec, group: Group, lanes: Lanes, held: RunSpec, needed: RunSpec
) -> Place | None:
    """The load by which an element comes from LDS into lanes that need another one; that was stored to LDS, too.

    Args:
        subject: the kernel.
        usual: a run.
        group: workgroup of the lanes.
        lanes: that take the wrong element.
        held, needed: runs beside it, in which one of the two is another value.
    """
    stored = any(_is_stored(one) for one in _touches(subject, (usual, needed), group))
    loads = (
        one
        for one in _touches(subject, (usual, held), group)
        if one.brings and Kind.LDS in one.inst.kind and Kind.LOAD in one.inst.kind and _in(one, lanes)
    )
    first = next(loads, None) if stored else None
    return None if first is None else where(subject, first.inst, first.who)


def route_lost(
    subject: Subject, runs: tuple[RunSpec, RunSpec], group: Group, lanes: Lanes, also: Lanes, name: str
) -> Route | None:
    """Where an element is lost on its way to lanes that should have it; None where it reaches others, and is lost
    nowhere.

    Args:
        subject, runs, group, lanes, name: as of `route_in`.
        also: lanes that should have it for these outputs, and have it for others.
    """
    touches = _touches(subject, runs, group)
    if not touches:
        return _unloaded(subject, name, set())
    last = _last(touches, lanes)
    if last is not None and not _comes_back(touches, last):
        return _to(subject, name, touches, last, _how(last))
    ended = _ended(subject, runs[0], touches, also)
    if ended is not None:
        return _to(subject, name, touches, ended, "and this is the last that holds it")
    if last is not None:
        return None
    return _unloaded(subject, name, {one.inst.pc for one in touches})


def _to(subject: Subject, name: str, touches: list[_Touch], last: _Touch, how: str) -> Route:
    load = next((one for one in touches if one.brings and Kind.LOAD in one.inst.kind), None)
    way = () if load is None or load.inst is last.inst else (
        Related("loaded by", where(subject, load.inst, load.who)),
    )  # fmt: skip
    return Route(replace(where(subject, last.inst, last.who), buffer=name), how, last.clock, way)


def _last(touches: list[_Touch], lanes: Lanes) -> _Touch | None:
    """The last one in lanes that should have the element; where they store it to LDS, or have not got it, the last by
    which lanes hand it on."""
    mine = [one for one in touches if _in(one, lanes)]
    handed = [one for one in touches if _hands_over(one.inst)]
    way = handed if handed and (not mine or _is_stored(mine[-1])) else mine
    return way[-1] if way else None


def _is_stored(one: _Touch) -> bool:
    return Kind.LDS in one.inst.kind and Kind.STORE in one.inst.kind


def _comes_back(touches: list[_Touch], last: _Touch) -> bool:
    """It is stored to LDS, and somebody loads it from there."""
    return _is_stored(last) and any(
        one.brings and Kind.LDS in one.inst.kind and Kind.LOAD in one.inst.kind
        for one in touches
        if one.clock > last.clock
    )


def _ended(subject: Subject, run: RunSpec, touches: list[_Touch], lanes: Lanes) -> _Touch | None:
    """The last one that holds the element of all, where it is in lanes that store something else later."""
    held = [one for one in touches if Kind.STORE not in one.inst.kind]
    if not held or not _in(held[-1], lanes):
        return None
    last, stored = held[-1], {one.clock for one in touches}
    trail = _trails(subject, run, last.group)[last.group, last.wave]
    later = (
        Kind.STORE in inst.kind and Kind.LDS not in inst.kind and int(clock) not in stored
        for inst, clock in zip(trail.insts, trail.clock, strict=True)
        if clock > last.clock
    )  # fmt: skip
    return last if any(later) else None


def _how(last: _Touch) -> str:
    if _is_stored(last):
        return "and is stored to LDS, from where it does not come back"
    if passes_between_lanes(last.inst):
        return "and goes no further than by this exchange between lanes"
    if not last.brings:
        return "and has no effect on what this leaves"
    return "and goes no further than this"


def _unloaded(subject: Subject, name: str, bringing: set[int]) -> Route | None:
    """The first load of an input, of those that do not bring the element, or the loop around it."""
    loads = subject.run(RunSpec("integers", (LoadSiteRecorder,))).record(LoadSites).loads
    sites = [inst for inst in loads.get(f"buffer {name}", ()) if inst.pc not in bringing]
    if not sites:
        return None
    place = loop_around(subject, sites[0].pc) or where(subject, sites[0])
    load = where(subject, sites[0])
    way = () if place == load else (Related("loaded by", load),)
    return Route(replace(place, buffer=name), "and is not loaded there", 0, way)


def _hands_over(inst: Inst) -> bool:
    return passes_between_lanes(inst) or (Kind.LDS in inst.kind and Kind.STORE in inst.kind)


def _in(one: _Touch, lanes: Lanes) -> bool:
    return any((one.group, one.wave, lane) in lanes for lane in one.lanes)


def _trails(subject: Subject, run: RunSpec, group: Group) -> Mapping[tuple[Group, int], Trail]:
    watch = (WatchFootprints((group,)),)
    return subject.run(RunSpec(run.inputs, watch), partial=True).record(Footprints).trails


def _touches(subject: Subject, runs: tuple[RunSpec, RunSpec], group: Group) -> list[_Touch]:
    """In the order of execution; a wave that takes another way is followed up to there."""
    one, other = (_trails(subject, run, group) for run in runs)
    found: list[_Touch] = []
    for who, mine in one.items():
        theirs = other.get(who)
        if theirs is None:
            continue
        pairs = zip(mine.insts, theirs.insts, strict=False)
        count = next(
            (at for at, (a, b) in enumerate(pairs) if a.pc != b.pc), min(len(mine.insts), len(theirs.insts))
        )
        read, left = (
            (a[:count] != b[:count]) for a, b in ((mine.read, theirs.read), (mine.left, theirs.left))
        )
        for at in np.flatnonzero((read | left).any(axis=1)).tolist():
            for brings, held in ((False, read[at] & ~left[at]), (True, left[at])):
                if held.any():
                    lanes = tuple(np.flatnonzero(held).tolist())
                    found.append(_Touch(mine.insts[at], int(mine.clock[at]), *who, lanes, brings))
    return sorted(found, key=lambda touch: touch.clock)
