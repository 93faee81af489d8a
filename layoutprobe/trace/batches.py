"""Batches of a matrix that are taken a wrong distance apart: all else about their addresses is right.

What meets tells which element a slot needs: its line is that of the element of D, its k that of its partner.
Where every slot of batch b is off by b times one distance in memory, that distance is the fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE
from layoutprobe.manifest.binding import BoundBuffer
from layoutprobe.report.finding import Rule
from layoutprobe.solver.diagnose import BATCH_STRIDE, Diagnosis
from layoutprobe.solver.suspect import Suspect
from layoutprobe.trace.analysis import JudgedExecutions
from layoutprobe.trace.problem import Problem
from layoutprobe.trace.subject import Subject

Ints = NDArray[np.int64]


def batch_rule(check: str) -> Rule:
    """The rule of a check that batches lie where they lie."""
    return Rule(
        f"{check}/{BATCH_STRIDE}",
        "batches of a matrix are taken another distance apart than they lie in memory",
        "Within a batch everything is right, and the first batch is right as a whole. The pointer advances from "
        "batch to batch by the size of another matrix, or not at all.",
        "advance each pointer by the size of one matrix of its own: M*K for A, K*N for B, M*N for C",
    )


def within_batch(suspect: Suspect, batch: int, problem: Problem, *, swapped: bool) -> Suspect:
    """A suspect in rows and columns of the product that it is a part of. What lies beyond the end of a batch is
    counted on: the rows of the next one follow in memory.

    Args:
        suspect: lines of A and B, and both axes of D, count through all batches.
        batch: the product.
        problem: all of them.
        swapped: as of `Executions`.
    """
    if problem.batch == 1:
        return suspect
    letter = {"A": "B", "B": "A"}.get(suspect.matrix, "C") if swapped else suspect.matrix

    def inside(row: Ints, col: Ints) -> tuple[Ints, Ints]:
        row, col = (col, row) if swapped else (row, col)
        if letter == "B":
            beyond, col = np.divmod(col - batch * problem.n, problem.n)
            row = row + beyond * problem.k
        else:
            row, col = row - batch * problem.m, col % problem.n if letter == "C" else col
        return (col, row) if swapped else (row, col)

    row, col = inside(suspect.row, suspect.col)
    held = (suspect.row != HOLE) & (row >= 0) & (col >= 0)
    m, n = (problem.n, problem.m) if swapped else (problem.m, problem.n)
    start = {"A": (batch * m, 0), "B": (0, batch * n)}.get(suspect.matrix, (batch * m, batch * n))
    return replace(
        suspect,
        row=np.where(held, row, HOLE),
        col=np.where(held, col, HOLE),
        need_row=np.where(suspect.need_row == HOLE, HOLE, suspect.need_row - start[0]),
        need_col=np.where(suspect.need_col == HOLE, HOLE, suspect.need_col - start[1]),
        origin=suspect.origin - np.array(start),
    )


def batch_fault(
    subject: Subject, judged: JudgedExecutions, problem: Problem, here: Ints
) -> tuple[str, Diagnosis] | None:
    """The matrix ("A", "B" or "D", as the instruction has it) whose batches are taken a wrong distance apart
    in some executions; None where that is not what is wrong. Of several that it would explain, one whose distance is
    that of another matrix, by its batches in memory or by its extents."""
    found = list(_faults(subject, judged, problem, here))
    strides = {letter: subject.binding.buffers[_name(problem, letter)].strides for letter in "ABC" if found}
    apart = {letter: steps[-3] for letter, steps in strides.items() if len(steps) > 2}
    named = (fault for fault in found if fault[1] == 0 or _names(problem, fault[1]))
    lent = (fault for fault in found if fault[1] in apart.values())
    fault = next(lent, next(named, next(iter(found), None)))
    if fault is None:
        return None
    matrix, taken = fault
    letter = judged.executions.letter(matrix)
    whose = [other for other, stride in apart.items() if stride == taken and other != letter]
    if subject.binding.buffers[_name(problem, letter)].argument.pointers:
        return matrix, _by_pointers(problem, letter, taken)
    return matrix, _diagnosis(problem, letter, apart[letter], taken, whose)


def _faults(
    subject: Subject, judged: JudgedExecutions, problem: Problem, here: Ints
) -> Iterator[tuple[str, int]]:
    """Matrices whose batches may be taken a wrong distance apart, and that distance in elements."""
    for matrix in "ABD" if problem.batch > 1 else "":
        letter = judged.executions.letter(matrix)
        buffer = subject.binding.buffers[_name(problem, letter)]
        held, need = (_places(problem, letter, buffer, *at) for at in _coordinates(judged, matrix, here))
        known = (held[0] >= 0) & (need[0] >= 0)
        batch, off = need[1][known], (held[0] - need[0])[known]
        moved = np.flatnonzero(batch > 0)
        if not moved.size:
            continue
        step = int(off[moved[0]]) // int(batch[moved[0]])
        if step and (off == batch * step).all():
            yield matrix, buffer.strides[-3] + step


def _name(problem: Problem, letter: str) -> str:
    contract = problem.contract
    return {"A": contract.a, "B": contract.b}.get(letter, contract.d)


Lines = tuple[Ints, Ints]


def _coordinates(judged: JudgedExecutions, matrix: str, here: Ints) -> tuple[Lines, Lines]:
    """What the live slots hold and what they need: line of A or B and k, for D row and column; all broadcast
    to [execution, block, row, col], or [.., line, k]; negative for none."""
    f, t = judged.factors.select(here), judged.targets
    m, n = t.m[f.chain], t.n[f.chain]
    if matrix == "D":
        need = f.a_row.max(axis=3)[..., None], f.b_col.max(axis=3)[:, :, None]
        held = m, n
        if judged.executions.swapped:
            held, need = held[::-1], need[::-1]
    elif matrix == "A":
        held, need = (f.a_row, f.a_k), (t.row()[f.chain][..., None], f.b_k.max(axis=2)[:, :, None])
    else:
        held, need = (f.b_col, f.b_k), (t.col()[f.chain][..., None], f.a_k.max(axis=2)[:, :, None])
    (row, col), (need_row, need_col) = (np.broadcast_arrays(*pair) for pair in (held, need))
    return (row, col), (need_row, need_col)


def _places(problem: Problem, letter: str, buffer: BoundBuffer, line: Ints, other: Ints) -> Lines:
    """Where elements lie in memory, -1 for none; and their batch. The coordinates are as in `_coordinates`."""
    extent = problem.n if letter == "B" else problem.m
    there = (line >= 0) & (other >= 0)
    batch, inside = np.divmod(np.where(there, line, 0).astype(np.int64), extent)
    other = np.where(there, other, 0).astype(np.int64)
    if letter == "C":
        there &= other // problem.n == batch
        other = other % problem.n
    row, col = (other, inside) if letter == "B" else (inside, other)
    places = buffer.places()
    table = places.reshape(-1, *places.shape[-2:])[: problem.batch]
    return np.where(there, table[batch, row, col], -1), batch


def _diagnosis(problem: Problem, letter: str, stride: int, taken: int, whose: list[str]) -> Diagnosis:
    letter = problem.contract.d if letter == "C" else letter
    if taken:
        those = f", as those of {whose[0]}" if whose else ""
        what = (
            f"batches of {letter} are taken {_named(problem, taken)} elements apart{those}, and lie "
            f"{_named(problem, stride)} apart: the batch stride is wrong"
        )
    else:
        what = f"every batch takes {letter} of batch 0: its pointer does not advance with the batch"
    return Diagnosis(BATCH_STRIDE, what, f"advance {letter} by batch * {_named(problem, stride)}")


def _by_pointers(problem: Problem, letter: str, taken: int) -> Diagnosis:
    """The same where pointers in memory lead to the batches: how far these lie apart is no matter of the kernel's."""
    name = _name(problem, letter)
    what = (
        f"batches of {name} are taken {_named(problem, taken)} elements apart, from its first pointer on, and each "
        "lies where a pointer of its own leads"
        if taken
        else f"every batch takes {name} of batch 0: its first pointer is taken for all"
    )
    return Diagnosis(BATCH_STRIDE, what, f"take the pointer of {name} that has the number of the batch")


def _named(problem: Problem, number: int) -> str:
    """A number of elements as a product of extents, where it is one: "840 (N*K)"."""
    names = _names(problem, number)
    return f"{number} ({' or '.join(names[:2])})" if names else str(number)


def _names(problem: Problem, number: int) -> list[str]:
    extents = (("M", problem.m), ("N", problem.n), ("K", problem.k))
    pairs = combinations_with_replacement(extents, 2)
    products = [f"{one}*{two}" for (one, x), (two, y) in pairs if x * y == number]
    return [name for name, extent in extents if extent == number] + products
