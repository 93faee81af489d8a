"""The digit code: by hand, back again, and what is no digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.numbers import NO_NUMBER, TYPES, DigitCode, digit_base, digits_of


def test_digits_by_hand() -> None:
    code = DigitCode.of(1000, 10)
    assert (code.base, code.digits, code.capacity) == (10, 3, 1000)
    number = np.array([[0, 7], [42, 999]])
    assert code.digit(number, 0).tolist() == [[1, 8], [3, 10]]
    assert code.digit(number, 1).tolist() == [[1, 1], [5, 10]]
    assert code.digit(number, 2).tolist() == [[1, 1], [1, 10]]


@given(
    st.integers(2, 5000), st.integers(1, 4), st.booleans(), st.integers(0, 1),
    st.lists(st.integers(0, 1 << 62), min_size=1),
)  # fmt: skip
def test_numbers_come_back_and_no_digit_is_zero(
    base: int, digits: int, scrambled: bool, turned: int, numbers: list[int]
) -> None:
    code = DigitCode(base, digits, scrambled, turned)
    number = np.array(numbers, np.int64) % code.capacity
    coded = [code.digit(number, place) for place in range(digits)]
    assert all(((digit >= 1) & (digit <= base)).all() for digit in coded)
    assert np.array_equal(code.numbers(coded), number)
    assert np.array_equal(code.numbers([digit.astype(np.float64) for digit in coded]), number)


@pytest.mark.parametrize("held", [0.0, -1.0, 1.5, 11.0, np.nan, np.inf, -np.inf])
def test_what_is_no_digit_makes_no_number(held: float) -> None:
    good = np.array([3.0, held])
    for place in range(2):
        digits = [np.array([1.0, 1.0]), np.array([1.0, 1.0])]
        digits[place] = good
        assert DigitCode(10, 2).numbers(digits).tolist() == [2 * 10**place, NO_NUMBER]


def test_scrambled_digits_all_vary_among_neighbours() -> None:
    number = np.arange(256)
    plain, spread = DigitCode(2047, 2), DigitCode(2047, 2, scrambled=True)
    assert np.unique(plain.digit(number, 1)).size == 1
    assert np.unique(spread.digit(number, 1)).size > 100
    assert np.array_equal(DigitCode(2047, 1, scrambled=True).digit(number, 0), number + 1)


def test_turned_digits_are_all_others() -> None:
    number, plain, turned = np.arange(2047), DigitCode(2047, 1), DigitCode(2047, 1, turned=1023)
    assert (plain.digit(number, 0) != turned.digit(number, 0)).all()
    assert not (plain.numbers([np.arange(1, 2048)]) == turned.numbers([np.arange(1, 2048)])).any()


@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_digit_is_exact_in_its_type(name: str) -> None:
    base = digit_base([name])
    assert base >= 2
    assert base <= TYPES[name].exact
    assert base % 2 == 1 or TYPES[name].exact == 2
    digits = np.arange(1, min(base, 1 << 17) + 1)
    assert TYPES[name].holds(digits).all()
    assert TYPES[name].holds(np.array([base])).all()


def test_the_base_suits_all_types() -> None:
    assert [digit_base([name]) for name in ("f16", "bf16", "i8", "u8", "u16")] == [2047, 255, 127, 255, 65535]
    assert digit_base(["f32", "bf16", "i32"]) == 255
    assert digit_base(["i64", "f64"]) == digit_base([]) == (1 << 24) - 1, "exact in f32"
    assert (digits_of(1, 2), digits_of(2, 2), digits_of(3, 2), digits_of(256, 16)) == (1, 1, 2, 2)
