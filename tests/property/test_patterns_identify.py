"""Laws of patterns: the codes that it gives name their elements; a refused claim really collides."""

from __future__ import annotations

import operator as op

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.patterns import load_pattern, pattern_names
from layoutprobe.patterns.carriers import CARRIERS
from layoutprobe.solver.observe import match_elements

SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 40))


@pytest.mark.parametrize("name", pattern_names())
@given(shape=SHAPES, carrier=st.sampled_from(sorted(CARRIERS)))
def test_codes_name_their_elements(name: str, shape: tuple[int, int], carrier: str) -> None:
    pattern = load_pattern(name)
    try:
        raw = pattern.encode(shape, carrier)
    except UsageError:
        return
    named = match_elements([(pattern, carrier, raw)], shape)
    row, col = np.indices(shape)
    for axis, got, true in (("row", named.row, row), ("col", named.col, col)):
        assert ((got == true) | (got == UNKNOWN)).all()
        if axis in pattern.identifies:
            assert np.array_equal(got, true)
    if pattern.marked:
        marked = pattern.codes(shape) != 0
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
    named = match_elements([(pattern, "raw16", np.array([value], np.uint16))], shape)
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


WORDS = [
    "row",
    "col",
    "rows",
    "cols",
    "shuffle",
    "if",
    "else",
    "0x7F",
    "12",
    "9" * 25,
    "(",
    ")",
    ",",
    " ",
    ".toml",
    ":",
]
SYMBOLS = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "==", "!", "$", "\0", "é"]


@given(st.lists(st.sampled_from(WORDS + SYMBOLS), max_size=60).map("".join), SHAPES)
def test_any_text_is_a_pattern_or_refused(text: str, shape: tuple[int, int]) -> None:
    """Never another exception, and whatever is accepted is exact 62-bit arithmetic."""
    try:
        codes = load_pattern(text).codes(shape)
    except UsageError:
        return
    assert codes.shape == shape
    assert np.abs(codes).max() <= 1 << 62


@given(
    st.recursive(
        st.sampled_from(["row", "col", "3", "17"]),
        lambda inner: st.tuples(inner, st.sampled_from("+-*%&|^"), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        max_leaves=8,
    ),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_arithmetic_is_pythons(text: str, row: int, col: int) -> None:
    pattern = load_pattern(text)
    try:
        codes = pattern.codes((10, 10))
    except UsageError:
        return  # a division by zero somewhere on the grid
    assert codes[row, col] == reference(text, row, col)


OPERATORS = dict(zip("+-*%&|^", (op.add, op.sub, op.mul, op.mod, op.and_, op.or_, op.xor), strict=True))


def reference(text: str, row: int, col: int) -> int:
    """Value of a fully parenthesised expression, with Python's own operators."""
    if not text.startswith("("):
        return {"row": row, "col": col}[text] if text in ("row", "col") else int(text)
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 1 and letter in "+-*%&|^":
            left, right = reference(text[1 : at - 1], row, col), reference(text[at + 2 : -1], row, col)
            return int(OPERATORS[letter](left, right))
    raise AssertionError(text)
