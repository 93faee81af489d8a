"""Whether floats are told to be cut off: many ways to be nearly right, and the one that is meant."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.numbers import rounded
from layoutprobe.numbers.cut_off import cut_off

RIGHT = np.random.default_rng(7).normal(size=4096)


def cut(values: np.ndarray) -> np.ndarray:
    """As by `bits >> 16`: independent of what is tested."""
    bits = values.astype(np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def test_elements_are_told_that_should_have_been_rounded_up() -> None:
    found = cut_off(RIGHT, cut(RIGHT), "bf16")
    larger = np.abs(rounded(RIGHT, "bf16")) > np.abs(RIGHT)
    assert found.any()
    assert not found[~larger].any()


@pytest.mark.parametrize("off", [0.0, 2.0**-24, 2.0**-12, 2.0**-9])
def test_what_is_rounded_to_the_nearest_is_not(off: float) -> None:
    """Nor where what was computed before is off, a little or much."""
    noise = np.random.default_rng(8).normal(size=RIGHT.shape)
    assert not cut_off(RIGHT, rounded(RIGHT * (1 + off * noise), "bf16"), "bf16").any()


def test_what_is_cut_off_on_the_way_and_computed_on_is_not() -> None:
    assert not cut_off(RIGHT * 1.37, rounded(cut(RIGHT) * 1.37, "bf16"), "bf16").any()


def test_f32_that_hardly_lost_anything_is_cut_off_all_the_same() -> None:
    noise = np.random.default_rng(9).normal(size=RIGHT.shape)
    assert cut_off(RIGHT, cut(RIGHT * (1 + 2.0**-22 * noise)), "bf16").any()


def test_few_elements_say_nothing() -> None:
    assert not cut_off(RIGHT[:8], cut(RIGHT[:8]), "bf16").any()


def test_numbers_that_a_type_holds_say_nothing() -> None:
    whole = np.arange(-64.0, 64.0)
    assert not cut_off(whole, whole, "bf16").any()
    assert not cut_off(np.full(64, np.nan), np.full(64, np.nan), "bf16").any()


def test_one_number_at_many_places_is_one_witness() -> None:
    """A spectrum of one sample is flat: all its elements are off in the same way."""
    up = RIGHT[np.abs(rounded(RIGHT, "bf16")) > np.abs(RIGHT)][:5]
    assert not cut_off(np.tile(up, 40), cut(np.tile(up, 40)), "bf16").any()


def test_what_f32_computes_is_never_cut_off_to_f32() -> None:
    """It is off by a unit of the last place for many other reasons."""
    below = np.nextafter(RIGHT.astype(np.float32), np.float32(0)).astype(np.float64)
    assert not cut_off(RIGHT, below, "f32").any()


@pytest.mark.filterwarnings("error")
def test_without_numbers_that_are_rounded_down_nothing_is_said_and_nothing_fails() -> None:
    up = RIGHT[np.abs(rounded(RIGHT, "bf16")) > np.abs(RIGHT)]
    assert not cut_off(up, cut(up), "bf16").any()
