"""Where a tile lies in LDS, which operand is read from it, and where lanes read: as a user says it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import find
from layoutprobe.arch.lds import LdsRead
from layoutprobe.brief import brief
from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.experiments.lds_reads import Bench
from layoutprobe.layouts.explain import closed_form, explain_lds
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.layouts.swizzle import SCHEMES, of_bits
from layoutprobe.patterns.expression import evaluate, parse
from layoutprobe.patterns.pattern import Pattern
from layoutprobe.report.lds_code import Subject
from layoutprobe.solver.lds_reads import Delivery, Tiles, tiles_of

Ints = NDArray[np.int64]

WIDTHS = (4, 8, 16)
"""Of elements whose places in LDS can be numbered: those of 6 bits lie in groups of 16 with room between."""


class Place(Struct, frozen=True, eq=False):
    """Where a tile lies in LDS.

    Attributes:
        name: as the user wrote it, or would.
        formula: number of the element at which (row, col) lies, in the pattern language.
        index: int64 [rows, cols], the same as a table.
        in_c: the formula was made here, of operators that mean in C what they mean in the pattern language.
    """

    name: str
    formula: str
    index: Ints
    in_c: bool = False

    __repr__ = brief


class Question(Struct, frozen=True, eq=False):
    """What is asked.

    Attributes:
        solved: the instruction, as executing it has shown.
        matrix: "A" or "B".
        shape: rows and columns of the tile in LDS.
        swapped: LDS holds the columns of the operand as its rows.
        bench: what runs kernels.
    """

    solved: InstructionLayout
    matrix: str
    shape: tuple[int, int]
    swapped: bool
    bench: Bench

    __repr__ = brief

    @property
    def operand(self) -> Layout:
        """The operand."""
        return self.solved.operands[self.matrix]

    @property
    def bits(self) -> int:
        """Width of an element."""
        return self.operand.field_bits

    @property
    def unit(self) -> tuple[int, int]:
        """Rows and columns that one operand takes in LDS."""
        rows, cols = self.operand.shape
        return (cols, rows) if self.swapped else (rows, cols)

    @property
    def subject(self) -> Subject:
        """What reports say of it."""
        solved = self.solved
        return Subject(
            solved.instruction, solved.arch, solved.wave, self.matrix, self.operand.shape, self.shape,
            self.swapped,
        )  # fmt: skip

    def tiles(self, delivery: Delivery) -> Tiles:
        """What the reads must bring."""
        return tiles_of(self.operand, self.shape, delivery.fields, swapped=self.swapped)


def question(
    solved: InstructionLayout, matrix: str, shape: tuple[int, int] | None, order: str, bench: Bench
) -> Question:
    """A question about an operand.

    Args:
        solved: its instruction.
        matrix: "A" or "B".
        shape: of the tile in LDS; of one operand unless given.
        order: "row", or "col" where LDS holds the operand's columns as its rows.
        bench: what runs kernels.

    Raises:
        UsageError: an operand that is none, or a tile that it does not fill.
    """
    if solved.sparse:
        raise UsageError(f"{solved.instruction} is sparse: its operands are not solved here")
    operand = solved.operands[matrix]
    if operand.field_bits not in WIDTHS:
        raise UsageError(
            f"elements of {operand.field_bits} bits are not solved here",
            expected="elements of 4, 8 or 16 bits",
        )
    if operand.holes.any():
        raise UsageError(f"{matrix} of {solved.instruction} has slots without an element")
    unit = operand.shape[::-1] if order == "col" else operand.shape
    shape = shape or unit
    if any(size % step or size < 1 for size, step in zip(shape, unit, strict=True)):
        raise UsageError(
            "the tile is no multiple of the operand",
            expected=f"multiples of {unit[0]} x {unit[1]} (rows x columns in LDS)",
            observed=f"{shape[0]} x {shape[1]}",
        )
    return Question(solved, matrix, shape, order == "col", bench)


def place_of(text: str, shape: tuple[int, int], bits: int, lds: int) -> Place:
    """A store by the name of its scheme, or as an expression of row and col that numbers the element in LDS.

    Raises:
        UsageError: neither, or two elements lie at one place.
    """
    if text in SCHEMES:
        scheme = of_bits(SCHEMES[text], bits)
        if why := scheme.refusal(shape):
            raise UsageError(f"the scheme {text} cannot hold the tile: {why}")
        row, col = np.indices(shape, np.int64)
        index = scheme.index(row, col, shape)
        found = closed_form(("row", "col"), shape, index)
        return Place(text, found or scheme.formula(shape), index, _in_c(found))
    try:
        index = Pattern(name=text, summary="", expression=text, identifies=()).codes(shape)
    except UsageError as error:
        near = did_you_mean(text, SCHEMES)
        error.hint = near or error.hint or "schemes: " + ", ".join(SCHEMES)
        raise
    if index.min() < 0 or (int(index.max()) + 1) * bits > lds * 8:
        raise UsageError(
            "the tile lies outside of LDS",
            where={"store": text},
            expected=f"elements 0 to {lds * 8 // bits - 1}",
            observed=f"{index.min()} to {index.max()}",
        )
    if np.unique(index).size < index.size:
        raise UsageError("two elements of the tile lie at one place of LDS", where={"store": text})
    return Place(text, text, index)


def address_table(text: str, reads: int, wave: int, lds: int) -> Ints:
    """Addresses in bytes, int64 [read, lane], from an expression of lane and read.

    Raises:
        UsageError: no such expression, or an address outside of LDS.
    """
    names = {"read": np.arange(reads, dtype=np.int64)[:, None], "lane": np.arange(wave, dtype=np.int64)[None]}
    table = np.broadcast_to(evaluate(parse(text, tuple(names)), names), (reads, wave))
    if table.min() < 0 or table.max() >= lds:
        raise UsageError(
            "an address lies outside of LDS",
            where={"address": text},
            expected=f"0 to {lds - 1}, in bytes",
            observed=f"{table.min()} to {table.max()}",
        )
    return np.asarray(table)


def usual_read(asked: Question) -> str:
    """The read that exchanges elements of that width, where the target has one."""
    reads = find(asked.bench.arch).reads
    return next((read.name for read in reads if read.bits == asked.bits), reads[0].name)


def fitting(asked: Question, read: LdsRead) -> LdsRead:
    """The read, if it is one for such elements.

    Raises:
        UsageError: it is not.
    """
    if read.bits not in (0, asked.bits):
        raise UsageError(f"{read.name} exchanges elements of {read.bits} bits; these have {asked.bits}")
    return read


def worth_a_try(shape: tuple[int, int], bits: int) -> Iterator[str]:
    """Stores worth a try beside the named schemes: rows padded, and groups of a row in XOR orders."""
    rows, cols = shape
    for width in (8, 16):
        group = width * 8 // bits
        groups = cols // group
        yield f"row*{cols + group} + col"
        if cols % group or groups & (groups - 1):
            continue
        for shift in range(max(rows - 1, 0).bit_length()):
            for count in (1 << step for step in range(1, groups.bit_length())):
                which = f"row / {1 << shift} % {count}" if shift else f"row % {count}"
                yield f"row*{cols} + (col ^ {which} * {group})"


def named(index: Ints, shape: tuple[int, int], bits: int) -> Place:
    """A table by the name of its scheme, or as a formula; "a table" where neither gives it."""
    row, col = (np.full(int(index.max()) + 1, HOLE, np.int32) for _ in range(2))
    rows, cols = np.indices(shape, np.int32)
    row[index], col[index] = rows, cols
    form = explain_lds(row, col, shape, width=bits)
    text = closed_form(("row", "col"), shape, index)
    if form is not None and form.scheme:
        return Place(form.text.partition(":")[0], text or form.text, index, _in_c(text))
    return Place(text or "a table", text, index, _in_c(text))


def _in_c(formula: str) -> bool:
    """Of unsigned numbers `/`, `%` and `^` are C's; a step back is not."""
    return bool(formula) and "-" not in formula
