"""What a claim would do to a GEMM: pack A and B as it says, run the solved instruction, read D as it says.

The instruction is what was solved, and nothing else: the output in a slot of D is the sum over k of
the A and B slots that its half-wave was seen to read. Operands that no claim speaks of are packed
as they should be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.claims.model import Claimed
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE
from layoutprobe.patterns.expression import evaluate, parse

Matrix = NDArray[np.int64]

GROUP = 16
"""Lanes that bit g of `readers` stands for."""


class Effect(Struct, frozen=True):
    """A test GEMM through the claimed packing.

    Attributes:
        wrong, elements: how many elements of D come out wrong for inputs that no permutation survives.
        law: what is computed instead of A @ B, where that was recognised; else "".
        example: what comes out for A[i][k] = i and B[k][j] = k, in words;
            "" where D is right for every input.
        example_wrong: how many elements of that are wrong.
    """

    wrong: int
    elements: int
    law: str
    example: str
    example_wrong: int

    def __str__(self) -> str:
        if not self.wrong:
            return f"D is right in all {self.elements} elements"
        law = f" ({self.law})" if self.law else ""
        wrong = f"D is wrong in {self.wrong} of {self.elements} elements{law}"
        return f"{wrong}; with A[i][k] = i and B[k][j] = k {self.example}"


def effect(claims: Sequence[tuple[str, Claimed]], solved: InstructionLayout) -> Effect | None:
    """Run the test GEMMs; None for sparse instructions, and where a claim does not fit."""
    m, n, k = solved.shape
    if solved.sparse or any(claimed.problem for _, claimed in claims):
        return None
    packing = _packing(claims, solved)
    a, b = (
        _scattered("shuffle(row*cols + col, rows*cols, 11) % 8", m, k),
        _scattered("shuffle(row*cols + col, rows*cols, 29) % 8", k, n),
    )
    c = _scattered("shuffle(row*cols + col, rows*cols, 47) % 8", m, n)
    out, written = _run({"A": a, "B": b, "C": c}, packing, solved)
    wrong = ~written | (out != a @ b + c)
    law = _law(out - c, a, b) if wrong.any() and written.all() else ""
    ramp_a, ramp_b = _scattered("row", m, k), _scattered("row", k, n)
    out, written = _run({"A": ramp_a, "B": ramp_b, "C": np.zeros((m, n), np.int64)}, packing, solved)
    right = ramp_a @ ramp_b
    bad = ~written | (out != right)
    example = _example(out, written, right, bad) if wrong.any() else ""
    return Effect(int(wrong.sum()), m * n, law, example, int(bad.sum()))


def _scattered(text: str, rows: int, cols: int) -> Matrix:
    row, col = np.indices((rows, cols), np.int64)
    names = {"row": row, "col": col, "rows": np.array([rows]), "cols": np.array([cols])}
    return np.broadcast_to(evaluate(parse(text, tuple(names)), names), (rows, cols)).copy()


def _packing(
    claims: Sequence[tuple[str, Claimed]], solved: InstructionLayout
) -> Mapping[str, tuple[Matrix, Matrix]]:
    """Matrix -> (row, col) of every slot: as claimed where a claim speaks, else as solved."""
    tables = {
        name: (solved.operands[name].row.astype(np.int64), solved.operands[name].col.astype(np.int64))
        for name in "ABCD"
    }
    for matrix, claimed in claims:
        for ours, theirs in zip(tables[matrix], (claimed.row, claimed.col), strict=True):
            ours[claimed.speaks] = theirs[claimed.speaks]
    return tables


def _run(
    inputs: Mapping[str, Matrix], packing: Mapping[str, tuple[Matrix, Matrix]], solved: InstructionLayout
) -> tuple[Matrix, NDArray[np.bool_]]:
    """D as it is read back, and which of its elements were stored, with one value."""
    registers = {name: _loaded(matrix, *packing[name]) for name, matrix in inputs.items()}
    d = solved.operands["D"]
    slots = np.zeros(d.row.shape, np.int64)
    for group in range(-(-d.lanes // GROUP)):
        a, b, c = (_read(registers[name], name, group, solved) for name in "ABC")
        product = a @ b + c
        mine = np.zeros(d.row.shape, np.bool_)
        mine[:, group * GROUP : (group + 1) * GROUP] = True
        mine &= ~d.holes
        slots[mine] = product[d.row[mine], d.col[mine]]
    row, col = packing["D"]
    stored = (row >= 0) & (row < d.shape[0]) & (col >= 0) & (col < d.shape[1])
    out, written = np.zeros(d.shape, np.int64), np.zeros(d.shape, np.bool_)
    out[row[stored], col[stored]] = slots[stored]
    written[row[stored], col[stored]] = True
    # Where several slots are stored to one element, which of them comes last is open.
    torn = stored & (out[np.where(stored, row, 0), np.where(stored, col, 0)] != slots)
    written[row[torn], col[torn]] = False
    return out, written


def _loaded(matrix: Matrix, row: Matrix, col: Matrix) -> Matrix:
    """Registers after a load; what lies outside the matrix, or is no element, is zero."""
    inside = (row >= 0) & (row < matrix.shape[0]) & (col >= 0) & (col < matrix.shape[1])
    registers = np.zeros(row.shape, np.int64)
    registers[inside] = matrix[row[inside], col[inside]]
    return registers


def _read(registers: Matrix, name: str, group: int, solved: InstructionLayout) -> Matrix:
    """The operand as the outputs of a group of 16 lanes read it."""
    operand = solved.operands[name]
    read = (solved.readers[name] >> group & 1).astype(np.bool_) & (operand.row != HOLE)
    matrix = np.zeros(operand.shape, np.int64)
    matrix[operand.row[read], operand.col[read]] = registers[read]
    return matrix


def _law(out: Matrix, a: Matrix, b: Matrix) -> str:
    """What was computed, if it is one of the usual accidents."""
    if a.shape[0] == a.shape[1] and np.array_equal(out, a.T @ b):
        return "it is transpose(A) @ B, tile by tile"
    if b.shape[0] == b.shape[1] and np.array_equal(out, a @ b.T):
        return "it is A @ transpose(B), tile by tile"
    if out.shape[0] == out.shape[1] and np.array_equal(out, (a @ b).T):
        return "it is transpose(A @ B), tile by tile"
    right = a @ b
    for name, got, want in (("rows", out, right), ("columns", out.T, right.T)):
        if np.array_equal(np.unique(got, axis=0), np.unique(want, axis=0)):
            return f"its {name} come out in another order"
    return ""


def _example(out: Matrix, written: NDArray[np.bool_], right: Matrix, bad: NDArray[np.bool_]) -> str:
    if not bad.any():
        return "it comes out right all the same: such a test does not see it"
    values = np.unique(out[written])
    if written.all() and values.size == 1:
        return f"it gives {values[0]} everywhere, where {right.min()} to {right.max()} is right"
    row, col = (int(at) for at in np.argwhere(bad)[0])
    got = str(out[row, col]) if written[row, col] else "not stored, or twice"
    return f"it is wrong in {int(bad.sum())}: D[{row}][{col}] is {got}, not {right[row, col]}"
