"""Laws of patterns: identify inverts encode; a refused claim really collides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.errors import UsageError
from layoutprobe.patterns import HOLE, UNKNOWN, load_pattern, pattern_names
from layoutprobe.patterns.carriers import CARRIERS

SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 40))


@pytest.mark.parametrize("name", pattern_names())
@given(shape=SHAPES, carrier=st.sampled_from(sorted(CARRIERS)))
def test_identify_inverts_encode(name: str, shape: tuple[int, int], carrier: str) -> None:
    pattern = load_pattern(name)
    try:
        raw = pattern.encode(shape, carrier)
    except UsageError:
        return
    named = pattern.identify(shape, carrier, raw)
    row, col = np.indices(shape)
    for axis, got, true in (("row", named.row, row), ("col", named.col, col)):
        assert ((got == true) | (got == UNKNOWN)).all()
        if axis in pattern.identifies:
            assert np.array_equal(got, true)
    if pattern.marked:
        marked = pattern.codes(shape) != 0
        assert (named.row[~marked] == UNKNOWN).all()
        assert (marked.sum() == 1) == bool(
            (named.row[marked] != UNKNOWN).all() and (named.col[marked] != UNKNOWN).all()
        )


@pytest.mark.parametrize("name", pattern_names())
@given(shape=SHAPES, value=st.integers(0, (1 << 16) - 1))
def test_no_code_is_a_hole(name: str, shape: tuple[int, int], value: int) -> None:
    pattern = load_pattern(name)
    try:
        coded = set(pattern.encode(shape, "raw16").ravel().tolist())
    except UsageError:
        return
    named = pattern.identify(shape, "raw16", np.array([value], np.uint16))
    assert (named.row[0] == HOLE) == (value not in coded) == (named.col[0] == HOLE)


@given(shape=SHAPES, factor=st.integers(1, 40))
def test_claims_are_refused_exactly_where_elements_collide(shape: tuple[int, int], factor: int) -> None:
    rows, cols = shape
    claimed = load_pattern("rowcol")
    forged = type(claimed)("forged", "", f"row*{factor} + col", ("row", "col"))
    codes = [row * factor + col for row in range(rows) for col in range(cols)]
    if len(set(codes)) == len(codes):
        forged.encode(shape, "raw32")
    else:
        with pytest.raises(UsageError, match="tell two elements apart"):
            forged.encode(shape, "raw32")
