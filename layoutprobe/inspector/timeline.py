"""A recorded workgroup as its page shows it: who loaded, stored, waited and met when, and what was stored in LDS."""

from __future__ import annotations

import numpy as np

from layoutprobe.arch.registry import TARGETS
from layoutprobe.inspector.contents import MOST_NAMES, contents_of, held_operands
from layoutprobe.inspector.kept import sites_of
from layoutprobe.manifest.model import size_title
from layoutprobe.recording.model import SPACES, Recording
from layoutprobe.recording.names import Names
from layoutprobe.report.inspection import Sites
from layoutprobe.report.kernel_view import COLUMNS, Event, KernelView, LdsAccesses, Moments, Timeline

KINDS = ("matrix", "load", "store", "atomic", "barrier", "wait", "end")
"""Instructions that are events."""
MOST_EVENTS = 60_000
"""Above which a page leaves them out."""


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
    """What a page shows of a recording alone: who did what when, the source, LDS, and what operands hold, beside
    what they need where that was kept.

    Args:
        recording: of one workgroup.
    """
    size = size_title(recording.size) if recording.size else ""
    arch = TARGETS.get(recording.target)
    moments, judged = recording.moments, recording.moments is not None
    none = Moments((recording.waves[0].group,), 0, {}, (), (), (), np.zeros((0, len(COLUMNS)), np.int32), {})
    return KernelView(
        Sites(
            recording.kernel,
            recording.target,
            size,
            sites_of(recording),
            (recording.evidence,),
            judged=judged,
        ),
        none if moments is None else moments,
        None,
        "a recording has no outputs",
        recording.sources,
        timeline_of(recording, arch.lds.banks if arch else 0),
        held=None if judged else held_operands(recording, recording.unjudged),
    )


def _lds(recording: Recording, banks: int) -> LdsAccesses | None:
    """All accesses of LDS; None where there is none."""
    a = recording.accesses
    here = np.flatnonzero(a.space == SPACES.index("LDS"))
    if not here.size:
        return None
    patterns, which = np.unique(a.address[here], axis=0, return_inverse=True)
    table = np.stack([a.row[here], a.store[here], a.size[here], which.ravel()])
    stored = recording.stored
    begins = np.searchsorted(stored.access, here)
    mine = np.flatnonzero(np.isin(stored.access, here))
    first = np.full(here.size, -1, np.int64)
    if mine.size * recording.lanes > MOST_NAMES:
        mine = mine[:0]
    if mine.size:
        last = stored.access[np.minimum(begins, stored.access.size - 1)]
        first = np.where(last == here, np.searchsorted(mine, begins), -1)
    contents, held = contents_of(Names(recording), stored.tag[mine], stored.undefined[mine])
    return LdsAccesses(
        recording.lds_size, banks, table.astype(np.int32), patterns.astype(np.int32),
        contents, first.astype(np.int32), held,
    )  # fmt: skip
