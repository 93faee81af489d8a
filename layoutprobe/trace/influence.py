"""Which outputs an element of an input has a part in, in the kernel and by its Python reference.

One element is moved far off, in both. Where the reference's output changes and the kernel's does not, or the reverse,
the kernel computes an output of other elements than it should: a mask that is off by one, a head that is another's, a
part of a reduction that is lost. Two runs beside each other then show where the element enters, or where it is lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.manifest.binding import BoundBuffer
from layoutprobe.manifest.inputs import MOVED, is_coded, make_inputs
from layoutprobe.place import Element
from layoutprobe.report.inspection import Owners
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.references import reference_bound, reference_of
from layoutprobe.trace.routes import Lanes, Route, Sharing, route_in, route_lost
from layoutprobe.trace.stores import owners_of
from layoutprobe.trace.subject import Recorded, RunSpec, RunStoppedError, Subject, UndecidedError

Mask = NDArray[np.bool_]
Doubles = NDArray[np.float64]
Values = Mapping[str, NDArray[Any]]

_NORMAL = RunSpec("normal")
_INPUTS = 6
"""Inputs that are tried."""
_ASKED = 16
"""Elements of each of which the reference is asked."""
_MOVED, _OTHERS = 6, 2
"""Elements of each that the kernel is run for at most, and how many of these right outputs depend on: others may take
them, too."""
_LARGEST = 1 << 22
"""Bytes of all buffers: what is larger takes too long."""
_SECONDS = 4.0
"""Processor time after which no further element is moved."""
_SURE = 4.0
"""A change counts that is so many times what rounding explains."""
_FEW, _MOST = 0.02, 0.5
"""Of the outputs that an element has a part in."""
_NOTHING = 1e-12
"""Beside the usual element, a change that is none: sums in another order."""


class OtherElements(Struct, frozen=True):
    """An output is computed of other elements than it should be.

    Attributes:
        says: one clause.
        route: where the element goes; None where that is not known.
    """

    says: str
    route: Route | None


class _Part(Struct, frozen=True, eq=False):
    """An element, and outputs: in which it has a part and should not, and in which it should and has none.

    Attributes:
        name, index: the element.
        foreign, missing: the outputs.
        changed: outputs that change where it does.
        spared: outputs that do not, and should not.
        run: in which it is moved.
    """

    name: str
    index: tuple[int, ...]
    foreign: Mask
    missing: Mask
    changed: Mask
    spared: Mask
    run: RunSpec

    __repr__ = brief

    @property
    def element(self) -> Element:
        """Its name."""
        return Element(self.name, self.index)


def other_elements(subject: Subject, c: Comparison) -> OtherElements | None:
    """What an output is computed of that it should not be, or the reverse; None where nothing is seen.

    Args:
        subject: with a Python reference.
        c: an output that is wrong.
    """
    taken = subject.binding.nbytes
    if subject.reference is None or subject.sample or taken > _LARGEST:
        return None
    try:
        parts = list(_parts(subject, c))
        if not parts:
            return None
        routes = [(part, _route(subject, c, part)) for part in parts]
    except (UndecidedError, RunStoppedError):
        return None
    part, route = min(routes, key=lambda one: _order(*one))
    return OtherElements(_told(part, c.name) + (f", {route.how}" if route and route.how else ""), route)


def _order(part: _Part, route: Route | None) -> tuple[bool, bool, bool, bool, float]:
    """Those first of which most outputs tell: where values are clamped, what is wrong before decides whether another
    one is seen. Then the surest, and what comes in or is lost first: a key that a mask hides has no value."""
    told = int((part.foreign | part.missing).sum()) / max(int((part.changed | part.missing).sum()), 1)
    return (
        told < _FEW,
        told < _MOST,
        not part.foreign.any(),
        bool(part.changed.any()),
        np.inf if route is None else route.clock,
    )


def _told(part: _Part, name: str) -> str:
    clauses = [
        f"{says.format(part.element)} {_first(mask, name)}, where by the reference it {beside}"
        for mask, says, beside in (
            (part.foreign, "{} goes into", "does not"),
            (part.missing, "{} does not go into", "does"),
        )
        if mask.any()
    ]
    return "; ".join(clauses)


def _first(mask: Mask, name: str) -> str:
    index = tuple(int(i) for i in np.argwhere(mask)[0])
    more = int(mask.sum()) - 1
    return f"{Element(name, index)}" + (f" and {more} more" if more else "")


# What the reference says, and the kernel does


def _parts(subject: Subject, c: Comparison) -> Iterator[_Part]:
    base = subject.run(_NORMAL)
    given = reference_of(base)
    wanted = _asked(subject, given)
    bound = _SURE * reference_bound(subject, c.name, wanted[c.name])
    until = time.process_time() + _SECONDS
    for buffer in _inputs(subject):
        seen = (
            _seen(subject, c, base, moved, bound)
            for moved in _candidates(subject, c, buffer, given, wanted, bound)
            if time.process_time() < until
        )
        if (part := _plainest(part for part in seen if part is not None)) is not None:
            yield part


def _plainest(parts: Iterable[_Part]) -> _Part | None:
    """That an output changes is sure; that it does not may be rounding, where others do."""
    doubted = None
    for part in parts:
        if part.foreign.any() or not part.changed.any():
            return part
        doubted = doubted or part
    return doubted


class _Moved(Struct, frozen=True, eq=False):
    """An element that is moved far off.

    Attributes:
        name, index: the element.
        run: in which it is.
        opposite: the runs in which it is moved the other way.
        sure: outputs that change so by the reference.
        still: those that do not.
        none: those that change neither way: at a clamp they may change in one alone.
    """

    name: str
    index: tuple[int, ...]
    run: RunSpec
    opposite: tuple[RunSpec, ...]
    sure: Mask
    still: Mask
    none: Mask

    __repr__ = brief


def _seen(subject: Subject, c: Comparison, base: Recorded, moved: _Moved, bound: Doubles) -> _Part | None:
    """What the kernel does where an element is moved; None where it does what the reference says, or fails."""
    before = np.asarray(base.outputs[c.name], np.float64)
    after = _output(subject, c, moved.run)
    if after is None:
        return None
    with np.errstate(invalid="ignore"):
        foreign, missing = moved.none & (np.abs(after - before) > bound), moved.sure & (before == after)
    changed = (before != after) & ~(np.isnan(before) & np.isnan(after))
    few = int(missing.sum()) < _MOST * int((changed | missing).sum())
    for spec in moved.opposite if few else ():  # what is clamped there moves the other way alone
        other = _output(subject, c, spec)
        missing &= np.asarray(other is None or before == other)
    if not (foreign | missing).any():
        return None
    return _Part(moved.name, moved.index, foreign, missing, changed, moved.still & ~changed, moved.run)


def _output(subject: Subject, c: Comparison, spec: RunSpec) -> Doubles | None:
    """What the kernel gives in a run; None where that fails."""
    run = subject.run(spec, partial=True)
    if run.fault is not None or run.astray or c.name not in run.outputs:
        return None
    return np.asarray(run.outputs[c.name], np.float64)


def _inputs(subject: Subject) -> list[BoundBuffer]:
    """Those whose contents the gate chooses."""
    found = [b for b in subject.binding.buffers.values() if is_coded(b) and b.argument.role == "in"]
    return found[:_INPUTS]


def _candidates(
    subject: Subject, c: Comparison, buffer: BoundBuffer, inputs: Values, wanted: Mapping[str, Doubles],
    bound: Doubles,
) -> list[_Moved]:  # fmt: skip
    """Those that wrong outputs depend on, and others as little as possible, and a few that right ones depend on."""
    found = list[tuple[tuple[float, int, int], _Moved]]()
    ways = (1, -1) if buffer.element.is_float else (1,)
    for index in _indices(buffer):
        flat = int(np.ravel_multi_index(index, buffer.shape))
        specs = [RunSpec(f"{MOVED}{buffer.name} {flat} {way}") for way in ways]
        every = [_asked(subject, _given(subject, buffer, spec, inputs)) for spec in specs]
        with np.errstate(invalid="ignore"):
            changes = [np.abs(given[c.name] - wanted[c.name]) for given in every]
        nothing = _NOTHING * (1 + np.abs(wanted[c.name]))
        none = np.logical_and.reduce([change <= nothing for change in changes])
        for spec, given, change in zip(specs, every, changes, strict=True):
            sure = change > bound
            if sure.any():
                beside = sum(int((given[name] != wanted[name]).sum()) for name in wanted if name != c.name)
                score = (float((sure & c.wrong).sum() / sure.sum()), -beside, -int(sure.sum()))
                others = tuple(one for one in specs if one != spec)
                found.append((score, _Moved(buffer.name, index, spec, others, sure, change <= nothing, none)))
    found.sort(key=lambda one: one[0], reverse=True)
    ordered = [one for _, one in found]
    return ordered if len(ordered) <= _MOVED else [*ordered[: _MOVED - _OTHERS], *ordered[-_OTHERS:]]


def _given(subject: Subject, buffer: BoundBuffer, spec: RunSpec, inputs: Values) -> Values:
    """What the reference is given in a run."""
    values = make_inputs(subject.binding, spec.inputs, beta=1.0)[buffer.name]
    assert values is not None
    held = buffer.load(buffer.store(values))
    floating = np.issubdtype(held.dtype, np.floating)
    return dict(inputs) | {buffer.name: held.astype(np.float64) if floating else held}


def _indices(buffer: BoundBuffer) -> list[tuple[int, ...]]:
    """The last element, some in between, and others at the ends of the axes."""
    ends = list(product(*([extent - 1, 0] if extent > 1 else [0] for extent in buffer.shape)))
    random = np.random.default_rng(7)
    between = [tuple(int(random.integers(extent)) for extent in buffer.shape) for _ in range(_ASKED)]
    half = _ASKED // 4
    return list(dict.fromkeys([ends[0], *between[:half], *ends, *between]))[:_ASKED]


def _asked(subject: Subject, inputs: Values) -> Mapping[str, Doubles]:
    assert subject.reference is not None
    with np.errstate(all="ignore"):
        given = subject.reference(inputs, dict(subject.sizes))
    shapes = {name: subject.binding.buffers[name].shape for name in given}
    return {name: np.broadcast_to(np.asarray(given[name], np.float64), shapes[name]) for name in given}


# Where it goes


def _route(subject: Subject, c: Comparison, part: _Part) -> Route | None:
    owners = owners_of(subject, c.output)
    wanted = part.foreign if part.foreign.any() else part.missing
    at = tuple(int(i) for i in np.argwhere(wanted)[0])
    x, y, z = (int(i) for i in owners.workgroup[at])
    rightly = _lanes(owners, part.changed & ~part.foreign) | _elsewhere(subject, c, part)
    lanes = _lanes(owners, wanted) - rightly
    runs = (_NORMAL, part.run)
    if not part.foreign.any():
        return route_lost(subject, runs, (x, y, z), lanes, _lanes(owners, wanted), part.name)
    sharing = Sharing(
        any(group == (x, y, z) for group, _, _ in rightly),
        _lanes(owners, part.spared) - _lanes(owners, part.changed),
    )
    return route_in(subject, runs, (x, y, z), lanes, part.name, sharing)


def _elsewhere(subject: Subject, c: Comparison, part: _Part) -> Lanes:
    """Who stored what changes in other outputs."""
    one, other = subject.run(_NORMAL), subject.run(part.run)
    found: Lanes = frozenset()
    for name, before in one.outputs.items():
        if name != c.output and (changed := np.asarray(before != other.outputs[name])).any():
            found |= _lanes(owners_of(subject, name), changed)
    return found


def _lanes(owners: Owners, which: Mask) -> Lanes:
    """Who stored some outputs."""
    groups, waves, lanes = (part[which].tolist() for part in (owners.workgroup, owners.wave, owners.lane))
    return frozenset(
        ((x, y, z), wave, lane) for (x, y, z), wave, lane in zip(groups, waves, lanes, strict=True)
    )
