"""A recorded workgroup as its page shows it: who loaded, stored, waited and met when, and what was stored in LDS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.registry import TARGETS
from layoutprobe.brief import brief
from layoutprobe.manifest.model import size_title
from layoutprobe.recording.model import NOTHING, SPACES, Recording
from layoutprobe.recording.names import Held, Names, joined
from layoutprobe.report.inspection import Site, Sites
from layoutprobe.report.kernel_view import COLUMNS, Event, KernelView, LdsAccesses, Moments, Timeline

KINDS = ("matrix", "load", "store", "atomic", "barrier", "wait", "end")
"""Instructions that are events."""
MOST_EVENTS = 60_000
"""Above which a page leaves them out."""
MOST_NAMES = 1 << 17
"""Dwords of lanes that were stored, above which a page does not say what they hold."""

Ints = NDArray[np.int32]


def timeline_of(recording: Recording, banks: int) -> Timeline | None:
    """The events of a recording of one workgroup; None where there are none, or too many.

    Args:
        recording: of one workgroup.
        banks: of the target's LDS, each a dword wide; 0: not known.
    """
    kinds = np.array([one.kind in KINDS for one in recording.code], np.bool_)
    inst, wave = recording.steps.inst, recording.steps.wave
    rows = np.flatnonzero(kinds[inst]) if inst.size else np.zeros(0, np.int64)
    if not 0 < rows.size <= MOST_EVENTS:
        return None
    used = np.unique(inst[rows])
    index = np.array([one.index for one in recording.waves], np.int32)
    return Timeline(
        recording.waves[0].group,
        tuple(Event(recording.code[i].kind, recording.code[i].text, recording.code[i].place) for i in used),
        np.stack([rows, index[wave[rows]], np.searchsorted(used, inst[rows])]).astype(np.int32),
        int(inst.size),
        recording.cut,
        _lds(recording, banks) if banks else None,
    )


def page_of(recording: Recording) -> KernelView:
    """What a page shows of a recording alone: who did what when, the source, and LDS; nothing is judged."""
    every = [at for at, one in enumerate(recording.code) if one.kind == "matrix"]
    steps = recording.steps
    times = [np.bincount(steps.wave[steps.inst == at], minlength=len(recording.waves)) for at in every]
    sites = tuple(
        Site(number, recording.code[at].place, (int(count.min()), int(count.max())))
        for number, (at, count) in enumerate(zip(every, times, strict=True))
    )
    size = size_title(recording.size) if recording.size else ""
    arch = TARGETS.get(recording.target)
    return KernelView(
        Sites(recording.kernel, recording.target, size, sites, (recording.evidence,), judged=False),
        Moments((recording.waves[0].group,), 0, {}, (), (), (), np.zeros((0, len(COLUMNS)), np.int32), {}),
        None,
        "a recording has no outputs",
        recording.sources,
        timeline_of(recording, arch.lds.banks if arch else 0),
    )


def _lds(recording: Recording, banks: int) -> LdsAccesses | None:
    """All accesses of LDS; None where there is none."""
    a = recording.accesses
    here = np.flatnonzero(a.space == SPACES.index("LDS"))
    if not here.size:
        return None
    patterns, which = np.unique(a.address[here], axis=0, return_inverse=True)
    table = np.stack([a.row[here], a.store[here], a.size[here], which.ravel()])
    what = _stored(recording, here)
    return LdsAccesses(
        recording.lds_size, banks, table.astype(np.int32), patterns.astype(np.int32),
        what.names, what.tensors, what.lines, what.first, what.held,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Stored:
    """What accesses of LDS stored; see `LdsAccesses`."""

    names: tuple[str, ...]
    tensors: tuple[str, ...]
    lines: Ints
    first: Ints
    held: Ints

    __repr__ = brief


def _stored(recording: Recording, here: NDArray[np.int64]) -> _Stored:
    stored, names = recording.stored, Names(recording)
    begins = np.searchsorted(stored.access, here)
    mine = np.flatnonzero(np.isin(stored.access, here))
    words = np.stack([stored.tag[mine], stored.undefined[mine].view(np.int32)], axis=-1)
    if words.size > 2 * MOST_NAMES or not words.size:
        none = np.zeros((0, 2), np.int32), np.full(here.size, -1, np.int32)
        return _Stored((), (), *none, np.zeros((0, recording.lanes), np.int32))
    unique, held = np.unique(words.reshape(-1, 2), axis=0, return_inverse=True)
    last = stored.access[np.minimum(begins, stored.access.size - 1)]
    first = np.where(last == here, np.searchsorted(mine, begins), -1)
    each = [names.word(tag, undefined & 0xFFFFFFFF) for tag, undefined in unique.tolist()]
    lines = [_line(names, parts) for parts in each]
    tensors = tuple(sorted({name for name, _ in lines if name}))
    return _Stored(
        tuple(map(joined, each)),
        tensors,
        np.array([(tensors.index(name), row) if name else (-1, -1) for name, row in lines], np.int32),
        first.astype(np.int32),
        held.reshape(words.shape[:2]).astype(np.int32),
    )


def _line(names: Names, parts: Sequence[Held]) -> tuple[str, int]:
    """Of what a register holds, the buffer and the row of the first element; "" and -1 where it comes from none."""
    for part in parts:
        if part.element is not None and part.element.index:
            return part.element.matrix, part.element.index[-2:][0]
        if part.tag < NOTHING:
            for name, box in names.origin(part.tag).boxes.items():
                return name, box[-2:][0][0]
    return "", -1
