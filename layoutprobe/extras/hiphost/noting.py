"""Notes the launches of a program while they run, for a manifest that is drafted from them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from layoutprobe.engine.base import Dispatch
from layoutprobe.engine.registry import make_engine
from layoutprobe.gate.seen import SeenBuffer, SeenLaunch
from layoutprobe.machine.memory import BASE_ADDRESS, Arena, Region
from layoutprobe.observe.touched import Touched

_MOST_BYTES = 8 << 20
"""Of a buffer whose contents are kept."""
_MOST_SHAPES = 32
"""Launches of a kernel that are noted: each has another grid, block, number or extent."""
_MOST_KERNELS = 64


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
        regions = _pointed_at(dispatch, values)
        touched = Touched()
        arena = dispatch.memory.arena
        before = {i: _copied(arena, at, region) for i, (at, region) in regions.items()}
        defined = {i: _defined(arena, at, region) for i, (at, region) in regions.items()}
        run(replace(dispatch, observers=(*dispatch.observers, touched)))
        buffers = {
            i: SeenBuffer(
                size=region.end - at,
                loaded=region.start in touched.loaded,
                stored=region.start in touched.stored,
                before=before[i],
                after=_copied(arena, at, region),
                defined=defined[i],
            )
            for i, (at, region) in regions.items()
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


def _pointed_at(dispatch: Dispatch, values: tuple[bytes, ...]) -> dict[int, tuple[int, Region]]:
    """Number of an argument -> offset in the arena, and the allocation, of arguments that are pointers."""
    found = {}
    for i, (argument, value) in enumerate(zip(dispatch.kernel.explicit_args, values, strict=True)):
        at = int.from_bytes(value, "little") - BASE_ADDRESS
        region = dispatch.memory.arena.region_at(at) if argument.kind == "global_buffer" else None
        if region is not None:
            found[i] = at, region
    return found


def _copied(arena: Arena, at: int, region: Region) -> NDArray[np.uint8] | None:
    return arena.data.bytes[at : region.end].copy() if region.end - at <= _MOST_BYTES else None


def _defined(arena: Arena, at: int, region: Region) -> bool:
    return not arena.tracked or not arena.shadow.bytes[at : region.end].any()
