"""One matrix instruction of a kernel at one moment: what the registers of an operand hold, and what they need.

It is read from the same analysis as the checks: what they call wrong is wrong here, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.place import Register
from layoutprobe.report.inspection import Site
from layoutprobe.solver.diagnose import UNEXPLAINED
from layoutprobe.trace.analysis import Analysis, JudgedExecutions, analysis_of
from layoutprobe.trace.blame import blames
from layoutprobe.trace.culprits import Culprit, beside_needed, culprits_of
from layoutprobe.trace.places import vector, where
from layoutprobe.trace.problem import Numbers, Problem
from layoutprobe.trace.subject import Subject, UndecidedError

Ints = NDArray[np.int64]
Group = tuple[int, int, int]
"""Id of a workgroup in x, y, z."""


class Fragment(Struct, frozen=True, eq=False):
    """One operand of a matrix instruction, in one execution by every wave of a workgroup.

    Attributes:
        matrix: as the contract names it; `role` as the instruction does.
        first: the operand's first register.
        loaded: what each slot held, of C: the element that it is stored to. HOLE for zeros, computed values, and
            what is beyond the edge. Of a batch, rows and columns are those of the workgroup's product.
        needed: the element that belongs there, HOLE where none does, and in copies that no output reads.
        mismatch: bool, axes of loaded.row.
        live: bool, same axes: an output that is stored depends on the slot.
        waves: which waves of the workgroup executed it so often; of others all slots are holes.
        turns: of each of them, its number in the launch, and which of its matrix instructions this is.
    """

    matrix: str
    role: str
    first: Register
    loaded: Layout
    needed: Layout
    mismatch: NDArray[np.bool_]
    live: NDArray[np.bool_]
    waves: tuple[int, ...]
    turns: tuple[tuple[int, int], ...]

    __repr__ = brief


def sites_of(subject: Subject) -> tuple[Site, ...]:
    """The matrix instructions of a kernel, in the order of its code.

    Raises:
        NoProductError, UndecidedError, RunStoppedError: as `analysis_of`.
    """
    analysis, wrong = analysis_of(subject), _named(subject)
    found = (inst for _, inst in sorted(subject.insts.items()) if Kind.MATRIX in inst.kind)
    return tuple(
        Site(
            number,
            where(subject, inst),
            _times(analysis, inst.pc),
            tuple((matrix, how) for (pc, matrix), how in wrong if pc == inst.pc),
            analysis.lost.get(inst.pc, ""),
        )
        for number, inst in enumerate(found)
    )


def _named(subject: Subject) -> list[tuple[tuple[int, str], str]]:
    """PC, matrix, and how it is wrong there, by the name that the check gives it: one without a name goes with those
    of its matrix that have one."""
    better = {id(culprit): found.diagnosis.name for culprit, found in blames(subject)}
    names = [(c, better.get(id(c), c.diagnosis.name)) for c in culprits_of(subject)]
    known = {_letter(c): name for c, name in reversed(names) if name != UNEXPLAINED}
    found = {
        (c.slot.inst.pc, _letter(c)): known.get(_letter(c), name) if name == UNEXPLAINED else name
        for c, name in reversed(names)
    }
    return sorted(found.items())


def _letter(culprit: Culprit) -> str:
    return culprit.slot.executions.letter(culprit.slot.matrix)


def _times(analysis: Analysis, pc: int) -> tuple[int, int]:
    waves = [e.wave for e in analysis.operands.executions if e.inst.pc == pc]
    kept = np.flatnonzero(analysis.operands.kept)
    counts = np.bincount(
        np.concatenate([np.zeros(0, np.int64), *waves]), minlength=len(analysis.operands.kept)
    )
    return (int(counts[kept].min()), int(counts[kept].max())) if kept.size else (0, 0)


def first_wrong(subject: Subject, pc: int | None, matrix: str) -> tuple[int, Group, int] | None:
    """Where an operand is wrong first: PC, workgroup, and the wave's executions of it before; None: nowhere.

    Args:
        subject: the kernel.
        pc: of this instruction only; None for any.
        matrix: "A", "B" or "C", as the contract names it.
    """
    for culprit in culprits_of(subject):
        slot, here = culprit.slot, culprit.slot.inst.pc
        if pc not in (None, here) or matrix != _letter(culprit):
            continue
        done = slot.executions
        same = (done.pc == here) & (done.wave == slot.wave)
        before = int((done.turn[same] < done.turn[slot.at]).sum())
        x, y, z = (int(i) for i in analysis_of(subject).operands.waves.group[slot.wave])
        return here, (x, y, z), before
    return None


def fragment_of(subject: Subject, inst: Inst, matrix: str, group: Group, iteration: int) -> Fragment:
    """An operand of a matrix instruction.

    Args:
        subject: the kernel.
        inst: the instruction.
        matrix: "A", "B" or "C", as the contract names it.
        group: the workgroup.
        iteration: of the executions of each wave, counted from 0.

    Raises:
        NoProductError, RunStoppedError: as `analysis_of`.
        UndecidedError: it was not executed there so often, or its operands cannot be followed.
    """
    analysis = analysis_of(subject)
    if inst.pc in analysis.lost:
        raise UndecidedError(analysis.lost[inst.pc])
    table = analysis.operands.waves
    members = np.flatnonzero((table.group == group).all(axis=1))
    if not members.size:
        raise UndecidedError(f"the launch has no workgroup {group}")
    members = members[np.argsort(table.index[members])]
    for judged in analysis.judged:
        if at := dict(_executed(judged, inst.pc, members, iteration)):
            role = _role(judged, matrix)
            lines = lines_of(analysis.problem)
            seen = {wave: seen_of(judged, one, role, analysis.problem, lines) for wave, one in at.items()}
            register = vector(subject, operand_of(judged, inst.pc, role).index)
            bits = judged.executions.instruction.needed[role].field_bits
            done = judged.executions
            turns = tuple((int(done.wave[one]), int(done.turn[one])) for one in at.values())
            return _fragment(matrix, role, register, bits, seen, members.size, turns)
    if not analysis.operands.kept[members].all():
        raise UndecidedError(
            "the operands of this workgroup were not kept: there are too many; check a smaller size"
        )
    raise UndecidedError(f"no wave of workgroup {group} executes it {iteration + 1} times")


def _executed(
    judged: JudgedExecutions, pc: int, members: NDArray[np.int64], iteration: int
) -> Iterator[tuple[int, int]]:
    """Wave in the workgroup, and which of the executions is the wanted one."""
    done = judged.executions
    for index, wave in enumerate(members.tolist()):
        own = np.flatnonzero((done.pc == pc) & (done.wave == wave))
        if iteration < own.size:
            yield index, int(own[np.argsort(done.turn[own])][iteration])


def _role(judged: JudgedExecutions, matrix: str) -> str:
    """The instruction's name of a contract's matrix."""
    return next(role for role in "ABD" if judged.executions.letter(role) == matrix)


def operand_of(judged: JudgedExecutions, pc: int, role: str) -> Operand:
    """The operand of an executed instruction, by its role in it: "A", "B" or "D"."""
    bound = judged.executions.insts[pc]
    return {"A": bound.src[0], "B": bound.src[1], "D": bound.dst[0]}[role]


Lines = Mapping[str, tuple[Numbers, Numbers]]
"""Matrix -> line and k of every coded number, as `Problem.lines` gives them."""


def lines_of(problem: Problem) -> Lines:
    """Both matrices' lines, to be worked out once."""
    return {matrix: problem.lines(matrix) for matrix in "AB"}


