"""What can be said where the patterns leave open which element a slot holds.

Such an operand cannot be held against the instruction slot by slot. But a code that the needed
element does not have is wrong whatever element it stands for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import Layout
from layoutprobe.report.finding import Finding
from layoutprobe.solver.movement import Movement

Mask = NDArray[np.bool_]


def contradicted(moved: Movement, expected: Layout, k_axis: int | None = None) -> Mask:
    """Slots whose codes rule out the expected element, even where they leave several open.

    Args:
        moved: what was observed.
        expected: the element of every slot; HOLE where anything goes.
        k_axis: 0 or 1 where that coordinate of `expected` is a convention only: then every element
            of the same line is as good.
    """
    asked = ~expected.holes
    at = tuple(np.where(asked, axis, 0) for axis in (expected.row, expected.col))
    if k_axis is None:
        return np.asarray(asked & (moved.key != moved.element_key[at]))
    lines = moved.element_key if k_axis == 1 else moved.element_key.T
    possible = np.zeros((int(lines.max()) + 1, len(lines)), np.bool_)
    possible[lines, np.arange(len(lines))[:, None]] = True
    return np.asarray(asked & ((moved.key < 0) | ~possible[moved.key, at[1 - k_axis]]))


def contradiction(moved: Movement, needed: Layout, live: Mask, mismatch: Mask) -> Finding:
    """The finding about contradicted slots, with the first of them that some output reads."""
    from layoutprobe.solver.cause_rules import OPERAND_RULES  # what is right needs no rules
    from layoutprobe.solver.diagnose import UNEXPLAINED

    slot = tuple(np.argwhere(live)[0])
    matrix = needed.matrix
    return Finding(
        OPERAND_RULES[UNEXPLAINED],
        f"slots of {matrix} hold other elements than the instruction needs",
        needed.place(slot),
        expected=needed.element(slot),
        observed=moved.layout.element(slot),
        hint="a pattern that tells all elements apart, such as rowcol, will name the cause",
        count=int(mismatch.sum()),
    )
