"""Whether the arrays of a recording that was read from a file are those of a recording.

Whoever answers questions indexes one array with another, so every number that is an index is held against what it
counts, and every order that is searched against itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.machine.registers import SGPRS
from layoutprobe.recording.model import INACTIVE, RUN, SPACES, Recording, ScalarWrites, VectorWrites
from layoutprobe.recording.needed import EXTENTS, FLAT
from layoutprobe.recording.tags import Elements

COLUMNS = {
    "steps.inst": ("int32", "row"), "steps.wave": ("int32", "row"),
    "vectors.row": ("int32", "write"), "vectors.wave": ("int32", "write"), "vectors.register": ("int32", "write"),
    "vectors.value": ("uint32", "write lane"), "vectors.tag": ("int32", "write lane"),
    "vectors.undefined_at": ("int32", "some"), "vectors.undefined": ("uint32", "some lane"),
    "scalars.row": ("int32", "scalar"), "scalars.wave": ("int32", "scalar"), "scalars.register": ("int32", "scalar"),
    "scalars.value": ("uint32", "scalar"), "scalars.tag": ("int32", "scalar"),
    "scalars.undefined": ("uint32", "scalar"),
    "accesses.row": ("int32", "access"), "accesses.space": ("uint8", "access"), "accesses.store": ("bool", "access"),
    "accesses.size": ("int32", "access"), "accesses.register": ("int32", "access"),
    "accesses.address": ("int64", "access lane"),
    "stored.access": ("int32", "dword"), "stored.dword": ("int32", "dword"), "stored.value": ("uint32", "dword lane"),
    "stored.tag": ("int32", "dword lane"), "stored.undefined": ("uint32", "dword lane"),
    "tags.words": ("int32", "word nibble"), "tags.origins": ("int32", "origin box"),
}  # fmt: skip
COLUMNS |= FLAT
"""Array -> its type and axes. Axes of one name have one length."""
_MOST_BYTES = 256
"""Of a lane in one access."""
_MOST_NIBBLES = 1 << 31

Array = NDArray[Any]


def misfits(arrays: dict[str, Array], extents: dict[str, int]) -> Iterator[str]:
    """Arrays that have another type or shape than they should.

    Args:
        arrays: by name.
        extents: of those axes whose lengths are known.
    """
    known = EXTENTS | extents
    for name, (dtype, axes) in COLUMNS.items():
        array, names = arrays[name], axes.split()
        if array.dtype.name != dtype or array.ndim != len(names):
            yield f"{name} is {array.dtype} with {array.ndim} axes, not {dtype} with {len(names)}"
            continue
        for axis, extent in zip(names, array.shape, strict=True):
            if known.setdefault(axis, extent) != extent:
                yield f"{name} has {extent} along {axis}, others {known[axis]}"


def flaws(r: Recording) -> Iterator[str]:
    """Numbers that cannot be those of a recording; its arrays have their types and shapes."""
    elements = Elements(r.buffers)
    nibbles = elements.ends[-1] if elements.ends else 0
    if nibbles >= _MOST_NIBBLES or r.tags.origins.shape[1] != elements.columns:
        yield "its buffers are not those of its origins"
        return
    origins, words = len(r.tags.origins), len(r.tags.words)
    rows, waves = r.steps.inst.size, len(r.waves)
    if not words or r.tags.words[0].any():
        yield "its first word is not nothing"
    yield from _outside("tags.words", r.tags.words, -origins, nibbles + 1)
    yield from _outside("steps.inst", r.steps.inst, 0, len(r.code))
    yield from _outside("steps.wave", r.steps.wave, 0, waves)
    for name, writes, registers in (("vectors", r.vectors, r.vgprs), ("scalars", r.scalars, SGPRS)):
        yield from _writes(name, writes, rows, waves, registers)
        yield from _tags(f"{name}.tag", writes.tag, origins, words, nibbles // 8)
    yield from _outside("vectors.undefined_at", r.vectors.undefined_at, 0, r.vectors.row.size)
    if (np.diff(r.vectors.undefined_at) <= 0).any():
        yield "vectors.undefined_at does not ascend"
    yield from _tags("stored.tag", r.stored.tag, origins, words, nibbles // 8)
    yield from _accesses(r, rows)


def _outside(name: str, values: Array, low: int, high: int) -> Iterator[str]:
    if values.size and not (low <= int(values.min()) and int(values.max()) < high):
        yield f"{name} goes from {values.min()} to {values.max()}, beyond {low} to {high - 1}"


def _tags(name: str, tags: Array, origins: int, words: int, dwords: int) -> Iterator[str]:
    run = tags >= RUN
    yield from _outside(name, tags[~run], -origins, words)
    yield from _outside(name, tags[run] - RUN, 0, dwords)


def _writes(
    name: str, writes: VectorWrites | ScalarWrites, rows: int, waves: int, registers: int
) -> Iterator[str]:
    yield from _outside(f"{name}.row", writes.row, -1, rows)
    yield from _outside(f"{name}.wave", writes.wave, 0, waves)
    yield from _outside(f"{name}.register", writes.register, 0, registers)
    order = np.argsort(writes.wave, kind="stable")
    same = np.diff(writes.wave[order]) == 0
    if (same & (np.diff(writes.row[order]) < 0)).any():
        yield f"{name}.row does not ascend within a wave"


def _accesses(r: Recording, rows: int) -> Iterator[str]:
    a, d = r.accesses, r.stored
    yield from _outside("accesses.row", a.row, 0, rows)
    yield from _outside("accesses.space", a.space, 0, len(SPACES))
    yield from _outside("accesses.size", a.size, 1, _MOST_BYTES + 1)
    yield from _outside("accesses.register", a.register, -1, max(r.vgprs, 0))
    yield from _outside("accesses.address", a.address, INACTIVE, (1 << 63) - _MOST_BYTES)
    yield from _outside("stored.access", d.access, 0, a.row.size)
    if (np.diff(a.row) < 0).any() or (np.diff(d.access) < 0).any():
        yield "accesses are not in the order of their rows"
        return
    lds = a.space == SPACES.index("LDS")
    if ((a.address[lds] != INACTIVE) & (a.address[lds] + a.size[lds, None] > r.lds_size)).any():
        yield "an access of LDS lies beyond it"
    if d.access.size and d.access.min() >= 0 and d.access.max() < a.row.size:
        where = d.access
        if (
            (d.dword < 0).any()
            or (4 * d.dword.astype(np.int64) >= a.size[where]).any()
            or not a.store[where].all()
        ):
            yield "stored.dword lies beyond its store"
