"""Law: where an instruction wants an operand in several groups of lanes, the copies are equal.

AMD's documents ask for A and B in both half-waves on gfx11 (RDNA3 ISA guide, 7.9). A copy that no
output of the emulator reads may still be read by a card: what silicon does where copies differ is
unmeasured. So a differing copy is a finding even though the emulated result is right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.report import Finding

NAME = "replication"


def differing_copies(loaded: Layout, period: int, live: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Slots whose element differs from that of the lane that should hold the same.

    Args:
        loaded: what the operand registers hold.
        period: lanes l and l + period are documented to hold the same elements; 0 for none.
        live: slots that some output was seen to read; the other copy is the one to blame.

    Returns:
        bool, axes of `loaded.row`.
    """
    blamed = np.zeros(loaded.row.shape, np.bool_)
    if period == 0:
        return blamed
    for shift in range(period, loaded.lanes, period):
        other = (np.arange(loaded.lanes) + shift) % loaded.lanes
        differs = (loaded.row != loaded.row[:, other]) | (loaded.col != loaded.col[:, other])
        blamed |= differs & ~live
    return blamed


def replication_finding(loaded: Layout, period: int, blamed: NDArray[np.bool_]) -> Finding | None:
    """One finding for all copies that differ, with the first of them."""
    if not blamed.any():
        return None
    wave, lane, vgpr, field = (int(x) for x in np.argwhere(blamed)[0])
    partner = (lane + period) % loaded.lanes
    where: dict[str, object] = {"matrix": loaded.matrix, "wave": wave, "lane": lane, "vgpr": vgpr}
    if loaded.fields == 2:
        where["half"] = ("low", "high")[field]
    return Finding(
        NAME,
        f"the copies of {loaded.matrix} in lanes {lane} and {partner} differ: "
        "the instruction wants it in both half-waves",
        where,
        expected=_element(loaded, wave, partner, vgpr, field) + f", as in lane {partner}",
        observed=_element(loaded, wave, lane, vgpr, field),
        hint=f"load with lane % {period}. The emulator's outputs do not read this copy; "
        "what a card does where the copies differ is unmeasured",
        count=int(blamed.sum()),
    )


def _element(loaded: Layout, wave: int, lane: int, vgpr: int, field: int) -> str:
    row, col = int(loaded.row[wave, lane, vgpr, field]), int(loaded.col[wave, lane, vgpr, field])
    return f"no element of {loaded.matrix}" if row == HOLE else f"{loaded.matrix}[{row}][{col}]"
