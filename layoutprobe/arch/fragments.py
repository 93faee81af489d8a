"""Fragment maps of RDNA3 and RDNA4: where AMD's documents put each matrix element.

The emulator executes these maps; the solver never sees them. Source of every formula: AMD matrix
instruction calculator 1.3.2 (architectures rdna3 and rdna4, wave32 and wave64), which agrees with
the RDNA3 ISA guide, 7.9, and with the HIP documents of RDNA3 and RDNA4 WMMA. In the formulas i is
the row of A or D, j the column of B or D, k the inner index; l // 16 is called a lane's group.

No document of RDNA4's sparse instructions was seen confirmed on a card.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief

Ints = NDArray[np.int64]
Formula = Callable[[Ints, Ints], tuple[Ints, Ints, Ints]]
"""(line, k) -> group of lanes, VGPR, field. The line (row of A, column of B) is the lane in its group."""

LINES = 16
"""Rows of A and columns of B, in every instruction of both families; also lanes of a group."""


@dataclass(frozen=True, eq=False)
class Fragment:
    """Where one operand has its elements.

    Attributes:
        lane, vgpr, field: int64 [copy, row, col]: the slot of every element, one for each copy.
        vgprs: registers of the operand.
        field_bits: width of a field.
    """

    lane: Ints
    vgpr: Ints
    field: Ints
    vgprs: int
    field_bits: int

    __repr__ = brief

    @property
    def copies(self) -> int:
        """How often each element is held."""
        return int(self.lane.shape[0])

    @property
    def slot(self) -> Ints:
        """Slots numbered lane, VGPR, field, last fastest: int64 [copy, row, col]."""
        return np.asarray((self.lane * self.vgprs + self.vgpr) * (32 // self.field_bits) + self.field)


def _zero(like: Ints) -> Ints:
    return np.zeros_like(like)


def input_fragment(formula: Formula, depth: int, bits: int, vgprs: int, copies: int = 1) -> Fragment:
    """A fragment of A, [copy, row, k], from its formula; copies lie 16 lanes apart."""
    line, k = (x.astype(np.int64) for x in np.indices((LINES, depth)))
    group, vgpr, field = formula(line, k)
    lanes = np.stack([LINES * (group + copy) + line for copy in range(copies)])
    return Fragment(lanes, np.stack([vgpr] * copies), np.stack([field] * copies), vgprs, bits)


def as_b(fragment: Fragment) -> Fragment:
    """The same with column for row: [copy, k, col]."""
    lane, vgpr, field = (x.transpose(0, 2, 1) for x in (fragment.lane, fragment.vgpr, fragment.field))
    return Fragment(lane, vgpr, field, fragment.vgprs, fragment.field_bits)


def straight(bits: int) -> Formula:
    """RDNA3: the k of a line ascend from the lowest bit of the first VGPR."""
    per = 32 // bits
    return lambda line, k: (_zero(k), k // per, k % per)


def rdna3_result(wave: int, half: int | None) -> Fragment:
    """C and D of RDNA3: row i in group i % groups. `half`: 16-bit results, 0 lower and 1 upper half."""
    row, col = (x.astype(np.int64)[None] for x in np.indices((LINES, LINES)))
    groups = wave // LINES
    field = np.full_like(row, half or 0)
    return Fragment(
        LINES * (row % groups) + col, row // groups, field, LINES // groups, 32 if half is None else 16
    )


def rdna4_result(wave: int, bits: int) -> Fragment:
    """C and D of RDNA4: rows contiguous along the VGPRs of a lane; 16-bit results two to a VGPR."""
    row, col = (x.astype(np.int64)[None] for x in np.indices((LINES, LINES)))
    group = row // 8 if wave == 32 else 2 * (row // 4 % 2) + row // 8
    place = row % (8 if wave == 32 else 4)
    per = 32 // bits
    return Fragment(LINES * group + col, place // per, place % per, (256 // wave) // per, bits)


# Dense A and B of RDNA4, by element width, K and wave: formula and registers. Group numbers
# 2 and 3 are lanes 32-47 and 48-63.

DENSE: dict[tuple[int, int, int], tuple[Formula, int]] = {
    (16, 16, 32): (lambda line, k: (k // 4 % 2, 2 * (k // 8) + k // 2 % 2, k % 2), 4),
    (16, 16, 64): (lambda line, k: (2 * (k // 8 % 2) + k // 4 % 2, k // 2 % 2, k % 2), 2),
    (8, 16, 32): (lambda line, k: (k // 8, k // 4 % 2, k % 4), 2),
    (8, 16, 64): (lambda line, k: (2 * (k // 4 % 2) + k // 8 % 2, _zero(k), k % 4), 1),
    (4, 16, 32): (lambda line, k: (k // 8, _zero(k), k % 8), 1),
    (4, 16, 64): (lambda line, k: (k // 8, _zero(k), k % 8), 1),
    (4, 32, 32): (lambda line, k: (k // 16, k // 8 % 2, k % 8), 2),
    (4, 32, 64): (lambda line, k: (2 * (k // 8 % 2) + k // 16 % 2, _zero(k), k % 8), 1),
}


@dataclass(frozen=True)
class SparseMaps:
    """A, B and the index operand of a sparse instruction, in terms of the dense k.

    Attributes:
        a: dense k of a group's first element -> lane group, VGPR, field of the first element kept;
            the second is in the next field.
        a_vgprs: registers of A.
        nibble: dense k -> which four bits of the index set tell about its group, in A's lane.
        b: line and dense k -> lane group, VGPR, field.
        b_vgprs: registers of B.
        keys: index sets of a VGPR; index_key selects one.
    """

    a: Callable[[Ints], tuple[Ints, Ints, Ints]]
    a_vgprs: int
    nibble: Callable[[Ints], Ints]
    b: Formula
    b_vgprs: int
    keys: int


SPARSE: dict[tuple[int, int, int], SparseMaps] = {
    (16, 32, 32): SparseMaps(
        lambda k: (k // 8 % 2, 2 * (k // 16) + k // 4 % 2, _zero(k)), 4,
        lambda k: 2 * (k // 16) + k // 4 % 2,
        lambda line, k: (k // 8 % 2, 4 * (k // 16) + k // 2 % 4, k % 2), 8, 2,
    ),
    (16, 32, 64): SparseMaps(
        lambda k: (k // 8, k // 4 % 2, _zero(k)), 2,
        lambda k: k // 4 % 2,
        lambda line, k: (k // 8, k // 2 % 4, k % 2), 4, 4,
    ),
    (8, 32, 32): SparseMaps(
        lambda k: (k // 16, k // 8 % 2, 2 * (k // 4 % 2)), 2,
        lambda k: k // 4 % 4,
        lambda line, k: (k // 16, k // 4 % 4, k % 4), 4, 2,
    ),
    (8, 32, 64): SparseMaps(
        lambda k: (2 * (k // 8 % 2) + k // 16, _zero(k), 2 * (k // 4 % 2)), 1,
        lambda k: k // 4 % 2,
        lambda line, k: (2 * (k // 8 % 2) + k // 16, k // 4 % 2, k % 4), 2, 4,
    ),
    (4, 32, 32): SparseMaps(
        lambda k: (k // 16, _zero(k), 2 * (k // 4 % 4)), 1,
        lambda k: k // 4 % 4,
        lambda line, k: (k // 16, k // 8 % 2, k % 8), 2, 2,
    ),
    (4, 32, 64): SparseMaps(
        lambda k: (k // 16, _zero(k), 2 * (k // 4 % 4)), 1,
        lambda k: k // 4 % 4,
        lambda line, k: (2 * (k // 8 % 2) + k // 16, _zero(k), k % 8), 1, 2,
    ),
    (4, 64, 32): SparseMaps(
        lambda k: (k // 32, k // 16 % 2, 2 * (k // 4 % 4)), 2,
        lambda k: k // 4 % 8,
        lambda line, k: (k // 32, k // 8 % 4, k % 8), 4, 1,
    ),
    (4, 64, 64): SparseMaps(
        lambda k: (2 * (k // 16 % 2) + k // 32, _zero(k), 2 * (k // 4 % 4)), 1,
        lambda k: k // 4 % 4,
        lambda line, k: (2 * (k // 16 % 2) + k // 32, k // 8 % 2, k % 8), 2, 2,
    ),
}  # fmt: skip
"""By element width, K and wave. index_key: clang accepts 0 to keys - 1, and no index_key for one."""


def sparse_a(maps: SparseMaps, depth: int, bits: int) -> Fragment:
    """A compressed, [copy, row, k'], where k' = 2g and 2g + 1 are the elements kept of group g."""

    def formula(line: Ints, kept: Ints) -> tuple[Ints, Ints, Ints]:
        group, vgpr, field = maps.a(4 * (kept // 2))
        return group, vgpr, field + kept % 2

    return input_fragment(formula, depth // 2, bits, maps.a_vgprs)


def sparse_index(maps: SparseMaps, depth: int, key: int) -> Fragment:
    """The two bits that tell the place of A's element k' in its group, [copy, row, k']."""

    def formula(line: Ints, kept: Ints) -> tuple[Ints, Ints, Ints]:
        dense = 4 * (kept // 2)
        return maps.a(dense)[0], _zero(kept), key * (16 // maps.keys) + 2 * maps.nibble(dense) + kept % 2

    return input_fragment(formula, depth // 2, 2, 1)
