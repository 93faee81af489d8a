"""Where the operands of a matrix instruction have their elements: one description for every family.

Each family states its formulas; here they become tables. The emulator executes the tables, the solver
never sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief

Ints = NDArray[np.int64]
Formula = Callable[[Ints, Ints], tuple[Ints, Ints, Ints]]
"""(line, k) -> group of lanes, VGPR, field. The line (row of A, column of B) is the lane in its group."""

DWORD = 32
"""Bits of a register."""


class Fragment(Struct, frozen=True, eq=False, dict=True):
    """Where one operand has its elements.

    An instruction of several blocks computes as many products. Their matrices are stacked: those of A, C
    and D row under row, those of B column beside column.

    Attributes:
        lane: int64 [copy, row, col], the lane that holds an element, one for each copy.
        bit: the same for its lowest bit, counted from the lowest bit of the operand's first VGPR. An
            element may fill several VGPRs (f64), or straddle two (6 bits).
        vgprs: registers of the operand.
        bits: width of an element.
    """

    lane: Ints
    bit: Ints
    vgprs: int
    bits: int

    __repr__ = brief

    @property
    def copies(self) -> int:
        """How often each element is held."""
        return int(self.lane.shape[0])

    @cached_property
    def vgpr(self) -> Ints:
        """The VGPR with the lowest bit of each element: int64 [copy, row, col]."""
        return self.bit // DWORD

    @cached_property
    def shift(self) -> Ints:
        """Where in that VGPR the element begins: int64 [copy, row, col]."""
        return self.bit % DWORD

    @cached_property
    def field(self) -> Ints:
        """Which element of its VGPR it is, where VGPRs hold whole elements: int64 [copy, row, col]."""
        return self.shift // self.bits

    @property
    def slots(self) -> int:
        """Elements that a lane has room for."""
        return self.vgprs * DWORD // self.bits

    @cached_property
    def slot(self) -> Ints:
        """Slots numbered lane, VGPR, field, last fastest: int64 [copy, row, col]."""
        return self.lane * self.slots + self.bit // self.bits

    @property
    def whole(self) -> bool:
        """No element lies in two VGPRs."""
        return DWORD % self.bits == 0


def fragment(lane: Ints, vgpr: Ints, field: Ints, vgprs: int, bits: int) -> Fragment:
    """A fragment whose VGPRs hold whole elements: lane, VGPR and field, int64 [copy, row, col]."""
    return Fragment(lane, DWORD * vgpr + bits * field, vgprs, bits)


def zero(like: Ints) -> Ints:
    """Zeros, for formulas."""
    return np.zeros_like(like)


def indices(rows: int, cols: int) -> tuple[Ints, Ints]:
    """Row and column of every element: int64 [row, col]."""
    row, col = (x.astype(np.int64) for x in np.indices((rows, cols)))
    return row, col


def input_fragment(
    formula: Formula, lines: int, depth: int, bits: int, vgprs: int, copies: int = 1
) -> Fragment:
    """A fragment of A, [copy, row, k], from its formula; groups of lanes, and copies, are `lines` wide."""
    line, k = indices(lines, depth)
    group, vgpr, field = formula(line, k)
    lanes = np.stack([lines * (group + copy) + line for copy in range(copies)])
    return fragment(lanes, np.stack([vgpr] * copies), np.stack([field] * copies), vgprs, bits)


def as_b(a: Fragment) -> Fragment:
    """The same with column for row: [copy, k, col]."""
    return Fragment(a.lane.transpose(0, 2, 1), a.bit.transpose(0, 2, 1), a.vgprs, a.bits)
