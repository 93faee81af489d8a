"""Root causes: named ways in which a layout goes wrong, each built from the right layout.

A hypothesis is accepted only if it predicts what was observed in every live slot of every wave
that shows an error; otherwise the next one is tried, and the last resort says what was seen and
no more. To add a failure class, write its function and list it in HYPOTHESES.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.layout import HOLE
from layoutprobe.layouts.swizzle import GROUP, SCHEMES

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Case:
    """An operand whose slots do not hold what they should.

    Coordinates are global; HOLE where a slot holds, or needs, no element. Only waves that show an
    error are in the case.

    Attributes:
        matrix: "A", "B", "C" or "D".
        row, col: observed; axes [wave, lane, vgpr, field].
        need_row, need_col: needed, same axes.
        live: bool, same axes: slots that count.
        origin: int64 [wave, 2]: first row and column of each wave's tile.
        tile: rows and columns of a wave's tile.
        shape: rows and columns of the whole matrix.
    """

    matrix: str
    row: Ints
    col: Ints
    need_row: Ints
    need_col: Ints
    live: NDArray[np.bool_]
    origin: Ints
    tile: tuple[int, int]
    shape: tuple[int, int]

    __repr__ = brief

    @property
    def local(self) -> tuple[Ints, Ints]:
        """Needed coordinates within the wave's tile (meaningless where not live)."""
        row0, col0 = (self.origin[:, axis, None, None, None] for axis in (0, 1))
        return self.need_row - row0, self.need_col - col0

    def globally(self, row: Ints, col: Ints) -> tuple[Ints, Ints]:
        """Global coordinates of coordinates within the wave's tile."""
        row0, col0 = (self.origin[:, axis, None, None, None] for axis in (0, 1))
        return row + row0, col + col0

    def predicts(self, row: Ints, col: Ints) -> bool:
        """Whether a layout is the observed one in every live slot.

        Elements beyond the matrix are seen as holes. So are accumulators whose element another
        accumulator is predicted to overwrite.
        """
        row, col = (np.broadcast_to(axis, self.row.shape) for axis in (row, col))
        inside = (row >= 0) & (row < self.shape[0]) & (col >= 0) & (col < self.shape[1])
        row, col = np.where(inside, row, HOLE), np.where(inside, col, HOLE)
        wrong = ((row != self.row) | (col != self.col)) & self.live
        if wrong.any() and self.matrix in "CD":
            element = np.where(inside, row * self.shape[1] + col, self.shape[0] * self.shape[1])
            times = np.bincount(element[self.live], minlength=self.shape[0] * self.shape[1] + 1)
            wrong &= ~((self.row == HOLE) & inside & (times[element] > 1))
        return not bool(wrong.any())


Guess = tuple[str, Ints, Ints]
"""A sentence, and the row and column that every slot would then hold."""


@dataclass(frozen=True)
class Hypothesis:
    """A failure class.

    Attributes:
        name: stable short name.
        matrices: operands that it can hit.
        guesses: from a case to the layouts that this failure would leave, each with its sentence.
        hint: the next step for the kernel's author.
    """

    name: str
    matrices: str
    guesses: Callable[[Case], Iterator[Guess]]
    hint: str


def _transposed(case: Case) -> Iterator[Guess]:
    if case.tile[0] != case.tile[1]:
        return
    row, col = case.local
    text = {
        "A": "A is loaded transposed: a lane holds a column of A where the instruction reads a row",
        "B": "B is loaded transposed: a lane holds a row of B where the instruction reads a column",
    }.get(case.matrix, f"{case.matrix} is stored transposed: rows and columns are exchanged")
    yield text, *case.globally(col, row)
    if case.matrix in "CD":
        yield text, case.need_col, case.need_row


def _halves_swapped(case: Case) -> Iterator[Guess]:
    if case.row.shape[3] > 1:
        yield (
            "the fields within every VGPR are in reverse order",
            case.need_row[..., ::-1],
            case.need_col[..., ::-1],
        )


