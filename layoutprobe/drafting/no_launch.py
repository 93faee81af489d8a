"""A launch of a kernel that no host code launches, as far as that can be read: the block that it was compiled for,
and the grid beyond which more workgroups store nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

import numpy as np

from layoutprobe.codeobj.members import taken_apart
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.codeobj.parameters import Parameter, Signature
from layoutprobe.drafting.attempt import Attempt
from layoutprobe.drafting.launch_sites import LaunchSite
from layoutprobe.drafting.outcome import Trial
from layoutprobe.drafting.seen import SeenBuffer
from layoutprobe.drafting.trial import tried
from layoutprobe.errors import ProbeError
from layoutprobe.manifest.model import Sizes

_AXES = "xyz"
_ANY = 1024
"""Work-items that a kernel is compiled for where its source does not say how many."""
_BLOCKS = (256, 128, 64, 32)
"""That are tried then."""
_SMALL, _LARGE = 16, 256
"""Extents, and workgroups; with the large extent a tile has to be found."""
_GROWN, _SAME = 1.5, 0.05
"""A byte that is stored may be what it was before: numbers of bytes are compared with such factors."""


def unseen(code: CodeObject, kernel: Kernel, signature: Signature) -> Trial | None:
    """What a kernel does that is launched so; None where it is not clear how it is launched.

    Where the source does not say how many work-items there are, a product tells that so many are right; nothing else
    would.
    """
    told = kernel.max_workgroup_size < _ANY
    for count in (kernel.max_workgroup_size,) if told else _BLOCKS:
        block = _block(kernel, count)
        site = _site(code, kernel, signature, block) if block and count >= kernel.wavefront_size else None
        trial = tried(code, kernel, signature, site) if site else None
        if trial is not None and (told or trial.product is not None):
            return trial
    return None


def _block(kernel: Kernel, count: int) -> tuple[str, str, str] | None:
    """Work-items in x, y, z: a square of the half-waves that read two numbers of a work-item; None for three."""
    axes = kernel.descriptor.rsrc2 >> 11 & 3
    if axes == 0:
        return str(count), "1", "1"
    return ("16", str(count // 16), "1") if axes == 1 and count >= 16 else None


def _site(
    code: CodeObject, kernel: Kernel, signature: Signature, block: tuple[str, str, str]
) -> LaunchSite | None:
    """The launch, with each integer under its own name; None where no size says how many workgroups there are."""
    given, members = [], {}
    for one in signature.parameters:
        given.append(one.name if one.members else _given(one))
        members.update({f"{one.name}.{key}": _given(inner) for _, inner in one.members for key in inner.keys})
    used = [axis for axis in range(3) if kernel.descriptor.rsrc2 >> 7 + axis & 1]
    free = tuple(f"grid_{_AXES[axis]}" if axis in used else "1" for axis in range(3))
    site = LaunchSite("", free, block, "0", tuple(given), members, seen=False)
    apart = site.taken_apart(signature.parameters)
    code, kernel, signature, _ = taken_apart(code, kernel, signature)
    try:
        stores = _Stores(Attempt(code, kernel, signature.parameters, apart))
        grid = tuple(stores.workgroups(name) or name for name in free)
    except (ProbeError, ValueError):
        return None
    if grid == free:
        return None
    return LaunchSite("", grid, block, "0", tuple(given), members, seen=False)


def _given(one: Parameter) -> str:
    """What the host passes: an integer under its own name."""
    integer = not one.pointer and one.dtype[:1] in ("i", "u") and one.name.isidentifier()
    return one.name if integer else ""


class _Stores:
    """How much a kernel stores, by sizes and workgroups."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.kinds = next(attempt.ways())
        self.names = [name for name in attempt.names if not name.startswith("grid_")]
        self._known: dict[tuple[tuple[str, int], ...], int] = {}

    def workgroups(self, axis: str) -> str:
        """Along an axis, as an expression of the sizes of which each has so many tiles; "" where none has."""
        tiles = {name: tile for name in self.names if (tile := self._tile(axis, name))} if axis != "1" else {}
        if not tiles or not self._is_enough(axis, tiles):
            return ""
        texts = [f"({name} + {tile - 1}) / {tile}" if tile > 1 else name for name, tile in tiles.items()]
        return " * ".join(f"({text})" for text in texts) if len(texts) > 1 else texts[0]

    def _tile(self, axis: str, name: str) -> int:
        """What a workgroup makes of a size: where that is larger, more workgroups find something to store."""
        few, some, large = {axis: 1}, {axis: _SMALL}, {name: _LARGE}
        one, more = self._count(few | large), self._count(some | large)
        if not one or more * self._count(few) < one * self._count(some) * _GROWN:
            return 0
        ratio = self._count({axis: _LARGE} | large) / one
        return _LARGE // round(ratio) if abs(ratio - round(ratio)) < _SAME * ratio else 0

    def _is_enough(self, axis: str, tiles: Mapping[str, int]) -> bool:
        large = dict.fromkeys(tiles, _LARGE)
        count = prod(-(-_LARGE // tile) for tile in tiles.values())
        enough, twice = (self._count({axis: many} | large) for many in (count, 2 * count))
        return abs(enough - twice) < _SAME * twice

    def _count(self, sizes: Sizes) -> int:
        """Bytes that are stored, of all buffers together; 0 where it cannot be launched."""
        axes = [name for name in self.attempt.names if name.startswith("grid_")]
        size = {**dict.fromkeys(self.names, _SMALL), **dict.fromkeys(axes, 1), **sizes}
        key = tuple(size.items())
        if key not in self._known:
            seen = None if self.attempt.late else self.attempt.run(size, self.kinds)
            self._known[key] = sum(self._changed(seen.buffers.values())) if seen else 0
        return self._known[key]

    @staticmethod
    def _changed(buffers: Iterable[SeenBuffer]) -> Iterator[int]:
        for one in buffers:
            if one.before is not None and one.after is not None:
                yield int(np.count_nonzero(one.before != one.after))
