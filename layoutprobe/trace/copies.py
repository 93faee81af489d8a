"""Replication: where an operand is wanted in several groups of lanes, all of them hold it.

Half-waves may take k in orders of their own, as long as A and B share them: AMD's rocWMMA does so, and is
right on gfx11 cards (docs/fidelity.md). The law of the product sees to it that they share them; here a copy
is right where it holds the k that its own half-wave has in that place.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.solver.copies import differing, partner_of, partners
from layoutprobe.solver.product import NOWHERE, ZERO
from layoutprobe.trace.analysis import JudgedExecutions, analysis_of
from layoutprobe.trace.operands import Slot
from layoutprobe.trace.subject import Subject


class DifferingCopy(Struct, frozen=True):
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
    return subject.once(_looked_at)[0]


def own_orders(subject: Subject) -> bool:
    """Some copies differ only because each half-wave takes k in an order of its own."""
    return subject.once(_looked_at)[1]


def _looked_at(subject: Subject) -> tuple[tuple[DifferingCopy, ...], bool]:
    """Both answers."""
    period = subject.copies_every
    found: dict[str, DifferingCopy] = {}
    own_order = False
    for judged in analysis_of(subject).judged if period else ():
        for matrix in "AB":
            held, differs, own = _copies(judged, matrix, period, subject)
            own_order |= bool(own.any())
            if matrix not in found and (
                copy := _differing_copy(judged, matrix, period, held, differs & ~own)
            ):
                found[matrix] = copy
    return tuple(found.values()), own_order


def _differing_copy(
    judged: JudgedExecutions,
    matrix: str,
    period: int,
    held: NDArray[np.int32],
    differs: NDArray[np.bool_],
) -> DifferingCopy | None:
    if not differs.any():
        return None
    done = judged.executions
    live = ~done.instruction.needed[matrix].holes[0]
    at, lane, vgpr, field = (int(x) for x in np.argwhere(differs)[0])
    other = partner_of(lane, live[:, vgpr, field], period)
    if held[at, lane, vgpr, field] >= 0 > held[at, other, vgpr, field]:
        lane, other = other, lane  # the copy that is read is the one that holds nothing
    slot, partner = (Slot(done, matrix, at, which, vgpr, field) for which in (lane, other))
    return DifferingCopy(slot, partner, int(differs.sum()))


def _copies(
    judged: JudgedExecutions, matrix: str, period: int, subject: Subject
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Elements, slots that differ from the copy that is read, and those of them that are right by the order
    of k of their own half-wave: all [execution, lane, vgpr, field]."""
    done = judged.executions
    needed = done.instruction.needed[matrix]
    held = (done.a if matrix == "A" else done.b).reshape(-1, *needed.row.shape[1:])
    live = ~needed.holes[0]
    stored = _stored_lanes(judged, matrix)
    differs = differing(held, live, period, stored)
    own = np.zeros_like(differs)
    if differs.any():
        line, k = (np.take(table, held) for table in analysis_of(subject).problem.lines(done.letter(matrix)))
        halves = (held.shape[0], -1, period, *held.shape[2:])
        read, order = (live & stored[:, :, None, None]).reshape(halves), k.reshape(halves)
        low = np.where(read, order, np.iinfo(np.int32).max).min(axis=2, keepdims=True)
        high = np.where(read, order, np.iinfo(np.int32).min).max(axis=2, keepdims=True)
        in_order = ((low == high) & (order == low)).reshape(held.shape)
        for other in partners(held.shape[1], period):
            same = (line == line[:, other]) | (held == ZERO) | (held[:, other] == ZERO)
            own |= in_order & (held >= ZERO) & live[other] & same
    return held, differs, own & differs


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