def _half_wave_copy(case: Case) -> Iterator[Guess]:
    lanes = case.row.shape[1]
    wrong = ((case.row != case.need_row) | (case.col != case.need_col)) & case.live
    for name, first in (("upper", lanes // 2), ("lower", 0)):
        half = slice(first, first + lanes // 2)
        live = case.live[:, half].any(axis=(2, 3))
        if not live.any() or not (wrong[:, half].any(axis=(2, 3)) == live).all():
            continue
        nothing = (case.row[:, half][wrong[:, half]] == HOLE).all()
        text = (
            f"the {name} half-wave holds no copy of {case.matrix}: lanes {half.start}-{half.stop - 1} hold "
        )
        text += "no element (undefined or unknown)" if nothing else "other elements"
        row, col = case.need_row.copy(), case.need_col.copy()
        row[:, half], col[:, half] = case.row[:, half], case.col[:, half]
        yield text, row, col


def _lds_one_sided(case: Case) -> Iterator[Guess]:
    """The tile was written to LDS with one scheme and read with another."""
    for transposed in (False, True):
        shape = case.shape[::-1] if transposed else case.shape
        fitting = [scheme for scheme in SCHEMES.values() if not scheme.refusal(shape)]
        at = (case.need_col, case.need_row) if transposed else (case.need_row, case.need_col)
        at = tuple(np.where(case.live, axis, 0) for axis in at)  # type: ignore[assignment]
        for written in fitting:
            for read in fitting:
                if written is read:
                    continue
                found = written.inverse(read.index(*at, shape), shape)
                row, col = found[::-1] if transposed else found
                reverse = read.inverse(written.index(*at, shape), shape)
                same = all(np.array_equal(x, y) for x, y in zip(found, reverse, strict=True))
                text = f"LDS is written with the scheme `{written.name}` and read with `{read.name}`"
                yield text + (" (or the reverse)" if same else ""), row, col


def _wrong_stride(case: Case) -> Iterator[Guess]:
    """Rows of LDS are read at another distance than they were written."""
    for transposed in (False, True):
        lines, length = case.shape[::-1] if transposed else case.shape
        at = (case.need_col, case.need_row) if transposed else (case.need_row, case.need_col)
        held = (case.col, case.row) if transposed else (case.row, case.col)
        for written in (length, length + GROUP):
            for read in (written + step for step in (-GROUP, -2, -1, 1, 2, GROUP)):
                line, place = np.divmod(at[0] * read + at[1], written)
                padding, beyond = place >= length, (line < 0) | (line >= lines)
                # Whatever lies behind the tile is not predicted, but most of it must be.
                if (beyond & case.live).sum() * 2 > case.live.sum():
                    continue
                line, place = (np.where(padding, HOLE, axis) for axis in (line, place))
                line, place = (
                    np.where(beyond, seen, axis) for seen, axis in zip(held, (line, place), strict=True)
                )
                text = f"LDS rows are written {written} elements apart and read {read} apart"
                yield text, *((place, line) if transposed else (line, place))


def _k_exchanged(case: Case) -> Iterator[Guess]:
    row, col = case.local
    axis = 1 if case.matrix == "A" else 0
    step = case.tile[axis] // 2
    while step >= 2 and case.tile[axis] % (2 * step) == 0:
        k = (col if axis else row) ^ step
        text = f"neighbouring groups of {step} k are exchanged"
        yield text, *case.globally(*((row, k) if axis else (k, col)))
        step //= 2


def _other_wave(case: Case) -> Iterator[Guess]:
    usable = case.live & (case.row != HOLE)
    first = usable.reshape(len(usable), -1).argmax(axis=1)
    down, right = (
        np.take_along_axis((held - needed).reshape(len(held), -1), first[:, None], axis=1)
        for held, needed in ((case.row, case.need_row), (case.col, case.need_col))
    )
    if not usable.any() or (down % case.tile[0]).any() or (right % case.tile[1]).any():
        return
    row, col = (
        needed + shift[:, :, None, None] for needed, shift in ((case.need_row, down), (case.need_col, right))
    )
    yield f"waves hold the tile of {case.matrix} that belongs to another wave", row, col


def _half_rows(case: Case) -> Iterator[Guess]:
    row, col = case.local
    half = case.tile[0] // 2
    if half and case.tile[0] % 2 == 0:
        apart = row // 2 + half * (row % 2)
        text = f"each half-wave stores {half} consecutive rows (row = vgpr + {half}*(lane / 16), as on RDNA4)"
        yield text + ", but its accumulators hold every other row", *case.globally(apart, col)
        joined = 2 * (row % half) + row // half
        text = "each half-wave stores every other row (row = 2*vgpr + lane / 16, as on RDNA3)"
        yield text + ", but its accumulators hold consecutive rows", *case.globally(joined, col)


def _no_half_wave(case: Case) -> Iterator[Guess]:
    _, lanes, vgprs, fields = case.row.shape
    lane, vgpr = np.arange(lanes)[None, :, None, None], np.arange(vgprs)[None, None, :, None]
    one = np.ones((1, 1, 1, fields), np.int64)
    row, col = case.globally(vgpr * one + 0 * lane, lane * one + 0 * vgpr)
    text = "the store takes VGPR n for row n and the lane for the column, whichever half-wave it is in"
    yield text, row, col
    # Columns beyond the matrix run on into the next row of a row-major C.
    yield text, *np.divmod(row * case.shape[1] + col, case.shape[1])
    row, col = case.globally(vgpr * one + 0 * lane, lane % case.tile[1] * one + 0 * vgpr)
    yield "both half-waves store to the same rows: VGPR n is taken for row n", row, col
    row, col = case.local
    text = "both half-waves store to the same rows: VGPR n is taken for row 2n"
    yield text, *case.globally(row // 2 * 2, col)


def _half_waves_exchanged(case: Case) -> Iterator[Guess]:
    """Every lane does what the one across the half-wave should."""
    lanes = case.row.shape[1]
    text = f"the half-waves are exchanged: lanes 0-{lanes // 2 - 1} store what lanes {lanes // 2}-{lanes - 1} should"
    yield text, np.roll(case.need_row, lanes // 2, axis=1), np.roll(case.need_col, lanes // 2, axis=1)


def _shifted(case: Case) -> Iterator[Guess]:
    usable = case.live & (case.row != HOLE)
    if not usable.any():
        return
    slot = tuple(np.argwhere(usable)[0])
    down, right = int(case.row[slot] - case.need_row[slot]), int(case.col[slot] - case.need_col[slot])
    if down or right:
        parts = [f"{abs(n)} {name}" for n, name in ((down, "rows"), (right, "columns")) if n]
        text = f"every element comes from {' and '.join(parts)} "
        text += "too far" if down >= 0 and right >= 0 else "too early" if down <= 0 and right <= 0 else "away"
        yield text, case.need_row + down, case.need_col + right


def _folded(case: Case) -> Iterator[Guess]:
    row, col = case.local
    step = max(case.tile) // 2
    while step >= 1:
        if step < case.tile[0]:
            yield f"rows fold by {step}: row r+{step} holds row r", *case.globally(row % step, col)
        if step < case.tile[1]:
            yield f"columns fold by {step}: column c+{step} holds column c", *case.globally(row, col % step)
        step //= 2


HYPOTHESES: tuple[Hypothesis, ...] = (
    Hypothesis("transposed", "ABCD", _transposed, "exchange the two indices of this access"),
    Hypothesis("halves-swapped", "AB", _halves_swapped, "the lower k goes into the low bits of a VGPR"),
    Hypothesis("lds-one-sided", "AB", _lds_one_sided, "use one index function for the store and the load"),
    Hypothesis("lds-stride", "AB", _wrong_stride, "use one row stride for the store and the load"),
    Hypothesis("k-exchanged", "AB", _k_exchanged, "check the order in which vectors along k are joined"),
    Hypothesis("half-wave-rows", "CD", _half_rows, "use the row formula of this instruction in the epilogue"),
    Hypothesis("half-wave-ignored", "CD", _no_half_wave, "add the half-wave's rows: see the needed form"),
    Hypothesis(
        "half-waves-exchanged",
        "CD",
        _half_waves_exchanged,
        "check which rows lane / 16 stands for in the store",
    ),
    Hypothesis("shifted", "ABCD", _shifted, "look for a wrong stride or tile offset"),
    Hypothesis("other-wave", "ABCD", _other_wave, "check how the wave's number becomes a tile offset"),
    Hypothesis("folded", "ABCD", _folded, "look for an index that is masked or divided too much"),
    Hypothesis(
        "half-wave-copy", "AB", _half_wave_copy, "index with lane % 16, so that both half-waves load it"
    ),
)
"""Failure classes, most telling first: the first exact one is named."""


UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Diagnosis:
    """A cause in words.

    Attributes:
        name: name of the hypothesis, or UNEXPLAINED.
        what: one sentence.
        hint: next step.
    """

    name: str
    what: str
    hint: str


def diagnose(case: Case, *, without: Collection[str] = ()) -> Diagnosis:
    """The first hypothesis that explains every live slot of the case, or what can be said without one.

    Args:
        case: what is held and needed.
        without: names of hypotheses that are known not to hold.
    """
    for hypothesis in HYPOTHESES:
        if case.matrix not in hypothesis.matrices or hypothesis.name in without:
            continue
        for text, row, col in hypothesis.guesses(case):
            if case.predicts(row, col):
                return Diagnosis(hypothesis.name, text, hypothesis.hint)
    return unexplained(case)


def unexplained(case: Case) -> Diagnosis:
    """What can be said without a cause."""
    wrong = ((case.row != case.need_row) | (case.col != case.need_col)) & case.live
    if (case.row[wrong] == HOLE).all():
        what = f"slots of {case.matrix} hold no element of the matrix (undefined bits or unknown values)"
        return Diagnosis(UNEXPLAINED, what, "look for a load that does not cover these lanes")
    if case.matrix in "CD":
        what = f"slots of {case.matrix} hold other elements than the store takes them for"
        return Diagnosis(UNEXPLAINED, what, "compare row and column of the store with what the slots hold")
    return Diagnosis(
        UNEXPLAINED,
        f"slots of {case.matrix} hold other elements than the instruction needs",
        "compare row and column of each load with what the instruction needs: `layoutprobe layout` draws it",
    )
