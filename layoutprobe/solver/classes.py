"""Equivalence classes of slots: what no permutation of labels can change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


def components(left: Labels, right: Labels, n_left: int, n_right: int) -> tuple[Labels, Labels]:
    """Connected components of a bipartite graph.

    Args:
        left, right: end points of every edge.
        n_left, n_right: number of vertices on each side.

    Returns:
        Component of each left and each right vertex, numbered from 0 in the order of their lowest
        left vertex; -1 for vertices without an edge.
    """
    mine = np.arange(n_left)
    while True:
        theirs = np.full(n_right, n_left)
        np.minimum.at(theirs, right, mine[left])
        lower = mine.copy()
        np.minimum.at(lower, left, theirs[right])
        if np.array_equal(lower, mine):
            break
        mine = lower
    used = np.zeros(n_left, np.bool_)
    used[left] = True
    names, dense = np.unique(mine[used], return_inverse=True)
    labels = np.full(n_left, -1)
    labels[used] = dense.ravel()
    touched = theirs < n_left
    others = np.full(n_right, -1)
    others[touched] = np.searchsorted(names, theirs[touched])
    return labels, others


def lowest(labels: Labels, key: Labels) -> Labels:
    """Lowest key among the members of each class; members with label -1 are ignored."""
    member = labels >= 0
    low = np.full(int(labels.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(low, labels[member], key[member])
    return low


def common(labels: Labels, key: Labels) -> Labels | None:
    """The key that all members of each class share, or None where members differ."""
    low = lowest(labels, key)
    return low if np.array_equal(low, -lowest(labels, -key)) else None


def rank_within(groups: Labels, key: Labels) -> Labels:
    """Rank of each class by key among the classes of its group; ties keep their order."""
    order = np.lexsort((key, groups))
    sizes = np.bincount(groups)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    rank = np.empty(len(groups), np.int64)
    rank[order] = np.arange(len(groups)) - starts[groups[order]]
    return rank
