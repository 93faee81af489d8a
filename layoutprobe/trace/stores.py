"""Who stored to an element of a buffer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutprobe.manifest.binding import BoundBuffer
from layoutprobe.observe.outputs import Allocation, Store, Stores
from layoutprobe.place import Place
from layoutprobe.trace.places import vector, where, who_was
from layoutprobe.trace.subject import Subject


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
    try:
        stores = subject.plain(partial=True).record(Stores)
    except LookupError:
        return None
    buffer, allocation = subject.binding.buffers[name], stores.allocation(f"buffer {name}")
    at = np.flatnonzero(buffer.elements() == element)
    if allocation is None or not at.size:
        return None
    found = writers(subject, stores, allocation, buffer, int(at[0]))
    return found[-1] if found else None


def _writer(subject: Subject, stores: Stores, store: Store, hit: int, byte: int) -> Place:
    who = who_was(stores.waves, int(store.wave[hit]), int(store.lane[hit]))
    data = store.inst.src[0 if store.inst.encoding == "MUBUF" else 1]
    vgpr = data.index + (byte - int(store.offset[hit])) // 4
    return replace(where(subject, store.inst, who), register=vector(subject, vgpr))
