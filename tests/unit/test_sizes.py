"""The sizes that follow from a tile show the bugs of edges and of pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile.test_manifests import refused, written

from layoutprobe.errors import UsageError
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.read import read_manifest
from layoutprobe.manifest.sizes import sizes_of

TILES = [{"M": 128, "N": 64, "K": 32}, {"M": 16, "N": 16, "K": 16}, {"M": 1, "N": 256, "K": 8}]


@pytest.mark.parametrize("tile", TILES)
def test_edges_and_depths(tile: dict[str, int]) -> None:
    sizes = sizes_of(tile, {})
    assert tile in sizes
    for name in ("M", "N"):
        assert {size[name] - tile[name] for size in sizes} >= {0, 1, max(-1, 1 - tile[name])}
        assert any(size[name] > tile[name] for size in sizes)
        assert tile[name] == 1 or any(1 < size[name] % tile[name] < tile[name] - 1 for size in sizes)
    assert {-(-size["K"] // tile["K"]) for size in sizes} == {1, 2, 3, 4, 6}
    assert {size["K"] % tile["K"] for size in sizes} >= {0, 1, tile["K"] - 1}


def test_a_batch_has_a_second_one_and_multiples_are_kept() -> None:
    sizes = sizes_of({"batch": 1, "M": 64, "K": 16}, {"K": 8, "M": 2})
    assert {size["batch"] for size in sizes} == {1, 2}
    assert all(size["K"] % 8 == 0 and size["M"] % 2 == 0 for size in sizes)
    assert {size["K"] % 16 for size in sizes} == {0, 8}
    assert len(sizes) == len({tuple(size.items()) for size in sizes})


def test_in_a_manifest(tmp_path: Path) -> None:
    (case,) = read_manifest(written(tmp_path, ("sizes = [{ n = 40 }]", "tile = { n = 16 }"))).kernels
    assert [size["n"] for size in case.sizes] == [16, 17, 15, 24]
    assert case.tile == {"n": 16}


def test_sizes_for_which_a_condition_does_not_hold_are_left_out(tmp_path: Path) -> None:
    text = 'tile = { n = 16 }\nwhere = ["n % 2 == 0"]'
    (case,) = read_manifest(written(tmp_path, ("sizes = [{ n = 40 }]", text))).kernels
    assert [size["n"] for size in case.sizes] == [16, 24]
    with pytest.raises(UsageError, match="rules this size out"):
        bind(case, {"n": 17})


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("tile = { n = 0 }", "tile"),
        ("tile = 16", "tile"),
        ("tile = { n = 100000 }", "65536"),
        ("tile = { n = 16 }\nmultiple = { m = 8 }", "names of the tile"),
        ("sizes = [{ n = 40 }]\ntile = { m = 16 }", "names that the sizes have"),
        ("sizes = [{ n = 40 }]\nmultiple = { n = 16 }", "not always a multiple"),
        ('sizes = [{ n = 40 }, { n = 48 }]\nwhere = ["n > 40"]', "expected: sizes with n > 40"),
        ('sizes = [{ n = 40 }]\nwhere = ["m > 40"]', "an expression over n"),
        ('tile = { n = 16 }\nwhere = ["n > 40"]', "a size holds which follows from the tile"),
        ('tile = { n = 16 }\nwhere = ["n / (n - 16)"]', "a value at every size"),
    ],
)
def test_what_is_refused(tmp_path: Path, new: str, words: str) -> None:
    assert words in refused(written(tmp_path, ("sizes = [{ n = 40 }]", new)))
