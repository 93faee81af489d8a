"""Movement: a kernel moved coded data; which element arrived in which slot?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.layout import HOLE, Layout, element_name
from layoutprobe.layouts.swizzle import per_chunk
from layoutprobe.patterns.pattern import first_collision
from layoutprobe.solver.observe import (
    Match,
    Observation,
    Raw,
    check_width,
    match_elements,
    split_fields,
)


class Movement(Struct, frozen=True, eq=False):
    """Where the elements were found; arrays have the axes of the layout.

    Attributes:
        layout: the element of every slot; UNKNOWN for a coordinate that the patterns leave open, so
            that a row is seen where only the column is ambiguous; HOLE where no element fits.
        candidates: int32, number of elements that fit (0: none).
        key: int64; equal keys are equal codes; -1 where no element fits.
        element_key: int64 [rows, cols], the key that every element would leave in a slot.
        undefined: bool, slots with bits that never had a defined value; holes in the layout.
    """

    layout: Layout
    candidates: NDArray[np.int32]
    key: NDArray[np.int64]
    element_key: NDArray[np.int64]
    undefined: NDArray[np.bool_]

    __repr__ = brief

    @property
    def ambiguous(self) -> NDArray[np.bool_]:
        """Slots that several elements fit."""
        return np.asarray(self.candidates > 1)

    @property
    def twins(self) -> str:
        """Two elements that the patterns do not tell apart: "A[0][0] and A[0][1]"; "" where all differ."""
        pair = first_collision(self.element_key.ravel(), self.element_key.shape[1], ("row", "col"))
        return " and ".join(element_name(self.layout.matrix, *element) for element in pair or ())


class Cells(Struct, frozen=True, eq=False):
    """Which element each cell of a memory holds, in address order.

    Attributes:
        row, col: int32 [cell]; HOLE where no element fits, UNKNOWN where several do.
        candidates: int32 [cell].
        undefined: bool [cell].
    """

    row: NDArray[np.int32]
    col: NDArray[np.int32]
    candidates: NDArray[np.int32]
    undefined: NDArray[np.bool_]

    __repr__ = brief


def solve_movement(
    observations: Sequence[Observation], matrix: str, shape: tuple[int, int], field_bits: int
) -> Movement:
    """Layout of an operand from dumps of its registers, one per pattern.

    Args:
        observations: register dumps of the same kernel, fed with differently coded matrices.
        matrix: "A", "B", "C" or "D".
        shape: rows and columns of the coded matrix.
        field_bits: width of an element.

    Raises:
        UsageError: the observations do not belong together or do not fit the elements.
    """
    match, undefined = _matched(observations, shape, field_bits, split_fields)
    return Movement(
        Layout(matrix, shape, *_held(match, undefined), field_bits),
        np.where(undefined, np.int32(0), match.candidates),
        np.where(undefined, -1, match.key),
        match.element_key,
        undefined,
    )


def solve_cells(observations: Sequence[Observation], shape: tuple[int, int], cell_bits: int) -> Cells:
    """Elements in the cells of a dumped memory (LDS), one observation per pattern.

    Args:
        observations: raw: unsigned, one axis: cells, or dwords of several cells each (low first), of 6 and of 64
            bits all dwords of every 16 bytes; undefined the same.
        shape: rows and columns of the coded matrix.
        cell_bits: width of a cell, that of an element.

    Raises:
        UsageError: as solve_movement.
    """
    match, undefined = _matched(observations, shape, cell_bits, _cells_of)
    row, col = _held(match, undefined)
    return Cells(row, col, np.where(undefined, np.int32(0), match.candidates), undefined)


def _matched(
    observations: Sequence[Observation], shape: tuple[int, int], bits: int, split: Callable[[Raw, int], Raw]
) -> tuple[Match, NDArray[np.bool_]]:
    """What the observations say of every slot, and which slots have bits that were never defined."""
    check_width(observations, bits)
    match = match_elements([(o.pattern, o.carrier, split(o.raw, bits)) for o in observations], shape)
    undefined = np.zeros(match.row.shape, np.bool_)
    for observation in observations:
        if observation.undefined is not None:
            undefined |= split(observation.undefined, bits) != 0
    return match, undefined


def _cells_of(raw: Raw, cell_bits: int) -> Raw:
    """Cells of 16 bytes each time: in every word as many as fit, or counted on through words of 32 bits."""
    if cell_bits in (6, 64) and raw.dtype.itemsize == 4:
        words = raw.reshape(-1, 4)[None, :, : per_chunk(cell_bits) * cell_bits // 32]
        return split_fields(words.transpose(0, 2, 1), cell_bits).ravel()
    shifts = np.arange(0, raw.dtype.itemsize * 8, cell_bits, dtype=raw.dtype)
    mask = raw.dtype.type((1 << cell_bits) - 1)
    return ((raw[:, None] >> shifts) & mask).ravel()


def _held(match: Match, undefined: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    hole = np.int32(HOLE)
    return np.where(undefined, hole, match.row), np.where(undefined, hole, match.col)


__all__ = ["Cells", "Movement", "Observation", "Raw", "solve_cells", "solve_movement"]
