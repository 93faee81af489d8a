"""Which k the lanes of a wave hold, group by group, and which bytes of LDS they name for it.

Questions are kept apart, as different lines of code answer them: do the addresses name bytes enough, is what lies
there what is wanted, and is it handed on in order? A base or offset that is wrong makes addresses meet. A permutation
of rows that only the stores know, or only the loads, leaves every byte named once, and brings other rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.views import LDS, MEMORY, PACKED, RAW, RECEIVED, OperandViews, k_and_col
from layoutprobe.report.words import spans

Ints = NDArray[np.int64]


class LaneGroup(Struct, frozen=True):
    """Neighbouring lanes that hold the same k.

    Attributes:
        first, last: lanes.
        k: ascending, each once.
        cols: rows of A, columns of B that any of them holds, the same.
        twice: k that a lane of them holds more often than once for one col.
    """

    first: int
    last: int
    k: tuple[int, ...]
    cols: tuple[int, ...]
    twice: tuple[int, ...] = ()

    def __str__(self) -> str:
        """ "lanes 0-31: k 0-15, 32-47"."""
        text = f"lanes {spans(np.arange(self.first, self.last + 1))}: k {spans(np.asarray(self.k), 8)}"
        return text + (f"; k {spans(np.asarray(self.twice), 8)} more than once" if self.twice else "")


def lane_groups(layout: Layout, wave: int = 0, together: int = 1) -> tuple[LaneGroup, ...]:
    """The groups of a wave, in the order of its lanes; lanes that hold no element are in none.

    Args:
        layout: what the lanes hold.
        wave: which wave.
        together: so many lanes count as one: those that exchange what they fetch.
    """
    k, col = (axis[wave].reshape(layout.lanes // together, -1) for axis in k_and_col(layout))
    held = [np.unique(one[one >= 0]).tolist() for one in k]
    starts = [at for at in range(len(held)) if not at or held[at] != held[at - 1]]
    groups = []
    for first, past in zip(starts, [*starts[1:], len(held)], strict=True):
        if held[first]:
            cols = np.unique(col[first:past][col[first:past] >= 0])
            twice = sorted({each for at in range(first, past) for each in _twice(k[at], col[at])})
            lanes = first * together, past * together - 1
            groups.append(LaneGroup(*lanes, tuple(held[first]), tuple(cols.tolist()), tuple(twice)))
    return tuple(groups)


def in_groups(view: str, table: Layout, together: int, wave: int = 0) -> str:
    """ "lanes 0-31: k 0-15, 32-47; lanes 32-63: k 16-31, 48-63"; of `raw`, so many lanes count as one, as they
    exchange what they fetch."""
    return "; ".join(map(str, lane_groups(table, wave, together if view == RAW else 1))) or "no element"


def _twice(k: NDArray[np.int32], col: NDArray[np.int32]) -> Iterator[int]:
    elements = np.stack([k, col])[:, k >= 0]
    found, count = np.unique(elements, axis=1, return_counts=True)
    yield from found[0, count > 1].tolist()


def named(address: Ints, sizes: Ints) -> Ints:
    """Bytes of LDS that the lanes of a wave name, whatever lies there; as often as they do.

    Args:
        address: int64 [lane, load], first byte; -1 for none.
        sizes: int64 [load], bytes that a lane fetches.
    """
    parts = [address[address[:, load] >= 0, load, None] + np.arange(size) for load, size in enumerate(sizes)]
    return np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0, np.int64)


def in_words(byte: Ints) -> str:
    """ "2048 bytes, each named once"."""
    if not byte.size:
        return "no bytes"
    distinct, count = np.unique(byte, return_counts=True)
    if count.max() == 1:
        return f"{distinct.size} bytes, each named once"
    least, most = count.min(), count.max()
    often = f"{most}" if least == most else f"{least} to {most}"
    return f"{distinct.size} bytes, each named {often} times"


class Parting(Struct, frozen=True):
    """Where an operand's way first parts from what the instruction needs.

    Attributes:
        view: "raw", "received" or "packed".
        words: which part of the way is to be looked at.
    """

    view: str
    words: str


def parting(seen: OperandViews, needed: Layout, wave: int, bytes_named: int) -> Parting | None:
    """Where a wave's operand parts from what it needs; None where it holds it.

    Args:
        seen: the operand.
        needed: what each slot of `packed` needs.
        wave: which wave.
        bytes_named: so many bytes of LDS its lanes name.
    """
    if _same(seen.packed, needed, wave).all():
        return None
    lanes, slots = needed.lanes, needed.vgprs * needed.fields
    wanted = lanes * slots * needed.field_bits // 8
    if bytes_named < wanted:
        return Parting(
            RAW,
            f"the addresses: the lanes name {bytes_named} bytes of {seen.memory}, whatever lies there, and need "
            f"{wanted}; look at base, offset and row of the loads",
        )
    each, all_lanes = np.arange(lanes)[:, None], np.arange(lanes)[None]
    if _enough(seen.received, needed, wave, each):
        return Parting(
            PACKED, "the packing: every lane receives what it needs, and hands it on in another order"
        )
    if _enough(seen.raw, needed, wave, all_lanes) and not _enough(seen.received, seen.packed, wave, each):
        return Parting(
            PACKED,
            "the packing, or the rows that it expects: the wave receives what it needs, and lanes hand it on "
            "to lanes that need something else",
        )
    if _enough(seen.raw, needed, wave, seen.groups):
        return Parting(
            RECEIVED,
            f"the order of the addresses: every {seen.groups.shape[1]} lanes fetch what they need together, and each "
            "receives what another of them needs",
        )
    off = toggles(seen.packed, needed) or exchanged_bits(seen.packed, needed)
    who, must = _SIDES[seen.memory]
    return Parting(
        RAW,
        f"{who}: the lanes name bytes enough, and other elements lie there; {must}{f' ({off})' if off else ''}",
    )


_SIDES = {
    LDS: (
        "the stores or the loads",
        "row permutation and swizzle must be one function for both",
    ),
    MEMORY: ("the addresses", "look at row, column and base of the loads"),
}
"""Memory that loads read -> who is to blame for what lies there, and what is to be looked at."""


def _same(held: Layout, needed: Layout, wave: int) -> NDArray[np.bool_]:
    same = (held.row[wave] == needed.row[wave]) & (held.col[wave] == needed.col[wave])
    return np.asarray(same | needed.holes[wave])


def _enough(held: Layout, needed: Layout, wave: int, groups: Ints) -> bool:
    """Whether the lanes of every group hold together what they need."""
    return all(_elements(needed, wave, lanes) <= _elements(held, wave, lanes) for lanes in groups)


def _elements(layout: Layout, wave: int, lanes: Ints) -> set[tuple[int, int]]:
    """(k, line) of what some lanes hold."""
    k, col = (axis[wave, lanes].ravel() for axis in k_and_col(layout))
    held = (k >= 0) & (col >= 0)
    return set(zip(k[held].tolist(), col[held].tolist(), strict=True))


def toggles(held: Layout, needed: Layout) -> str:
    """By which power of two the lines of wrong slots are off, where it is one and k is right: "col ^ 32"; else ""."""
    (k, col), (need_k, need_col) = k_and_col(held), k_and_col(needed)
    wrong = (col != need_col) & (col >= 0) & (need_col >= 0)
    if not wrong.any() or (k != need_k)[wrong].any():
        return ""
    apart = np.unique((col ^ need_col)[wrong])
    if apart.size != 1 or apart[0] & (apart[0] - 1):
        return ""
    where = np.unique(k[wrong])
    return f"col ^ {apart[0]} at k {spans(where, 8)}"


def exchanged_bits(held: Layout, needed: Layout) -> str:
    """What a row permute that only one side knows does: "k with bits 3 and 4 exchanged", where that and nothing else
    is wrong; else ""."""
    (k, col), (need_k, need_col) = k_and_col(held), k_and_col(needed)
    both = (k >= 0) & (need_k >= 0)
    if not both.any() or (k == need_k)[both].all() or (col != need_col)[both].any():
        return ""
    got, want = k[both], need_k[both]
    for high in range(int(want.max()).bit_length()):
        for low in range(high):
            differ = (want >> high ^ want >> low) & 1
            if (got == want ^ (differ << high | differ << low)).all():
                return f"k with bits {low} and {high} exchanged"
    return ""