class Seen(Struct, frozen=True, eq=False):
    """One operand in one execution; coordinates are the contract's, axes [lane, vgpr, field]."""

    matrix: str
    row: Ints
    col: Ints
    need_row: Ints
    need_col: Ints
    mismatch: NDArray[np.bool_]
    live: NDArray[np.bool_]
    shape: tuple[int, int]

    __repr__ = brief


def seen_of(judged: JudgedExecutions, at: int, role: str, problem: Problem, lines: Lines) -> Seen:
    """What an operand held and needed in one execution; `role` is the instruction's name of it."""
    matrix = judged.executions.letter(role)
    suspect, wrong = beside_needed(judged, at, role, problem)
    done = judged.executions
    need, shape = (suspect.need_row, suspect.need_col), suspect.shape
    inside = suspect.live & np.logical_and.reduce(
        [(axis >= 0) & (axis < extent) for axis, extent in zip(need, shape, strict=True)]
    )
    row, col = suspect.row, suspect.col
    if done.swapped:  # the instruction computes C transposed
        row, col, need, shape = col, row, need[::-1], shape[::-1]
    if role != "D":
        numbers = (done.a if role == "A" else done.b)[at].reshape(row.shape)
        line, depth = (table[numbers].astype(np.int64) for table in lines[matrix])
        line = np.where(line < 0, HOLE, line % (problem.m if matrix == "A" else problem.n))
        copies = (line, depth) if matrix == "A" else (depth, line)
        row, col = (np.where(suspect.live, own, copy) for own, copy in zip((row, col), copies, strict=True))
    row, col = (np.where((row < 0) | (col < 0), HOLE, axis) for axis in (row, col))
    need_row, need_col = (np.where(inside, axis, HOLE) for axis in need)
    return Seen(matrix, row, col, need_row, need_col, wrong, suspect.live, shape)


def _fragment(
    matrix: str,
    role: str,
    register: Register,
    bits: int,
    seen: Mapping[int, Seen],
    waves: int,
    turns: tuple[tuple[int, int], ...],
) -> Fragment:
    """All waves of a workgroup together, of which these were seen."""
    first = next(iter(seen.values()))

    def spread(name: str, fill: int) -> NDArray[Any]:
        none = np.full(first.row.shape, fill)
        parts = [getattr(seen[wave], name) if wave in seen else none for wave in range(waves)]
        return np.stack(parts).astype(np.int32)

    def layout(row: str, col: str) -> Layout:
        return Layout(matrix, first.shape, spread(row, HOLE), spread(col, HOLE), bits)

    return Fragment(
        matrix,
        role,
        register,
        layout("row", "col"),
        layout("need_row", "need_col"),
        spread("mismatch", 0) != 0,
        spread("live", 0) != 0,
        tuple(seen),
        turns,
    )
