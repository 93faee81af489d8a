"""Where the result of a matrix instruction comes from: the rows of A and the columns of B that meet in each slot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch.fragments import Fragment
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.recording.tags import TagTable
from layoutprobe.semantics.mai import arranged, broadcast
from layoutprobe.semantics.wmma import form_of

Ints = NDArray[np.int32]
_KEPT = 16
_WORD = 32
_HALF = 16
"""Lanes of a group; where A and B are held several times, an output reads the copy of its own group."""


class Shape(Struct, frozen=True, eq=False):
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


class Lines:
    """What each row of A and each column of B brings. Matrix instructions beside each other read the same operands:
    those of the latest ones are kept."""

    def __init__(self, table: TagTable) -> None:
        self.table = table
        self._kept: dict[tuple[Fragment, int, bytes], Ints] = {}

    def of(self, fragment: Fragment, words: Ints, axis: int) -> Ints:
        """Of rows of A (axis 2) or columns of B (axis 1), of each copy: int32 [wave, copy, line]."""
        key = (fragment, axis, words.tobytes())
        if key not in self._kept:
            slots = _slots(self.table, fragment, words)
            self._kept[key] = self.table.unite_all(np.moveaxis(slots, axis + 1, -1))
            if len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return self._kept[key]


def product(shape: Shape, lines: Lines, words: Mapping[str, Ints]) -> Ints:
    """Words of D after the instruction.

    Args:
        shape: of the instruction.
        lines: of the run.
        words: operand -> int32 [register, wave, lane]; D as it was before.

    Returns:
        int32 [register, wave, lane].
    """
    form, fragments = shape.form, shape.fragments
    table = lines.table
    rows, cols = lines.of(fragments["A"], words["A"], 2), lines.of(fragments["B"], words["B"], 1)
    if form.scaled:
        rows = table.unite(rows, _copied(lines.of(fragments["scale A"], words["scale A"], 2), rows))
        cols = table.unite(cols, _copied(lines.of(fragments["scale B"], words["scale B"], 1), cols))
    d = fragments["D"]
    lane = d.lane[0]
    row, col = np.indices(lane.shape)
    if form.blocks > 1:
        col = row // (lane.shape[0] // form.blocks) * (cols.shape[-1] // form.blocks) + col
    copy_a, copy_b = (lane // _HALF % each.shape[1] for each in (rows, cols))
    left, right = rows[:, copy_a, row], cols[:, copy_b, col]
    if form.sparse:
        index = table.whole(words["index"]).transpose(1, 0, 2).reshape(len(rows), -1)
        left = table.unite(left, np.broadcast_to(table.unite_all(index)[:, None, None], left.shape))
    before = _slots(table, fragments["C"], words["C"])[:, 0] if "C" in words else np.zeros_like(left)
    # Of a sparse one: which k the index leaves out, is not followed.
    made = table.sums(left, right, before, hull=form.sparse)
    if d.bits == _WORD:
        out = words["D"].copy()
        out[d.bit[0] // _WORD, :, lane] = made.transpose(1, 2, 0)
        return out
    nibbles = table.nibbles(words["D"])
    for nibble in range(max(1, d.bits // 4)):
        bit = d.bit[0] + 4 * nibble
        nibbles[bit // _WORD, :, lane, bit % _WORD // 4] = made.transpose(1, 2, 0)
    return table.words(nibbles)


def _copied(scales: Ints, lines: Ints) -> Ints:
    return np.broadcast_to(scales[:, :1], lines.shape) if scales.shape != lines.shape else scales


def _slots(table: TagTable, fragment: Fragment, words: Ints) -> Ints:
    """One tag for each element of an operand: int32 [wave, copy, row, col]."""
    if fragment.bits == _WORD:
        return np.moveaxis(table.whole(words)[fragment.bit // _WORD, :, fragment.lane], -1, 0)
    nibbles = table.nibbles(words)
    first = fragment.bit // 4 * 4
    count = -(-(fragment.bits + int((fragment.bit % 4).max(initial=0))) // 4)
    parts = []
    for nibble in range(max(1, count)):
        bit = np.minimum(first + 4 * nibble, _WORD * len(nibbles) - 4)
        parts.append(nibbles[bit // _WORD, :, fragment.lane, bit % _WORD // 4])
    held = table.elements.normal(np.stack(parts, axis=-1))  # [copy, row, col, wave, part]
    united = held[..., 0]
    for part in range(1, 1 if (held == held[..., :1]).all() else held.shape[-1]):
        united = table.unite(united, held[..., part])
    return np.moveaxis(united, -1, 0)
