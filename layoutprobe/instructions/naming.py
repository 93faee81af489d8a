"""Names of lines after the vendors' documents, and copies that the documents ask for.

The solver names rows, columns and k by rules of its own, as execution cannot tell names. Readers
know the names of the documents. Where a permutation of names leads from one to the other, it is
applied; it touches A, B, C, D and the index alike, so that a layout that differs from the document
by more than names still differs. What stands in no execution, a copy that no output reads, is
filled in from the documented replication and stays marked as not live.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.arch.fragments import Fragment
from layoutprobe.arch.matrix import SCALED, MatrixForm
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.solver.interaction import Interaction

NAMES = {"M": "rows", "N": "columns", "K": "k"}

Ints = NDArray[np.int64]
Layouts = Mapping[str, Layout]


def documented(fragment: Fragment, lanes: int) -> tuple[Ints, Ints]:
    """Row and column that the document gives every slot: int64 [lane * vgpr * field]."""
    count = lanes * fragment.slots
    row, col = np.full(count, HOLE, np.int64), np.full(count, HOLE, np.int64)
    rows, cols = np.indices(fragment.slot.shape[1:])
    for slot in fragment.slot:
        row[slot], col[slot] = rows, cols
    return row, col


def renamed(layouts: Layouts, form: MatrixForm, wave: int, opsel: int) -> tuple[dict[str, Layout], set[str]]:
    """The same layouts with the document's names where a permutation leads to them.

    Returns:
        The layouts, and the axes that have the document's names.
    """
    found, axes = dict(layouts), set()
    fragments = form.fragments(wave, opsel)
    a_row, a_col = documented(fragments["A"], wave)
    _, b_col = documented(fragments["B"], wave)
    group = 2 if form.sparse else 1
    for axis, solved, wanted in (
        ("M", found["A"].row, a_row),
        ("N", found["B"].col, b_col),
        ("K", found["A"].col, a_col),
    ):
        unit = group if axis == "K" else 1
        order = _permutation(solved.ravel().astype(np.int64) // unit, wanted // unit)
        if order is not None and axis == "K" and form.scaled and not _keeps_blocks(order):
            order = None
        if order is not None:
            axes.add(axis)
            found = {name: _apply(layout, axis, order, form.sparse) for name, layout in found.items()}
    return found, axes


def with_documented_names(solved: Interaction, form: MatrixForm, wave: int) -> Interaction:
    """The same with the document's names of rows, columns and k, where these are but names."""
    layouts, axes = renamed(solved.needed, form, wave, 0)
    if all(layouts[matrix] == layout for matrix, layout in solved.needed.items()):
        return solved
    rules = {axis: f"{NAMES[axis]} as in {form.document}" for axis in axes}
    return replace(solved, needed=layouts, rules={**solved.rules, **rules})


def _permutation(solved: Ints, wanted: Ints) -> Ints | None:
    """Solved name -> wanted name, if the live slots define one."""
    live = solved >= 0
    if not live.any() or (wanted[live] < 0).any():
        return None
    order = np.full(int(solved.max()) + 1, -1)
    order[solved[live]] = wanted[live]
    if (order[solved[live]] != wanted[live]).any() or sorted(order.tolist()) != list(range(order.size)):
        return None
    return order


def _keeps_blocks(order: Ints) -> bool:
    """Whether k that share a scale still do, under their new names."""
    block = order.reshape(-1, SCALED) // SCALED
    return bool((block == block[:, :1]).all())


def _apply(layout: Layout, axis: str, order: Ints, sparse: bool) -> Layout:
    def renaming(unit: int) -> Callable[[NDArray[np.int32]], NDArray[np.int32]]:
        return lambda line: np.where(line >= 0, order[line // unit] * unit + line % unit, line).astype(
            np.int32
        )

    kept, dense = (2, 4) if sparse else (1, 1)
    row: Mapping[tuple[str, str], int] = {
        ("M", "A"): 1, ("M", "C"): 1, ("M", "D"): 1, ("M", "index"): 1, ("M", "scale A"): 1, ("K", "B"): dense,
    }  # fmt: skip
    col: Mapping[tuple[str, str], int] = {
        ("N", "B"): 1, ("N", "C"): 1, ("N", "D"): 1, ("N", "scale B"): 1, ("K", "A"): kept, ("K", "index"): kept,
    }  # fmt: skip
    if axis == "K" and layout.matrix in ("scale A", "scale B"):
        return _scale_blocks(layout, order)
    key = (axis, layout.matrix)
    if key in row:
        layout = replace(layout, row=renaming(row[key])(layout.row))
    if key in col:
        layout = replace(layout, col=renaming(col[key])(layout.col))
    return layout


def _scale_blocks(layout: Layout, order: Ints) -> Layout:
    """Blocks of k under the new names of their k."""
    block = order[::SCALED] // SCALED

    def renamed(line: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(line >= 0, block[line], line).astype(np.int32)

    if layout.matrix == "scale A":
        return replace(layout, col=renamed(layout.col))
    return replace(layout, row=renamed(layout.row))
