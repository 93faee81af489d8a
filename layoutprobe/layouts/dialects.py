"""One table in three dialects: a formula, a basis over GF(2), and CuTe's shape:stride.

Each is shown only if it reproduces every cell, holes included; here that is checked once more, by
evaluating what will be shown.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from layoutprobe.layouts.cute import fit_cute, index_text, table_of
from layoutprobe.layouts.explain import explain
from layoutprobe.layouts.gf2 import fit_basis
from layoutprobe.layouts.layout import Layout


class ClosedForm(Struct, frozen=True):
    """A closed form that reproduces its table.

    Attributes:
        dialect: "formula", "gf2" or "cute".
        text: the form on one line.
        lines: the same over several lines, where the dialect has such a form; else `text`.
        convention: how to read it, in words.
    """

    dialect: str
    text: str
    lines: str
    convention: str


def _formula(layout: Layout) -> ClosedForm | None:
    text = explain(layout)
    return ClosedForm("formula", text, text, "/ rounds down") if text else None


def _gf2(layout: Layout) -> ClosedForm | None:
    basis = fit_basis(layout)
    if basis is None or not _reproduces(layout, *basis.table()):
        return None
    convention = (
        "bit by bit, lowest first: the [row, col] that a set bit XORs in, as in Triton's LinearLayout"
    )
    return ClosedForm("gf2", basis.text, basis.lines(layout.shape), convention)


def _cute(layout: Layout) -> ClosedForm | None:
    form = fit_cute(layout)
    if form is None or layout.waves != 1:
        return None
    if not _reproduces(layout, *table_of(form, layout.matrix, layout.shape, layout.fields)):
        return None
    text = form.text(layout.field_bits)
    value = "vgpr" if form.field is not None or layout.fields == 1 else f"{layout.fields}*vgpr + field"
    return ClosedForm("cute", text, text, f"(lane, {value}) -> {index_text(layout.matrix)}; stride 0: copies")


def _reproduces(layout: Layout, row: np.ndarray, col: np.ndarray) -> bool:
    return np.array_equal(row, layout.row) and np.array_equal(col, layout.col)


DIALECTS: dict[str, Callable[[Layout], ClosedForm | None]] = {
    "formula": _formula,
    "gf2": _gf2,
    "cute": _cute,
}
"""Every dialect, in the order in which they are shown."""


def closed_forms(layout: Layout, dialects: tuple[str, ...] = tuple(DIALECTS)) -> tuple[ClosedForm, ...]:
    """The dialects that can state a table exactly."""
    found = (DIALECTS[dialect](layout) for dialect in dialects)
    return tuple(form for form in found if form is not None)
