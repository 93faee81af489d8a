"""Registers of waves that do not lie side by side, fetched as they are asked for.

Numpy is handed a few waves for one instruction or one event, which looks at few registers if at any.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import VGPR0
from layoutprobe.machine.registers import Array, RegisterFile

_VECTORS: dict[str, Any] = {"u": np.uint32, "i": np.int32, "f": np.float32, "h": np.uint16, "hi16": np.int16,
                            "hf": np.float16}  # fmt: skip
_SCALARS: dict[str, Any] = {"su": np.uint32, "si": np.int32, "sf": np.float32}


class _Column(list[Array]):
    """One of a file's lists of registers; an entry is fetched when it is read."""

    def __init__(self, file: PickedFile, scalar: bool, dtype: Any) -> None:
        super().__init__()
        self._file, self._scalar, self._dtype = file, scalar, dtype

    def __getitem__(self, register: Any) -> Any:
        return self._file.fetch(int(register), self._scalar).view(self._dtype)


class PickedFile(RegisterFile):
    """A copy of some waves of a file, made register by register; `put_back` writes what was changed.

    What is not set in `__init__` is made by `__getattr__` when it is asked for.
    """

    __slots__ = ("_fetched", "_waves", "_whole")

    def __init__(self, whole: RegisterFile, waves: NDArray[np.int64]) -> None:
        self._whole, self._waves = whole, waves
        self._fetched: dict[tuple[bool, int], Array] = {}

    def __getattr__(self, name: str) -> Any:
        if name in _VECTORS or name in _SCALARS:
            column = _Column(self, name in _SCALARS, (_VECTORS | _SCALARS)[name])
            setattr(self, name, column)
            return column
        if name not in ("vgprs", "sgprs"):
            raise AttributeError(name)
        self._fetch_all()
        return getattr(self, name)

    @property
    def count(self) -> int:
        """VGPRs of a wave."""
        return self._whole.count

    @property
    def lanes(self) -> int:
        """Lanes of a wave."""
        return self._whole.lanes

    def fetch(self, register: int, scalar: bool) -> Array:
        """A copy of a register, uint32 [wave, lane] or [wave, 1]; the same one each time."""
        key = (scalar, register)
        if key not in self._fetched:
            self._fetched[key] = self._list(scalar)[register][self._waves]
        return self._fetched[key]

    def rows(self, first: int, count: int) -> Array:
        """See RegisterFile."""
        rows: Array = self._whole.vgprs[first : first + count, self._waves]
        for n, row in enumerate(rows, first):
            if (known := self._fetched.get((False, n))) is not None:
                row[...] = known
            self._fetched[False, n] = row
        return rows

    def put_back(self, touched: int) -> None:
        """Write what was fetched to the whole file, as far as `touched` (bits as of `Cohort.undef`) names it."""
        for (scalar, register), array in self._fetched.items():
            if touched >> (register if scalar else VGPR0 + register) & 1:
                self._list(scalar)[register][self._waves] = array

    def _list(self, scalar: bool) -> list[Array]:
        return self._whole.su if scalar else self._whole.u

    def _fetch_all(self) -> None:
        """Somebody wants the registers as one array: all that was handed out before is part of it."""
        vgprs, sgprs = self._whole.vgprs[:, self._waves], self._whole.sgprs[:, self._waves]
        for (scalar, register), array in self._fetched.items():
            (sgprs if scalar else vgprs)[register] = array
        self._fetched = {(False, n): row for n, row in enumerate(vgprs)}
        self._fetched |= {(True, n): row for n, row in enumerate(sgprs)}
        self.vgprs, self.sgprs = vgprs, sgprs
