"""LDS roundtrip: does the store follow the scheme, and does the load?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.explain import LdsForm, explain_lds
from layoutprobe.layouts.layout import HOLE, Layout, element_name
from layoutprobe.layouts.swizzle import SCHEMES, bit_of, of_bits
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding
from layoutprobe.solver.movement import Cells
from layoutprobe.solver.rules import LOAD_OFF_SCHEME, STORE_OFF_SCHEME

Mask = NDArray[np.bool_]


def roundtrip_findings(
    lds: str, loaded: Layout, asked: Layout, mismatch: Mask, cells: Cells
) -> tuple[Finding, ...]:
    """At most one finding: the store is blamed where LDS itself is wrong, else the load.

    B lies transposed in LDS, [n][k]: its columns are the lines of the tile there.

    Args:
        lds: name of the scheme that the kernel should follow.
        loaded: what came back.
        asked: what the kernel meant to load.
        mismatch: slots in which the two differ.
        cells: what LDS was found to hold.
    """
    bits = loaded.field_bits
    scheme, turned = of_bits(SCHEMES[lds], bits), loaded.matrix == "B"
    shape = loaded.shape[::-1] if turned else loaded.shape
    want = scheme.inverse(np.arange(cells.row.size), shape)
    want_row, want_col = want[::-1] if turned else want
    misplaced = ((cells.row != want_row) | (cells.col != want_col)) & (want_row != HOLE)
    misplaced &= cells.candidates < 2
    if misplaced.any():
        cell = int(np.argmax(misplaced))
        lines = (cells.col, cells.row) if turned else (cells.row, cells.col)
        names = ("col", "row") if turned else ("row", "col")
        return (
            Finding(
                STORE_OFF_SCHEME,
                f"the store does not follow the LDS scheme `{lds}`",
                Place(matrix=loaded.matrix, lds_byte=int(bit_of(np.asarray(cell), bits)) // 8),
                expected=element_name(loaded.matrix, int(want_row[cell]), int(want_col[cell]))
                + f", as index = {scheme.formula(shape, *names)}",
                observed=element_name(loaded.matrix, int(cells.row[cell]), int(cells.col[cell]))
                + _filled(explain_lds(*lines, shape, names, bits)),
                hint="use the scheme's index function for the store",
                count=int(misplaced.sum()),
            ),
        )
    if mismatch.any():
        slot = tuple(np.argwhere(mismatch)[0])
        followed = _scheme_of_load(loaded, asked, cells, turned)
        return (
            Finding(
                LOAD_OFF_SCHEME,
                f"LDS follows the scheme `{lds}`, but the load "
                + (f"follows `{followed}`" if followed else "returns other elements than it asks for"),
                loaded.place(slot),
                expected=asked.element(slot),
                observed=loaded.element(slot),
                hint="check row, column and index function of the load",
                count=int(mismatch.sum()),
            ),
        )
    return ()


def _filled(form: LdsForm | None) -> str:
    """What an explanation of LDS says of the store."""
    if form is None:
        return ""
    return f"; LDS was filled by {'scheme ' if form.scheme else ''}{form.text}"


def _scheme_of_load(loaded: Layout, asked: Layout, cells: Cells, turned: bool) -> str:
    """The scheme by which the load addressed LDS, or "" where none explains every slot."""
    at, shape = (asked.row.astype(np.int64), asked.col.astype(np.int64)), loaded.shape
    if turned:
        at, shape = at[::-1], shape[::-1]
    for scheme in (of_bits(scheme, loaded.field_bits) for scheme in SCHEMES.values()):
        if scheme.refusal(shape):
            continue
        index = np.minimum(scheme.index(*at, shape), cells.row.size - 1)
        if np.array_equal(cells.row[index], loaded.row) and np.array_equal(cells.col[index], loaded.col):
            return scheme.name
    return ""
