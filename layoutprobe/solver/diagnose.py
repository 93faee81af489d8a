"""Why slots do not hold what they should: the first hypothesis that explains them all.

A hypothesis is accepted only if it predicts what was observed in every live slot of everything that
shows an error; otherwise the next one is tried, and the last resort says what was seen and no more.

`diagnose` knows one layout. `diagnose_executions` looks at an operand of a whole kernel, of which
more can be said: the K step of its partner, the edge of a ragged matrix, the tile in LDS that a load
looked into. Which of A, B and D is to blame is decided before, in `trace.culprits`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE
from layoutprobe.solver.hypotheses import COPY, HYPOTHESES
from layoutprobe.solver.suspect import Suspect
from layoutprobe.text import either

UNEXPLAINED = "unexplained"
TRANSPOSED = "transposed"
LINE_ORDER = "line-order"
"""Name of the diagnosis that lines are in another order, which is read off the slots: it says what, and not why."""
BEYOND = "beyond-edge"
"""Name of the diagnosis that a ragged tile's tail is not zero."""
OTHER_STEP = "other-step"
"""Name of the diagnosis that an operand is of another K step than its partner."""
STALE = "stale-tile"
"""Name of the diagnosis that an operand was read from its place in LDS at a wrong time."""
OTHER_BUFFER = "other-buffer"
"""Name of the diagnosis that an operand was read from another buffer of LDS than its tile lies in."""
ZEROS = "zeros"
"""What slots hold that hold no element."""
OVERLAP = "lds-overlap"
"""Name of the diagnosis that two matrices were given the same bytes of LDS."""
OTHER_MATRIX = "other-matrix"
"""Name of the diagnosis that an operand holds elements of another matrix only."""
OTHER_LANE = "other-lane"
"""Name of the diagnosis that an operand was passed between lanes, and arrives in the wrong ones."""
BATCH_STRIDE = "batch-stride"
"""Name of the diagnosis that batches of a matrix are taken a wrong distance apart."""
_TEST_BOUNDS = "test row and column against M and N before each store"
LDS_OFFSET = "lds-offset"
"""Name of the diagnosis that some loads or stores miss their place in LDS by a constant distance."""
LDS_ADDRESSES = ("lds-one-sided", "lds-stride", LDS_OFFSET)
"""Diagnoses that mean addresses in LDS."""
_LDS_TILES = (16, 32, 64, 128, 256)
_EITHER = ("leading-dimension", "thread-for-lane", "shifted", "other-wave")
"""Diagnoses of which several may fit where few waves or lines show an error."""
_FEW = 2
"""Executions that a tile's size must fit before all are asked."""


class Diagnosis(Struct, frozen=True):
    """A cause in words.

    Attributes:
        name: name of the hypothesis, or UNEXPLAINED.
        what: one sentence.
        hint: next step.
    """

    name: str
    what: str
    hint: str


def diagnose(suspect: Suspect, *, without: Collection[str] = ()) -> Diagnosis:
    """The first hypothesis that explains every live slot of the suspect, or what can be said without one.

    Args:
        suspect: what is held and needed.
        without: names of hypotheses that are known not to hold.
    """
    for hypothesis in HYPOTHESES:
        if suspect.matrix not in hypothesis.matrices or hypothesis.name in without:
            continue
        for text, row, col in hypothesis.guesses(suspect):
            if suspect.predicts(row, col):
                return _with_others(suspect, Diagnosis(hypothesis.name, text, hypothesis.hint), without)
    return unexplained(suspect)


def _with_others(suspect: Suspect, found: Diagnosis, without: Collection[str]) -> Diagnosis:
    """A diagnosis with the causes that explain as much and are mended elsewhere, where it is one of these."""
    if found.name not in _EITHER:
        return found
    others = [h for h in HYPOTHESES if h.name in _EITHER and h.name != found.name and h.name not in without]
    fitting = [
        next((text for text, row, col in h.guesses(suspect) if suspect.predicts(row, col)), "")
        for h in others
        if suspect.matrix in h.matrices
    ]
    return replace(found, what=either([found.what, *filter(None, fitting)]))


