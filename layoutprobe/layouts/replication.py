"""Replication: which lanes hold the same elements."""

from __future__ import annotations

from layoutprobe.layouts.layout import HOLE, Layout


def lane_groups(layout: Layout) -> list[tuple[int, ...]]:
    """Lanes that hold the same elements in the same slots, in every wave; ordered by first lane.

    Lanes that hold nothing at all are left out.
    """
    groups: dict[bytes, list[int]] = {}
    for lane in range(layout.lanes):
        row, col = layout.row[:, lane], layout.col[:, lane]
        if (row != HOLE).any():
            groups.setdefault(row.tobytes() + col.tobytes(), []).append(lane)
    return [tuple(lanes) for lanes in groups.values()]


def empty_lanes(layout: Layout) -> tuple[int, ...]:
    """Lanes that hold no element in any wave."""
    return tuple(lane for lane in range(layout.lanes) if (layout.row[:, lane] == HOLE).all())


def describe(layout: Layout) -> str:
    """The replication in words: "lanes l and l+16 hold the same elements"."""
    groups = lane_groups(layout)
    sizes = {len(group) for group in groups}
    if sizes == {1} or not groups:
        text = "no two lanes hold the same elements"
    else:
        offsets = {tuple(lane - group[0] for lane in group) for group in groups}
        if len(offsets) == 1:
            steps = [f"l+{step}" for step in next(iter(offsets))[1:]]
            names = ["l", *steps]
            text = f"lanes {', '.join(names[:-1])} and {names[-1]} hold the same elements"
        else:
            shared = next(group for group in groups if len(group) > 1)
            text = f"some lanes hold the same elements: {', '.join(map(str, shared))}"
    empty = empty_lanes(layout)
    return text + (f"; lanes {_ranges(empty)} hold none" if empty else "")


def _ranges(numbers: tuple[int, ...]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in runs)
