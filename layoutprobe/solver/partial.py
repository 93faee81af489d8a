"""What can be said where the patterns leave open which element a slot holds.

A hole for want of a better pattern is no evidence against a kernel, so such an operand cannot be
held against the instruction slot by slot. But a code that names the wrong row is wrong whatever
its column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.report import Finding
from layoutprobe.solver.interaction import Interaction
from layoutprobe.solver.movement import Movement

Mask = NDArray[np.bool_]


def slot_of(mask: Mask) -> dict[str, object]:
    """The first slot of a mask, by name."""
    return dict(zip(("wave", "lane", "vgpr", "half"), np.argwhere(mask)[0].tolist(), strict=True))


def contradicted(moved: Movement, expected: Layout) -> Mask:
    """Slots whose codes rule out the expected element, even where they leave several open."""
    row_wrong = (moved.row >= 0) & (moved.row != expected.row)
    col_wrong = (moved.col >= 0) & (moved.col != expected.col)
    return np.asarray((row_wrong | col_wrong | (moved.candidates == 0)) & ~expected.holes)


def conventional(
    instruction: Interaction, matrix: str, shape: tuple[int, int], origins: NDArray[np.int64]
) -> Layout:
    """What every slot must hold if the kernel names k, rows and columns as the convention does.

    Args:
        instruction: what was observed of the instruction.
        matrix: "A" or "B".
        shape: rows and columns of the whole matrix.
        origins: first row and column of each wave's tile, [wave, 2].
    """
    anchor = instruction.needed[matrix]
    row0, col0 = (origins[:, axis, None, None, None] for axis in (0, 1))
    row, col = (
        np.where(anchor.holes, HOLE, axis + first).astype(np.int32)
        for axis, first in ((anchor.row, row0), (anchor.col, col0))
    )
    return Layout(matrix, shape, row, col, anchor.field_bits)


def contradiction(matrix: str, mismatch: Mask) -> tuple[Finding, ...]:
    """The finding about contradicted slots; none where there are none."""
    if not mismatch.any():
        return ()
    return (
        Finding(
            "operand-layout",
            f"slots of {matrix} hold elements of another row or column than the instruction needs",
            where={"matrix": matrix, **slot_of(mismatch)},
            hint="a pattern that tells all elements apart, such as rowcol, will name the cause",
            count=int(mismatch.sum()),
        ),
    )
