"""Races of which nobody sees the outcome: what is loaded while another wave stores there is never used.

A vector that reaches into the next row, a halo that a mask drops: the values are open, and matter to nobody.
"""

from __future__ import annotations

from msgspec.structs import replace

from layoutprobe.observe.clashes import WITH_LOAD, Handovers, LdsRecord
from layoutprobe.observe.doubts import Doubted, Doubting
from layoutprobe.observe.late_loads import DoubtingIssued
from layoutprobe.observe.undefined import UndefinedObserver, UndefinedRecord
from layoutprobe.trace.subject import RunSpec, Subject


def without_formal(subject: Subject, handed: Handovers, order: str) -> Handovers:
    """The same, in which loads that nobody uses are known as such.

    Args:
        subject: the kernel.
        handed: how waves meet in global memory.
        order: of the workgroups of that run.
    """
    if not handed.complete or not handed.raced or not _never_used(subject, Doubting(handed.raced), order):
        return handed
    found = (
        replace(met, order="unused") if met.matters and met.kind in WITH_LOAD else met for met in handed.found
    )
    return replace(handed, found=tuple(found))


def formal_in_lds(subject: Subject, record: LdsRecord) -> bool:
    """No load of LDS uses what it gets of what another wave stores, with no barrier between."""
    doubting = Doubting(record.raced, of_lds=True)
    return record.complete and bool(record.raced) and _never_used(subject, doubting, "")


def formal_at_barriers(subject: Subject, record: LdsRecord) -> bool:
    """No load of LDS uses what it gets that was outstanding at a barrier, and may come behind a store after it."""
    doubting = DoubtingIssued(record.overtaken)
    return record.complete and bool(record.overtaken) and _never_used(subject, doubting, "")


def _never_used(subject: Subject, doubting: Doubting | DoubtingIssued, order: str) -> bool:
    """Whether nobody uses what is doubted; False also where that was not seen: of a launch that happened
    elsewhere, and of loads by ways that cannot be followed."""
    watched = (doubting, UndefinedObserver)
    run = subject.run(RunSpec("integers", watched, order=order, doubted=True), partial=True)
    doubted = next((record for record in run.records if isinstance(record, Doubted)), None)
    if run.fault is not None or doubted is None or not doubted.loads or not doubted.complete:
        return False
    return not run.record(UndefinedRecord).stores
