"""Whether registers hold what a declared layout says, whichever tile it is and however its registers are numbered."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.layouts.declared import Distribution, Ints, Shared, spanned
from layoutprobe.layouts.layout import HOLE

_APART = 1 << 31
"""Makes one number of a row and a column."""
_MOST_PATTERNS = 256


class Misfit(Struct, frozen=True):
    """Where registers and layout part.

    Attributes:
        at: execution, wave, lane and slot.
        wanted: the element that the layout has there, if the first slot that is known holds the right one; None
            where the slots of one lane do not belong together.
    """

    at: tuple[int, int, int, int]
    wanted: tuple[int, int] | None


def misfit(row: Ints, col: Ints, layout: Distribution) -> Misfit | None:
    """Where what registers held is not a part of a tile in this layout; None: it is.

    From lane to lane and from wave to wave elements must lie as declared; slots must be as far from each other as
    registers of the layout are. Which register a slot is, and where in its matrix the tile begins, may be anything,
    though the same in all waves.

    Args:
        row, col: int64 [execution, wave, lane, slot], element of the matrix; HOLE where that is not known. Of one
            execution are the waves of one workgroup that execute the same instruction equally often.
        layout: of as many waves and lanes.
    """
    executions, _, lanes, slots = row.shape
    along = (
        np.add.outer(wave, lane).reshape(1, -1, 1)
        for wave, lane in zip(spanned(layout.waves), spanned(layout.lanes), strict=True)
    )
    known = (row != HOLE).reshape(executions, -1, slots)
    rest = np.stack([x.reshape(known.shape) - step for x, step in zip((row, col), along, strict=True)])
    first = np.take_along_axis(rest, known.argmax(axis=1)[None, :, None, :], axis=2)
    wrong = known & (rest != first).any(axis=0)
    if wrong.any():
        execution, place, slot = (int(x) for x in np.argwhere(wrong)[0])
        wave, lane = divmod(place, lanes)
        off = first[:, execution, 0, slot] - rest[:, execution, place, slot]
        at = (execution, wave, lane, slot)
        return Misfit(at, (int(row[at] + off[0]), int(col[at] + off[1])))
    return _registers(first[:, :, 0], known.any(axis=1), known, layout, lanes)


def _registers(
    first: Ints, seen: NDArray[np.bool_], known: NDArray[np.bool_], layout: Distribution, lanes: int
) -> Misfit | None:
    """The first execution whose slots are not registers of one tile.

    Args:
        first: int64 [axis, execution, slot], what lane 0 of wave 0 has in each slot.
        seen: bool [execution, slot], slots of which that is known.
        known: bool [execution, place, slot], what that rests on.
        layout, lanes: what is declared.
    """
    number = first[0] * _APART + first[1]
    begin = np.take_along_axis(number, seen.argmax(axis=1)[:, None], axis=1)
    apart = np.where(seen, number - begin, 0)  # a slot that is not known goes with the first
    row, col = spanned(layout.registers)
    registers = row * _APART + col
    patterns, at = np.unique(apart, axis=0, return_index=True)
    for pattern, execution in list(zip(patterns, at.tolist(), strict=True))[:_MOST_PATTERNS]:
        fits = np.isin(registers[:, None] + np.unique(pattern)[None, :], registers).all(axis=1)
        if seen[execution].any() and not fits.any():
            slot = int(seen[execution].argmax())
            wave, lane = divmod(int(known[execution, :, slot].argmax()), lanes)
            return Misfit((execution, wave, lane, slot), None)
    return None


def misplaced(row: Ints, col: Ints, shape: tuple[int, int], layout: Shared) -> int | None:
    """The first cell of a tile in LDS that the layout puts elsewhere; None: there is none.

    Args:
        row, col: int64 [cell], element of the tile; HOLE where a cell holds none.
        shape: of the tile.
        layout: what is declared; where in LDS the tile begins may be anything.
    """
    held = np.flatnonzero(row != HOLE)
    places = layout.places(shape)[row[held], col[held]]
    off = (places < 0) | (held - places != held[0] - places[0])
    return int(held[off.argmax()]) if off.any() else None
