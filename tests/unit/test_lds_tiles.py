"""Tiles in LDS, in words: rows and columns are the matrix's, and part of a tile keeps the form of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.layouts.layout import HOLE
from layoutprobe.trace.lds_tiles import TileMap, in_words


def tile(formula: str, rows: int, cols: int, at: tuple[int, int] = (0, 0)) -> TileMap:
    """A tile of halves whose element (row, col) lies where a formula of this file puts it."""
    row, col = (x.ravel() for x in np.indices((rows, cols)))
    place = eval(formula, {}, {"row": row, "col": col})
    place = place - place.min()
    held = [np.full(int(place.max()) + 1, HOLE, np.int32) for _ in "rc"]
    for axis, values, start in zip(held, (row, col), at, strict=True):
        axis[place] = values + start
    return TileMap("A", 0, 2, *held)


ROWS = "row*32 + ((col//8) ^ (row % 4))*8 + col % 8"
COLUMNS = "col*32 + ((row//8) ^ (col % 4))*8 + row % 8"
"""32 x 32 halves with chunks of 8 XORed by four neighbours: no scheme of ours."""


@pytest.mark.parametrize(("formula", "turned"), [(ROWS, False), (COLUMNS, True)])
def test_swizzled_chunks_lie_along_what_is_contiguous(formula: str, turned: bool) -> None:
    (said,) = in_words([tile(formula, 32, 32)])
    assert ("[col][row], transposed, is index = " in said) is turned
    assert ("[row][col] is index = " in said) is not turned
    row, col = np.indices((32, 32))
    shown = said.split("index = ")[1].replace("/", "//")
    same = {"row": row, "col": col}
    assert np.array_equal(eval(shown, {}, same), eval(formula, {}, same)), said


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("row*40 + col", "[row][col] is padded: row*40 + col"),
        ("col*72 + row", "[col][row], transposed, is padded: col*72 + row"),
        ("row*36 + col", "[row][col] is index = 36*row + col"),
        (ROWS, "[row][col] is index = "),
        (COLUMNS, "[col][row], transposed, is index = "),
    ],
)
@pytest.mark.parametrize("part", [(64, 1), (1, 32), (33, 32), (5, 7), (1, 1)])
def test_a_ragged_tile_keeps_the_form_of_the_whole(formula: str, said: str, part: tuple[int, int]) -> None:
    rows = 64 if "40" in formula or "36" in formula or "72" in formula else 32
    whole, ragged = in_words([tile(formula, rows, 32), tile(formula, min(part[0], rows), part[1], (0, 32))])
    assert said in whole
    assert ragged.split("; ")[1] == whole.split("; ")[1]


def test_a_tile_that_lies_otherwise_has_a_form_of_its_own() -> None:
    _, other = in_words([tile("row*40 + col", 64, 32), tile("row*36 + col", 32, 32)])
    assert "is index = 36*row + col" in other


@pytest.mark.parametrize("gap", [0, 64])
@pytest.mark.parametrize("turned", [False, True])
def test_tiles_in_buffers_have_the_form_of_one(gap: int, turned: bool) -> None:
    formula = f"row*32 + (((col//8) ^ (row//2)) % 4)*8 + col % 8 + {64 * 32 + gap}*(col // 32)"
    both = tile(formula, 64, 64)
    if turned:
        both = TileMap("B", 0, 2, both.col, both.row)
    parts = both.by_buffer()
    assert [part.first for part in parts] == [0, 2 * (64 * 32 + gap)]
    assert [part.shape for part in parts] == [(32, 64) if turned else (64, 32)] * 2
    for said in in_words(parts):
        assert f"{'[col][row], transposed,' if turned else '[row][col]'} is xor-vector" in said


@pytest.mark.parametrize("formula", ["row*64 + col", "row*72 + col", "row*8 + col % 8 + 512*(col // 8)"])
def test_a_tile_whose_lines_are_whole_is_one(formula: str) -> None:
    one = tile(formula, 64, 64)
    assert one.by_buffer() == (one,)


def test_one_column_alone_is_not_called_transposed() -> None:
    (said,) = in_words([tile("row*40", 64, 1)])
    assert "[row][col] is index = 40*row" in said
