"""Registers of the waves of a cohort, and the same arrays again for their undefined bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
Array = NDArray[Any]

SGPRS = 129
"""SGPRs and special registers by their encoding (0..127), and SCC as number 128."""

POISON = 0x7FA57FA5
"""What an undefined register holds: a NaN both as f32 and as two f16, and a wild address."""


class RegisterFile:
    """VGPRs [register, wave, lane] and scalar registers [register, wave, 1].

    The lists hold one view per register, so that an instruction pays one list access for an
    operand: `u`, `i`, `f` see a VGPR as uint32, int32, float32 [wave, lane]; `h` as
    uint16 [wave, 2 * lane] with the low half at even places; `su`, `si`, `sf`
    see a scalar register as [wave, 1], which broadcasts against lanes.
    """

    __slots__ = ("f", "h", "i", "sf", "sgprs", "si", "su", "u", "vgprs")

    def __init__(self, vgprs: U32, sgprs: U32) -> None:
        self.vgprs = vgprs
        self.sgprs = sgprs
        self.u: list[Array] = list(vgprs)
        self.i: list[Array] = list(vgprs.view(np.int32))
        self.f: list[Array] = list(vgprs.view(np.float32))
        self.h: list[Array] = list(vgprs.view(np.uint16))
        self.su: list[Array] = list(sgprs)
        self.si: list[Array] = list(sgprs.view(np.int32))
        self.sf: list[Array] = list(sgprs.view(np.float32))

    @classmethod
    def filled(cls, vgprs: int, waves: int, lanes: int, value: int) -> RegisterFile:
        """All registers with one value."""
        return cls(
            np.full((vgprs, waves, lanes), value, np.uint32), np.full((SGPRS, waves, 1), value, np.uint32)
        )

    @property
    def lanes(self) -> int:
        """Lanes of a wave."""
        return int(self.vgprs.shape[2])

    def select(self, waves: Array) -> RegisterFile:
        """A copy with these waves only."""
        return RegisterFile(
            np.ascontiguousarray(self.vgprs[:, waves]), np.ascontiguousarray(self.sgprs[:, waves])
        )

    @staticmethod
    def join(files: list[RegisterFile], places: list[Array]) -> RegisterFile:
        """The waves of all files, each file's at the given places."""
        waves = sum(place.size for place in places)
        vgprs, sgprs = (
            np.empty((one.shape[0], waves, one.shape[2]), np.uint32)
            for one in (files[0].vgprs, files[0].sgprs)
        )
        for file, place in zip(files, places, strict=True):
            vgprs[:, place] = file.vgprs
            sgprs[:, place] = file.sgprs
        return RegisterFile(vgprs, sgprs)
