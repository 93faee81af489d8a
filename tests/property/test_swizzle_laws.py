"""Laws of LDS schemes at every point of every tile they accept, and mutants that must break them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.layouts.layout import HOLE
from layoutprobe.layouts.swizzle import GROUP, SCHEMES, Index, Padded, Plain, Scheme, Shape, Xor, XorVector
from layoutprobe.patterns.expression import evaluate, parse

SHAPES = st.tuples(st.integers(1, 48), st.one_of(st.integers(1, 130), st.sampled_from([16, 32, 64, 128])))


def check_laws(scheme: Scheme, shape: Shape) -> None:
    rows, cols = shape
    row, col = np.indices(shape)
    index = scheme.index(row, col, shape)
    size = scheme.size(shape)
    assert index.shape == shape
    assert ((index >= 0) & (index < size)).all(), "outside its allocation"
    assert np.unique(index).size == rows * cols, "two elements share a half"
    back_row, back_col = scheme.inverse(index, shape)
    assert np.array_equal(back_row, row), "inverse of index"
    assert np.array_equal(back_col, col), "inverse of index"
    beyond = np.arange(-3, size + 3)
    held_row, held_col = scheme.inverse(beyond, shape)
    hole = ~np.isin(beyond, index)
    assert ((held_row == HOLE) == hole).all(), "padding is a hole"
    assert ((held_col == HOLE) == hole).all(), "padding is a hole"
    # 16-byte groups stay together and aligned, or ds_load_b128 would tear them.
    if cols % GROUP == 0:
        assert (index % GROUP == col % GROUP).all(), "a group of 8 was torn"
    text = scheme.formula(shape).replace("/", "//")
    names = {"row": np.asarray(row, np.int64), "col": np.asarray(col, np.int64)}
    said = np.broadcast_to(evaluate(parse(text, ("row", "col")), names), shape)
    assert np.array_equal(said, index), "the formula says something else"


@pytest.mark.parametrize("name", SCHEMES)
@given(shape=SHAPES)
def test_laws(name: str, shape: Shape) -> None:
    scheme = SCHEMES[name]
    if not scheme.refusal(shape):
        check_laws(scheme, shape)


@pytest.mark.parametrize("shape", [(16, 16), (64, 16), (16, 32), (32, 64)])
def test_formulas_by_hand(shape: Shape) -> None:
    rows, cols = shape
    shift = {16: 2, 32: 1, 64: 0}[cols]
    for row in range(rows):
        for col in range(cols):
            group, within = col // 8, col % 8
            expected = {
                "none": row * cols + col,
                "padded": row * (cols + 8) + col,
                "xor": row * cols + (group ^ (row % 2)) * 8 + within,
                "xor-vector": row * cols + (group ^ ((row >> shift) % (cols // 8))) * 8 + within,
                "row-permute": (row // 16 * 16 + (0, 8, 4, 12)[row // 4 % 4] + row % 4) * cols + col,
            }
            at = (np.asarray(row), np.asarray(col))
            assert {name: int(s.index(*at, shape)) for name, s in SCHEMES.items()} == expected


def test_registry() -> None:
    assert [scheme.device_define for scheme in SCHEMES.values()] == list(range(len(SCHEMES)))
    assert all(name == scheme.name for name, scheme in SCHEMES.items())
    assert SCHEMES["xor"].refusal((16, 24))
    assert SCHEMES["xor-vector"].refusal((16, 48))
    assert SCHEMES["none"].refusal((0, 16))
    assert SCHEMES["row-permute"].refusal((24, 16))


def conflicts(name: str, rows: list[int], col: int, shape: Shape) -> int:
    """Most rows whose 16-byte group at `col` starts in the same bank."""
    index = SCHEMES[name].index(np.array(rows), np.asarray(col), shape)
    return int(np.bincount(index // 2 % 32).max())


def test_why_the_schemes_exist() -> None:
    """Rows four apart of a 16-column tile start at the same bank; xor-vector and padding part them."""
    assert conflicts("none", [0, 4], 0, (64, 16)) == 2
    assert conflicts("xor", [0, 4], 0, (64, 16)) == 2
    assert conflicts("xor-vector", [0, 4], 0, (64, 16)) == 1
    assert conflicts("padded", [0, 4], 0, (64, 16)) == 1


class _OffByOne(Plain):
    def index(self, row: Index, col: Index, shape: Shape) -> Index:
        return super().index(row, col, shape) + 1


class _Short(Padded):
    def size(self, shape: Shape) -> int:
        return super().size(shape) - 9


class _PaddingHoldsElements(Padded):
    def inverse(self, index: Index, shape: Shape) -> tuple[Index, Index]:
        row, col = np.divmod(np.asarray(index, np.int64), self.stride(shape[1]))
        return row, col


class _AnyChunks(XorVector):
    """Accepts three chunks: the XOR then leaves the row."""

    def refusal(self, shape: Shape) -> str:
        return ""

    def place(self, row: Index, col: Index, cols: int) -> Index:
        return col ^ ((row & 3) * GROUP)


class _MaskNotChunks(XorVector):
    """`row % chunks` added, not XORed: a bijection, but not its own inverse."""

    def place(self, row: Index, col: Index, cols: int) -> Index:
        return (col + row % (cols // GROUP) * GROUP) % cols


class _TornGroups(Xor):
    def place(self, row: Index, col: Index, cols: int) -> Index:
        return col ^ ((row & 1) * 4)


class _ForgottenInverse(Xor):
    def unplace(self, row: Index, place: Index, cols: int) -> Index:
        return place


class _Merged(Xor):
    def place(self, row: Index, col: Index, cols: int) -> Index:
        return col & ~((row & 1) * GROUP)


@pytest.mark.parametrize(
    ("mutant", "shape"),
    [
        (_OffByOne(), (16, 16)),
        (_Short(), (16, 16)),
        (_PaddingHoldsElements(), (16, 16)),
        (_AnyChunks(), (16, 24)),
        (_MaskNotChunks(), (16, 32)),
        (_TornGroups(), (16, 16)),
        (_ForgottenInverse(), (16, 16)),
        (_Merged(), (16, 16)),
    ],
)
def test_mutants_are_caught(mutant: Scheme, shape: Shape) -> None:
    with pytest.raises(AssertionError):
        check_laws(mutant, shape)
