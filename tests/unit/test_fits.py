"""Expressions that are found from numbers give these numbers, and those of sizes that nobody has shown."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from layoutprobe.drafting.fits import fit, fit_extent
from layoutprobe.patterns.expression import evaluate, parse

FORMS: dict[str, Callable[[dict[str, int]], int]] = {
    "(M + 127) / 128": lambda s: -(-s["M"] // 128),
    "(N + 63) / 64": lambda s: -(-s["N"] // 64),
    "((M + 15) / 16) * ((N + 31) / 32)": lambda s: -(-s["M"] // 16) * -(-s["N"] // 32),
    "((N + 31) / 32) * ((K + 127) / 128)": lambda s: -(-s["N"] // 32) * -(-s["K"] // 128),
    "N * ((K + 63) / 64)": lambda s: s["N"] * -(-s["K"] // 64),
    "K": lambda s: s["K"],
    "K + 8": lambda s: s["K"] + 8,
    "K * 4": lambda s: s["K"] * 4,
    "(M if M > K else K) * 32": lambda s: max(s["M"], s["K"]) * 32,
    "M * K": lambda s: s["M"] * s["K"],
    "3": lambda s: 3,
}


def _sizes(chance: random.Random, count: int) -> list[dict[str, int]]:
    return [{name: chance.randrange(1, 900) for name in "MNK"} for _ in range(count)]


def _value(text: str, size: dict[str, int]) -> int:
    return int(evaluate(parse(text, tuple(size)), {name: np.array(value) for name, value in size.items()}))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("axis", [False, True], ids=["number", "workgroups"])
def test_what_is_found_holds_for_other_sizes(form: str, axis: bool) -> None:
    chance = random.Random(form)
    shown, others = _sizes(chance, 8), _sizes(chance, 50)
    numbers = [FORMS[form](size) for size in shown]
    text = fit_extent(numbers, shown, ("N", "M")) if axis else fit(numbers, shown)
    if text is None:
        assert (axis, ") * (" in form) == (False, True), "two tiles are tried of workgroups alone"
        return
    assert [_value(text, size) for size in others] == [FORMS[form](size) for size in others], text


def test_what_no_form_gives_is_not_fitted() -> None:
    sizes = _sizes(random.Random(1), 6)
    numbers = [size["M"] ** 2 + 7 * size["K"] for size in sizes]
    assert fit(numbers, sizes) is None
    assert fit_extent(numbers, sizes, ("N", "M")) is None


def test_a_tile_that_nobody_would_choose_is_chance() -> None:
    """Blocks of 128 share a scale, and where all sizes but one are smaller many a tile fits."""
    sizes = [
        {"M": m, "N": n, "K": k} for m, n, k in ((64, 32, 96), (32, 96, 64), (69, 37, 112), (96, 128, 160))
    ]
    assert fit([1, 1, 1, 2], sizes) == "(K + 127) / 128"


def test_a_number_that_never_varies_is_a_size_only_by_its_name() -> None:
    size = [{"M": 32, "N": 32, "K": 16}]
    assert fit([32], size) == "32"
    assert fit([32], size, liked=("N",)) == "N"
    assert fit_extent([2], size, ("N", "M")) == "(N + 15) / 16"
    assert fit_extent([3], size, ("N", "M")) == "3", "a tile of eleven is no tile"
