"""Words for an access outside of every buffer: which element it would be, of how many there are, and which test let
it through.

Where lanes of the same instruction hit a buffer, their elements tell what those beside them are: what lies behind the
last column of the last row may be a row too many, or columns too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.checks.faults import fault_finding
from layoutprobe.codeobj.inlining import place_of
from layoutprobe.errors import ExecutionError
from layoutprobe.machine.faults import StrayError
from layoutprobe.manifest.binding import BoundBuffer
from layoutprobe.observe.bounds import Bounds, BoundsRecorder, Compared, Stray
from layoutprobe.place import Element
from layoutprobe.report.finding import Finding, Related, Role
from layoutprobe.trace.places import loop_around
from layoutprobe.trace.subject import RunSpec, Subject

_REGION = "buffer "
"""Allocations of arguments are called so."""
_WILD = 1 << 16
"""Elements by which an address may miss a buffer, beside as many as that has, and still be an index of it."""
_TELLING = 2
"""Numbers that differ from lane to lane by which an index is recognised."""


class _Beyond(Struct, frozen=True):
    """An element that does not exist.

    Attributes:
        buffer: of which it would be one.
        index: its own, of which that of `axis` is too large, or below 0.
        others: lane -> index of an element that exists, of lanes beside it.
    """

    buffer: BoundBuffer
    index: tuple[int, ...]
    axis: int
    lane: int
    others: dict[int, tuple[int, ...]]

    @property
    def at(self) -> int:
        """The index that is too large."""
        return self.index[self.axis]

    @property
    def extent(self) -> str:
        """ "N = 21"."""
        return self.buffer.extent_of(self.axis)

    @property
    def noun(self) -> str:
        """What the axis counts."""
        return self.buffer.noun_of(self.axis)


def stray_finding(subject: Subject, fault: ExecutionError) -> Finding:
    """A fault as a finding; of a stray access with its element, and at the test that should have kept it out."""
    plain = fault_finding(fault)
    own = fault.place.kernel == subject.kernel.name  # and not one that is launched before
    if not isinstance(fault, StrayError) or fault.place.workgroup is None or not own:
        return plain
    stray = _seen_alone(subject, fault)
    seen, tests = stray.error, stray.compared
    beyond = _beyond(subject, stray)
    if beyond is None:
        return plain
    done = "loaded" if fault.kind == "global-load" else "stored"
    element = Element(beyond.buffer.name, beyond.index)
    what = f"{element} is {done}, and " + (
        beyond.buffer.count_of(beyond.axis) if beyond.at >= 0 else "no index is below 0"
    )
    access = replace(seen.place, buffer=beyond.buffer.name)
    near = f"{seen.region.name} ({beyond.buffer.nbytes} bytes)"
    observed = f"{fault.what}, nearest to {near}; {seen.observed}"
    found = replace(
        plain, what=what, place=access, expected=f"no access, as there is no {element}", observed=observed
    )
    guard = next(_guards(beyond, tests), None) if beyond.at >= 0 else None
    if guard is None:
        compared = beyond.at < 0 or any(
            beyond.at in (test.left[beyond.lane], test.right[beyond.lane]) for test in tests
        )
        none = "" if compared else f": none that compares {beyond.at} was executed by this wave"
        return replace(
            found,
            hint=f"look where the {beyond.noun} comes from, and for a test of it before this line{none}",
        )
    return _at_guard(subject, found, beyond, *guard)


def _at_guard(subject: Subject, found: Finding, beyond: _Beyond, test: Compared, bound: int) -> Finding:
    """The finding at the test that lets the element through."""
    place = place_of(subject.code, subject.kernel, test.inst.pc, test.inst.name)
    extent = beyond.buffer.shape[beyond.axis]
    says = f"lets {beyond.noun} {beyond.at} through: it compares with {_named(subject, bound)}"
    if bound == extent:
        says = f"lets the {beyond.noun} through that equals {beyond.extent}"
    access = found.place
    found = replace(
        found,
        expected=f"a test that lets nothing through from {beyond.noun} {beyond.extent} on",
        hint=f"compare the {beyond.noun} with {beyond.extent}",
    )
    # A test that a compiler moved before a loop has the line of its head.
    head = loop_around(subject, access.pc or 0)
    if not place.line or (head is not None and head.line == place.line):
        return replace(found, what=f"{found.what}; a test before this {says}")
    at = replace(place, workgroup=access.workgroup, wave=access.wave, lane=access.lane, buffer=access.buffer)
    role: Role = "stored by" if found.check == "epilogue" else "loaded by"
    return replace(
        found, what=f"{found.what}; the test at {at.line} {says}", place=at, related=(Related(role, access),)
    )


def _named(subject: Subject, number: int) -> str:
    """ "M = 37": the arguments that have this value."""
    names = [name for name, value in subject.binding.scalars.items() if value == number]
    return " = ".join([*names[:2], str(number)])


def _seen_alone(subject: Subject, fault: StrayError) -> Stray:
    """The access in a run of its workgroup alone; that of the fault where none is made there."""
    number = subject.binding.number_of(fault.place.workgroup or (0, 0, 0))
    run = subject.runner(RunSpec("integers", (BoundsRecorder,), alone=frozenset([number])))
    stray = run.record(Bounds).strays.get(fault.place.pc or 0, Stray(fault))
    stray.error.put(replace(fault.place, wave=stray.error.place.wave, lane=stray.error.place.lane))
    return stray


def _beyond(subject: Subject, stray: Stray) -> _Beyond | None:
    """The element of the first lane that has none."""
    fault = stray.error
    lane = fault.place.lane or 0
    name = fault.region.name.removeprefix(_REGION)
    buffer = subject.binding.buffers.get(name)
    if buffer is None or buffer.argument.pointers or not fault.region.name.startswith(_REGION):
        return None

    def elements(at: NDArray[np.int64]) -> list[int]:
        return [int(element) for element in (at - fault.region.start) // buffer.itemsize]

    beside = elements(np.where(fault.active, fault.lanes, -1))
    others = {at: index for at, element in enumerate(beside) if (index := _inside(buffer, element))}
    before = [] if others or stray.before is None else elements(stray.before)
    known = [beside[at] for at in others] or [one for one in before if _inside(buffer, one)]
    wrong = elements(fault.lanes)[lane]
    if not -_WILD - buffer.size < wrong < 2 * buffer.size + _WILD:
        return None  # a pointer from elsewhere
    if 0 <= wrong < buffer.size:  # it begins inside, and ends behind the last element
        wrong = buffer.size
    index = buffer.index_at(wrong)
    along = _along_row(buffer, beside, lane)
    if along is not None:
        index = along
    elif known:
        base, move = min(((one, _moved(buffer, wrong - one)) for one in known), key=lambda one: _far(one[1]))
        near = tuple(a + b for a, b in zip(buffer.index_at(base), move, strict=True))
        index = index if _is_in(buffer, near) else near
    outside = [axis for axis, i in enumerate(index) if not 0 <= i < buffer.shape[axis]]
    return _Beyond(buffer, index, outside[0], lane, others) if outside else None


def _along_row(buffer: BoundBuffer, beside: Sequence[int], lane: int) -> tuple[int, ...] | None:
    """Where lanes go along a row and one of them passes its end: the index in that row; None where they do not.

    What lies behind the last row's end is a row too many as well. Lanes before it tell which is meant: those at equal
    distances that begin anew for the next row are one row. Lanes that never begin anew may fill several rows.
    """
    if len(buffer.shape) < _PLANE or buffer.strides[-1] != 1:
        return None
    steps = [b - a for a, b in pairwise(beside) if a >= 0]
    step = min((one for one in steps if one > 0), default=0)
    if not lane or not 0 < step < buffer.strides[-2] or beside[lane] - beside[lane - 1] != step:
        return None
    first = last = lane
    while first and beside[first] - beside[first - 1] == step:
        first -= 1
    while last + 1 < len(beside) and beside[last + 1] - beside[last] == step:
        last += 1
    anew = [one for one in (first - 1, last + 1) if 0 <= one < len(beside) and beside[one] >= 0]
    begins = _inside(buffer, beside[first])
    if begins is None or (not anew and beside[last] - beside[first] >= buffer.strides[-2]):
        return None
    index = (*begins[:-1], begins[-1] + beside[lane] - beside[first])
    return index if index[-1] >= buffer.shape[-1] else None


_PLANE = 2


def _inside(buffer: BoundBuffer, element: int) -> tuple[int, ...] | None:
    """The index of an element that exists."""
    index = buffer.index_at(element)
    return index if 0 <= element < buffer.size and _is_in(buffer, index) else None


def _far(move: Sequence[int]) -> tuple[int, int]:
    """Orders moves from one element to another: along one axis before along two, a short one first."""
    return sum(step != 0 for step in move), sum(map(abs, move))


def _moved(buffer: BoundBuffer, distance: int) -> tuple[int, ...]:
    """A distance in elements as steps along the axes, the largest strides first."""
    sign, left = (1, distance) if distance >= 0 else (-1, -distance)
    steps = [0] * len(buffer.shape)
    for axis in buffer.by_stride():
        taken, left = divmod(left, buffer.strides[axis])
        steps[axis] = sign * taken
    return tuple(steps)


def _is_in(buffer: BoundBuffer, index: Sequence[int]) -> bool:
    return all(0 <= i < extent for i, extent in zip(index, buffer.shape, strict=True))


def _guards(beyond: _Beyond, tests: Sequence[Compared]) -> Iterator[tuple[Compared, int]]:
    """Tests of the index that is too large, last first, with what they compare with: one side is that index in
    every lane whose element is known, and they come out alike for elements that exist and the one that does not.

    A lane that is beyond the edge as well may hit an element that exists, of the next row. Where all lanes have one
    index, any number that happens to be the same would do: nothing is said.
    """
    extent = beyond.buffer.shape[beyond.axis]
    lanes = {**{lane: index[beyond.axis] for lane, index in beyond.others.items()}, beyond.lane: beyond.at}
    at, wanted = np.array(list(lanes)), np.array(list(lanes.values()))
    if len(set(lanes.values())) < _TELLING:
        return
    for test in reversed(tests):
        for side, bound in ((test.left, test.right), (test.right, test.left)):
            is_index = side[beyond.lane] == beyond.at and ((side[at] == wanted) | (side[at] >= extent)).all()
            is_index &= np.unique(side[at]).size >= _TELLING  # an extent is none, whatever it is equal to
            bounds, outcomes = set(bound[at].tolist()), set(test.holds[at].tolist())
            if is_index and len(bounds) == len(outcomes) == 1 and min(bounds) >= extent:
                yield test, min(bounds)
