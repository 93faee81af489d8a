"""Fits an integer function of bits: as a sum of weighted bits, or as an XOR of weighted bits.

A function of a slot (wave, lane, vgpr, field) whose extents are powers of two is, in nearly every
layout in use, fixed by its values at the powers of two. Both fits solve for these weights over
the slots that are observed, prefer low bits where the observation leaves a choice, and are
accepted only if they reproduce every observed slot.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Fit(Struct, frozen=True):
    """`base + sum(weight * bit)`, or the same with XOR.

    Attributes:
        base: value where all bits are 0.
        weights: one per bit.
        xor: combine with XOR instead of +.
    """

    base: int
    weights: tuple[int, ...]
    xor: bool


def bit_matrix(extents: tuple[int, ...], where: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The bits of every coordinate at the chosen points, lowest first: 0/1, axes [point, bit]."""
    columns = [
        coordinate >> bit & 1
        for coordinate, extent in zip(np.nonzero(where), extents, strict=True)
        for bit in range(bits_of(extent))
    ]
    return np.array(columns, np.int64).reshape(len(columns), int(where.sum())).T


def bits_of(extent: int) -> int:
    """Bits of a coordinate."""
    return max(extent - 1, 0).bit_length()


def fit_sum(bits: NDArray[np.int64], value: NDArray[np.int64]) -> Fit | None:
    """Weights w and base with value = base + bits @ w at every point, or None.

    Args:
        bits: 0/1, axes [point, bit].
        value: one integer per point.
    """
    design = np.column_stack([np.ones(len(value), np.int64), bits])
    gram = (design.T @ design).astype(np.float64)
    target = (design.T @ value).astype(np.float64)
    kept = _independent(gram)
    solved = np.zeros(design.shape[1], np.int64)
    solved[kept] = np.rint(np.linalg.solve(gram[np.ix_(kept, kept)], target[kept])).astype(np.int64)
    if not np.array_equal(design @ solved, value):
        return None
    return Fit(int(solved[0]), tuple(int(w) for w in solved[1:]), xor=False)


def _independent(gram: NDArray[np.float64]) -> list[int]:
    """Columns, first come first kept, that are linearly independent (pivots of a Cholesky run)."""
    rest = gram.copy()
    kept: list[int] = []
    for column in range(len(gram)):
        pivot = rest[column, column]
        if pivot > 1e-6 * max(1.0, gram[column, column]):
            kept.append(column)
            rest -= np.outer(rest[:, column], rest[column]) / pivot
    return kept


def fit_xor(bits: NDArray[np.int64], value: NDArray[np.int64]) -> Fit | None:
    """Weights w and base with value = base ^ XOR of the w whose bit is 1 at every point, or None.

    Args:
        bits: 0/1, axes [point, bit].
        value: one non-negative integer per point.
    """
    if value.min() < 0:
        return None
    # One equation per point: its bits (bit 0 is the constant) and the value it must give. Gaussian
    # elimination over GF(2) with rows packed into Python integers keeps the value beside them.
    columns = bits.shape[1] + 1
    packed = ((bits << np.arange(1, columns)).sum(axis=1) | 1) << 32 | value
    pivots: dict[int, int] = {}
    for equation in sorted(set(packed.tolist())):  # not np.unique, which imports numpy.ma
        for column in range(columns):
            if not equation >> (32 + column) & 1:
                continue
            if column in pivots:
                equation ^= pivots[column]
            else:
                pivots[column] = equation
                break
        else:
            if equation:  # all bits cancelled, yet a value is left: not linear
                return None
    solved = [0] * columns
    for column in sorted(pivots, reverse=True):
        weight = pivots[column] & 0xFFFFFFFF
        for other in range(column + 1, columns):
            if pivots[column] >> (32 + other) & 1:
                weight ^= solved[other]
        solved[column] = weight
    return Fit(solved[0], tuple(solved[1:]), xor=True)


def affine_conditions(bits: NDArray[np.int64]) -> list[tuple[int, int]] | None:
    """Parity conditions that hold on exactly the given points, or None where none describe them.

    Returns:
        (mask of bits, parity) pairs: the XOR of the masked bits is the parity. An empty list
        means every point.
    """
    count, width = bits.shape
    points = (bits << np.arange(width)).sum(axis=1)
    origin = int(points[0])
    basis: list[int] = []  # reduced: each leading bit occurs in one vector only
    for vector in (points ^ origin).tolist():
        for held in basis:
            vector = min(vector, vector ^ held)
        if vector:
            lead = 1 << vector.bit_length() - 1
            basis = [held ^ vector if held & lead else held for held in basis] + [vector]
    if 1 << len(basis) != count:
        return None
    leads = {vector.bit_length() - 1 for vector in basis}
    conditions = []
    for free in range(width):
        if free in leads:
            continue
        # A vector of the span has bit `free` exactly as the leading bits choose it.
        mask = 1 << free
        for vector in basis:
            if vector >> free & 1:
                mask |= 1 << vector.bit_length() - 1
        conditions.append((mask, (origin & mask).bit_count() & 1))
    return conditions
