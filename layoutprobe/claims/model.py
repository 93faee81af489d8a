"""A claim as data: what somebody says a register slot holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.place import FIELD_NAMES

MATRICES = ("A", "B", "C", "D")
AXES_OF = {"A": ("M", "K"), "B": ("K", "N"), "C": ("M", "N"), "D": ("M", "N")}
"""Which axes the rows and columns of a matrix are."""

COMPRESSED = "compressed K"
"""Columns of A of a sparse instruction: two of each four k. Its lines are named by a map of their own."""

LINE_NAMES = {"M": "row", "N": "column", "K": "k", COMPRESSED: "compressed k"}
LINES_NAMES = {"M": "rows", "N": "columns", "K": "k", COMPRESSED: "compressed k"}


class Claimed(Struct, frozen=True, eq=False):
    """A claim as a table over the slots of an operand; axes [wave, lane, vgpr, field].

    Attributes:
        row, col: int64; HOLE in slots that, as it is claimed, hold no element. Other values may lie
            outside the matrix: that is then what is wrong with the claim.
        speaks: bool; the slots that the claim is about.
        problem: why the claim does not fit the operand at all, in words; "" where it does. The
            tables are then empty.
    """

    row: NDArray[np.int64]
    col: NDArray[np.int64]
    speaks: NDArray[np.bool_]
    problem: str = ""

    __repr__ = brief

    @classmethod
    def table(cls, row: NDArray[np.int64], col: NDArray[np.int64], operand: Layout) -> Claimed:
        """A claim about every slot; one whose extents are not the operand's does not fit."""
        if row.shape != operand.row.shape:
            said, real = _extents(row.shape), _extents(operand.row.shape)
            return cls.misfit(f"it speaks of {said}; {operand.matrix} of the instruction has {real}", operand)
        return cls(row, col, np.ones(row.shape, np.bool_))

    @classmethod
    def misfit(cls, problem: str, operand: Layout) -> Claimed:
        """A claim that does not fit the operand."""
        empty = np.full(operand.row.shape, HOLE, np.int64)
        return cls(empty, empty, np.zeros(empty.shape, np.bool_), problem)


def _extents(shape: Sequence[int]) -> str:
    waves, lanes, vgprs, fields = shape
    each = f"{vgprs} VGPRs" + (f" of {fields} elements" if fields > 1 else "")
    return (f"{waves} waves, " if waves > 1 else "") + f"{lanes} lanes and {each}"


class Statement(Protocol):
    """One sentence of a claim, about one matrix, before it is laid beside an operand.

    Attributes:
        matrix: "A", "B", "C" or "D".
        text: the claim as it was written.
        dialect: "formula", "gf2", "cute" or "csv".
    """

    @property
    def matrix(self) -> str: ...  # noqa: D102

    @property
    def text(self) -> str: ...  # noqa: D102

    @property
    def dialect(self) -> str: ...  # noqa: D102

    def bind(self, operand: Layout) -> Claimed:
        """What is claimed about every slot of the operand.

        Raises:
            UsageError: it cannot be evaluated there (division by zero...).
        """
        ...


class ClaimSet(Struct, frozen=True):
    """Sentences that are claimed together: one renaming of M, N and K must serve them all.

    Attributes:
        statements: the sentences.
        name: a title; "" where the user just typed it.
        source: who says so.
        instruction, arch, wave, opsel: what it speaks of; None where it does not say.
        stated: the verdict that its file states, which the found one must be; "" for none.
        because: the file's reason for it.
    """

    statements: tuple[Statement, ...]
    name: str = ""
    source: str = ""
    instruction: str | None = None
    arch: str | None = None
    wave: int | None = None
    opsel: int | None = None
    stated: str = ""
    because: str = ""


def slot_name(slot: Sequence[int], operand: Layout) -> str:
    """A slot in words: "v2.hi of lane 19", "v0 of lane 3", "v2-3 of lane 0", "byte 2 of v1 of lane 0"."""
    wave, lane, vgpr, field = (int(at) for at in slot)
    of = f"lane {lane}" + (f" of wave {wave}" if operand.waves > 1 else "")
    if operand.fields <= 2 or operand.registers > 1:
        return f"{operand.slot_name(vgpr, field)} of {of}"
    return f"{FIELD_NAMES.get(operand.field_bits, 'field')} {field} of v{vgpr} of {of}"
