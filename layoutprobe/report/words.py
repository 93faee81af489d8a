"""How findings name rows, columns and k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spans(numbers: NDArray[np.int64], most: int = 3) -> str:
    """ "16-31, 48-63"; no more than so many spans."""
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    parts = [f"{p[0]}-{p[-1]}" if p.size > 1 else f"{p[0]}" for p in np.split(numbers, breaks)]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


def _plural(name: str, numbers: NDArray[np.int64]) -> str:
    return name if numbers.size == 1 else f"{name}s"


def lines_of(mask: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """A matrix, or a batch of them laid over each other: bool [row, col]; and its rows and columns that have any."""
    flat = np.any(mask.reshape(-1, *mask.shape[-2:]), axis=0) if mask.ndim > 1 else mask[None]
    return flat, np.flatnonzero(flat.any(axis=1)), np.flatnonzero(flat.any(axis=0))


def region(mask: NDArray[np.bool_]) -> str:
    """Which elements of a matrix (or batch of them) are meant: rows, columns, or how many."""
    flat, rows, cols = lines_of(mask)
    count = f"{int(mask.sum())} of {mask.size}"
    if rows.size * cols.size != flat.sum() or (rows.size, cols.size) == flat.shape:
        return count
    parts = [f"{_plural('row', rows)} {spans(rows)}"] if rows.size < flat.shape[0] else []
    place = "column" if mask.ndim > 1 else "element"
    parts += [f"{_plural(place, cols)} {spans(cols)}"] if cols.size < flat.shape[1] else []
    return f"{' of '.join(parts)} ({count})"
