"""What operands of matrix instructions need, as a recording's file keeps it: `Moments`, flat.

Who records knows the kernel's contract; who reads the file has neither, and believes none of its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.capture.schema import IndexTable
from layoutprobe.layouts.layout import HOLE
from layoutprobe.place import Register, RegisterKind
from layoutprobe.recording.model import Outline
from layoutprobe.report.kernel_view import COLUMNS, Moments

Array = NDArray[Any]
FLAT = {
    "moments.rows": ("int32", "operand column"),
    "moments.layouts": ("int32", "coordinate"), "moments.layout_axes": ("int32", "layout three"),
    "moments.masks": ("bool", "bit"), "moments.mask_axes": ("int32", "mask two"),
}  # fmt: skip
"""Array -> its type and axes, as in `sound.COLUMNS`. Layouts and masks lie behind each other; of a layout, `*_axes`
has VGPRs, fields and bits of a field, of a mask VGPRs and fields."""
EXTENTS = {"column": len(COLUMNS), "three": 3, "two": 2}
_MATRICES = "ABC"
_MOST_VGPRS, _MOST_FIELDS = 64, 32
_MOST = 1 << 24
"""Rows and columns of a matrix, executions, and whatever else is counted."""
_KINDS: dict[str, RegisterKind] = {"v": "VGPR", "a": "AccVGPR"}


def flat(moments: Moments | None) -> dict[str, Array]:
    """Its arrays; empty ones where there is none."""
    layouts = moments.layouts if moments else ()
    masks = moments.masks if moments else ()
    bits = moments.bits if moments else ()
    return {
        "moments.rows": moments.rows if moments else np.zeros((0, len(COLUMNS)), np.int32),
        "moments.layouts": np.concatenate([np.zeros(0, np.int32), *(one.ravel() for one in layouts)]),
        "moments.layout_axes": np.array(
            [(*one.shape[2:], width) for one, width in zip(layouts, bits, strict=True)], np.int32
        ).reshape(-1, 3),
        "moments.masks": np.concatenate([np.zeros(0, np.bool_), *(one.ravel() for one in masks)]),
        "moments.mask_axes": np.array([one.shape[1:] for one in masks], np.int32).reshape(-1, 2),
    }


def in_index(moments: Moments | None) -> dict[str, Any]:
    """What of it is no array, as JSON's types: rows and columns of the matrices; and of each matrix instruction and
    matrix the first register, and how many."""
    return {
        "shapes": [list(moments.shapes[matrix]) for matrix in _MATRICES] if moments else [],
        "registers": [
            [site, _MATRICES.index(matrix), str(first)[0], first.index, count]
            for (site, matrix), (first, count) in moments.registers.items()
        ]
        if moments
        else [],
    }


Shapes = dict[str, tuple[int, int]]
Registers = dict[tuple[int, str], tuple[Register, int]]


def of_index(table: IndexTable, about: Outline) -> tuple[Shapes, Registers]:
    """The inverse of `in_index`, of a file of anybody.

    Raises:
        UsageError: a value is none that a recording has.
    """
    shapes, registers = (table.list_of(key, 0, _MOST) for key in ("shapes", "registers"))
    table.finish()
    if len(shapes) not in (0, len(_MATRICES)) or not all(_numbers(each, 2) for each in shapes):
        table.fail("shapes", "rows and columns of A, B and C, or none")
    known: Registers = {}
    sites = sum(one.kind == "matrix" for one in about.code)
    for each in registers:
        whole = isinstance(each, list) and len(each) == 5 and _numbers([*each[:2], *each[3:]], 4)
        if not whole or each[2] not in _KINDS or each[0] >= sites or each[1] >= len(_MATRICES):
            table.fail("registers", "a matrix instruction, a matrix, v or a, its first register and how many")
        known[each[0], _MATRICES[each[1]]] = Register(_KINDS[each[2]], each[3]), each[4]
    return {matrix: (rows, cols) for matrix, (rows, cols) in zip(_MATRICES, shapes, strict=False)}, known


def unflat(columns: Mapping[str, Array], shapes: Shapes, registers: Registers, about: Outline) -> Moments:
    """The inverse of `flat`, of arrays without `flaws`."""
    axes = columns["moments.layout_axes"]
    layouts = _parts(columns["moments.layouts"], axes, (2, about.lanes))
    masks = _parts(columns["moments.masks"], columns["moments.mask_axes"], (about.lanes,))
    groups = (about.waves[0].group,)
    return Moments(
        groups, 0, shapes, layouts, masks, tuple(axes[:, 2].tolist()), columns["moments.rows"], registers
    )


def _numbers(found: object, count: int) -> bool:
    """As many integers from 0 on."""
    return (
        isinstance(found, list)
        and len(found) == count
        and all(type(n) is int and 0 <= n < _MOST for n in found)
    )


def _parts(values: Array, axes: Array, before: tuple[int, ...]) -> tuple[Array, ...]:
    """Arrays that lie behind each other."""
    shapes = [(*before, *each[:2]) for each in axes.tolist()]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return tuple(part.reshape(shape) for part, shape in zip(np.split(values, ends[:-1]), shapes, strict=True))


def flaws(columns: Mapping[str, Array], about: Outline, registers: Registers) -> Iterator[str]:
    """Numbers that cannot be those of a recording; arrays have their types and axes."""
    axes, masks, rows = (columns[f"moments.{name}"] for name in ("layout_axes", "mask_axes", "rows"))
    most = np.array([_MOST_VGPRS, _MOST_FIELDS, 64])
    if (axes < 1).any() or (axes > most).any() or (masks < 1).any() or (masks > most[:2]).any():
        yield f"moments have layouts of more than {_MOST_VGPRS} registers with {_MOST_FIELDS} fields, or of none"
        return
    held, bits = columns["moments.layouts"], columns["moments.masks"]
    if 2 * about.lanes * axes[:, :2].prod(axis=1).sum() != held.size:
        yield "moments.layouts has not as many numbers as its axes say"
    if about.lanes * masks.prod(axis=1).sum() != bits.size:
        yield "moments.masks has not as many bits as its axes say"
    if ((held < HOLE) | (held >= _MOST)).any():
        yield f"moments.layouts has rows and columns beyond {_MOST}"
    limit = dict.fromkeys(COLUMNS, _MOST) | {"group": 1, "matrix": len(_MATRICES)}
    limit |= dict.fromkeys(("held", "needed"), len(axes)) | dict.fromkeys(("wrong", "live"), len(masks))
    if ((rows < 0) | (rows >= np.array([limit[name] for name in COLUMNS]))).any():
        yield "moments.rows has a number that counts nothing"
        return
    at = dict(zip(COLUMNS, rows.T, strict=True))
    alike = [axes[at["held"], :2], axes[at["needed"], :2], masks[at["wrong"]], masks[at["live"]]]
    if any((each != alike[0]).any() for each in alike):
        yield "moments.rows has an operand whose layouts and masks have other axes"
    operands = np.stack([at["site"], at["matrix"]], axis=1)
    each = np.concatenate([operands, axes[at["held"]], axes[at["needed"]]], axis=1)
    if len(np.unique(each, axis=0)) != len(np.unique(operands, axis=0)):
        yield "moments.rows has an operand with other axes in another wave"
    named = {(site, _MATRICES[matrix]) for site, matrix in operands.tolist()}
    if not named <= registers.keys() or not {*at["wave"].tolist()} <= {one.index for one in about.waves}:
        yield "moments.rows has an operand without registers, or of a wave that was not recorded"
