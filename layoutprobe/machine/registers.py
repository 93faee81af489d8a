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

_VIEWS = {
    "i": ("vgprs", np.int32),
    "f": ("vgprs", np.float32),
    "h": ("vgprs", np.uint16),
    "si": ("sgprs", np.int32),
    "sf": ("sgprs", np.float32),
}
"""View of a RegisterFile -> its array and type."""


class RegisterFile:
    """VGPRs [register, wave, lane] and scalar registers [register, wave, 1].

    The lists hold one view per register, so that an instruction pays one list access for an
    operand: `u`, `i`, `f` see a VGPR as uint32, int32, float32 [wave, lane]; `h` as
    uint16 [wave, 2 * lane] with the low half at even places; `su`, `si`, `sf`
    see a scalar register as [wave, 1], which broadcasts against lanes.
    """

    __slots__ = ("f", "h", "i", "sf", "sgprs", "si", "su", "u", "vgprs")

    i: list[Array]
    f: list[Array]
    h: list[Array]
    si: list[Array]
    sf: list[Array]

    def __init__(self, vgprs: U32, sgprs: U32) -> None:
        self.vgprs = vgprs
        self.sgprs = sgprs
        self.u: list[Array] = list(vgprs)
        self.su: list[Array] = list(sgprs)

    def __getattr__(self, name: str) -> list[Array]:
        """The other views, made when first asked for: cohorts come and go, and masks need hardly any."""
        if name not in _VIEWS:
            raise AttributeError(name)
        array, dtype = _VIEWS[name]
        setattr(self, name, list(getattr(self, array).view(dtype)))
        made: list[Array] = getattr(self, name)
        return made

    @classmethod
    def filled(cls, vgprs: int, waves: int, lanes: int, value: int) -> RegisterFile:
        """All registers with one value."""
        return cls(
            np.full((vgprs, waves, lanes), value, np.uint32), np.full((SGPRS, waves, 1), value, np.uint32)
        )

    @property
    def count(self) -> int:
        """VGPRs of a wave."""
        return len(self.vgprs)

    @property
    def lanes(self) -> int:
        """Lanes of a wave."""
        return int(self.vgprs.shape[2])

    def rows(self, first: int, count: int) -> Array:
        """Some VGPRs side by side: uint32 [register, wave, lane].

        What is written there is written to the file, until these rows are asked for again.
        """
        return self.vgprs[first : first + count]

    def select(self, waves: Array) -> RegisterFile:
        """A copy with these waves only, by their positions."""
        # `take` copies whole rows of lanes: several times as fast as a mask as an index.
        return RegisterFile(self.vgprs.take(waves, axis=1), self.sgprs.take(waves, axis=1))

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
