"""Where the result of a matrix instruction comes from: the rows of A and the columns of B that meet in each slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.fragments import Fragment
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.recording.tags import TagTable
from layoutprobe.semantics.mai import arranged, broadcast
from layoutprobe.semantics.wmma import form_of

Ints = NDArray[np.int32]
_HALF = 16
"""Lanes of a group; where A and B are held several times, an output reads the copy of its own group."""


@dataclass(frozen=True, eq=False)
class Shape:
    """How a matrix instruction of a wave reads and writes.

    Attributes:
        form: which instruction.
        fragments: where operands have their elements.
        operands: by the same names, "C" too where the destination is the addend.
    """

    form: MatrixForm
    fragments: Mapping[str, Fragment]
    operands: Mapping[str, Operand]

    __repr__ = brief


def shape_of(inst: Inst, lanes: int) -> Shape:
    """The operands of a matrix instruction, and where they have their elements."""
    form = form_of(inst)
    found = arranged(form, lanes, form.choice.number(inst.mods), broadcast(form, inst.mods))
    names = (
        ("A", "B", "index")
        if form.sparse
        else ("A", "B", "C", *(("scale A", "scale B") if form.scaled else ()))
    )
    operands = dict(zip(names, inst.src, strict=False))
    operands["D"] = inst.dst[0]
    operands.setdefault("C", inst.dst[0])
    return Shape(form, found, operands)


def product(shape: Shape, table: TagTable, nibbles: Mapping[str, Ints]) -> Ints:
    """Nibble tags of D after the instruction.

    Args:
        shape: of the instruction.
        table: numbers tags.
        nibbles: operand -> int32 [register, wave, lane, 8]; D as it was before.

    Returns:
        int32 [register, wave, lane, 8].
    """
    form, fragments = shape.form, shape.fragments
    rows = _lines(table, fragments["A"], nibbles["A"], 2)
    cols = _lines(table, fragments["B"], nibbles["B"], 1)
    if form.scaled:
        rows = table.unite(rows, _copied(_lines(table, fragments["scale A"], nibbles["scale A"], 2), rows))
        cols = table.unite(cols, _copied(_lines(table, fragments["scale B"], nibbles["scale B"], 1), cols))
    d = fragments["D"]
    lane = d.lane[0]
    row, col = np.indices(lane.shape)
    if form.blocks > 1:
        col = row // (lane.shape[0] // form.blocks) * (cols.shape[-1] // form.blocks) + col
    copy_a, copy_b = (lane // _HALF % lines.shape[1] for lines in (rows, cols))
    lines = rows[:, copy_a, row]
    if form.sparse:
        index = table.elements.normal(nibbles["index"]).transpose(1, 0, 2, 3).reshape(len(rows), -1)
        lines = table.unite(lines, np.broadcast_to(table.unite_all(index)[:, None, None], lines.shape))
    before = _slots(table, fragments["C"], nibbles["C"])[:, 0] if "C" in nibbles else np.zeros_like(lines)
    # Of a sparse one: which k the index leaves out, is not followed.
    made = table.sums(lines, cols[:, copy_b, col], before, hull=form.sparse)
    out = nibbles["D"].copy()
    for nibble in range(max(1, d.bits // 4)):
        bit = d.bit[0] + 4 * nibble
        out[bit // 32, :, lane, bit % 32 // 4] = made.transpose(1, 2, 0)
    return out


def _lines(table: TagTable, fragment: Fragment, nibbles: Ints, axis: int) -> Ints:
    """What each row of A (axis 2) or column of B (axis 1) brings, of each copy: int32 [wave, copy, line]."""
    slots = _slots(table, fragment, nibbles)
    return table.unite_all(np.moveaxis(slots, axis + 1, -1))


def _copied(scales: Ints, lines: Ints) -> Ints:
    return np.broadcast_to(scales[:, :1], lines.shape) if scales.shape != lines.shape else scales


def _slots(table: TagTable, fragment: Fragment, nibbles: Ints) -> Ints:
    """One tag for each element of an operand: int32 [wave, copy, row, col]."""
    first = fragment.bit // 4 * 4
    count = -(-(fragment.bits + int((fragment.bit % 4).max(initial=0))) // 4)
    parts = []
    for nibble in range(max(1, count)):
        bit = np.minimum(first + 4 * nibble, 32 * len(nibbles) - 4)
        parts.append(nibbles[bit // 32, :, fragment.lane, bit % 32 // 4])
    held = table.elements.normal(np.stack(parts, axis=-1))  # [copy, row, col, wave, part]
    united = held[..., 0]
    for part in range(1, held.shape[-1]):
        united = table.unite(united, held[..., part])
    return np.moveaxis(united, -1, 0)