def unexplained(suspect: Suspect) -> Diagnosis:
    """What can be said without a cause."""
    wrong = ((suspect.row != suspect.need_row) | (suspect.col != suspect.need_col)) & suspect.live
    if (suspect.row[wrong] == HOLE).all() and suspect.nothing == ZEROS:
        what = f"slots of {suspect.matrix} hold zeros where elements of the matrix belong"
        return Diagnosis(UNEXPLAINED, what, "which bound makes the load or the store of these lanes a zero?")
    if (suspect.row[wrong] == HOLE).all():
        what = f"slots of {suspect.matrix} hold no element of the matrix (undefined bits or unknown values)"
        return Diagnosis(UNEXPLAINED, what, "look for a load that does not cover these lanes")
    if suspect.matrix in "CD":
        what = f"slots of {suspect.matrix} hold other elements than the store takes them for"
        return Diagnosis(UNEXPLAINED, what, "compare row and column of the store with what the slots hold")
    return Diagnosis(
        UNEXPLAINED,
        f"slots of {suspect.matrix} hold other elements than the instruction needs",
        "compare row and column of each load with what the instruction needs: `layoutprobe layout` draws it",
    )


def _inside(suspect: Suspect) -> NDArray[np.bool_]:
    """Slots that need an element that exists."""
    inside = (suspect.need_row < suspect.shape[0]) & (suspect.need_col < suspect.shape[1])
    return np.asarray(inside & (suspect.need_row >= 0) & (suspect.need_col >= 0))


def wrong_slots(suspect: Suspect) -> NDArray[np.bool_]:
    """Slots that need an element and hold another one, or none."""
    differs = (suspect.row != suspect.need_row) | (suspect.col != suspect.need_col)
    return np.asarray(suspect.live & _inside(suspect) & differs)


def beyond_slots(suspect: Suspect) -> NDArray[np.bool_]:
    """Slots that hold an element, or anything but zero, where no element exists."""
    held = suspect.row != HOLE if suspect.nonzero is None else suspect.nonzero
    known = (suspect.need_row >= 0) & (suspect.need_col >= 0)
    return np.asarray(suspect.live & known & ~_inside(suspect) & held)


def diagnose_executions(suspect: Suspect, *, copies_differ: bool, in_lds: bool = True) -> Diagnosis:
    """The cause that explains all executions of a suspect.

    Args:
        suspect: what one matrix held and needed; axes [execution, lane, vgpr, field].
        copies_differ: lanes that should hold copies of each other do not.
        in_lds: operands may have been in LDS.
    """
    if suspect.matrix in "CD" and not wrong_slots(suspect).any() and beyond_slots(suspect).any():
        return _stored_beyond(suspect)
    if suspect.matrix in "AB" and not wrong_slots(suspect).any() and beyond_slots(suspect).any():
        return Diagnosis(
            BEYOND,
            f"slots of {suspect.matrix} beyond the edge of the matrix hold elements where zeros belong",
            "load zeros for what a ragged tile lacks, along k as well as along rows and columns",
        )
    addressed = None
    if (
        in_lds and suspect.matrix in "AB" and _lines_apart(suspect)
    ):  # a buffer that is late is so for all lines
        addressed = next(_in_lds_tiles(suspect), None)
    if addressed:
        return addressed
    if suspect.matrix in "AB" and (steps := _steps_apart(suspect)):
        return Diagnosis(
            OTHER_STEP,
            f"{suspect.matrix} holds elements of another K step than its partner: {steps}",
            "is a buffer of LDS or registers read before the new tile is in it, or the wrong one of two?",
        )
    if copies_differ:
        return _replication(suspect)
    if not (suspect.live & (suspect.row != HOLE)).any():
        return unexplained(suspect)  # what is nowhere seen follows every law
    found = diagnose(suspect, without=(COPY,) if in_lds else (COPY, *LDS_ADDRESSES))
    if in_lds and found.name == UNEXPLAINED and suspect.matrix in "AB":
        found = next(_in_lds_tiles(suspect), found)
    return found


def _replication(suspect: Suspect) -> Diagnosis:
    """What is wrong with copies that differ."""
    hypothesis = next(h for h in HYPOTHESES if h.name == COPY)
    for text, row, col in hypothesis.guesses(suspect):
        if suspect.predicts(row, col):
            return Diagnosis(COPY, text, hypothesis.hint)
    return Diagnosis(
        COPY, f"the half-waves hold different elements of {suspect.matrix}, and no copies", hypothesis.hint
    )


