"""Law: where an instruction wants an operand in several groups of lanes, the copies are equal.

AMD's documents ask for A and B in both half-waves on gfx11 (RDNA3 ISA guide, 7.9). A copy that no
output of the emulator reads may still be read by a card: what silicon does where copies differ is
unmeasured. So a differing copy is a finding even though the emulated result is right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.report.finding import Finding

NAME = "replication"


def documented_copies(needed: Layout, period: int) -> Layout:
    """What every slot must hold: the elements that execution showed, and their documented copies.

    Args:
        needed: as execution showed it; HOLE in slots that no output was seen to read.
        period: lanes l and l + period are documented to hold the same elements; 0 for none.
    """
    row, col = needed.row.copy(), needed.col.copy()
    for shift in range(period, needed.lanes, period) if period else ():
        other = (np.arange(needed.lanes) + shift) % needed.lanes
        unknown = row == HOLE
        row = np.where(unknown, needed.row[:, other], row)
        col = np.where(unknown, needed.col[:, other], col)
    return Layout(needed.matrix, needed.shape, row, col, needed.field_bits)


def replication_finding(
    loaded: Layout, needed: Layout, period: int, blamed: NDArray[np.bool_]
) -> Finding | None:
    """One finding for all copies that differ from the copy that is read, with the first of them.

    Args:
        loaded: what the operand registers hold.
        needed: from `documented_copies`.
        period: as there.
        blamed: slots that no output reads and that differ from what is needed.
    """
    if not blamed.any():
        return None
    slot = tuple(int(x) for x in np.argwhere(blamed)[0])
    lane = slot[1]
    partner = (lane + period) % loaded.lanes
    return Finding(
        NAME,
        f"the copies of {loaded.matrix} in lanes {lane} and {partner} differ: "
        "the instruction wants it in both half-waves",
        {"matrix": loaded.matrix, **loaded.place(slot)},
        expected=f"{needed.element(slot)}, as in lane {partner}",
        observed=loaded.element(slot),
        hint=f"load with lane % {period}. The emulator's outputs do not read this copy; "
        "what a card does where the copies differ is unmeasured",
        count=int(blamed.sum()),
    )
