"""The problem sizes of a kernel: as listed, or as they follow from its tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from layoutprobe.errors import UsageError
from layoutprobe.manifest.model import Argument, Expression, Sizes
from layoutprobe.manifest.section import Section
from layoutprobe.patterns.expression import evaluate

MOST = 64
_LARGEST = (1 << 31) - 1
_CONDITIONS = 16
DEPTH = "K"
"""The size along which a workgroup goes in steps."""


def read_sizes(table: Section) -> tuple[tuple[Sizes, ...], Sizes, Sizes]:
    """The sizes to run, the tile, and what sizes are multiples of; empty where the manifest names none.

    Raises:
        UsageError: no sizes, or not such.
    """
    tile = _positive(table, "tile")
    multiple = _positive(table, "multiple")
    if tile and not table.has("sizes"):
        for name in multiple:
            if name not in tile:
                table.fail("multiple", f"names of the tile: {', '.join(tile)}")
        return sizes_of(tile, multiple), tile, multiple
    given = _listed(table)
    for key, named in (("tile", tile), ("multiple", multiple)):
        for name in named:
            if name not in given[0]:
                table.fail(key, f"names that the sizes have: {', '.join(given[0])}")
    for name, step in multiple.items():
        if any(size[name] % step for size in given):
            table.fail(
                "multiple", f"numbers that divide every size; {name} is not always a multiple of {step}"
            )
    return given, tile, multiple


def read_where(table: Section, sizes: tuple[Sizes, ...]) -> tuple[tuple[Expression, ...], tuple[Sizes, ...]]:
    """What holds of every size, and the sizes: those that follow from a tile where it does, listed ones as they are
    (`bind` says of which it does not).

    Raises:
        UsageError: it holds of none.
    """
    if not table.has("where"):
        return (), sizes
    where = table.expressions("where", tuple(sizes[0]), 1, _CONDITIONS)
    if table.has("sizes"):
        return where, sizes
    left = tuple(one for one in sizes if all(_holds(table, condition, one) for condition in where))
    if not left:
        table.fail("where", "conditions that a size holds which follows from the tile; or list `sizes`")
    return where, left


def _holds(table: Section, condition: Expression, sizes: Sizes) -> bool:
    try:
        return bool(evaluate(condition.node, {name: np.asarray(v, np.int64) for name, v in sizes.items()}))
    except UsageError as error:
        table.fail("where", f"expressions with a value at every size: {error.what}")


def sizes_of(tile: Sizes, multiple: Sizes) -> tuple[Sizes, ...]:
    """Sizes at which bugs of edges and pipelines show: whole, one k step, one more and one less than the tile with
    a tail of one, and ragged; 1 to 6 k steps, so that every buffer of a pipeline is filled again.

    Args:
        tile: what a workgroup makes, and under DEPTH how deep a step is.
        multiple: what every size is a multiple of; 1 where left out.
    """
    drafted: dict[tuple[int, ...], Sizes] = {}
    for number in range(5):
        size = {
            name: _next(_value(name, at, extent, number), multiple.get(name, 1))
            for at, (name, extent) in enumerate(tile.items())
        }
        drafted.setdefault(tuple(size.values()), size)
    return tuple(drafted.values())


def _value(name: str, at: int, extent: int, number: int) -> int:
    """One extent of the draft with that number; odd places get the one more where even ones get the one less."""
    half = (extent + 1) // 2
    if name == DEPTH:
        return (4 * extent, extent, extent + 1, max(3 * extent - 1, 1), 5 * extent + half)[number]
    more, less = extent + 1, max(extent - 1, 1)
    edges = (less, more) if at % 2 else (more, less)
    return (extent, extent, *edges, extent + half)[number]


def _next(value: int, step: int) -> int:
    return -(-value // step) * step


def _positive(table: Section, key: str) -> dict[str, int]:
    named = table.get(key)
    if named is None:
        return {}
    fits = isinstance(named, dict) and 1 <= len(named) <= 32
    if not fits or not all(_is_size(k, v) and v <= 1 << 16 for k, v in named.items()):
        table.fail(
            key, f"a table of names and numbers from 1 to {1 << 16}, such as {{ M = 128, N = 128, K = 16 }}"
        )
    return dict(named)


def _listed(table: Section) -> tuple[Sizes, ...]:
    value = table.get("sizes")
    expected = f"a list of 1 to {MOST} tables, such as [{{ M = 128, N = 128, K = 64 }}], or a `tile`"
    if not isinstance(value, list) or not 1 <= len(value) <= MOST:
        table.fail("sizes", expected)
    for size in value:
        if (
            not isinstance(size, dict)
            or not all(_is_size(k, v, 0) for k, v in size.items())
            or len(size) > 32
        ):
            table.fail("sizes", f"{expected}; names are identifiers, values 0 to {_LARGEST}")
        if set(size) != set(value[0]):
            table.fail("sizes", f"the same names in every size: {', '.join(value[0])}")
    return tuple(_ordered(size, value[0]) for size in value)


def _ordered(size: Mapping[str, int], names: Mapping[str, int]) -> Sizes:
    return {name: size[name] for name in names}


def require_extents(table: Section, sizes: Sequence[Sizes], arguments: Sequence[Argument]) -> None:
    """A padding or the number of an axis may be 0, an extent of a buffer may not.

    Raises:
        UsageError: one is.
    """
    for argument in arguments:
        for extent in argument.shape:
            if any(size.get(extent.text) == 0 for size in sizes):
                table.fail(
                    "sizes",
                    f"values 1 to {_LARGEST} for {extent.text}, which is an extent of {argument.name}",
                )


def _is_size(name: str, value: Any, least: int = 1) -> bool:
    plain = name.isascii() and name.isidentifier() and len(name) <= 32
    reserved = name in ("if", "else", "shuffle")
    return plain and not reserved and type(value) is int and least <= value <= _LARGEST
