"""The part of a report that is shown, and what every format marks in it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.render.look import Mark
from layoutprobe.report.layout import LayoutReport


class View(Struct, frozen=True, eq=False):
    """Selected slots of a report.

    Attributes:
        report: the whole report.
        waves, lanes, vgprs: what is selected, in ascending order: the labels of the axes below.
        row, col: int32 [wave, lane, vgpr, field], HOLE where there is no element.
        needed_row, needed_col: the same for what the instruction needs, or None.
        mismatch: bool, same axes.
        live: bool, same axes, or None where not probed.
        readers: int32, same axes, or None where not probed.
        marks: uint8, same axes: a Mark for every slot.
        whole_lds: show every line of LDS, however many there are.
    """

    report: LayoutReport
    waves: tuple[int, ...]
    lanes: tuple[int, ...]
    vgprs: tuple[int, ...]
    row: NDArray[np.int32]
    col: NDArray[np.int32]
    needed_row: NDArray[np.int32] | None
    needed_col: NDArray[np.int32] | None
    mismatch: NDArray[np.bool_]
    live: NDArray[np.bool_] | None
    readers: NDArray[np.int32] | None
    marks: NDArray[np.uint8]
    whole_lds: bool = False

    __repr__ = brief

    @property
    def fields(self) -> int:
        """Fields of a VGPR."""
        return self.report.loaded.fields

    @property
    def one_wave(self) -> View:
        """What a page has room for: the first wave with a mismatch, else the first."""
        wrong = np.flatnonzero(self.report.mismatch[list(self.waves)].any(axis=(1, 2, 3)))
        wave = self.waves[int(wrong[0]) if wrong.size else 0]
        if self.waves == (wave,):
            return self
        return select(self.report, wave=wave, lanes=self.lanes, vgprs=self.vgprs, whole_lds=self.whole_lds)

    @property
    def partial(self) -> bool:
        """True where some slot of the report is not shown."""
        return self.row.size < self.report.loaded.row.size


def select(
    report: LayoutReport,
    *,
    wave: int | None = None,
    lanes: Iterable[int] | None = None,
    vgprs: Iterable[int] | None = None,
    whole_lds: bool = False,
) -> View:
    """The slots to show.

    Args:
        report: what a command found.
        wave: this wave only. Without it every wave, of which a page shows one: see `View.one_wave`.
        lanes, vgprs: these only; all by default.
        whole_lds: every line of LDS, however many there are.

    Raises:
        UsageError: the report has no such wave, lane or VGPR.
    """
    loaded = report.loaded
    waves = _within("wave", range(loaded.waves) if wave is None else [wave], loaded.waves)
    chosen_lanes = _within("lane", range(loaded.lanes) if lanes is None else lanes, loaded.lanes)
    chosen_vgprs = _within("VGPR", range(loaded.vgprs) if vgprs is None else vgprs, loaded.vgprs)
    index = np.ix_(waves, chosen_lanes, chosen_vgprs)
    needed = report.needed
    return View(
        report,
        waves,
        chosen_lanes,
        chosen_vgprs,
        row=loaded.row[index],
        col=loaded.col[index],
        needed_row=None if needed is None else needed.row[index],
        needed_col=None if needed is None else needed.col[index],
        mismatch=report.mismatch[index],
        live=None if report.live is None else report.live[index],
        readers=None if report.readers is None else report.readers[index],
        marks=_marks(report)[index],
        whole_lds=whole_lds,
    )


def _within(name: str, numbers: Iterable[int], size: int) -> tuple[int, ...]:
    chosen = sorted(set(numbers))
    outside = [n for n in chosen if not 0 <= n < size]
    if outside or not chosen:
        raise UsageError(
            f"no {name} {outside[0]} here" if outside else f"no {name} is selected",
            expected=f"{name} 0 to {size - 1}" if size > 1 else f"{name} 0, the only one",
        )
    return tuple(chosen)


def _marks(report: LayoutReport) -> NDArray[np.uint8]:
    """Mark of every slot: uint8 [wave, lane, vgpr, field] over the whole report."""
    marks = np.zeros(report.loaded.row.shape, np.uint8)
    for wave in range(report.loaded.waves):
        marks[wave][_stray_copies(report, wave)] = Mark.COPY
    if report.live is not None:
        marks[~report.live] = Mark.DEAD
    marks[(report.loaded.row == UNKNOWN) | (report.loaded.col == UNKNOWN)] = Mark.UNKNOWN
    marks[report.loaded.row == HOLE] = Mark.HOLE
    marks[report.mismatch] = Mark.MISMATCH
    return marks


def _stray_copies(report: LayoutReport, wave: int) -> NDArray[np.bool_]:
    """Slots of a wave whose element also sits in another VGPR or field of the wave.

    The same VGPR and field in another lane is what replication means, and no stray.
    """
    row, col = report.loaded.row[wave], report.loaded.col[wave]
    element = np.where((row < 0) | (col < 0), -1, row.astype(np.int64) * report.loaded.shape[1] + col)
    _, number = np.unique(element, return_inverse=True)
    number = number.reshape(element.shape)
    place = np.broadcast_to(np.arange(row[0].size).reshape(row.shape[1:]), element.shape)
    sits = np.zeros((number.max() + 1, row[0].size), np.bool_)
    sits[number, place] = True
    return np.asarray((element >= 0) & (sits.sum(axis=1)[number] > 1))
