"""Stores to a buffer: who stored to an element, and what is missing."""

from __future__ import annotations

from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.manifest.binding import BoundBuffer
from layoutprobe.observe.outputs import Allocation, Store, StoreRecorder, Stores, touched
from layoutprobe.place import Element, Place
from layoutprobe.report.inspection import Owners
from layoutprobe.report.words import lines_of
from layoutprobe.trace.places import vector, where, who_was
from layoutprobe.trace.subject import RunSpec, Subject


def writers(
    subject: Subject, stores: Stores, allocation: Allocation, buffer: BoundBuffer, at: int
) -> list[Place]:
    """Who stored to an element of an allocation: instruction, workgroup, wave and lane, in order."""
    byte = allocation.start + at * buffer.itemsize
    return [
        _writer(subject, stores, store, int(hit), byte)
        for store in stores.stores
        for hit in np.flatnonzero((store.offset <= byte) & (byte < store.offset + store.size))
    ]


def writer_of(subject: Subject, name: str, element: int) -> Place | None:
    """Who stored last to an element (flat) of an output in the plain run; None where nobody is known to have."""
    stores, allocation = _stored_to(subject, name)
    buffer = subject.binding.buffers[name]
    at = np.flatnonzero(buffer.elements() == element)
    if stores is None or allocation is None or not at.size:
        return None
    found = writers(subject, stores, allocation, buffer, int(at[0]))
    return found[-1] if found else None


def writer_beside(subject: Subject, name: str) -> Place | None:
    """The first store in the plain run to what is padding of a buffer, or to an input, with the element that it would
    be; None where none is known."""
    stores, allocation = _stored_to(subject, name)
    buffer = subject.binding.buffers[name]
    if stores is None or allocation is None:
        return None
    hit = sum(touched(stores, allocation, buffer.itemsize, atomic=kind) for kind in (False, True))
    kept = np.asarray(hit)[: buffer.size] > 0
    if buffer.argument.role != "in":
        kept &= buffer.elements() < 0
    at = int(np.argmax(kept))
    found = writers(subject, stores, allocation, buffer, at) if kept.any() else []
    if not found:
        return None
    element = Element(name, buffer.index_at(at))
    return replace(found[0], buffer=name, buffer_byte=at * buffer.itemsize, element=element)


def _stored_to(subject: Subject, name: str) -> tuple[Stores | None, Allocation | None]:
    """Stores of the plain run, and a buffer's allocation; None where nobody has watched."""
    try:
        stores = subject.plain(partial=True).record(Stores)
    except LookupError:
        return None, None
    return stores, stores.allocation(f"buffer {name}")


def storing(subject: Subject, stores: Stores, allocation: Allocation) -> Place:
    """An instruction that stores to an allocation; the kernel, where none does."""
    hits = (
        store.inst
        for store in stores.stores
        if ((store.offset >= allocation.start) & (store.offset < allocation.end)).any()
    )
    inst = next(hits, None)
    return Place(kernel=subject.kernel.name) if inst is None else where(subject, inst)


