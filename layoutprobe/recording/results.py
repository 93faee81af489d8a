"""Nibble tags of the results of one instruction, from the marks that its tagged sources leave in them.

See `planes` for the marks, `tags` for the tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.recording.model import NOTHING
from layoutprobe.recording.planes import BITS
from layoutprobe.recording.tags import TagTable

Ints = NDArray[np.int32]
Words = NDArray[np.uint32]
_NIBBLES = np.arange(8)


class Brought(Struct, frozen=True, eq=False):
    """A tagged source: its nibble tags, and the nibbles themselves: [wave, lane or 1, 8]; and its planes."""

    tags: Ints
    value: NDArray[np.uint8]
    planes: int

    __repr__ = brief

    def by_plane(self, part: str, shape: tuple[int, ...]) -> Iterator[NDArray[Any]]:
        """Tags or values as each plane marks them: [wave, lane]."""
        for plane in range(self.planes):
            yield np.broadcast_to(getattr(self, part)[..., plane], shape)


def gathered(table: TagTable, found: Words, sources: list[Brought]) -> Ints:
    """A mask of lanes: what any lane compared."""
    parts, first = [], 0
    for brought in sources:
        took = np.asarray(found[first : first + brought.planes, :, 0].any(axis=0))
        first += brought.planes
        every = brought.tags.reshape(len(brought.tags), -1)
        parts.append(np.where(took[:, None], table.elements.normal(every), NOTHING))
    made = table.computed(table.unite_all(np.concatenate(parts, axis=1)))
    return np.broadcast_to(made[:, None, None], (*made.shape, 1, 8)).copy()


def results(
    table: TagTable, crosses: bool, found: Words, sources: list[Brought], value: NDArray[np.uint8]
) -> Ints:
    """Nibble tags of one result: int32 [wave, lane, 8], from its marks [plane, wave, lane]."""
    own = sum(source.planes for source in sources)
    bits = BITS if own > len(sources) else 0
    fields = (found[: own + bits, ..., None] >> (4 * _NIBBLES).astype(np.uint32) & np.uint32(15)).astype(
        np.uint8
    )
    comes = fields[:own] != 0
    if not comes.any():
        return np.zeros(comes.shape[1:], np.int32)
    if crosses:
        reach = found[own + bits :] != 0
        each = len(reach) // len(sources)
        sources = [
            _from_lanes(table, source, reach[at * each : (at + 1) * each])
            for at, source in enumerate(sources)
        ]
    tags, values = (
        np.stack([plane for source in sources for plane in source.by_plane(part, comes.shape[1:3])])
        for part in ("tags", "value")
    )
    out: Ints = np.zeros(comes.shape[1:], np.int32)
    if bits:
        plane = comes.argmax(axis=0)
        wave, lane, _ = np.indices(plane.shape, sparse=True)
        picked = tags[plane, wave, lane]
        whole = np.array([source.planes == 8 for source in sources for _ in range(source.planes)])[plane]
        whole &= (fields[:own].max(axis=0) == 15) & (comes.sum(axis=0) == 1)
        for bit in range(BITS):
            whole &= fields[own + bit] == 1 << bit
        moved = whole & (values[plane, wave, lane] == value)
        out = np.where(moved, picked, NOTHING)
        comes &= ~moved
    rest = np.asarray(comes.any(axis=0))
    if rest.any():
        np.copyto(out, _computed(table, comes, tags), where=rest)
    return np.asarray(out)


def _computed(table: TagTable, comes: NDArray[np.bool_], tags: Ints) -> Ints:
    """Tags of computed nibbles: [wave, lane, 8], from the planes [plane, wave, lane, 8] that reach each."""
    columns = next(c for c in ([0], [0, 4], list(range(8))) if _repeats(comes, c))
    comes = comes[..., columns]
    normal = table.elements.normal(tags)
    out: Ints = np.zeros(comes.shape[1:], np.int32)
    for plane in np.flatnonzero(comes.any(axis=(1, 2, 3))).tolist():
        out = table.unite(out, np.where(comes[plane], normal[plane, ..., None], NOTHING))
    return np.repeat(table.computed(out), 8 // len(columns), axis=-1)


def nibbles_of(words: Words) -> NDArray[np.uint8]:
    """The eight nibbles of every register, the lowest first."""
    return np.asarray((words[..., None] >> (4 * _NIBBLES).astype(np.uint32) & np.uint32(15)).astype(np.uint8))


def _repeats(comes: NDArray[np.bool_], columns: list[int]) -> bool:
    """All nibbles of a result come from the same as those of the columns do."""
    each = 8 // len(columns)
    return bool((comes == np.repeat(comes[..., columns], each, axis=-1)).all())


def _from_lanes(table: TagTable, source: Brought, reach: NDArray[np.bool_]) -> Brought:
    """A source as each lane of the result sees it: that of the lane it was brought from, as the planes of its lanes
    [bit of the lane and its value, wave, lane] tell."""
    if source.tags.shape[1] == 1:
        return source
    reach = reach.reshape(-1, 2, *reach.shape[1:])
    weights = (1 << np.arange(len(reach)))[:, None, None]
    lane = (reach[:, 1] * weights).sum(axis=0)
    both = np.asarray((reach[:, 0] & reach[:, 1]).any(axis=0))
    wave = np.arange(len(lane))[:, None]
    tags, value = source.tags[wave, lane], source.value[wave, lane]
    if both.any():  # from several lanes: any of the wave
        every = table.elements.normal(source.tags).reshape(len(source.tags), -1)
        united = table.computed(table.unite_all(every), hull=True)
        tags = np.where(both[..., None], united[:, None, None], tags)
    return Brought(tags, value, source.planes)
