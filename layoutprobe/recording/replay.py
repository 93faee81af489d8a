"""States of a recorded run: what a wave's registers and its workgroup's LDS hold at any of its steps.

A register holds what the last write before the step left, which is found without replaying anything. LDS is what
all stores before the step made of it, in their order; images every few thousand stores keep that short.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import UsageError
from layoutprobe.isa.inst import EXEC_LO
from layoutprobe.machine.cohort import unpack_mask
from layoutprobe.machine.registers import POISON, SGPRS
from layoutprobe.recording.model import INACTIVE, NOTHING, SPACES, Group, Ints, Recording

NOBODY = -2
"""Row of a writer where nobody has written; -1 is what a wave starts with."""
_EVERY = 2048
"""Dwords of stores between two images of LDS, at least."""
_KEPT = 8
"""States of registers that are kept: who looks at one asks for it several times."""
_IMAGES = 32
"""Images of LDS that are kept, at most."""


class Registers(Struct, frozen=True, eq=False):
    """Registers of a wave; set bits of an `undefined` are undefined bits.

    Attributes:
        vgprs, undefined: uint32 [vgpr, lane].
        tags: int32 [vgpr, lane], rows of `Tags.words`.
        writer: int32 [vgpr], row that wrote it last; -1 from the start on, NOBODY.
        sgprs, sgprs_undefined: uint32 [register], by encoding, SCC is the last.
        sgpr_tags, sgpr_writer: int32 [register].
    """

    vgprs: NDArray[np.uint32]
    undefined: NDArray[np.uint32]
    tags: NDArray[np.int32]
    writer: NDArray[np.int32]
    sgprs: NDArray[np.uint32]
    sgprs_undefined: NDArray[np.uint32]
    sgpr_tags: NDArray[np.int32]
    sgpr_writer: NDArray[np.int32]

    __repr__ = brief

    @property
    def exec(self) -> NDArray[np.bool_]:
        """Active lanes: bool [lane]."""
        lanes = self.vgprs.shape[1]
        return unpack_mask(self.sgprs[None, EXEC_LO : EXEC_LO + lanes // 32])[0]


class Lds(Struct, frozen=True, eq=False):
    """LDS of a workgroup.

    Attributes:
        data, undefined: uint8 [byte].
        tags: int32 [byte, 2], nibble tags, the low one first.
        writer: int32 [byte], row of the last store; NOBODY.
        lane: int32 [byte], the lane of that store.
    """

    data: NDArray[np.uint8]
    undefined: NDArray[np.uint8]
    tags: NDArray[np.int32]
    writer: NDArray[np.int32]
    lane: NDArray[np.int32]

    __repr__ = brief


class Replay:
    """Gives states of a recording. A *row* as a moment is the one before it executes."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        count = len(recording.waves)
        self._rows = _by_wave(recording.steps.wave, count)
        self._own = _by_wave(recording.vectors.wave, count)
        self._scalars = _by_wave(recording.scalars.wave, count)
        self._lds: dict[Group, _LdsHistory] = {}
        self._held = lru_cache(maxsize=_KEPT)(self._registers)

    def steps(self, wave: int) -> Ints:
        """Rows of a wave, in its order."""
        return self._rows[wave]

    def row(self, wave: int, step: int) -> int:
        """The row of a wave's step.

        Raises:
            UsageError: it has none.
        """
        rows = self._rows[wave]
        if not 0 <= step < rows.size:
            raise UsageError(
                f"no step {step}" + (f": {self.recording.cut}" if self.recording.cut else ""),
                expected=f"0 to {rows.size - 1}",
            )
        return int(rows[step])

    def step(self, row: int) -> tuple[int, int]:
        """Wave and step of a row."""
        wave = int(self.recording.steps.wave[row])
        return wave, int(np.searchsorted(self._rows[wave], row))

    def find(self, wave: int, step: int, *, kind: str = "", line: str = "", back: bool = False) -> int | None:
        """The next step of a wave, or the one before, with an instruction of a kind or at a line.

        Args:
            wave: position in `Recording.waves`.
            step: from here, this one not included.
            kind: as `Instruction.kind`.
            line: "file:line".
            back: go backwards.

        Returns:
            None where there is none.
        """
        rows = self._rows[wave]
        fits = np.array([
            (not kind or one.kind == kind) and (not line or one.place.line == line) for one in self.recording.code
        ], np.bool_)  # fmt: skip
        found = np.flatnonzero(fits[self.recording.steps.inst[rows]])
        found = found[found < step][::-1] if back else found[found > step]
        return int(found[0]) if found.size else None

    def registers(self, wave: int, row: int) -> Registers:
        """Registers of a wave before a row; to be read only, as others may have the same."""
        return self._held(wave, row)

    def _registers(self, wave: int, row: int) -> Registers:
        r, lanes = self.recording, self.recording.lanes
        own = self._own[wave]
        own = own[: np.searchsorted(r.vectors.row[own], row)]
        last = _last(r.vectors.register[own], own, r.vgprs)
        known = last >= 0
        vgprs = np.full((r.vgprs, lanes), POISON, np.uint32)
        undefined = np.full((r.vgprs, lanes), 0xFFFFFFFF, np.uint32)
        tags = np.full((r.vgprs, lanes), NOTHING, np.int32)
        vgprs[known], tags[known], undefined[known] = (
            r.vectors.value[last[known]],
            r.vectors.tag[last[known]],
            0,
        )
        at = np.searchsorted(r.vectors.undefined_at, last[known])
        at = np.minimum(at, max(r.vectors.undefined_at.size - 1, 0))
        if r.vectors.undefined_at.size:
            some = r.vectors.undefined_at[at] == last[known]
            undefined[np.flatnonzero(known)[some]] = r.vectors.undefined[at[some]]
        writer = np.where(known, r.vectors.row[last], NOBODY).astype(np.int32) if own.size else np.full(
            r.vgprs, NOBODY, np.int32)  # fmt: skip
        return Registers(vgprs, undefined, tags, writer, *self._scalar_state(wave, row))

    def written(self, wave: int, row: int) -> Ints:
        """Which of `Recording.vectors` a wave wrote in a row."""
        own = self._own[wave]
        first, last = np.searchsorted(self.recording.vectors.row[own], [row, row + 1])
        return own[first:last]

    def accessed(self, row: int) -> range:
        """Which of `Recording.accesses` are of a row."""
        first, last = np.searchsorted(self.recording.accesses.row, [row, row + 1])
        return range(int(first), int(last))

    def _scalar_state(
        self, wave: int, row: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int32], NDArray[np.int32]]:
        s = self.recording.scalars
        own = self._scalars[wave]
        own = own[: np.searchsorted(s.row[own], row)]
        last = _last(s.register[own], own, SGPRS)
        known = last >= 0
        values, bits = np.full(SGPRS, POISON, np.uint32), np.full(SGPRS, 0xFFFFFFFF, np.uint32)
        tags, writer = np.full(SGPRS, NOTHING, np.int32), np.full(SGPRS, NOBODY, np.int32)
        where = last[known]
        values[known], bits[known] = s.value[where], s.undefined[where]
        tags[known], writer[known] = s.tag[where], s.row[where]
        return values, bits, tags, writer

    def lds(self, wave: int, row: int) -> Lds:
        """LDS of a wave's workgroup before a row."""
        group = self.recording.waves[wave].group
        if group not in self._lds:
            self._lds[group] = _LdsHistory(self.recording, group)
        return self._lds[group].before(row)


