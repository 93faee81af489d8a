"""LDS roundtrip: does the store follow the scheme, and does the load?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.explain import explain_lds
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.report import Finding
from layoutprobe.solver.movement import Cells
from layoutprobe.solver.partial import slot_of

Mask = NDArray[np.bool_]


def roundtrip_findings(
    lds: str, loaded: Layout, asked: Layout, mismatch: Mask, cells: Cells
) -> tuple[Finding, ...]:
    """At most one finding: the store is blamed where LDS itself is wrong, else the load.

    Args:
        lds: name of the scheme that the kernel should follow.
        loaded: what came back.
        asked: what the kernel meant to load.
        mismatch: slots in which the two differ.
        cells: what LDS was found to hold.
    """
    scheme, shape = SCHEMES[lds], loaded.shape
    want_row, want_col = scheme.inverse(np.arange(cells.row.size), shape)
    misplaced = ((cells.row != want_row) | (cells.col != want_col)) & (want_row != HOLE)
    misplaced &= cells.candidates < 2
    if misplaced.any():
        cell = int(np.argmax(misplaced))
        return (
            Finding(
                "lds-store",
                f"the store does not follow the LDS scheme `{lds}`",
                where={"LDS byte": cell * 2},
                expected=f"A[{want_row[cell]}][{want_col[cell]}] ({scheme.summary})",
                observed=_element(cells.row[cell], cells.col[cell])
                + (f"; LDS holds {form}" if (form := explain_lds(cells.row, cells.col, shape)) else ""),
                hint="use the scheme's index function for the store",
                count=int(misplaced.sum()),
            ),
        )
    if mismatch.any():
        slot = tuple(np.argwhere(mismatch)[0])
        followed = _scheme_of_load(loaded, asked, cells)
        return (
            Finding(
                "lds-load",
                f"LDS follows the scheme `{lds}`, but the load "
                + (f"follows `{followed}`" if followed else "returns other elements than it asks for"),
                where=slot_of(mismatch),
                expected=_element(asked.row[slot], asked.col[slot]),
                observed=_element(loaded.row[slot], loaded.col[slot]),
                hint="check row, column and index function of the load",
                count=int(mismatch.sum()),
            ),
        )
    return ()


def _scheme_of_load(loaded: Layout, asked: Layout, cells: Cells) -> str:
    """The scheme by which the load addressed LDS, or "" where none explains every slot."""
    row, col = asked.row.astype(np.int64), asked.col.astype(np.int64)
    for scheme in SCHEMES.values():
        if scheme.refusal(loaded.shape):
            continue
        index = np.minimum(scheme.index(row, col, loaded.shape), cells.row.size - 1)
        if np.array_equal(cells.row[index], loaded.row) and np.array_equal(cells.col[index], loaded.col):
            return scheme.name
    return ""


def _element(row: np.int32, col: np.int32) -> str:
    return "no element" if row == HOLE else f"A[{row}][{col}]"
