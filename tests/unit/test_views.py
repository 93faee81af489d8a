"""Three views of an operand: blocks, loads, and (k, line) of every slot."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.views import PACKED, RAW, RECEIVED, VIEWS, OperandViews, Read, k_and_col
from layoutprobe.place import Place

RNG = np.random.default_rng(3)
LOADS = (Read("ds_read_b64_tr_b8", Place(pc=8), 2), Read("ds_read_b64_tr_b8", Place(pc=16), 2),
         Read("ds_read_b96_tr_b6", Place(pc=24), 4))  # fmt: skip


def table(matrix: str, vgprs: int, bits: int = 8, lanes: int = 64) -> Layout:
    """Elements by chance: 2 waves."""
    axes = (2, lanes, vgprs, 32 // bits)
    row, col = (RNG.integers(0, 64, axes, np.int32) for _ in range(2))
    return Layout(matrix, (64, 64), row, col, bits)


def views(matrix: str = "B", blocks: int = 2) -> OperandViews:
    packed = table(matrix, 6)
    return OperandViews(table(matrix, 8), table(matrix, 8), packed, LOADS, np.zeros((2, 64, 3), int), blocks)


def test_views_have_names() -> None:
    seen = views()
    assert [seen.view(name) for name in VIEWS] == [seen.raw, seen.received, seen.packed]
    assert (RAW, RECEIVED, PACKED) == VIEWS
    with pytest.raises(KeyError):
        seen.view("loaded")


def test_blocks_are_parts_of_the_tables() -> None:
    seen = views()
    assert np.array_equal(seen.block(1).row, seen.packed.row[:, :, 3:])


def test_lanes_that_fetch_for_each_other() -> None:
    seen = views()
    assert seen.groups.tolist() == [[*range(first, first + 16)] for first in (0, 16, 32, 48)]
    half = replace(seen, together=8, naming=32)
    assert half.groups.tolist() == [[*range(at, at + 8), *range(at + 32, at + 40)] for at in (0, 8, 16, 24)]


def test_k_is_the_row_of_b_and_the_column_of_a() -> None:
    of_a, of_b = table("A", 3), table("B", 3)
    for wave, lane, vgpr, byte in RNG.integers(0, (2, 64, 3, 4), (50, 4)):
        here = (wave, lane, 4 * vgpr + byte)
        at = (wave, lane, vgpr, byte)
        assert [axis[here] for axis in k_and_col(of_a)] == [of_a.col[at], of_a.row[at]]
        assert [axis[here] for axis in k_and_col(of_b)] == [of_b.row[at], of_b.col[at]]


def test_tables_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="same waves and lanes"):
        OperandViews(table("B", 8), table("B", 8, lanes=32), table("B", 6), LOADS, np.zeros((2, 64, 3), int))
    with pytest.raises(ValueError, match="as many registers"):
        views(blocks=4)
