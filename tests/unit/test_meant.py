"""Which sizes a manifest means without listing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import pytest

from layoutprobe.gate.meant import Meant

PRODUCT = ({"M": 16, "N": 64, "K": 40}, {"M": 200, "N": 33, "K": 80})
HEADS = (
    {"H": 2, "G": 1, "T": 40, "C": 64},
    {"H": 6, "G": 3, "T": 9, "C": 100},
    {"H": 4, "G": 4, "T": 64, "C": 64},
)


def meant(listed: Sequence[Mapping[str, int]], *, apart: str = "", **steps: int) -> Meant:
    every = {name: steps.get(name, 1) for name in listed[0]}
    return Meant(listed, every, frozenset(apart), lambda sizes: sizes.get("T") == 13)


@pytest.mark.parametrize(
    ("sizes", "is_meant"),
    [
        ({"M": 17, "N": 34, "K": 41}, True),
        ({"M": 15, "N": 34, "K": 41}, False),  # smaller than all
        ({"M": 201, "N": 34, "K": 41}, False),
        ({"M": 16, "N": 64, "K": 80}, True),
    ],
)
def test_extents_of_a_product_are_free_between_the_listed_ones(sizes: dict[str, int], is_meant: bool) -> None:
    assert meant(PRODUCT, apart="MNK")(sizes) is is_meant


@pytest.mark.parametrize(("k", "is_meant"), [(48, True), (44, False)])
def test_a_divisor_that_all_have_is_kept(k: int, is_meant: bool) -> None:
    assert meant(PRODUCT, apart="MNK", K=8)({"M": 16, "N": 64, "K": k}) is is_meant


def test_powers_of_two_mean_no_other_number() -> None:
    of = meant(({"R": 3, "N": 256}, {"R": 9, "N": 4096}))
    assert of({"R": 4, "N": 1024})
    assert not of({"R": 4, "N": 1000})


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, ""),
        ({"T": 39}, ""),
        ({"G": 4, "H": 6}, "G divides H in all"),
        ({"T": 64, "C": 63}, "T is at most C"),
        ({"T": 13}, "ruled out by the manifest"),
        ({"C": 65, "H": 5, "G": 5}, "G is 4 at most"),
    ],
)
def test_extents_are_related_as_in_the_listed_sizes(changed: dict[str, int], why: str) -> None:
    assert meant(HEADS)({**HEADS[0], **changed}) is (not why), why


@pytest.mark.parametrize(
    ("listed", "not_meant"),
    [
        # queries and what is before them fill a cache
        (({"Q": 5, "B": 20, "C": 30}, {"Q": 30, "B": 2, "C": 40}), {"Q": 18, "B": 20, "C": 35}),
        # heads of a width each
        (({"H": 2, "D": 33, "N": 66}, {"H": 5, "D": 20, "N": 100}), {"H": 2, "D": 33, "N": 70}),
    ],
)
def test_sums_and_products_of_two(listed: Sequence[Mapping[str, int]], not_meant: dict[str, int]) -> None:
    of = meant(listed)
    assert all(map(of, listed))
    assert not of(not_meant)


def test_a_quotient_lies_between_theirs() -> None:
    """A capacity of twice the tokens, say, that no sum and no product tells."""
    of = meant(({"T": 10, "C": 20}, {"T": 40, "C": 90}))
    assert of({"T": 20, "C": 42})
    assert not of({"T": 30, "C": 40})


def test_a_single_size_means_no_other() -> None:
    assert not list(meant(PRODUCT[:1], apart="MNK").alone())


@pytest.mark.parametrize("listed", [PRODUCT, HEADS])
def test_of_those_tried_one_extent_is_not_as_listed(listed: Sequence[Mapping[str, int]]) -> None:
    of = meant(listed, apart="MNK")
    found = list(islice(of.alone(), 100))
    assert found
    for sizes in found:
        assert of(sizes)
        assert dict(sizes) not in map(dict, listed)
        assert min(sum(sizes[name] != one[name] for name in one) for one in listed) == 1
