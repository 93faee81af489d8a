"""`packed[p] -> raw[r]`: where each slot of an operand finds its element among the slots that reads have filled.

Two or three patterns give each slot a signature: what it held in each run. An operand's slot needs a certain
element, and so a certain signature; slots that show it can serve. A lane reaches its own
registers by moving bytes, and those of the lanes 16, 32 and 48 away by swaps of half-rows and half-waves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, Layout, element_name
from layoutprobe.solver.movement import Movement

NOWHERE = -1
PARTNERS = (0, 32, 16, 48)
"""How far away the lane may be, in bits of its number, nearest first."""

Ints = NDArray[np.int64]


class LaneGroup(Struct, frozen=True):
    """Lanes that find their elements at the same places.

    Attributes:
        lanes: their numbers.
        partner: for each slot of the operand, which bits of the lane's number change; 0: the lane itself.
        source: for each slot of the operand, the slot that it comes from, counted from the lowest bits on.
    """

    lanes: tuple[int, ...]
    partner: tuple[int, ...]
    source: tuple[int, ...]


class Packing(Struct, frozen=True, eq=False):
    """Where the slots of an operand come from.

    Attributes:
        needed: the operand.
        field_bits: width of a slot.
        sources: slots that reads have filled, a lane.
        lane: int64 [lane, p], the lane of the slot that serves; NOWHERE where none does, or p needs nothing.
        source: int64 [lane, p], its number in that lane.
        ambiguous: bool [lane, p]: the patterns do not name the element alone, so that what serves may be another.
        missing: bool [lane, p]: no slot within reach shows the signature.
        twins: two elements that the patterns do not tell apart, in words; "" where all differ.
    """

    needed: Layout
    field_bits: int
    sources: int
    lane: Ints
    source: Ints
    ambiguous: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    twins: str

    __repr__ = brief

    @property
    def groups(self) -> tuple[LaneGroup, ...]:
        """Lanes by what they do, in the order of their first."""
        found: dict[bytes, list[int]] = {}
        lanes = np.arange(len(self.lane))[:, None]
        apart = np.where(self.lane == NOWHERE, 0, self.lane ^ lanes)
        for lane, (partner, source) in enumerate(zip(apart, self.source, strict=True)):
            found.setdefault(partner.tobytes() + source.tobytes(), []).append(lane)
        return tuple(
            LaneGroup(tuple(at), tuple(apart[at[0]].tolist()), tuple(self.source[at[0]].tolist()))
            for at in found.values()
        )

    @property
    def identity(self) -> bool:
        """What was received is the operand: nothing moves."""
        lanes, slots = self.lane.shape
        own = self.lane == np.arange(lanes)[:, None]
        at = self.source == np.arange(slots)
        return bool((own & at | (self.source == NOWHERE)).all())

    def unserved(self) -> Iterator[str]:
        """Slots that nothing serves, in words: "lane 3 needs B[5][3] at 7"."""
        row, col = (axis.reshape(self.lane.shape) for axis in (self.needed.row, self.needed.col))
        for lane, slot in np.argwhere(self.missing):
            element = element_name(self.needed.matrix, int(row[lane, slot]), int(col[lane, slot]))
            yield f"lane {lane} needs {element} at {slot}"


def solve_packing(received: Movement, needed: Layout) -> Packing:
    """Which slot that reads have filled serves which slot of the operand.

    Of several that serve, the one that serves most lanes is taken, the lane's own before others', and of these the
    one at the same place: so that few moves are needed.

    Args:
        received: what the patterns showed in the registers that reads have filled; one wave.
        needed: the operand, of one wave with as many lanes and the same width of slots.

    Raises:
        UsageError: the two do not go together.
    """
    given = received.layout
    if given.field_bits != needed.field_bits or given.lanes != needed.lanes or given.waves != 1:
        raise UsageError(
            "what was dumped is not of the operand's form",
            expected=f"{needed.lanes} lanes with slots of {needed.field_bits} bits, one wave",
            observed=f"{given.waves} waves of {given.lanes} lanes with slots of {given.field_bits} bits",
        )
    shape = (needed.lanes, -1)
    row, col = needed.row.reshape(shape), needed.col.reshape(shape)
    wanted = np.where(row == HOLE, NOWHERE, received.element_key[np.maximum(row, 0), np.maximum(col, 0)])
    held = received.key.reshape(shape)
    lane, source = (np.full(wanted.shape, NOWHERE, np.int64) for _ in range(2))
    for slot in range(wanted.shape[1]):
        _serve(slot, wanted[:, slot], held, lane, source)
    _, number, times = np.unique(received.element_key, return_inverse=True, return_counts=True)
    shared = (times[number].reshape(received.element_key.shape) > 1)[np.maximum(row, 0), np.maximum(col, 0)]
    needs = row != HOLE
    return Packing(
        needed, needed.field_bits, held.shape[1], lane, source,
        needs & shared, needs & (source == NOWHERE), received.twins,
    )  # fmt: skip


def _serve(slot: int, wanted: Ints, held: Ints, lane: Ints, source: Ints) -> None:
    """Find the sources of one slot of all lanes."""
    lanes = np.arange(len(wanted))
    reach = [partner for partner in PARTNERS if partner < len(wanted)]
    fits = np.stack([held[lanes ^ partner] == wanted[:, None] for partner in reach])  # [reach, lane, source]
    open_ = (wanted != NOWHERE) & fits.any(axis=(0, 2))
    while open_.any():
        served = (fits & open_[:, None]).sum(axis=1)  # [reach, source]
        near = np.flatnonzero(served.any(axis=1))[0]
        most = served[near].max()
        best = slot if slot < held.shape[1] and served[near, slot] == most else int(np.argmax(served[near]))
        now = open_ & fits[near, :, best]
        lane[now, slot], source[now, slot] = lanes[now] ^ reach[near], best
        open_ &= ~now
