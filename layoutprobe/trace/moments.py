"""Every execution of the matrix instructions in some workgroups: what their operands held, and what they needed.

The waves of a kernel hold the same layouts again and again, each time somewhere else: a layout is kept once, with
its rows and columns counted from the least of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.kind import Kind
from layoutprobe.layouts.layout import HOLE
from layoutprobe.place import Register
from layoutprobe.report.kernel_view import COLUMNS, Group, Moments, OutputView
from layoutprobe.solver.product import NOWHERE
from layoutprobe.trace.analysis import JudgedExecutions, analysis_of
from layoutprobe.trace.moment import Seen, lines_of, operand_of, seen_of
from layoutprobe.trace.places import vector
from layoutprobe.trace.problem import Problem, require_product
from layoutprobe.trace.products import plain_product
from layoutprobe.trace.subject import Subject, UndecidedError

Ints = NDArray[np.int64]
MOST = 4096
"""Executions that are kept; further workgroups are left out. One workgroup is kept as a whole, up to ONE_GROUP."""
ONE_GROUP = 16384
MOST_ELEMENTS = 1 << 18
"""Of an output that is kept."""


class _Once:
    """Arrays, each kept once."""

    def __init__(self) -> None:
        self.kept: list[NDArray[Any]] = []
        self._known: dict[tuple[object, ...], int] = {}

    def place(self, array: NDArray[Any], *key: object) -> int:
        """Where an array stands in `kept`."""
        known = (array.tobytes(), array.shape, *key)
        if known not in self._known:
            self._known[known] = len(self.kept)
            self.kept.append(array)
        return self._known[known]


def moments_of(subject: Subject, first: Group, *, alone: bool = False) -> Moments:
    """All that the page of a kernel shows of its matrix instructions.

    Args:
        subject: the kernel.
        first: the workgroup that is kept in any case; others follow in the order of the launch.
        alone: no others do.

    Raises:
        NoProductError, UndecidedError, RunStoppedError: as `analysis_of`.
    """
    analysis = analysis_of(subject)
    launched = analysis.operands.waves.group
    every = list(dict.fromkeys([first, *sorted(map(_triple, np.unique(launched, axis=0)), key=_order)]))
    groups = _fitting(analysis.judged, launched, every[:1] if alone else every)
    found, problem = _Found(subject, groups), analysis.problem
    turns = _iterations(analysis.judged)
    lines = lines_of(problem)
    for judged, iteration in zip(analysis.judged, turns, strict=True):
        for at in np.flatnonzero(_among(launched[judged.executions.wave], groups)).tolist():
            for role in "ABD":
                found.add(judged, at, int(iteration[at]), role, seen_of(judged, at, role, problem, lines))
    return found.moments(len(every) - len(groups))


class _Found:
    """What was found so far."""

    def __init__(self, subject: Subject, groups: list[Group]) -> None:
        self._subject, self._groups = subject, groups
        analysis = analysis_of(subject)
        self._waves, self._problem = analysis.operands.waves, analysis.problem
        matrix = (inst.pc for _, inst in sorted(subject.insts.items()) if Kind.MATRIX in inst.kind)
        self._number = {pc: number for number, pc in enumerate(matrix)}
        self._layouts, self._masks = _Once(), _Once()
        self._bits: dict[int, int] = {}
        self._registers: dict[tuple[int, str], tuple[Register, int]] = {}
        self._rows: list[tuple[int, ...]] = []

    def add(self, judged: JudgedExecutions, at: int, iteration: int, role: str, seen: Seen) -> None:
        """One operand of one execution."""
        done = judged.executions
        pc, wave = int(done.pc[at]), int(done.wave[at])
        number, bits = self._number[pc], done.instruction.needed[role].field_bits
        held, held_at = _begun(seen.row, seen.col)
        needed, needed_at = _begun(seen.need_row, seen.need_col)
        here, there = self._layouts.place(held, bits), self._layouts.place(needed, bits)
        self._bits |= {here: bits, there: bits}
        if (number, seen.matrix) not in self._registers:
            register = vector(self._subject, operand_of(judged, pc, role).index)
            self._registers[number, seen.matrix] = (register, seen.row.shape[1] * max(1, bits // 32))
        who = (self._groups.index(_triple(self._waves.group[wave])), int(self._waves.index[wave]))
        product = _product(judged, at, self._problem)
        when = (number, iteration, int(done.turn[at]), "ABC".index(seen.matrix), product)
        marks = (self._masks.place(seen.mismatch), self._masks.place(seen.live))
        self._rows.append((*who, *when, here, *held_at, there, *needed_at, *marks))

    def moments(self, left_out: int) -> Moments:
        """All of it."""
        m, n, k = self._problem.m, self._problem.n, self._problem.k
        layouts = tuple(self._layouts.kept)
        return Moments(
            tuple(self._groups),
            left_out,
            {"A": (m, k), "B": (k, n), "C": (m, n)},
            layouts,
            tuple(self._masks.kept),
            tuple(self._bits[place] for place in range(len(layouts))),
            np.array(self._rows, np.int32).reshape(-1, len(COLUMNS)),
            self._registers,
        )


def output_of(subject: Subject) -> OutputView:
    """The product's output in the run on small integers.

    Raises:
        NoProductError, RunStoppedError: there is none.
        UndecidedError: it is too large for a page.
    """
    compared = plain_product(subject, require_product(subject))
    rows, cols = compared.observed.shape[-2:]
    if compared.observed.size > MOST_ELEMENTS:
        raise UndecidedError(
            f"{compared.name} has more than {MOST_ELEMENTS} elements: look at a smaller size"
        )

    def flat(values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(np.broadcast_to(values, compared.observed.shape).reshape(-1, cols))

    with np.errstate(over="ignore"):
        observed, expected = (flat(v).astype(np.float32) for v in (compared.observed, compared.expected))
    return OutputView(
        compared.name, observed, expected, flat(compared.wrong), flat(compared.undefined), int(rows)
    )


def _product(judged: JudgedExecutions, at: int, problem: Problem) -> int:
    """The product of a batch that an execution is stored to; 0 where that is nowhere."""
    rows = judged.targets.m[judged.factors.chain[at]]
    stored = rows[rows != NOWHERE]
    return int(stored.min()) // (problem.n if judged.executions.swapped else problem.m) if stored.size else 0


def _begun(row: Ints, col: Ints) -> tuple[NDArray[np.int32], tuple[int, int]]:
    """A layout counted from its least row and column, and these: int32 [2, lane, vgpr, field]."""
    there = row != HOLE
    first = (int(row[there].min()), int(col[there].min())) if there.any() else (0, 0)
    counted = [np.where(there, axis - begin, HOLE) for axis, begin in zip((row, col), first, strict=True)]
    return np.stack(counted).astype(np.int32), first


def _triple(group: Ints) -> Group:
    x, y, z = (int(i) for i in group)
    return x, y, z


def _order(group: Group) -> Group:
    """Launched in this order: x runs fastest."""
    return group[::-1]


def _among(launched: Ints, groups: list[Group]) -> NDArray[np.bool_]:
    """Which rows are one of these workgroups."""
    return np.asarray((launched[:, None, :] == np.array(groups)[None]).all(axis=2).any(axis=1))


def _fitting(judged: tuple[JudgedExecutions, ...], launched: Ints, every: list[Group]) -> list[Group]:
    """The first workgroups, as long as their executions are few enough.

    Raises:
        UndecidedError: one alone has too many.
    """
    waves = np.concatenate([np.zeros(0, np.int64), *(one.executions.wave for one in judged)])
    rows, count = np.unique(launched[waves], axis=0, return_counts=True)
    times = {_triple(group): int(n) for group, n in zip(rows, count, strict=True)}
    if times.get(every[0], 0) > ONE_GROUP:
        raise UndecidedError(
            f"workgroup {every[0]} executes more than {ONE_GROUP} matrix instructions: look at a smaller size"
        )
    total = np.cumsum([times.get(group, 0) for group in every])
    return every[: max(1, int((total <= MOST).sum()))]


def _iterations(judged: tuple[JudgedExecutions, ...]) -> list[Ints]:
    """How often its wave executed the same instruction before: int64 [execution], for each part of the analysis."""
    done = [one.executions for one in judged]
    if not done:
        return []
    pc, wave, turn = (
        np.concatenate(parts)
        for parts in ([d.pc for d in done], [d.wave for d in done], [d.turn for d in done])
    )
    order = np.lexsort((turn, wave, pc))
    fresh = np.flatnonzero(np.r_[True, np.diff(pc[order]) != 0] | np.r_[True, np.diff(wave[order]) != 0])
    begins = np.repeat(fresh, np.diff(np.r_[fresh, order.size]))
    before = np.empty(order.size, np.int64)
    before[order] = np.arange(order.size) - begins
    return np.split(before, np.cumsum([d.pc.size for d in done])[:-1])
