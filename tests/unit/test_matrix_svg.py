"""Matrices as rectangles: each element is covered once, by a rectangle of its kind."""

from __future__ import annotations

import re

import numpy as np
import pytest

from layoutprobe.render.matrix_svg import Kind, MatrixMap, rectangles
from layoutprobe.render.notebook import owner_map
from layoutprobe.render.svg import picture
from layoutprobe.report.inspection import Owners


@pytest.mark.parametrize("shape", [(1, 1), (7, 1), (1, 9), (12, 17)])
@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_rectangles_cover_a_matrix_once(shape: tuple[int, int], kinds: int) -> None:
    matrix = np.random.default_rng(kinds).integers(0, kinds, shape)
    covered = np.zeros(shape, int)
    for row, col, height, width in rectangles(matrix):
        assert len(set(matrix[row : row + height, col : col + width].ravel().tolist())) == 1
        covered[row : row + height, col : col + width] += 1
    assert (covered == 1).all()


def test_tiles_are_one_rectangle_each() -> None:
    row, col = np.indices((32, 48))
    tiles = row // 16 * 3 + col // 16
    found = sorted(rectangles(tiles))
    assert found == [(16 * r, 16 * c, 16, 16) for r in (0, 1) for c in (0, 1, 2)]


def test_the_picture_tells_rows_columns_and_kind() -> None:
    matrix = np.zeros((8, 8), int)
    matrix[2:4, 5] = 1
    kinds = [Kind("right", 1), Kind("<wrong>", 0, hatched=True)]
    drawn = picture("C", [MatrixMap(matrix, kinds, 2)])
    titles = re.findall(r"<title>(\[.*?)</title>", drawn)
    assert "[2-3, 5]: &lt;wrong&gt;" in titles
    assert "<wrong>" not in drawn
    assert "[0-1, 0-7]: right" in titles


def owned(group: np.ndarray, wave: np.ndarray) -> str:
    """The picture of an output that these waves of workgroups (n, 0, 0) stored."""
    groups = np.stack([group, 0 * group, 0 * group], axis=-1).astype(np.int32)
    none = np.zeros(wave.shape, np.int32)
    return owner_map(Owners("C", groups, wave.astype(np.int32), none, none, none.astype(np.int64)))


def test_waves_of_two_workgroups_look_different_without_colours() -> None:
    row, col = np.indices((128, 128))
    group, wave = col // 64, 2 * (row // 32) + col % 64 // 32
    drawn = owned(group, wave)
    written = re.findall(r'class="head">(\d of \(\d, 0, 0\))</text>', drawn)
    assert sorted(written) == sorted(f"{w} of ({g}, 0, 0)" for g in (0, 1) for w in range(8))
    assert drawn.count("url(#lp-hatch)") == 8, "those of the second workgroup"
    assert "every other one is hatched" in drawn


def test_a_large_output_names_each_wave_once_below_it() -> None:
    row, col = np.indices((512, 512))
    wave = np.where(row < 8, -1, row % 128 // 32)
    drawn = owned(col // 64, wave)
    assert [drawn.count(f">wave {w}</text>") for w in range(4)] == [1] * 4
    assert ">nobody</text>" in drawn
    assert set(re.findall(r'class="head">(\d)</text>', drawn)) == set("0123"), "where there is no more room"
