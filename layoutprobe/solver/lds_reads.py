"""Reads of LDS and how a tile lies there: from the one to the other.

A read gives every lane some bytes at an address of its own; lanes may then exchange elements. Which element goes
where is a table that was found by executing the read (`Delivery`). An operand says which element each slot needs. So
the store, which says where each element lies, gives every lane its address, and addresses give the store.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.layout import HOLE, Layout, element_name

NOWHERE = -1

Ints = NDArray[np.int64]


class Delivery(Struct, frozen=True, eq=False):
    """What one read hands to whom.

    Attributes:
        lane: int64 [lane, field]: the lane whose address names the element that arrives in this field.
        field: int64 [lane, field]: its number behind that address.
        bits: width of an element.
    """

    lane: Ints
    field: Ints
    bits: int

    __repr__ = brief

    @property
    def fields(self) -> int:
        """Elements that a lane gets."""
        return int(self.lane.shape[1])


class Tiles(Struct, frozen=True, eq=False):
    """Which operands a tile holds, read after read.

    Attributes:
        row, col: int64 [read, lane, field], the element of the tile that each field needs; HOLE where none.
        titles: of each read, in words: "rows 0-63, cols 32-63, VGPRs 2-3".
        matrix: "A" or "B".
        shape: rows and columns of the tile.
    """

    row: Ints
    col: Ints
    titles: tuple[str, ...]
    matrix: str
    shape: tuple[int, int]

    __repr__ = brief


def tiles_of(operand: Layout, shape: tuple[int, int], fields: int, *, swapped: bool = False) -> Tiles:
    """The reads that fill all operands of a tile, blocks of columns within blocks of rows.

    Args:
        operand: one operand; one wave.
        shape: rows and columns of the tile, multiples of the operand's; of its transpose where swapped.
        fields: elements that a lane gets by one read.
        swapped: LDS holds the columns of the operand as its rows.
    """
    row, col = (
        axis.reshape(operand.lanes, -1, fields).swapaxes(0, 1).astype(np.int64)
        for axis in (operand.row, operand.col)
    )
    rows, cols = operand.shape
    if swapped:
        row, col, rows, cols = col, row, cols, rows
    words = operand.vgprs * max(1, operand.field_bits // 32) // len(row)
    found_row, found_col, titles = [], [], []
    for top in range(0, shape[0], rows):
        for left in range(0, shape[1], cols):
            for number, (r, c) in enumerate(zip(row, col, strict=True)):
                found_row.append(np.where(r == HOLE, HOLE, r + top))
                found_col.append(np.where(c == HOLE, HOLE, c + left))
                first = number * words
                registers = f"VGPR {first}" if words == 1 else f"VGPRs {first}-{first + words - 1}"
                block = f"rows {top}-{top + rows - 1}, cols {left}-{left + cols - 1}, "
                titles.append((block if shape != (rows, cols) else "") + registers)
    return Tiles(np.stack(found_row), np.stack(found_col), tuple(titles), operand.matrix, shape)


class Addresses(Struct, frozen=True, eq=False):
    """Where lanes must read.

    Attributes:
        address: int64 [read, lane], in bytes; NOWHERE where nothing depends on it.
        refusal: why there are none, in words; "" where there are.
    """

    address: Ints
    refusal: str = ""

    __repr__ = brief


def solve_addresses(tiles: Tiles, delivery: Delivery, index: Ints, align: int) -> Addresses:
    """The addresses that give every field its element.

    Args:
        tiles: what is needed.
        delivery: what a read hands to whom.
        index: int64 [rows, cols], number of the element in LDS at which each element of the tile lies.
        align: what addresses must be multiples of, in bytes.
    """
    reads, lanes, _ = tiles.row.shape
    address = np.full((reads, lanes), NOWHERE, np.int64)
    held = tiles.row != HOLE
    lies = np.where(held, index[np.maximum(tiles.row, 0), np.maximum(tiles.col, 0)], NOWHERE)
    for read in range(reads):
        first = np.where(held[read], lies[read] - delivery.field, NOWHERE)
        for lane in range(lanes):
            serves = held[read] & (delivery.lane == lane)
            if not serves.any():
                continue
            asked = np.unique(first[serves])
            if asked.size > 1:
                return Addresses(address, _apart(tiles, read, lane, serves, lies[read], delivery))
            bit = int(asked[0]) * delivery.bits
            if bit < 0 or bit % (8 * align):
                where = f"lane {lane} would read at byte {bit / 8:g}"
                return Addresses(address, f"{where}, which is no multiple of {align}")
            address[read, lane] = bit // 8
    return Addresses(address)


def _apart(
    tiles: Tiles, read: int, lane: int, serves: NDArray[np.bool_], lies: Ints, delivery: Delivery
) -> str:
    """Two elements that one lane would have to fetch as neighbours."""
    slots = sorted(np.argwhere(serves).tolist(), key=lambda at: int(delivery.field[tuple(at)]))
    start = int(lies[tuple(slots[0])] - delivery.field[tuple(slots[0])])
    other = next(at for at in slots if lies[tuple(at)] - delivery.field[tuple(at)] != start)
    names = [
        element_name(tiles.matrix, int(tiles.row[read][tuple(at)]), int(tiles.col[read][tuple(at)]))
        for at in (slots[0], other)
    ]
    distance = int(delivery.field[tuple(other)] - delivery.field[tuple(slots[0])])
    return (
        f"lane {lane} would have to fetch {names[0]} and {names[1]} {distance} apart, in one read; they lie at "
        f"elements {int(lies[tuple(slots[0])])} and {int(lies[tuple(other)])} of LDS"
    )


class Store(Struct, frozen=True, eq=False):
    """Where the elements of a tile must lie.

    Attributes:
        index: int64 [rows, cols], number of the element in LDS; NOWHERE where nothing reads it.
        refusal: why there is none, in words; "" where there is.
    """

    index: Ints
    refusal: str = ""

    __repr__ = brief


def solve_store(tiles: Tiles, delivery: Delivery, address: Ints) -> Store:
    """Where each element must lie, so that reads at these addresses bring what is needed.

    Args:
        tiles: what is needed.
        delivery: what a read hands to whom.
        address: int64 [read, lane], in bytes.
    """
    index = np.full(tiles.shape, NOWHERE, np.int64)
    taken: dict[int, tuple[int, int]] = {}
    for read, lane, slot in np.argwhere(tiles.row != HOLE).tolist():
        element = int(tiles.row[read, lane, slot]), int(tiles.col[read, lane, slot])
        source = int(delivery.lane[lane, slot])
        at = int(address[read, source]) * 8 // delivery.bits + int(delivery.field[lane, slot])
        name = element_name(tiles.matrix, *element)
        if index[element] not in (NOWHERE, at):
            known = int(index[element])
            return Store(index, f"{name} would have to lie at elements {known} and {at} of LDS")
        if taken.setdefault(at, element) != element:
            other = element_name(tiles.matrix, *taken[at])
            return Store(index, f"{other} and {name} would both have to lie at element {at} of LDS")
        index[element] = at
    return Store(index)


class ReadAt(Struct, frozen=True):
    """One read's address beside others.

    Attributes:
        base: which base it uses.
        flip: constant that is XORed to it.
        offset: constant that the instruction adds.
    """

    base: int
    flip: int = 0
    offset: int = 0


LARGEST_OFFSET = 65535
"""That an LDS instruction adds."""


def ladder(address: Ints) -> tuple[tuple[int, ...], tuple[ReadAt, ...]]:
    """Few bases for all reads: numbers of the reads that are bases, and how each read follows from one.

    An offset of the instruction costs nothing, an XOR one instruction, and a base of its own a computation.
    """
    bases: list[int] = []
    rungs: list[ReadAt] = []
    stems: list[tuple[Ints, ReadAt]] = []  # addresses that are in a register already
    for number, at in enumerate(address):
        known = next((r for stem, rung in stems if (r := _offset(at, stem, rung)) is not None), None)
        if known is None:
            known = next(
                (
                    ReadAt(i, int(at[0] ^ address[b][0]))
                    for i, b in enumerate(bases)
                    if _flips(at, address[b])
                ),
                None,
            )
            if known is None:
                bases.append(number)
                known = ReadAt(len(bases) - 1)
            stems.append((at, known))
        rungs.append(known)
    return tuple(bases), tuple(rungs)


def _offset(at: Ints, stem: Ints, rung: ReadAt) -> ReadAt | None:
    step = np.unique(at - stem)
    if step.size == 1 and 0 <= step[0] <= LARGEST_OFFSET:
        return ReadAt(rung.base, rung.flip, int(step[0]))
    return None


def _flips(at: Ints, base: Ints) -> bool:
    return np.unique(at ^ base).size == 1
