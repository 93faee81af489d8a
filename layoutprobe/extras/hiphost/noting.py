"""Notes the launches of a program while they run, for a manifest that is drafted from them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.drafting.seen import SeenBuffer, SeenLaunch
from layoutprobe.engine.base import Dispatch
from layoutprobe.engine.registry import make_engine
from layoutprobe.machine.memory import BASE_ADDRESS, Arena, Region
from layoutprobe.observe.touched import Touched

_MOST_BYTES = 8 << 20
"""Of a buffer whose contents are kept."""
_MOST_SHAPES = 32
"""Launches of a kernel that are noted: each has another grid, block, number or extent."""
_MOST_KERNELS = 64
_POINTER, _MOST_POINTERS = 8, 1024
"""Bytes of one, and how many lie in an array of them at most."""


class LaunchNotes:
    """What the launches of every program of one run were, the first of each shape.

    Attributes:
        launches: in their order.
        left_out: launches that are not among them although they differ.
    """

    def __init__(self) -> None:
        self.launches: list[SeenLaunch] = []
        self.left_out = 0
        self._shapes: dict[tuple[str, str], set[tuple[object, ...]]] = {}
        self._lock = threading.Lock()

    def runner(self) -> Callable[[Dispatch], None]:
        """What executes and notes the kernels of one program."""
        engine = make_engine()
        return lambda dispatch: self._run(engine.run, dispatch)

    def _run(self, run: Callable[[Dispatch], object], dispatch: Dispatch) -> None:
        values = _values(dispatch)
        touched = Touched()
        arena = dispatch.memory.arena
        given = _pointed_at(dispatch, values)
        before = {i: one.copied(arena) for i, one in given.items()}
        defined = {i: one.defined(arena) for i, one in given.items()}
        run(replace(dispatch, observers=(*dispatch.observers, touched)))
        buffers = {
            i: SeenBuffer(
                size=one.size * len(one.parts),
                loaded=bool(one.regions & touched.loaded),
                stored=bool(one.regions & touched.stored),
                before=before[i],
                after=one.copied(arena),
                defined=defined[i],
                groups=one.groups,
            )
            for i, one in given.items()
        }
        lds = dispatch.lds_size - dispatch.kernel.descriptor.group_segment_size
        self._note(
            SeenLaunch(dispatch.code, dispatch.kernel, dispatch.grid, dispatch.block, lds, values, buffers)
        )

    def _note(self, launch: SeenLaunch) -> None:
        with self._lock:
            key = (launch.code.digest, launch.kernel.name)
            if len(self._shapes) >= _MOST_KERNELS and key not in self._shapes:
                self.left_out += 1
                return
            shapes = self._shapes.setdefault(key, set())
            if launch.shape in shapes:
                return
            if len(shapes) >= _MOST_SHAPES:
                self.left_out += 1
                return
            shapes.add(launch.shape)
            self.launches.append(launch)


def _values(dispatch: Dispatch) -> tuple[bytes, ...]:
    start = dispatch.memory.kernarg.start
    data = dispatch.memory.arena.data.bytes
    return tuple(
        data[start + a.offset : start + a.offset + a.size].tobytes() for a in dispatch.kernel.explicit_args
    )


class _Pointed(Struct, frozen=True):
    """Where a pointer leads.

    Attributes:
        parts: offsets in the arena, each with the allocation that it lies in: one, or those to which pointers in
            memory lead.
        size: bytes of each.
        groups: how many pointers lie there; 0 where the pointer leads to the data.
    """

    parts: tuple[tuple[int, Region], ...]
    size: int
    groups: int = 0

    @property
    def regions(self) -> set[int]:
        """Where the allocations start."""
        return {region.start for _, region in self.parts}

    def copied(self, arena: Arena) -> NDArray[np.uint8] | None:
        """The bytes, part behind part; None where they are too many to keep."""
        if self.size * len(self.parts) > _MOST_BYTES:
            return None
        return np.concatenate([arena.data.bytes[at : at + self.size] for at, _ in self.parts])

    def defined(self, arena: Arena) -> bool:
        """Whether every byte has been written."""
        return not arena.tracked or not any(
            arena.shadow.bytes[at : at + self.size].any() for at, _ in self.parts
        )


def _pointed_at(dispatch: Dispatch, values: tuple[bytes, ...]) -> dict[int, _Pointed]:
    """Number of an argument -> where it leads, of arguments that are pointers."""
    found = {}
    arena = dispatch.memory.arena
    for i, (argument, value) in enumerate(zip(dispatch.kernel.explicit_args, values, strict=True)):
        at = int.from_bytes(value, "little") - BASE_ADDRESS
        region = arena.region_at(at) if argument.kind == "global_buffer" else None
        if region is not None:
            found[i] = _through(arena, at, region) or _Pointed(((at, region),), region.end - at)
    return found


def _through(arena: Arena, at: int, region: Region) -> _Pointed | None:
    """Where the pointers lead that lie in memory; None where something else does: numbers are no addresses."""
    size = region.end - at
    if size % _POINTER or not 0 < size // _POINTER <= _MOST_POINTERS:
        return None
    places = (arena.data.bytes[at : region.end].copy().view(np.uint64) - np.uint64(BASE_ADDRESS)).tolist()
    parts = tuple((place, inside) for place in places if (inside := arena.region_at(place)) is not None)
    if len(parts) < len(places):
        return None
    # Of one allocation each has what lies before the next.
    starts = sorted({place for place, _ in parts})
    ends = [*starts[1:], 1 << 63]
    after = dict(zip(starts, ends, strict=True))
    return _Pointed(parts, min(min(inside.end, after[place]) - place for place, inside in parts), len(parts))