def _steps_apart(suspect: Suspect) -> str:
    """By how many k slots are off, where they hold the right lines, whole steps away; "" otherwise."""
    rows, cols = (suspect.row, suspect.need_row), (suspect.col, suspect.need_col)
    line, k, step = (rows, cols, suspect.tile[1]) if suspect.matrix == "A" else (cols, rows, suspect.tile[0])
    use = suspect.live & (suspect.row != HOLE)
    shift = (k[0] - k[1])[use]
    if (line[0] != line[1])[use].any() or (shift % step).any() or not shift.any():
        return ""
    off = shift[shift != 0]
    first, last = int(off.min()), int(off.max())
    return _late(first) if first == last else f"from {_late(first)} to {_late(last)}"


def _stored_beyond(suspect: Suspect) -> Diagnosis:
    """Slots of C for which there is no element are stored: to others, as rows follow each other in memory."""
    stored = beyond_slots(suspect)
    beyond = {
        name: sorted({int(x) for x in need[stored] if x >= extent})
        for name, need, extent in zip(
            ("row", "column"), (suspect.need_row, suspect.need_col), suspect.shape, strict=True
        )
    }
    axis = max(beyond, key=lambda name: len(beyond[name]))
    others = "row" if axis == "column" else "column"
    one = len(beyond[axis]) == 1 and not beyond[others]
    what = f"{axis} {beyond[axis][0]} of C, which does not exist, is stored to other elements"
    if not one:
        what = "slots beyond the edge of C are stored to other elements"
    return Diagnosis(BEYOND, what, f"is the bounds test of the {axis}s off by one?" if one else _TEST_BOUNDS)


def _lines_apart(suspect: Suspect) -> bool:
    """Whether slots of one execution are off by different numbers of k."""
    axis = (suspect.col, suspect.need_col) if suspect.matrix == "A" else (suspect.row, suspect.need_row)
    use = suspect.live & (suspect.row != HOLE)
    first = use.reshape(len(use), -1).argmax(axis=1)
    shift = (axis[0] - axis[1]).reshape(len(use), -1)
    return bool((use.reshape(len(use), -1) & (shift != shift[np.arange(len(use)), first][:, None])).any())


def _late(steps: int) -> str:
    return f"{abs(steps)} k too {'late' if steps > 0 else 'early'}"


def _in_lds_tiles(suspect: Suspect) -> Iterator[Diagnosis]:
    """Faults of LDS addressing, for tiles of usual sizes: their causes show in the tile's coordinates."""
    few = _select(suspect, _FEW)
    for tall in _LDS_TILES:
        for wide in _LDS_TILES:
            if next(_in_lds_tile(few, tall, wide), None) is not None:
                yield from _in_lds_tile(suspect, tall, wide)


def _select(suspect: Suspect, count: int) -> Suspect:
    """The first executions of a suspect."""
    arrays = (f for f in suspect.__struct_fields__ if isinstance(getattr(suspect, f), np.ndarray))
    return replace(suspect, **{name: getattr(suspect, name)[:count] for name in arrays})


def _in_lds_tile(suspect: Suspect, tall: int, wide: int) -> Iterator[Diagnosis]:
    rows, cols = suspect.need_row, suspect.need_col
    first = [
        np.where(suspect.live, x, np.iinfo(np.int64).max).min(axis=(1, 2, 3)) // size * size
        for x, size in ((rows, tall), (cols, wide))
    ]
    down, right = (x[:, None, None, None] for x in first)
    hole = suspect.row == HOLE
    local = replace(
        suspect,
        row=np.where(hole, HOLE, suspect.row - down),
        col=np.where(hole, HOLE, suspect.col - right),
        need_row=rows - down,
        need_col=cols - right,
        origin=suspect.origin - np.stack(first, axis=1),
        shape=(tall, wide),
    )
    live = local.live
    if ((local.need_row >= tall) | (local.need_col >= wide))[live].any():
        return
    if ((local.row >= tall) | (local.col >= wide))[live].any():
        return
    for hypothesis in HYPOTHESES:
        if hypothesis.name in LDS_ADDRESSES:
            for text, row, col in hypothesis.guesses(local):
                # A tile ends where its matrix does: what lies beyond is stored as zeros.
                there = (row + down < suspect.shape[0]) & (col + right < suspect.shape[1])
                if local.predicts(np.where(there, row, HOLE), np.where(there, col, HOLE)):
                    yield Diagnosis(hypothesis.name, text, hypothesis.hint)
