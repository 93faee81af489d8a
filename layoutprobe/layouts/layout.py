"""A Layout: which matrix element sits in which register slot.

The map runs hardware location -> element, because one element may live in several lanes; the
reverse is then no function. The dense table is the truth; closed forms only explain it.
"""

from __future__ import annotations

from math import lcm
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.place import FIELD_NAMES, Place, Register

HOLE = -1
"""Row and column of a slot that holds no element of the matrix."""

UNKNOWN = -2
"""A coordinate that the observation leaves open: the slot holds one of several elements."""


def element_name(matrix: str, row: int, col: int) -> str:
    """An element in words: "A[3][6]", "A[3][?]", "no element of A"."""
    if row == HOLE:
        return f"no element of {matrix}"
    return f"{matrix}[{'?' if row == UNKNOWN else row}][{'?' if col == UNKNOWN else col}]"


def field_name(bits: int) -> str:
    """What a field of that width is called: "half", "byte", "nibble", else "field"."""
    return FIELD_NAMES.get(bits) or "field"


class Piece(NamedTuple):
    """Bits of one register, counted within the operand, that belong to a slot.

    Attributes:
        register: number of the VGPR.
        low, high: its first and last bit.
    """

    register: int
    low: int
    high: int


class Layout(Struct, frozen=True, eq=False):
    """Element held by every slot of one operand.

    Attributes:
        matrix: "A", "B", "C" or "D".
        shape: (rows, cols) of the logical tile: A is M x K, B is K x N, C and D are M x N.
        row: int32, axes [wave, lane, vgpr, field]; row of the element in the slot, HOLE or UNKNOWN.
        col: int32, same axes.
        field_bits: width of one field in bits (64, 32, 16, 8, 6 or 4). Field f of a VGPR is
            bits [f*field_bits, (f+1)*field_bits). Of 64 bits, the axis "vgpr" counts pairs of VGPRs, and of 6
            bits groups of three, in which fields are counted on: no VGPR begins with an element but the first.
    """

    matrix: str
    shape: tuple[int, int]
    row: NDArray[np.int32]
    col: NDArray[np.int32]
    field_bits: int

    def __post_init__(self) -> None:
        if self.row.shape != self.col.shape or self.row.ndim != 4:
            raise ValueError("row and col need the same four axes [wave, lane, vgpr, field]")

    @property
    def waves(self) -> int:
        """Number of waves."""
        return int(self.row.shape[0])

    @property
    def lanes(self) -> int:
        """Lanes of a wave."""
        return int(self.row.shape[1])

    @property
    def vgprs(self) -> int:
        """VGPRs of the operand."""
        return int(self.row.shape[2])

    @property
    def fields(self) -> int:
        """Fields of a VGPR: 2 halves for 16-bit elements."""
        return int(self.row.shape[3])

    @property
    def registers(self) -> int:
        """VGPRs that one step along the axis "vgpr" is."""
        return lcm(self.field_bits, 32) // 32

    def register_name(self, vgpr: int) -> str:
        """A step along the axis "vgpr": "v3", or of several VGPRs "v3-5"."""
        first = vgpr * self.registers
        return f"v{first}" if self.registers == 1 else f"v{first}-{first + self.registers - 1}"

    def pieces(self, vgpr: int, field: int) -> tuple[Piece, ...]:
        """Where the bits of a slot lie, lowest first: one register's, or those of all that it reaches into."""
        low = (32 * self.registers) * vgpr + field * self.field_bits
        ends = range(low // 32, (low + self.field_bits - 1) // 32 + 1)
        return tuple(
            Piece(at, max(low - 32 * at, 0), min(low + self.field_bits - 1 - 32 * at, 31)) for at in ends
        )

    def slot_name(self, vgpr: int, field: int) -> str:
        """A slot by the registers of the operand: "v3", "v2.hi", "v0.[15:8]", "v2-3", "v0.[31:30]+v1.[3:0]"."""
        if self.field_bits % 32 == 0:
            return self.register_name(vgpr)
        if self.field_bits == 16:
            return f"v{vgpr}{('.lo', '.hi')[field]}"
        return "+".join(f"v{piece.register}.[{piece.high}:{piece.low}]" for piece in self.pieces(vgpr, field))

    @property
    def holes(self) -> NDArray[np.bool_]:
        """True where a slot holds no element."""
        return np.asarray(self.row == HOLE)

    @property
    def identified(self) -> bool:
        """Whether the element of every slot that holds one is known."""
        return not bool(((self.row == UNKNOWN) | (self.col == UNKNOWN)).any())

    def element(self, slot: tuple[int, ...]) -> str:
        """The element of a slot in words: "A[3][6]", "A[3][?]", "no element of A"."""
        return element_name(self.matrix, int(self.row[slot]), int(self.col[slot]))

    def place(self, slot: tuple[int, ...]) -> Place:
        """A slot by the names of its axes; the register is counted within the operand."""
        wave, lane, vgpr, field = (int(x) for x in slot)
        register, bit, _ = self.pieces(vgpr, field)[0]
        return Place(
            wave=wave,
            lane=lane,
            register=Register("VGPR", register),
            bits=None if self.field_bits >= 32 else (bit, bit + self.field_bits - 1),
            matrix=self.matrix,
        )

    def __repr__(self) -> str:
        rows, cols = self.shape
        extents = f"{self.waves} waves x {self.lanes} lanes x {self.vgprs} VGPRs x {self.fields} fields"
        return f"<Layout of {self.matrix} ({rows} x {cols}) in {extents}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return (
            self.matrix == other.matrix
            and self.shape == other.shape
            and self.field_bits == other.field_bits
            and np.array_equal(self.row, other.row)
            and np.array_equal(self.col, other.col)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays are not hashable
