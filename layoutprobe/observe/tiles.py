"""What LDS of one workgroup held: an image whenever a load follows stores."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Program
from layoutprobe.observe.base import Recorder

IMAGES = 4
"""Images that are kept."""


class Image(Struct, frozen=True, eq=False):
    """LDS of the launch's first workgroup at one moment.

    Attributes:
        data: uint8 [byte].
        fresh: bool [byte], stored since the image before, and wholly defined.
    """

    data: NDArray[np.uint8]
    fresh: NDArray[np.bool_]

    __repr__ = brief


class Images(Struct, frozen=True):
    """The first images, in order."""

    images: tuple[Image, ...]


class TileObserver(Recorder):
    """Takes the images."""

    def __init__(self) -> None:
        self._images: list[Image] = []
        self._batches = 0
        self._fresh = np.zeros(0, np.bool_)

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.LDS if not self._batches and len(self._images) < IMAGES else Moves.NONE

    @property
    def groups(self) -> int:
        """See Observer."""
        return 1

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._batches += 1
        self._fresh = np.zeros(machine.lds_size, np.bool_)

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.lds or self._batches > 1 or len(self._images) == IMAGES:
            return
        mask = place.mask & (c.lds_base == 0)
        if not mask.any():
            return
        if store:
            self._fresh[place.offsets[mask][:, None] + np.arange(size)] = True
        elif self._fresh.any():
            memory = c.machine.lds
            data = memory.data.bytes[: self._fresh.size].copy()
            self._images.append(Image(data, self._fresh & (memory.shadow.bytes[: self._fresh.size] == 0)))
            self._fresh = np.zeros_like(self._fresh)

    def record(self) -> Images:
        """The images so far."""
        return Images(tuple(self._images))
