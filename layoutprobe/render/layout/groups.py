"""Which lanes may share a line of the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE
from layoutprobe.render.layout.view import View
from layoutprobe.report.layout import LayoutReport

Tables = list[NDArray[Any]]
"""Arrays [lane, ...] of one wave."""


class LaneGroup(Struct, frozen=True):
    """Lanes that share one line.

    Attributes:
        lanes: positions on the view's lane axis, ascending.
        shown: the one whose registers are shown.
        dead: those of which no output reads anything, where others of the group are read.
    """

    lanes: tuple[int, ...]
    shown: int
    dead: tuple[int, ...] = ()


def lane_groups(view: View) -> list[LaneGroup]:
    """Lanes that look the same in every column, in the order of their first lanes.

    A lane of which no output reads anything joins lanes that hold the same elements: it is their
    replica, and what the instruction needs is known only of those that are read. The view is of one wave.
    """
    elements: Tables = [view.row[0], view.col[0]]
    dead = _unread(view)
    read = _equal(_looks(view), np.flatnonzero(~dead).tolist())
    hosts: dict[bytes, list[int]] = {}
    for i, lanes in enumerate(read):
        hosts.setdefault(_key(elements, lanes[0]), []).append(i)
    joined: dict[int, list[int]] = {}
    orphans = []
    for lane in np.flatnonzero(dead).tolist():
        candidates = hosts.get(_key(elements, lane), [])
        if candidates:
            joined.setdefault(_partner(view, lane, candidates, read), []).append(lane)
        else:
            orphans.append(lane)
    groups = [LaneGroup(lanes, lanes[0]) for lanes in _equal(elements, orphans)]
    for i, lanes in enumerate(read):
        copies = tuple(joined.get(i, ()))
        groups.append(LaneGroup(tuple(sorted(lanes + copies)), lanes[0], copies))
    return sorted(groups, key=lambda group: group.lanes)


def replicas(report: LayoutReport, wave: int) -> list[tuple[int, ...]]:
    """Lanes of a wave that hold anything, grouped: those of one group hold the same in every register."""
    bare = empty_lanes(report, wave)
    lanes = [lane for lane in range(report.loaded.lanes) if lane not in bare]
    return _equal([report.loaded.row[wave], report.loaded.col[wave]], lanes)


def empty_lanes(report: LayoutReport, wave: int) -> list[int]:
    """Lanes of a wave of which no register holds an element."""
    return [int(lane) for lane in np.flatnonzero(report.loaded.holes[wave].all(axis=(1, 2)))]


def _unread(view: View) -> NDArray[np.bool_]:
    """bool [lane]: the lane holds elements, and no output depends on any of them."""
    if view.live is None:
        return np.zeros(len(view.lanes), np.bool_)
    alive = view.live[0] | view.mismatch[0]
    return np.asarray(~alive.any(axis=(1, 2)) & (view.row[0] != HOLE).any(axis=(1, 2)))


def _looks(view: View) -> Tables:
    """All that is printed of a lane; what is needed is printed only where it is missed."""
    looks: Tables = [view.row[0], view.col[0], view.marks[0]]
    if view.needed_row is not None and view.needed_col is not None:
        wrong = view.mismatch[0]
        looks += [np.where(wrong, needed[0], HOLE) for needed in (view.needed_row, view.needed_col)]
    return looks


def _partner(view: View, lane: int, candidates: list[int], read: list[tuple[int, ...]]) -> int:
    """Of groups with the same elements, the one with the same lane of the other half-wave, else the first."""
    half = view.report.loaded.lanes // 2
    for i in candidates:
        if any(abs(view.lanes[lane] - view.lanes[other]) == half for other in read[i]):
            return i
    return candidates[0]


def _equal(tables: Tables, lanes: Iterable[int]) -> list[tuple[int, ...]]:
    """Group those lanes whose entries agree in every table."""
    groups: dict[bytes, list[int]] = {}
    for lane in lanes:
        groups.setdefault(_key(tables, lane), []).append(lane)
    return [tuple(group) for group in groups.values()]


def _key(tables: Tables, lane: int) -> bytes:
    return b"".join(table[lane].tobytes() for table in tables)