def _by_wave(waves: NDArray[np.int32], count: int) -> list[Ints]:
    """Where each wave's own are, in their order."""
    order = np.argsort(waves, kind="stable")
    return np.split(order, np.searchsorted(waves[order], np.arange(1, count)))


def _last(register: NDArray[np.int32], own: Ints, count: int) -> Ints:
    """The last write of each register; -1 where there is none."""
    last = np.full(count, -1, np.int64)
    last[register] = own  # ascending: the last one stays
    return last


class _LdsHistory:
    """Stores to the LDS of one workgroup, byte by byte, in their order."""

    def __init__(self, recording: Recording, group: Group) -> None:
        self._recording = recording
        a, d = recording.accesses, recording.stored
        mine = np.array([wave.group == group for wave in recording.waves], np.bool_)
        here = mine[recording.steps.wave[a.row]] & a.store & (a.space == SPACES.index("LDS"))
        self._dwords = np.flatnonzero(here[d.access])
        self._row = a.row[d.access[self._dwords]]
        self._every = max(_EVERY, -(-self._dwords.size // _IMAGES))
        self._images: dict[int, Lds] = {}

    def before(self, row: int) -> Lds:
        """The image before a row."""
        count = int(np.searchsorted(self._row, row))
        start = count // self._every * self._every
        image = _copy(self._image(start))
        self._apply(image, start, count)
        return image

    def _image(self, count: int) -> Lds:
        if count not in self._images:
            if count:
                image = _copy(self._image(count - self._every))
                self._apply(image, count - self._every, count)
            else:
                size = self._recording.lds_size
                image = Lds(
                    np.full(size, 0xA5, np.uint8), np.full(size, 0xFF, np.uint8),
                    np.full((size, 2), NOTHING, np.int32),
                    np.full(size, NOBODY, np.int32), np.full(size, -1, np.int32),
                )  # fmt: skip
            self._images[count] = image
        return self._images[count]

    def _apply(self, image: Lds, first: int, last: int) -> None:
        """Stores number `first` up to `last`, all bytes of a store at once, later ones over earlier ones."""
        if first == last:
            return
        r = self._recording
        at = self._dwords[first:last]
        access = r.stored.access[at]
        start = r.accesses.address[access] + 4 * r.stored.dword[at, None]
        left = r.accesses.size[access] - 4 * r.stored.dword[at]
        byte = np.arange(4)
        active = r.accesses.address[access] != INACTIVE
        kept = active[..., None] & (byte < left[:, None, None])
        where = (start[..., None] + byte)[kept]
        for target, source in ((image.data, r.stored.value), (image.undefined, r.stored.undefined)):
            target[where] = np.ascontiguousarray(source[at]).view(np.uint8).reshape(*kept.shape)[kept]
        image.tags[where] = r.tags.nibbles(r.stored.tag[at]).reshape(*kept.shape, 2)[kept]
        rows = np.broadcast_to(r.accesses.row[access][:, None, None], kept.shape)
        image.writer[where] = rows[kept]
        image.lane[where] = np.broadcast_to(np.arange(r.lanes)[:, None], kept.shape)[kept]


def _copy(image: Lds) -> Lds:
    return Lds(*(part.copy() for part in astuple(image)))
