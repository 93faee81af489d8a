"""Law: where an instruction wants an operand in several groups of lanes, the copies are equal.

AMD's documents ask for A and B in both half-waves on gfx11 (RDNA3 ISA guide, 7.9). A copy that no
output of the emulator reads may still be read by a card: what silicon does where copies differ is
unmeasured. So a differing copy is a finding even though the emulated result is right.

Where outputs read both copies, each is judged by the law of the product.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.report.finding import Finding
from layoutprobe.solver.rules import COPIES_DIFFER

Mask = NDArray[np.bool_]
_AT_ONCE = 4096
"""Rows that are compared at once, so that what is copied of them stays small."""


def partners(lanes: int, period: int) -> Iterator[NDArray[np.intp]]:
    """The lanes that hold the copies of each lane's elements, one other copy after the other."""
    for shift in range(period, lanes, period) if period else ():
        yield (np.arange(lanes) + shift) % lanes


def partner_of(lane: int, live: Mask, period: int) -> int:
    """The lane with the copy of a lane's element that outputs read; `live` says which do."""
    return next(int(other[lane]) for other in partners(live.size, period) if live[other[lane]])


def differing(held: NDArray[np.integer], live: Mask, period: int, reached: Mask | None = None) -> Mask:
    """Slots that no output reads and that differ from the copy that some output reads.

    Args:
        held: [n, lane, vgpr, field]; equal where two slots hold the same element.
        live: bool [lane, vgpr, field], some output reads the slot.
        period: lanes l and l + period are documented to hold the same elements; 0 for none.
        reached: bool [n, lane], lanes whose elements enter a result that is stored; None: all.
    """
    differs = np.zeros(held.shape, np.bool_)
    slots, each = np.arange(live.size).reshape(live.shape), held.reshape(len(held), -1)
    for other in partners(held.shape[1], period):
        asked = ~live & live[other]
        mine, theirs = slots[asked], slots[other][asked]
        for some in (slice(first, first + _AT_ONCE) for first in range(0, len(each), _AT_ONCE)):
            apart = each[some].take(mine, axis=1) != each[some].take(theirs, axis=1)
            if apart.any():
                apart &= True if reached is None else reached[some, other[np.nonzero(asked)[0]]]
                differs.reshape(each.shape)[some, mine] |= apart
    return differs


def documented_copies(needed: Layout, period: int) -> Layout:
    """What every slot must hold: the elements that execution showed, and their documented copies.

    Args:
        needed: as execution showed it; HOLE in slots that no output was seen to read.
        period: as in `differing`.
    """
    row, col = needed.row.copy(), needed.col.copy()
    for other in partners(needed.lanes, period):
        unknown = row == HOLE
        row = np.where(unknown, needed.row[:, other], row)
        col = np.where(unknown, needed.col[:, other], col)
    return Layout(needed.matrix, needed.shape, row, col, needed.field_bits)


def copies_finding(
    loaded: Layout, held: NDArray[np.integer], needed: Layout, live: Mask, period: int
) -> Finding | None:
    """One finding for all copies that differ from the copy that is read, with the first of them.

    Args:
        loaded: what the operand registers hold.
        held: axes of the layout; equal where two slots hold the same element.
        needed: from `documented_copies`.
        live, period: as in `differing`.
    """
    differs = differing(held, live, period)
    if not differs.any():
        return None
    slot = tuple(int(x) for x in np.argwhere(differs)[0])
    _, lane, vgpr, field = slot
    other = partner_of(lane, live[:, vgpr, field], period)
    what, hint = in_words(loaded.matrix, lane, other, period)
    return Finding(
        COPIES_DIFFER,
        what,
        loaded.place(slot),
        expected=f"{needed.element(slot)}, as in lane {other}",
        observed=loaded.element(slot),
        hint=hint,
        count=int(differs.sum()),
    )


def in_words(matrix: str, lane: int, other: int, period: int) -> tuple[str, str]:
    """What is wrong where two copies differ, and the next step."""
    what = (
        f"the copies of {matrix} in lanes {min(lane, other)} and {max(lane, other)} differ: "
        "the instruction wants it in both half-waves"
    )
    hint = (
        f"load with lane % {period}, in all lanes. In the emulator an output reads the copy of its own "
        "half-wave; which one a card reads is unmeasured"
    )
    return what, hint
