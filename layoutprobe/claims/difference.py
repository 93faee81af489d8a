"""Where two solved instructions differ: operand by operand, slot by slot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.claims.gauge import Renaming, renaming
from layoutprobe.claims.model import Claimed, slot_name
from layoutprobe.layouts.dialects import ClosedForm, closed_forms
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE, Layout


class OperandDifference(Struct, frozen=True):
    """One operand of both sides.

    Attributes:
        matrix: the operand.
        differing, slots: slots that differ, of those that either side has.
        first: the smallest of them, with what each side has there, in words; "" where none differs.
        forms: the closed forms of each side.
    """

    matrix: str
    differing: int
    slots: int
    first: str
    forms: tuple[tuple[ClosedForm, ...], tuple[ClosedForm, ...]]


class LayoutDifference(Struct, frozen=True):
    """Two instructions beside each other.

    Attributes:
        names: what each side is called: "instruction@arch:wave".
        operands: every operand that both have.
        missing: operands that one side lacks, in words.
        renamed: None where they differ; else axis -> (line of the first, line of the second) of the one
            renaming that turns the first into the second: empty where they are equal.
    """

    names: tuple[str, str]
    operands: tuple[OperandDifference, ...]
    missing: tuple[str, ...]
    renamed: Mapping[str, tuple[tuple[int, int], ...]] | None

    @property
    def equal(self) -> bool:
        """Whether every slot of every operand is the same."""
        return not self.missing and not any(operand.differing for operand in self.operands)


def title(solved: InstructionLayout) -> str:
    """ "v_wmma_f32_16x16x16_f16@ARCH:32", with "/4" for op_sel 4."""
    return f"{solved.instruction}@{solved.arch}:{solved.wave}" + (f"/{solved.opsel}" if solved.opsel else "")


def difference(first: InstructionLayout, second: InstructionLayout) -> LayoutDifference:
    """Compare two instructions, of one target or of two.

    Slots are named by lane, VGPR and bits, so that a wave of 32 lanes can be laid beside one of 64:
    what one side lacks counts as different.
    """
    both = [matrix for matrix in first.operands if matrix in second.operands]
    missing = tuple(
        f"only {title(mine)} has {matrix}"
        for mine, other in ((first, second), (second, first))
        for matrix in mine.operands
        if matrix not in other.operands
    )
    operands = tuple(_operand(matrix, first.operands[matrix], second.operands[matrix]) for matrix in both)
    return LayoutDifference((title(first), title(second)), operands, missing, _renamed(first, second))


def _operand(matrix: str, first: Layout, second: Layout) -> OperandDifference:
    forms = (closed_forms(first), closed_forms(second))
    if first.field_bits != second.field_bits:
        slots = max(first.row.size, second.row.size)
        why = f"elements of {first.field_bits} bits, and of {second.field_bits} bits"
        return OperandDifference(matrix, slots, slots, why, forms)
    extents = tuple(map(max, first.row.shape, second.row.shape))
    tables = [_padded(layout, extents) for layout in (first, second)]
    wrong = np.asarray((tables[0] != tables[1]).any(axis=0))
    return OperandDifference(
        matrix, int(wrong.sum()), int(np.prod(extents)), _first(wrong, first, second), forms
    )


ABSENT = HOLE - 100
"""Marks slots that an operand does not have."""


def _padded(layout: Layout, extents: tuple[int, ...]) -> NDArray[np.int32]:
    out = np.full((2, *extents), ABSENT, np.int32)
    out[(slice(None), *(slice(extent) for extent in layout.row.shape))] = np.stack([layout.row, layout.col])
    return out


def _first(wrong: NDArray[np.bool_], first: Layout, second: Layout) -> str:
    if not wrong.any():
        return ""
    slot = tuple(map(int, np.argwhere(wrong)[0]))

    def held(layout: Layout) -> str:
        there = all(at < extent for at, extent in zip(slot, layout.row.shape, strict=True))
        return layout.element(slot) if there else "no such register"

    return f"{slot_name(slot, first)}: {held(first)}, and {held(second)}"


def _renamed(
    first: InstructionLayout, second: InstructionLayout
) -> Mapping[str, tuple[tuple[int, int], ...]] | None:
    """The one renaming of M, N and K that makes all operands equal; None where there is none."""
    pairs = []
    for matrix, operand in first.operands.items():
        other = second.operands.get(matrix)
        if other is None or other.row.shape != operand.row.shape or other.shape != operand.shape:
            return None
        if matrix in "ABCD":
            pairs.append(
                (matrix, Claimed.table(operand.row.astype(np.int64), operand.col.astype(np.int64), other))
            )
    found = renaming(pairs, second)
    return found.changed() if isinstance(found, Renaming) else None
