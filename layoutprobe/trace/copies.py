"""Replication: where an operand is wanted in several groups of lanes, all of them hold it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.solver.copies import differing, partner_of
from layoutprobe.solver.product import NOWHERE
from layoutprobe.trace.analysis import JudgedExecutions, analysis_of
from layoutprobe.trace.operands import Slot
from layoutprobe.trace.subject import Subject


@dataclass(frozen=True)
class DifferingCopy:
    """An operand whose copies differ.

    Attributes:
        slot: the first slot that differs from the copy that some output reads; where that one holds
            no element, the copy that is read.
        other: the same element's slot in the other copy.
        count: slots that differ.
    """

    slot: Slot
    other: Slot
    count: int


def differing_copies(subject: Subject) -> tuple[DifferingCopy, ...]:
    """Operands whose copies differ, each once.

    Raises:
        NoProductError, UndecidedError, RunStoppedError: as `analysis_of`.
    """
    return subject.once(_differing_copies)


def _differing_copies(subject: Subject) -> tuple[DifferingCopy, ...]:
    period = subject.copies_every
    found: dict[str, DifferingCopy] = {}
    for judged in analysis_of(subject).judged if period else ():
        for matrix in "AB":
            if matrix not in found and (copy := _differing_copy(judged, matrix, period)):
                found[matrix] = copy
    return tuple(found.values())


def _differing_copy(judged: JudgedExecutions, matrix: str, period: int) -> DifferingCopy | None:
    done = judged.executions
    needed = done.instruction.needed[matrix]
    held = (done.a if matrix == "A" else done.b).reshape(-1, *needed.row.shape[1:])
    live = ~needed.holes[0]
    differs = differing(held, live, period, _stored_lanes(judged, matrix))
    if not differs.any():
        return None
    at, lane, vgpr, field = (int(x) for x in np.argwhere(differs)[0])
    other = partner_of(lane, live[:, vgpr, field], period)
    if held[at, lane, vgpr, field] >= 0 > held[at, other, vgpr, field]:
        lane, other = other, lane  # the copy that is read is the one that holds nothing
    slot, partner = (Slot(done, matrix, at, which, vgpr, field) for which in (lane, other))
    return DifferingCopy(slot, partner, int(differs.sum()))


def _stored_lanes(judged: JudgedExecutions, matrix: str) -> NDArray[np.bool_]:
    """Lanes whose line of the operand reaches some stored output: bool [execution, lane]."""
    g, chain = judged.executions.geometry, judged.factors.chain
    lines = judged.targets.row() if matrix == "A" else judged.targets.col()
    layout = judged.executions.instruction.needed[matrix]
    per_lane = layout.vgprs * layout.fields
    lane = (g.a if matrix == "A" else g.b)[:, :, 0] // per_lane
    stored = np.zeros((chain.size, layout.lanes), np.bool_)
    stored[:, lane.ravel()] = (lines[chain] != NOWHERE).reshape(chain.size, -1)
    return stored
