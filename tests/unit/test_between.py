"""Which sizes are tried between those of a manifest: such as are unlike all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from layoutprobe.gate.between import between
from layoutprobe.manifest.model import Sizes


def anything(_: Sizes) -> bool:
    return False


def picked(
    listed: Mapping[str, Sequence[int]],
    steps: Mapping[str, int],
    count: int,
    ruled_out: Callable[[Sizes], bool] = anything,
) -> list[Sizes]:
    tried: list[Sizes] = [
        dict(zip(listed, values, strict=True)) for values in zip(*listed.values(), strict=True)
    ]
    found: list[Sizes] = []
    for _ in range(count):
        one = between(listed, steps, tried, ruled_out)
        if one is None:
            break
        found.append(one)
        tried.append(one)
    return found


def test_a_remainder_that_no_listed_size_has_comes_first() -> None:
    """N is 0, 1 or 3 more than a multiple of 4 in all of them."""
    (one,) = picked({"M": [32, 41, 19], "N": [64, 37, 51]}, {"M": 1, "N": 1}, 1)
    assert one["N"] % 4 == 2
    assert 19 <= one["M"] <= 41


def test_another_number_of_tiles_is_among_the_first() -> None:
    """There are 4 or 8 tiles of 32 rows where there are several of columns."""
    found = picked({"M": [128, 115, 230, 21], "N": [64, 45, 39, 30]}, {"M": 1, "N": 1}, 3)
    assert any(-(-one["M"] // 32) % 4 and one["N"] > 32 for one in found)


def test_groups_of_heads_come_where_each_head_was_one_or_all_were_one() -> None:
    listed = {"H": [4, 3, 2], "HK": [1, 3, 1], "D": [64, 32, 128]}
    found = picked(
        listed,
        {"H": 1, "HK": 1, "D": 32},
        3,
        lambda sizes: bool(sizes["H"] < sizes["HK"] or sizes["H"] % sizes["HK"]),
    )
    assert any(1 < one["HK"] < one["H"] for one in found)
    assert all(one["D"] % 32 == 0 and one["H"] % one["HK"] == 0 for one in found)


@pytest.mark.parametrize("value", [16, 37])
def test_what_never_varies_stays(value: int) -> None:
    (one,) = picked({"M": [20, 41], "K": [value, value]}, {"M": 1, "K": value}, 1)
    assert one["K"] == value


def test_powers_of_two_are_not_all() -> None:
    """No other lies between 32 and 64; a kernel that shifts where it ought to divide is right for both."""
    found = picked({"G": [32, 64], "K": [128, 640]}, {"G": 32, "K": 64}, 2, lambda n: bool(n["K"] % n["G"]))
    assert any(one["G"] == 96 for one in found)


def test_without_extents_there_is_none() -> None:
    assert between({}, {}, [{}], anything) is None


def test_where_nothing_is_let_pass_there_is_none() -> None:
    assert between({"M": [20, 41]}, {"M": 1}, [{"M": 20}, {"M": 41}], lambda _: True) is None


def test_fewer_steps_than_slices_are_tried() -> None:
    """Each listed size has a step of 32 for every slice at least."""
    found = picked({"M": [70, 45, 33], "K": [64, 230, 100], "S": [2, 3, 4]}, {"M": 1, "K": 1, "S": 1}, 3)
    assert any(-(-one["K"] // 32) < one["S"] for one in found)
