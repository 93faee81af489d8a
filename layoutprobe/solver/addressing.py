"""Faults of addresses in global memory: a wrong leading dimension, and the thread's number for the lane's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE
from layoutprobe.solver.suspect import Suspect

Ints = NDArray[np.int64]
Guess = tuple[str, Ints, Ints]


def leading_dimension(suspect: Suspect) -> Iterator[Guess]:
    """Lines of a matrix are taken another distance apart than they lie in memory.

    The distance is read off two slots, and then asked of all: counted from the matrix, or from the tile.
    """
    for by_columns in (False, True):
        shape = suspect.shape[::-1] if by_columns else suspect.shape
        held, need = (suspect.row, suspect.col), (suspect.need_row, suspect.need_col)
        (line, at), (need_line, need_at) = (held[::-1], need[::-1]) if by_columns else (held, need)
        start = suspect.origin[:, 1 if by_columns else 0, None, None, None]
        known = suspect.live & (line != HOLE)
        strides = suspect.strides[::-1] if by_columns else suspect.strides
        lead = strides[0] if strides[1] == 1 else shape[1]  # padding between lines counts
        flat = line * lead + at
        for first, where in ((0 * start, ""), (start, " within the tile")):
            inside = need_line - first
            moved = known & (inside > 0)
            if not moved.any():
                continue
            slot = tuple(int(i) for i in np.argwhere(moved)[0])
            base = int(np.broadcast_to(first, flat.shape)[slot]) * lead
            apart, rest = divmod(int(flat[slot]) - base - int(need_at[slot]), int(inside[slot]))
            if rest or apart == lead or apart <= 0:
                continue
            found = np.divmod(first * lead + inside * apart + need_at, lead)
            names = ("columns", "rows") if by_columns else ("rows", "columns")
            text = (
                f"{names[0]} of {suspect.matrix} are taken {_named(suspect, apart)} elements apart, and lie "
            )
            text += f"{_named(suspect, lead)} apart: the leading dimension is wrong{where}"
            yield text, *(found[::-1] if by_columns else found)


def _named(suspect: Suspect, number: int) -> str:
    names = [name for name, extent in suspect.extents if extent == number]
    return f"{number} ({' or '.join(names)})" if names else str(number)


def thread_for_lane(suspect: Suspect) -> Iterator[Guess]:
    """Every wave is off by its number times the same distance: a formula in terms of the lane got the number
    of the thread in its workgroup."""
    wave = suspect.wave[:, None, None, None] if suspect.wave.size else np.zeros((1, 1, 1, 1), np.int64)
    known = suspect.live & (suspect.row != HOLE) & (wave > 0)
    if not known.any() or (wave == 0).any():
        return
    lanes = suspect.row.shape[1]
    upper = np.arange(lanes)[None, :, None, None] // (lanes // 2)
    slot = tuple(int(i) for i in np.argwhere(known)[0])
    number = int(wave[slot[0], 0, 0, 0])
    text = "every wave is off by its number: threadIdx.x stands where the lane (threadIdx.x % "
    text += f"{lanes}) belongs"
    for axis, (held, need) in enumerate(((suspect.row, suspect.need_row), (suspect.col, suspect.need_col))):
        apart, rest = divmod(int(held[slot] - need[slot]), number)
        rows, cols = suspect.need_row + 0 * wave, suspect.need_col + 0 * wave
        if rest == 0 and apart:
            shift = apart * wave
            yield text, *((rows + shift, cols) if axis == 0 else (rows, cols + shift))
        shift = lanes * wave + lanes // 2 * upper
        yield text, *((rows + shift, cols) if axis == 0 else (rows, cols + shift))
