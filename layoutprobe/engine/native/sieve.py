"""What a launch has touched, word for word in C (c/sieve.h), and what it has overwritten.

A launch that passes needs no observers. One that does not has changed nothing: what it stored to is put back.
Tables are as large as the arena; of them, too, only what is touched takes memory. They are told apart by the number
of the launch, so that nothing need be cleared, and given back when they have seen too much.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.engine.base import Grain
from layoutprobe.engine.native.state import CSieve
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.memory import Arena, untouched

_LINE = 64
MOST_BYTES = 256 << 20
"""Of allocations whose tables are kept: these take three times as much, and more where single bytes are stored."""
_MOST_LAUNCHES = 1 << 30


READ, WRITTEN, COUNTED = range(3)
"""How memory is touched, as c/sieve.h has it."""


class SuspectError(Exception):
    """The launch does what somebody might object to."""


class Sieve:
    """The tables for one arena."""

    def __init__(self, arena: Arena, grain: Grain) -> None:
        self.arena, self.grain = arena, grain
        self.passed = CSieve(shift=grain.memory, lds_shift=grain.lds)
        self._known: set[tuple[int, int]] = set()
        size = arena.data.bytes.size
        # The last line or granule of an arena may end behind it.
        self._seen = _table(np.uint64, (size >> grain.memory) + 16)
        self._kept = _table(np.uint32, size // _LINE + 2)
        self._data, self._shadow = _table(np.uint8, size + _LINE), _table(np.uint8, size + _LINE)
        self._lds_seen = self._intervals = np.zeros(0, np.uint64)
        for name in ("seen", "kept", "data", "shadow"):
            setattr(self.passed, name, getattr(self, "_" + name).ctypes.data)

    def begin(self, groups: int, lds: int) -> bool:
        """Begin a launch; False: with new tables, or none.

        Args:
            groups: workgroups of a batch.
            lds: bytes that these have in all.
        """
        self._known |= {(region.start, region.end) for region in self.arena.regions}
        if (
            sum(end - start for start, end in self._known) > MOST_BYTES
            or self.passed.launch >= _MOST_LAUNCHES
        ):
            return False
        if self._intervals.size < groups:
            self._intervals = np.zeros(groups, np.uint64)
            self._lds_seen = np.zeros(0, np.uint64)
        if self._lds_seen.size < lds >> self.grain.lds:
            self._lds_seen = np.zeros(lds >> self.grain.lds, np.uint64)
        passed = self.passed
        passed.launch, passed.suspect = passed.launch + 1, 0
        passed.lds_seen, passed.intervals = self._lds_seen.ctypes.data, self._intervals.ctypes.data
        return True

    def check(self) -> None:
        """Look what C says.

        Raises:
            SuspectError: it has stopped.
        """
        if self.passed.suspect:
            raise SuspectError

    def undo(self) -> None:
        """Put back what the launch has stored to."""
        for region in self.arena.regions:
            if region.writable and region.end > region.start:
                first, last = region.start // _LINE, (region.end - 1) // _LINE + 1
                lines = first + np.flatnonzero(self._kept[first:last] == 2 * self.passed.launch + 1)
                for store, kept in ((self.arena.data, self._data), (self.arena.shadow, self._shadow)):
                    _rows(store.bytes)[lines] = _rows(kept)[lines]


def touches(inst: Inst, *, store: bool) -> int:
    """How an instruction touches memory."""
    return COUNTED if Kind.ATOMIC in inst.kind else WRITTEN if store else READ


def _table(kind: type[np.generic], count: int) -> NDArray[Any]:
    size = -(-count * np.dtype(kind).itemsize // 4096) * 4096
    return np.frombuffer(untouched(size), kind)


def _rows(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return data[: data.size // _LINE * _LINE].reshape(-1, _LINE)
