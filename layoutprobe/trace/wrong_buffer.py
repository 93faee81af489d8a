"""Stores to the buffer of LDS that is being read, while the other one lies idle: no barrier is missing there.

Where buffers take turns, a load goes to each of them, from one barrier interval to the next. A store in the same
interval has the wrong number of a buffer where it overwrites a tile that was stored before and is still to be read,
and nobody touches the bytes of the other turns. Where nothing lay there, the load waits for this store, and a barrier
is what is missing. Where a tile waits in the other buffer, too, it is the load that may have the wrong number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.observe.clashes import Clash, Touch
from layoutprobe.observe.lds_traffic import Passage, Traffic
from layoutprobe.trace.subject import Subject
from layoutprobe.trace.traffic import traffic_of

Bytes = NDArray[np.bool_]


def into_buffer_in_use(subject: Subject, clash: Clash) -> Touch | None:
    """The store of a race that goes to the wrong buffer; None where that is not seen.

    Args:
        subject: the kernel.
        clash: a store and a load of one byte, in one barrier interval.
    """
    if clash.kind not in ("RAW", "WAR") or clash.late:
        return None
    store, load = (clash.first, clash.second) if clash.kind == "RAW" else (clash.second, clash.first)
    traffic = traffic_of(subject, store.who.workgroup)
    if traffic is None:
        return None
    mine = [one for one in traffic.passages if one.pc == load.inst.pc and not one.store]
    ever = _touched(mine, traffic.size)
    intervals = sorted({one.interval for one in mine})
    # What is stored behind the last pass is no next tile: it waits for all to have read this one.
    clashing = [at for at in intervals[:-1] if _is_idle_beside(traffic, mine, at, ever, store.inst.pc)]
    return store if clashing else None


def _is_idle_beside(traffic: Traffic, mine: Sequence[Passage], at: int, ever: Bytes, store: int) -> bool:
    """In an interval the store goes where a tile waits for the load, and nobody touches what that reads in others."""
    here = [one for one in traffic.passages if one.interval == at]
    read = _touched((one for one in mine if one.interval == at), traffic.size)
    stored = _touched((one for one in here if one.store and one.pc == store), traffic.size)
    other = ever & ~read
    every = [one for one in traffic.passages if one.store]
    last_stored, last_read = (_last(passages, at, traffic.size) for passages in (every, mine))
    lying, waiting = last_stored > last_read, (last_stored >= last_read) & (last_stored >= 0)
    alone = other.any() and not ((_touched(here, traffic.size) | waiting) & other).any()
    return bool((stored & read & lying).any() and alone)


def _last(passages: Iterable[Passage], before: int, size: int) -> NDArray[np.int64]:
    """The last interval before one in which each byte was touched; -1 for none."""
    found = np.full(size, -1, np.int64)
    for one in passages:
        if one.interval < before:
            there = one.bytes(size)[:size] > 0
            found[there] = np.maximum(found[there], one.interval)
    return found


def _touched(passages: Iterable[Passage], size: int) -> Bytes:
    found = np.zeros(size, np.bool_)
    for one in passages:
        found |= one.bytes(size)[:size] > 0
    return found
