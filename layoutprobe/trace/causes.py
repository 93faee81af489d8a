"""Why slots hold what they hold: faults that show in the executions of a whole kernel, in words.

`solver.diagnose` knows the faults of one layout. What is added here needs more: the partner's K step,
the edge of a ragged matrix, the tile in LDS that a load looked into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE
from layoutprobe.solver.diagnose import HYPOTHESES, UNEXPLAINED, Case, Diagnosis, diagnose, unexplained

_LDS_LAWS = ("lds-one-sided", "lds-stride")
_LDS_TILES = (16, 32, 64, 128, 256)
COPY = "half-wave-copy"
"""The diagnosis that copies differ."""
_FEW = 2
"""Executions that a tile's size must fit before all are asked."""
TILE = 16
"""Rows and columns of a matrix instruction: where operands and accumulators of a kernel begin."""


def _inside(case: Case) -> NDArray[np.bool_]:
    """Slots that need an element that exists."""
    inside = (case.need_row < case.shape[0]) & (case.need_col < case.shape[1])
    return np.asarray(inside & (case.need_row >= 0) & (case.need_col >= 0))


def wrong_slots(case: Case) -> NDArray[np.bool_]:
    """Slots that need an element and hold another one, or none."""
    differs = (case.row != case.need_row) | (case.col != case.need_col)
    return np.asarray(case.live & _inside(case) & differs)


def beyond_slots(case: Case) -> NDArray[np.bool_]:
    """Slots that hold an element where none exists."""
    return np.asarray(case.live & ~_inside(case) & (case.row != HOLE))


BEYOND = "beyond-edge"
"""Name of the diagnosis that a ragged tile's tail is not zero."""


def cause_of(case: Case, *, copies_differ: bool) -> Diagnosis:
    """The cause that explains all executions of a case.

    Args:
        case: what one matrix held and needed; axes [execution, lane, vgpr, field].
        copies_differ: lanes that should hold copies of each other do not.
    """
    if case.matrix in "AB" and not wrong_slots(case).any() and beyond_slots(case).any():
        return Diagnosis(
            BEYOND,
            f"slots of {case.matrix} beyond the edge of the matrix hold elements where zeros belong",
            "load zeros for what a ragged tile lacks, along k as well as along rows and columns",
        )
    if case.matrix in "AB" and (steps := _steps_apart(case)):
        return Diagnosis(
            "other-step",
            f"{case.matrix} holds elements of another K step than its partner: {steps}",
            "is a buffer of LDS or registers read before the new tile is in it, or the wrong one of two?",
        )
    if copies_differ:
        return _replication(case)
    if not (case.live & (case.row != HOLE)).any():
        return unexplained(case)  # what is nowhere seen follows every law
    found = diagnose(case, without=(COPY,))
    if found.name == UNEXPLAINED and case.matrix in "AB":
        found = next(_in_lds_tiles(case), found)
    return found


def _replication(case: Case) -> Diagnosis:
    """What is wrong with copies that differ."""
    hypothesis = next(h for h in HYPOTHESES if h.name == COPY)
    for text, row, col in hypothesis.guesses(case):
        if case.predicts(row, col):
            return Diagnosis(COPY, text, hypothesis.hint)
    return Diagnosis(
        COPY, f"the half-waves hold different elements of {case.matrix}, and no copies", hypothesis.hint
    )


def _steps_apart(case: Case) -> str:
    """By how many k slots are off, where they hold the right lines, whole steps away; "" otherwise."""
    row, col, need = case.row, case.col, (case.need_row, case.need_col)
    line, k = ((row, need[0]), (col, need[1])) if case.matrix == "A" else ((col, need[1]), (row, need[0]))
    use = case.live & (row != HOLE)
    shift = (k[0] - k[1])[use]
    if (line[0] != line[1])[use].any() or (shift % TILE).any() or not shift.any():
        return ""
    off = shift[shift != 0]
    first, last = int(off.min()), int(off.max())
    return _late(first) if first == last else f"from {_late(first)} to {_late(last)}"


def _late(steps: int) -> str:
    return f"{abs(steps)} k too {'late' if steps > 0 else 'early'}"


def _in_lds_tiles(case: Case) -> Iterator[Diagnosis]:
    """Faults of LDS addressing, for tiles of usual sizes: their causes show in the tile's coordinates."""
    few = _select(case, _FEW)
    for tall in _LDS_TILES:
        for wide in _LDS_TILES:
            if next(_in_lds_tile(few, tall, wide), None) is not None:
                yield from _in_lds_tile(case, tall, wide)


def _select(case: Case, count: int) -> Case:
    """The first executions of a case."""
    arrays = (f.name for f in fields(case) if isinstance(getattr(case, f.name), np.ndarray))
    return replace(case, **{name: getattr(case, name)[:count] for name in arrays})


def _in_lds_tile(case: Case, tall: int, wide: int) -> Iterator[Diagnosis]:
    rows, cols = case.need_row, case.need_col
    first = [
        np.where(case.live, x, np.iinfo(np.int64).max).min(axis=(1, 2, 3)) // size * size
        for x, size in ((rows, tall), (cols, wide))
    ]
    down, right = (x[:, None, None, None] for x in first)
    hole = case.row == HOLE
    local = replace(
        case,
        row=np.where(hole, HOLE, case.row - down),
        col=np.where(hole, HOLE, case.col - right),
        need_row=rows - down,
        need_col=cols - right,
        origin=case.origin - np.stack(first, axis=1),
        shape=(tall, wide),
    )
    live = local.live
    if ((local.need_row >= tall) | (local.need_col >= wide))[live].any():
        return
    if ((local.row >= tall) | (local.col >= wide))[live].any():
        return
    for hypothesis in HYPOTHESES:
        if hypothesis.name in _LDS_LAWS:
            for text, row, col in hypothesis.guesses(local):
                # A tile ends where its matrix does: what lies beyond is stored as zeros.
                there = (row + down < case.shape[0]) & (col + right < case.shape[1])
                if local.predicts(np.where(there, row, HOLE), np.where(there, col, HOLE)):
                    yield Diagnosis(hypothesis.name, text, hypothesis.hint)