def strays(stores: Stores, allocation: Allocation, mask: NDArray[np.bool_], place: Place) -> float:
    """How much of what an instruction stores goes where another one stores, or beyond the buffer: all of it, where
    its own address is wrong; of the other one, that part which it meets."""
    met = total = 0
    size = (allocation.end - allocation.start) / mask.size
    for store in (store for store in stores.stores if store.inst.pc == place.pc):
        at = ((store.offset - allocation.start) // size).astype(np.int64)
        inside = (at >= 0) & (at < mask.size)
        met += int(np.count_nonzero(~inside)) + int(mask[at[inside]].sum())
        total += at.size
    return met / total if total else 0.0


def handed_over(subject: Subject, wave: int, output: str, *, met: bool = False) -> Place | None:
    """Where a wave, numbered over the launch, stored most to buffers beside an output in the plain run; None where
    that is no more than a lane at a time, or where `met` asks for a store to what another wave stored as well."""
    stores, own = _stored_to(subject, output)
    if stores is None:
        return None
    lanes: dict[int, int] = {}
    for store in stores.stores:
        mine = store.wave == wave
        if own is not None:
            mine &= (store.offset < own.start) | (store.offset >= own.end)
        lanes[store.inst.pc] = max(lanes.get(store.inst.pc, 0), int(mine.sum()))
    pc = max(lanes, key=lambda pc: lanes[pc], default=0)
    if lanes.get(pc, 0) < 2:
        return None
    there = [store for store in stores.stores if store.inst.pc == pc]
    mine = np.concatenate([store.offset[store.wave == wave] for store in there])
    if met and not np.isin(mine, np.concatenate([store.offset[store.wave != wave] for store in there])).any():
        return None
    store = next(store for store in there if (store.wave == wave).any())
    return where(subject, store.inst, who_was(stores.waves, wave))


def owners_of(subject: Subject, name: str) -> Owners:
    """Who stored each element of an output last.

    Raises:
        UsageError: the kernel has no such output, or makes more stores than are kept.
        RunStoppedError: the run did not come to its end.
    """
    buffer = subject.binding.buffers.get(name)
    if buffer is None or buffer.argument.role == "in":
        known = [b.name for b in subject.binding.buffers.values() if b.argument.role != "in"]
        raise UsageError(f"the kernel has no output {name[:40]!r}", expected=", ".join(known) or "none")
    stores = subject.run(RunSpec("integers", (StoreRecorder,))).record(Stores)
    allocation = stores.allocation(f"buffer {name}")
    if allocation is None or not stores.complete:
        raise UsageError("there are more stores than are kept", hint="look at a smaller size")
    element, size = buffer.elements(), buffer.itemsize
    found = np.full((7, element.size), -1, np.int64)  # a row for each array of Owners
    for store in stores.stores:
        byte = store.offset - allocation.start
        row = store.inst.src[_data(store)].index
        for step in range(store.size // size + 1):
            at = -(-byte // size) + step  # elements whose first byte is stored
            inside = (at >= 0) & (at < element.size) & (at * size < byte + store.size)
            ahead = (at * size - byte)[inside]
            wave = store.wave[inside]
            who = (
                *stores.waves.group[wave].T,
                stores.waves.index[wave],
                store.lane[inside],
                row + ahead // 4,
            )
            found[:, at[inside]] = np.stack([*who, np.full(wave.size, store.inst.pc)])
    logical = np.full((7, prod(buffer.shape)), -1, np.int64)
    logical[:, element[element >= 0]] = found[:, element >= 0]
    x, y, z, wave, lane, row, pc = logical.reshape(7, *buffer.shape)
    return Owners(
        name, np.stack([x, y, z], -1).astype(np.int32), wave.astype(np.int32), lane.astype(np.int32),
        row.astype(np.int32), pc,
    )  # fmt: skip


def _data(store: Store) -> int:
    """Which source of a store is its data."""
    return 0 if store.inst.encoding == "MUBUF" else 1


def narrow_stores(stores: Stores, allocation: Allocation, buffer: BoundBuffer) -> int:
    """Bytes of the elements that are stored to a buffer, where they are smaller than its own; else 0.

    Some of them begin inside the buffer's, and there are no more of them than the buffer has: an element that
    is stored in parts takes several.
    """
    offsets, sizes = [], []
    for store in stores.stores:
        offset = store.offset - allocation.start
        offset = offset[(offset >= 0) & (offset < buffer.nbytes)]
        if offset.size:
            offsets.append(offset)
            sizes.append(store.size)
    if not sizes or max(sizes) >= buffer.itemsize:
        return 0
    first = np.unique(np.concatenate(offsets))
    narrow = (first % buffer.itemsize).any() and first.size <= np.count_nonzero(buffer.elements() >= 0)
    return max(sizes) if narrow else 0


def missing_tiles(
    stores: Stores,
    allocation: Allocation,
    buffer: BoundBuffer,
    missing: NDArray[np.bool_],
    grid: tuple[int, int, int],
) -> tuple[str, str]:
    """Why elements were never written, and the next step: the last row or column is left out, or there are too few
    workgroups for the tiles that they write; "" where it is neither."""
    flat, rows, cols = lines_of(missing)
    for name, lines, extent in (("row", rows, flat.shape[0]), ("column", cols, flat.shape[1])):
        if list(lines) == [extent - 1] and extent > 1:
            return f": the last {name} is left out", f"is a bounds test of the {name}s off by one?"
    tile = _tile(stores, allocation, buffer)
    if tile is None:
        return "", ""
    down, across = -(-flat.shape[0] // tile.tall), -(-flat.shape[1] // tile.wide)
    tiles, count = down * across * max(1, missing.size // flat.size), int(np.prod(grid))
    if tiles <= count:
        return "", ""
    if tile.storing < tile.waves and tiles * tile.storing <= count * tile.waves:
        return (
            f"; {tile.storing} of the {tile.waves} waves of a workgroup store elements of {buffer.name}",
            "which waves does the test around this store let through? threadIdx.x counts through all of them",
        )
    launched = " x ".join(map(str, grid))
    if grid[1] * grid[2] == 1:  # the kernel itself makes rows and columns of the number
        return (
            f"; {launched} workgroups store what are {down} x {across} tiles of {tile.tall} x {tile.wide}",
            f"does a workgroup make several tiles of {buffer.name} in turn? Then look at how it counts them, else "
            "launch as many as there are: round up",
        )
    return (
        f"; a workgroup stores {tile.tall} x {tile.wide} elements, and the launch has {launched} workgroups where "
        f"{buffer.name} has {down} x {across} tiles",
        f"launch as many workgroups as {buffer.name} has tiles: round up, and mind which of x and y counts rows",
    )


class _Tile(Struct, frozen=True):
    """What a workgroup stores of C: rows and columns, and how many of its waves store."""

    tall: int
    wide: int
    storing: int
    waves: int


def _tile(stores: Stores, allocation: Allocation, buffer: BoundBuffer) -> _Tile | None:
    """What a workgroup stores at most; None where that is no rectangle: workgroups have no tile of their own then,
    and their number says nothing."""
    element, cols = buffer.elements(), buffer.shape[-1]
    groups = stores.waves.group @ np.array([1, 1 << 20, 1 << 40])
    hits: dict[int, list[NDArray[np.int64]]] = {}
    waves: dict[int, set[int]] = {}
    for store in stores.stores:
        first = (store.offset - allocation.start) // buffer.itemsize
        at = first[:, None] + np.arange(max(1, store.size // buffer.itemsize))
        inside = (at >= 0) & (at < element.size)
        flat = np.where(inside, element[np.where(inside, at, 0)], -1)
        for group in np.unique(groups[store.wave]):
            mine = (groups[store.wave] == group)[:, None] & (flat >= 0)
            if mine.any():
                hits.setdefault(int(group), []).append(np.unique(flat[mine]))
                waves.setdefault(int(group), set()).update(store.wave[mine.any(axis=1)].tolist())
    of = {group: np.unique(np.concatenate(parts)) for group, parts in hits.items()}
    if not of:
        return None
    whole = max(of, key=lambda group: of[group].size)
    row, col = np.divmod(of[whole], cols)
    tall, wide = int(np.ptp(row)) + 1, int(np.ptp(col)) + 1
    if tall * wide != of[whole].size:
        return None
    return _Tile(tall, wide, len(waves[whole]), int(np.count_nonzero(groups == whole)))


def _writer(subject: Subject, stores: Stores, store: Store, hit: int, byte: int) -> Place:
    who = who_was(stores.waves, int(store.wave[hit]), int(store.lane[hit]))
    data = store.inst.src[_data(store)]
    vgpr = data.index + (byte - int(store.offset[hit])) // 4
    return replace(where(subject, store.inst, who), register=vector(subject, vgpr))
