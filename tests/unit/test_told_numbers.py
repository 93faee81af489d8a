"""Numbers in words: two that differ are written otherwise."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.numbers.told import apart

REAL = st.floats(allow_nan=False, allow_infinity=False)


@given(REAL, REAL)
def test_numbers_that_differ_are_written_otherwise(one: float, other: float) -> None:
    first, second = apart(one, other)
    assert (first == second) == (one == other and str(one) == str(other)) or {one, other} == {0.0}


def test_no_more_digits_than_it_takes() -> None:
    assert apart(1.5, 2.25) == ("1.5", "2.25")
    assert apart(0.1234567, 0.1234568) == ("0.1234567", "0.1234568")
    assert apart(2.0, 2.0) == ("2", "2")
