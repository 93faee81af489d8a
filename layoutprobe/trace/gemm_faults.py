"""What a wrong product looks like: known faults recomputed, and regions in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.report.words import region

Doubles = NDArray[np.float64]
Mask = NDArray[np.bool_]

TILE = 16
"""Rows and columns of a tile where no matrix instruction says otherwise."""
_STEPS = (1, 2, 4)
"""K steps that a loop may leave out or repeat, in tiles."""


@dataclass(frozen=True, eq=False)
class Product:
    """D = alpha * A @ B + beta * C, as float64; leading axes are a batch.

    Attributes:
        a, b: factors.
        c: what is added; None where nothing is.
        alpha, beta: scalars.
        tile: rows, and columns, of a matrix instruction's D.
    """

    a: Doubles
    b: Doubles
    c: Doubles | None
    alpha: float
    beta: float
    tile: int = TILE

    __repr__ = brief

    def value(self) -> Doubles:
        """The right result."""
        return self.of(self.a, self.b)

    def of(self, a: Doubles, b: Doubles) -> Doubles:
        """The result with other factors."""
        product = self.alpha * (a @ b)
        return product if self.c is None or not self.beta else product + self.beta * self.c

    def magnitude(self) -> tuple[Doubles, Doubles]:
        """|alpha| * |A| @ |B| and |beta * C|: what rounding errors are relative to."""
        terms = abs(self.alpha) * (np.abs(self.a) @ np.abs(self.b))
        added = np.zeros(()) if self.c is None or not self.beta else np.abs(self.beta * self.c)
        return terms, added

    def spread(self) -> Doubles:
        """|alpha| * sqrt(A*A @ B*B): how far sums of terms of either sign come from zero."""
        return np.asarray(abs(self.alpha) * np.sqrt(self.a**2 @ self.b**2))


def transposed_tiles(matrix: Doubles, tile: int = TILE) -> Doubles:
    """Every tile transposed in place; beyond the edge there are zeros."""
    *lead, rows, cols = matrix.shape
    tall, wide = -(-rows // tile) * tile, -(-cols // tile) * tile
    padded = np.zeros((*lead, tall, wide))
    padded[..., :rows, :cols] = matrix
    tiles = padded.reshape(*lead, tall // tile, tile, wide // tile, tile)
    return np.asarray(np.swapaxes(tiles, -3, -1).reshape(*lead, tall, wide)[..., :rows, :cols])


def known_faults(p: Product) -> Iterator[tuple[str, Doubles]]:
    """Sentences, and the result that a kernel with that fault computes."""
    depth = p.a.shape[-1]
    tiles = f"every {p.tile} x {p.tile} tile"
    turned_a, turned_b = (transposed_tiles(factor, p.tile) for factor in (p.a, p.b))
    yield f"{tiles} of A is transposed", p.of(turned_a, p.b)
    yield f"{tiles} of B is transposed", p.of(p.a, turned_b)
    yield f"{tiles} of A and of B is transposed", p.of(turned_a, turned_b)
    if p.c is not None and p.beta:
        yield "beta * C is missing", p.alpha * (p.a @ p.b)
        yield "C is added without beta", p.alpha * (p.a @ p.b) + p.c
        yield "alpha and beta are exchanged", p.beta * (p.a @ p.b) + p.alpha * p.c
    added = 0.0 if p.c is None or not p.beta else p.beta * p.c
    if p.alpha != 1:
        yield "alpha is missing", p.a @ p.b + added
    tail = depth % p.tile
    lengths = dict.fromkeys([*([tail] if tail else []), *(s * p.tile for s in _STEPS if s * p.tile < depth)])
    for length in lengths:
        yield f"the last {length} of {depth} k are missing", p.of(p.a[..., :-length], p.b[..., :-length, :])
        yield f"the first {length} of {depth} k are missing", p.of(p.a[..., length:], p.b[..., length:, :])
        again_a, again_b = (
            np.concatenate([p.a, p.a[..., -length:]], -1),
            np.concatenate([p.b, p.b[..., -length:, :]], -2),
        )
        yield f"the last {length} of {depth} k are added twice", p.of(again_a, again_b)
    # A product that goes astray meets the C of the place where it arrives.
    product = p.alpha * (p.a @ p.b)
    if product.shape[-1] == product.shape[-2]:
        yield "C is stored transposed", np.swapaxes(product, -1, -2) + added
    if p.tile == 16:
        yield (
            "half-waves store 8 consecutive rows, as on another generation",
            _rows_apart_of_16(product) + added,
        )


def _rows_apart_of_16(value: Doubles) -> Doubles:
    """Row 2v + h of every tile stored to row v + 8h; only meaningful for whole tiles."""
    rows = np.arange(value.shape[-2])
    inside = rows % 16
    source = rows - inside + inside % 8 * 2 + inside // 8
    return np.asarray(value[..., np.minimum(source, value.shape[-2] - 1), :])


def words_for(p: Product, observed: Doubles, wrong: Mask, bound: Doubles | float) -> str:
    """The fault that explains the result, or where the wrong elements lie."""
    for sentence, predicted in known_faults(p):
        with np.errstate(invalid="ignore"):
            if (np.abs(observed - predicted) <= bound).all():
                return sentence
    return where_wrong(wrong, p.tile)


def where_wrong(wrong: Mask, tile: int = TILE) -> str:
    """Where the wrong elements lie, in words."""
    share = wrong.mean()
    if share == 1:
        return "all elements are wrong"
    flat = np.any(wrong.reshape(-1, *wrong.shape[-2:]), axis=0) if wrong.ndim > 1 else wrong[None]
    rows, cols = np.flatnonzero(flat.any(axis=1)), np.flatnonzero(flat.any(axis=0))
    for name, lines, extent in (("rows", rows, flat.shape[0]), ("columns", cols, flat.shape[1])):
        if lines.size < extent and lines[-1] == extent - 1 and lines[0] >= extent // tile * tile:
            count = extent - int(lines[0])
            lasts = f"{count} {name} are" if count > 1 else f"{name[:-1]} is"
            return f"only the last {lasts} wrong, beyond the last whole tile of {tile}"
    for name, lines, extent in (("row", rows, flat.shape[0]), ("column", cols, flat.shape[1])):
        classes = np.unique(lines % tile)
        if (
            extent > tile
            and classes.size < tile
            and lines.size == np.isin(np.arange(extent) % tile, classes).sum()
        ):
            return f"wrong in every tile of {tile} in {name}s {', '.join(map(str, classes))}"
    return f"wrong: {region(wrong)}" if share < 0.9 else "nearly all elements are wrong"


def error_metrics(observed: NDArray[Any], expected: Doubles) -> tuple[float, float]:
    """Largest |observed - expected|; and the same over the largest |expected|.

    Errors relative to each element would say little: sums of mixed signs come close to zero.
    """
    with np.errstate(all="ignore"):
        error = np.abs(np.asarray(observed, np.float64) - expected)
    error = np.where(np.isnan(error), np.inf, error)
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    largest = float(error.max(initial=0.0))
    return largest, largest / scale if scale else largest and np.inf
