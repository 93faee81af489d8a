"""Coverage: which elements of the tile were seen, how often, and what folded onto what."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import Layout
from layoutprobe.report.layout import Coverage


def coverage(layout: Layout, needed: Layout | None = None) -> Coverage | None:
    """What of the tile the slots of a layout hold; None where elements were not identified.

    Args:
        layout: what is held.
        needed: what the waves take of the tile, where that is not all of it.
    """
    if not layout.identified:
        return None
    per_wave = _copies_per_wave(layout)
    total = per_wave.sum(axis=0)
    taken = _copies_per_wave(needed).sum(axis=0) > 0 if needed is not None else np.ones_like(total, np.bool_)
    seen = taken & (total > 0)
    held = per_wave[per_wave > 0]
    copies = (int(held.min()), int(held.max())) if held.size else (0, 0)
    missing_rows, missing_cols = (
        tuple(np.flatnonzero(taken.any(axis=axis) & ~seen.any(axis=axis)).tolist()) for axis in (1, 0)
    )
    # Waves of 64 may leave half of their lanes out of a load: they have no part in it.
    idle = 0.0 if needed is None else float(layout.holes.all(axis=(2, 3)).mean())
    nominal = layout.row.size * (1 - idle) / taken.sum()
    folds = [
        f"{name} fold by {step}"
        for name, missing, count in (
            ("rows", missing_rows, total.sum(axis=1) / taken.sum(axis=1).clip(1)),
            ("columns", missing_cols, total.sum(axis=0) / taken.sum(axis=0).clip(1)),
        )
        if (step := _fold(missing, count, nominal))
    ]
    return Coverage(int(taken.sum()), int(seen.sum()), copies, missing_rows, missing_cols, ", ".join(folds))


def _copies_per_wave(layout: Layout) -> NDArray[np.int64]:
    rows, cols = layout.shape
    held = ~layout.holes
    wave = np.broadcast_to(np.arange(layout.waves)[:, None, None, None], layout.row.shape)[held]
    element = (wave * rows + layout.row[held]) * cols + layout.col[held]
    return np.bincount(element, minlength=layout.waves * rows * cols).reshape(layout.waves, rows, cols)


def _fold(missing: tuple[int, ...], count: NDArray[np.float64], nominal: float) -> int:
    """The step d for which every missing line r finds line r-d in its place; 0 where there is none.

    Args:
        missing: lines of which no element was seen.
        count: mean number of slots per element of each line.
        nominal: slots per element, if nothing were missing.
    """
    if not missing:
        return 0
    lines = np.array(missing)
    for step in range(1, count.size):
        twin = lines - step
        if (twin >= 0).all() and not np.isin(twin, lines).any() and (count[twin] >= 2 * nominal).all():
            return step
    return 0
