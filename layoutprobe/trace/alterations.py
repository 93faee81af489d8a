"""Ways in which arrays are taken otherwise than they are meant, each with its sentence: of codes, numbers and places.

Sentences have {name} where the array's name goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.trace.gemm_faults import rows_apart_of_16, tiles_of_rows, transposed_tiles

Values = NDArray[Any]
Change = Callable[[Values], Values]
Alterations = Iterator[tuple[str, Change]]

_FOLDS = (16, 32, 64)


# What codes and numbers are taken for


def of_codes() -> Alterations:
    """Of bytes and words that hold several codes. The first is none: they may all be off by a constant."""
    yield "", np.copy
    yield "the two nibbles of every byte of {name} are exchanged", _bytes(lambda b: (b >> 4) | (b << 4))
    says = "the {} nibble of every byte of {{name}} is used twice, and the {} one never"
    yield says.format("upper", "lower"), _bytes(lambda b: (b >> 4) * 0x11)
    yield says.format("lower", "upper"), _bytes(lambda b: (b & 15) * 0x11)
    sign = "of {name} have a sign where they should not, or none where they should"
    yield f"nibbles {sign}", _bytes(lambda b: b ^ 0x88)
    yield f"bytes {sign}", _bytes(lambda b: b ^ 0x80)
    yield "nibbles of {name} are in reverse order", _nibbles_reversed
    yield (
        "the even nibbles of {name} are taken for the first ones, the odd ones for the others",
        _nibbles(_EVEN_FIRST),
    )
    yield (
        "neighbouring nibbles of {name} are taken for those that lie half a word apart",
        _nibbles(_INTERLEAVED),
    )
    yield "the bytes of every element of {name} are in reverse order", lambda v: v.byteswap()


def of_integers() -> Alterations:
    """Of integers, whatever they hold."""
    yield "{name} has a sign where it should not, or none where it should", _other_sign
    yield "{name} is taken as {name} + 1", lambda v: v + v.dtype.type(1)
    yield "{name} is taken as {name} - 1", lambda v: v - v.dtype.type(1)
    yield "{name} is negated", np.negative
    yield LEFT_OUT, np.zeros_like


LEFT_OUT = "{name} has no effect: it is taken as 0"
_EVEN_FIRST = (0, 2, 4, 6, 1, 3, 5, 7)
_INTERLEAVED = (0, 4, 1, 5, 2, 6, 3, 7)
"""Orders of the eight nibbles of a word in which tools for 4-bit weights pack them."""


def of_numbers() -> Alterations:
    """Of floats."""
    yield LEFT_OUT, np.zeros_like  # what is said of an addend before it is taken for a factor
    yield "{name} is missing as a factor: it is taken as 1", np.ones_like
    yield "{name} is negated", np.negative
    yield "{name} is squared, or multiplied twice", np.square
    yield "{name} is taken twice", lambda v: v + v
    yield "1 / {name} is taken", np.reciprocal


def all_bytes(byte: int) -> Change:
    """The same byte everywhere."""
    return _bytes(lambda b: np.full_like(b, byte))


def _bytes(change: Change) -> Change:
    def altered(values: Values) -> Values:
        given = np.ascontiguousarray(values).view(np.uint8)
        return np.asarray(change(given)).astype(np.uint8).view(values.dtype)

    return altered


def _nibbles(order: tuple[int, ...]) -> Change:
    """Words of 32 bits whose nibble i is that of place order[i]; what is narrower stays."""

    def altered(values: Values) -> Values:
        if values.dtype.itemsize != 4:
            return values
        words = np.ascontiguousarray(values).view(np.uint32)
        parts = [
            (words >> np.uint32(4 * place) & np.uint32(15)) << np.uint32(4 * i)
            for i, place in enumerate(order)
        ]
        return np.bitwise_or.reduce(parts).view(values.dtype)

    return altered


def _nibbles_reversed(values: Values) -> Values:
    return _bytes(lambda b: (b >> 4) | (b << 4))(values).byteswap()


def _other_sign(values: Values) -> Values:
    other = np.dtype(f"{'i' if values.dtype.kind == 'u' else 'u'}{values.dtype.itemsize}")
    return np.ascontiguousarray(values).view(other).astype(np.int64)


# From where


def of_places(shape: tuple[int, ...], extents: Mapping[str, int]) -> Alterations:
    """An array of that shape with another index; `extents` may be taken for a leading dimension."""
    for axis, extent in enumerate(shape):
        if extent < 2:
            continue
        line = {len(shape) - 2: "row", len(shape) - 1: "column"}.get(axis, "batch")
        line = "element" if len(shape) == 1 else line
        lines = f"{line}es" if line == "batch" else f"{line}s"
        i = np.arange(extent)
        yield f"{line} 0 of {{name}} is taken for all", _picked(axis, i * 0)
        for off in (1, -1):
            far = f"{{name}} is taken one {line} too {'far' if off > 0 else 'early'}"
            yield far, _picked(axis, (i + off) % extent)
            yield far, _picked(axis, i + off)
        yield f"neighbouring {lines} of {{name}} are exchanged", _picked(axis, i ^ 1)
        yield f"{{name}} is indexed by half the {line}", _picked(axis, i // 2)
        yield f"{{name}} is indexed by twice the {line}", _picked(axis, 2 * i % extent)
        yield f"{{name}} is taken with its {lines} in reverse order", _picked(axis, i[::-1])
        for fold in _FOLDS:
            if fold < extent:
                yield f"the first {fold} {lines} of {{name}} are taken for all", _picked(axis, i % fold)
                yield (
                    f"the first of every {fold} {lines} of {{name}} is taken for all",
                    _picked(axis, i // fold * fold),
                )
                says = f"neighbouring groups of {fold} {lines} of {{name}} are exchanged"
                yield says, _picked(axis, i ^ fold)
    if len(shape) >= 2:
        yield from _apart(shape, extents)


def _apart(shape: tuple[int, ...], extents: Mapping[str, int]) -> Alterations:
    rows, cols = shape[-2:]
    i, j = np.indices((rows, cols))
    for tile in _FOLDS[:2]:
        if min(rows, cols) >= tile:
            yield (
                f"every {tile} x {tile} tile of {{name}} is transposed",
                partial(transposed_tiles, tile=tile),
            )
    yield "{name} is read transposed", _flat(j * rows + i)
    for label, extent in {**extents, "its number of rows": rows}.items():
        if extent != cols:
            yield f"rows of {{name}} are taken {extent} ({label}) elements apart", _flat(i * extent + j)


def of_outputs() -> Alterations:
    """Of an output of two axes or more, that is stored elsewhere."""
    yield (
        "{name} is stored transposed: rows and columns are exchanged",
        lambda v: np.ascontiguousarray(np.swapaxes(v, -1, -2)).reshape(v.shape),
    )
    yield "half-waves store 8 consecutive rows, as on RDNA4", rows_apart_of_16
    yield "half-waves store every other row, as on RDNA3", _rows_joined
    for axis, line in ((-2, "row"), (-1, "column")):
        for off in (1, -1):
            says = f"{{name}} is stored one {line} too {'far' if off > 0 else 'early'}"
            yield says, partial(np.roll, shift=off, axis=axis)
        for fold in _FOLDS[:2]:
            yield f"neighbouring groups of {fold} {line}s of {{name}} are exchanged", _groups(axis, fold)


def _rows_joined(value: Values) -> Values:
    """Row v + 8h of every tile stored to row 2v + h."""
    inside = np.arange(16)
    return tiles_of_rows(value, inside // 2 + 8 * (inside % 2))


def _groups(axis: int, fold: int) -> Change:
    return lambda v: _picked(axis, np.arange(v.shape[axis]) ^ fold)(v)


def _picked(axis: int, at: NDArray[np.int64]) -> Change:
    return lambda values: np.take(values, np.clip(at, 0, values.shape[axis] - 1), axis)


def _flat(at: NDArray[np.int64]) -> Change:
    """Another index into the last two axes; what lies beyond them is that of the next batch, or of the first."""

    def altered(values: Values) -> Values:
        size = prod(values.shape[-2:])
        starts = np.arange(values.size // size).reshape(*values.shape[:-2], 1, 1) * size
        return np.asarray(values.reshape(-1)[(starts + at) % values.size])

    return altered
