"""Signatures: several patterns that together name an element where one alone does not.

row-coded names rows, col-coded names columns; an element's pair of codes names it. Small exact
numbers do this where one injective code would not fit the dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.patterns.pattern import Pattern, first_collision


@dataclass(frozen=True)
class Collision:
    """Two elements that no pattern of a signature tells apart.

    Attributes:
        first, second: (row, col).
    """

    first: tuple[int, int]
    second: tuple[int, int]


def joint_keys(
    patterns: Sequence[Pattern], shape: tuple[int, int], carriers: Sequence[str]
) -> NDArray[np.int64]:
    """One integer per element, row-major, equal exactly where all codes are equal.

    Raises:
        UsageError: a pattern refuses the shape or its carrier.
    """
    keys = np.zeros(shape[0] * shape[1], np.int64)
    for pattern, carrier in zip(patterns, carriers, strict=True):
        raw = pattern.encode(shape, carrier).ravel().astype(np.int64)
        known, digit = np.unique(raw, return_inverse=True)
        # Renumbering after every digit keeps the keys below rows*cols, so they never overflow.
        _, keys = np.unique(keys * known.size + digit.ravel(), return_inverse=True)
        keys = keys.ravel().astype(np.int64)
    return keys


def collision(
    patterns: Sequence[Pattern], shape: tuple[int, int], carriers: Sequence[str]
) -> Collision | None:
    """The first two elements that share every code, or None where each element has its own."""
    pair = first_collision(joint_keys(patterns, shape, carriers), shape[1], ("row", "col"))
    return None if pair is None else Collision(*pair)


def joint_injective(patterns: Sequence[Pattern], shape: tuple[int, int], carriers: Sequence[str]) -> bool:
    """Whether the patterns together name every element of the matrix."""
    return collision(patterns, shape, carriers) is None
