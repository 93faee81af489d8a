"""Who is wrong, and how: broken executions become culprits with a diagnosis.

Only names that the documents give to rows, columns and k can say which of two partners is at fault:
an operand that follows them is believed before one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.layout import HOLE
from layoutprobe.solver.diagnose import Case, Diagnosis
from layoutprobe.solver.product import FOREIGN, NOWHERE, origin_of
from layoutprobe.trace.causes import TILE, beyond_slots, cause_of, wrong_slots
from layoutprobe.trace.held import Problem
from layoutprobe.trace.provenance import Judged

Ints = NDArray[np.int64]

SAMPLE = 32
"""Broken executions of one instruction that are looked at closely."""


@dataclass(frozen=True, eq=False)
class Culprit:
    """A matrix that is wrong in some executions, for one reason.

    Attributes:
        matrix: "A", "B" or "D", as the instruction has it (its A holds B where `swapped`).
        judged: where the executions come from.
        executions: which of them were looked at.
        diagnosis: the reason.
        slot: (position in `executions`, lane, VGPR, field) of the first wrong slot.
        need: coordinates that it needs (row, col of `matrix`).
        count: wrong slots in all executions that share the instruction.
    """

    matrix: str
    judged: Judged
    executions: Ints
    diagnosis: Diagnosis
    slot: tuple[int, int, int, int]
    need: tuple[int, int]
    count: int

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class _View:
    """One execution in the geometry's order, and how far each matrix follows the convention.

    Attributes:
        origins: "A" -> (row, k), "B" -> (k, col), "D" -> (row, col) of the tile.
        follows: the same -> whether every slot that holds an element has that origin.
    """

    judged: Judged
    at: int
    origins: dict[str, tuple[int, int]]
    follows: dict[str, tuple[bool, bool]]

    @classmethod
    def of(cls, judged: Judged, at: int) -> _View:
        f, g, chain = judged.factors, judged.group.form.geometry, int(judged.factors.chain[at])
        m, n = judged.targets.m[chain], judged.targets.n[chain]
        stored = m != NOWHERE
        rows, cols = np.any(stored, axis=2)[..., None], np.any(stored, axis=1)[..., None]
        k = np.arange(g.a.shape[2])
        in_row, in_col = f.a_row[at] == m.max(axis=2)[..., None], f.b_col[at] == n.max(axis=1)[..., None]
        found = {
            "A": (origin_of(f.a_row[at], g.rows[..., None], rows), _first_k(f.a_k[at], k, rows, in_row)),
            "B": (_first_k(f.b_k[at], k, cols, in_col), origin_of(f.b_col[at], g.cols[..., None], cols)),
            "D": (origin_of(m, g.rows[..., None], stored), origin_of(n, g.cols[:, None, :], stored)),
        }
        return cls(
            judged,
            at,
            {name: (x[0], y[0]) for name, (x, y) in found.items()},
            {name: (x[1], y[1]) for name, (x, y) in found.items()},
        )

    def blamed(self) -> tuple[str, ...]:
        """Matrices to blame."""
        j, at = self.judged.judgement, self.at
        f = self.judged.factors
        a_bad, b_bad = j.a_bad[at], j.b_bad[at]
        found = set()
        if (a_bad & (f.a_row[at] < 0)).any():
            found.add("A")
        if (b_bad & (f.b_col[at] < 0)).any():
            found.add("B")
        (a_m, a_k), (b_k, b_n), (d_m, d_n) = (self.follows[x] for x in "ABD")
        rows_apart, cols_apart = (a_bad & (f.a_row[at] >= 0)).any(), (b_bad & (f.b_col[at] >= 0)).any()
        if rows_apart and cols_apart and a_m and b_n and d_m and d_n:
            return ("D",)  # both agree on another tile than the one that is stored to
        for apart, operand, follows, stored in (
            (rows_apart, "A", a_m, d_m),
            (cols_apart, "B", b_n, d_n),
        ):
            if apart:
                both = follows and stored and self._is_shifted(operand)
                found |= {"D"} if both else {operand} if stored else {"D"} if follows else {operand, "D"}
        if j.k_bad[at].any() and not found & {"A", "B"}:
            found |= {"A"} if b_k and not a_k else {"B"} if a_k and not b_k else self._out_of_step()
        return tuple(sorted(found))

    def _is_shifted(self, operand: str) -> bool:
        """D begins somewhere inside a tile, and an operand that disagrees with it where tiles do."""
        axis = "AB".index(operand)
        return bool(self.origins["D"][axis] % TILE and not self.origins[operand][axis] % TILE)

    def _out_of_step(self) -> set[str]:
        """The operand that does not bring every k once; both, where neither or both do."""
        f = self.judged.factors
        here = f.chain == f.chain[self.at]
        steady = {"A": _once_each(f.a_k[here]), "B": _once_each(f.b_k[here])}
        return {name for name in "AB" if not steady[name]} if len(set(steady.values())) == 2 else {"A", "B"}


def _first_k(
    held: NDArray[np.int32], named: Ints, counts: NDArray[np.bool_], right: NDArray[np.bool_]
) -> tuple[int, bool]:
    """As origin_of, but only slots with an element of the right line say what the offset is."""
    offset, follows = origin_of(held, named, counts)
    sure = counts & right & (held >= 0)
    return origin_of(held, named, sure)[0] if sure.any() else offset, follows


def _once_each(k: NDArray[np.int32]) -> bool:
    """Every execution brings some k, and no two of them the same: k is [execution, block, line, k]."""
    brought = [np.unique(one[one >= 0]) for one in k]
    every = np.concatenate(brought)
    return all(one.size for one in brought) and np.unique(every).size == every.size


_KNOWN: WeakKeyDictionary[Problem, dict[Judged, tuple[Culprit, ...]]] = WeakKeyDictionary()
"""Three checks ask for the same."""


def culprits(judged: Judged, problem: Problem, copies: int = 0) -> tuple[Culprit, ...]:
    """What is wrong in a group of executions, each matrix and reason once per instruction.

    Args:
        judged: the executions.
        problem: the product.
        copies: lanes that lie so far apart hold copies of an operand; 0 where nothing is replicated.
    """
    known = _KNOWN.setdefault(problem, {})
    if judged not in known:
        known[judged] = tuple(_culprits(judged, problem, copies))
    return known[judged]


def _culprits(judged: Judged, problem: Problem, copies: int) -> Iterator[Culprit]:
    broken = np.flatnonzero(judged.judgement.broken)
    pc = judged.group.form.pc[broken]
    for here in np.unique(pc):
        events = broken[pc == here]
        step = max(1, events.size // SAMPLE)
        sample = np.unique(np.concatenate([events[::step][:SAMPLE], events[-1:]]))
        views = [_View.of(judged, int(at)) for at in sample]
        chain = judged.factors.chain[[view.at for view in views]]
        stored = [views[first] for first in np.sort(np.unique(chain, return_index=True)[1])]
        blamed = {
            matrix: _culprit(matrix, guilty, problem, copies, _count(judged, events, matrix))
            for matrix in "ABD"
            if (guilty := [v for v in (stored if matrix == "D" else views) if matrix in v.blamed()])
        }
        # A matrix in which every slot is right is not to blame where another one shows a wrong slot.
        wrong = [culprit for culprit, shows in blamed.values() if shows]
        yield from wrong or [culprit for culprit, _ in blamed.values()]


def _count(judged: Judged, events: Ints, matrix: str) -> int:
    """Wrong slots in all broken executions of one instruction; of D, all slots of its chains."""
    j = judged.judgement
    if matrix == "D":
        return int(np.unique(judged.factors.chain[events]).size) * judged.group.form.geometry.d.size
    bad = j.a_bad if matrix == "A" else j.b_bad
    return int((bad[events] | j.k_bad[events][:, None, None, :]).sum())


def _culprit(
    matrix: str, views: list[_View], problem: Problem, copies: int, count: int
) -> tuple[Culprit, bool]:
    """A culprit, and whether any of its slots is wrong."""
    judged = views[0].judged
    cases = [_case(matrix, view, problem) for view in views]
    case = Case(
        matrix=cases[0].matrix,
        row=np.stack([c.row for c in cases]),
        col=np.stack([c.col for c in cases]),
        need_row=np.stack([c.need_row for c in cases]),
        need_col=np.stack([c.need_col for c in cases]),
        live=np.stack([c.live for c in cases]),
        origin=np.stack([c.origin for c in cases]),
        tile=cases[0].tile,
        shape=cases[0].shape,
    )
    wrong = wrong_slots(case)
    if not wrong.any():
        wrong = beyond_slots(case)
    if matrix == "D" and (wrong & (case.row != HOLE)).any():
        wrong &= case.row != HOLE  # one that is stored somewhere tells more
    shows = bool(wrong.any())
    if not shows:
        wrong = case.live
    slot = tuple(int(x) for x in np.argwhere(wrong)[0])
    culprit = Culprit(
        matrix,
        judged,
        np.array([view.at for view in views]),
        _foreign(case, views) or cause_of(case, copies_differ=_copies_differ(case, views, copies)),
        slot,  # type: ignore[arg-type]
        (int(case.need_row[slot]), int(case.need_col[slot])),
        max(count, int(wrong.sum())),
    )
    return culprit, shows


def _case(matrix: str, view: _View, problem: Problem) -> Case:
    """One execution of one matrix; axes [lane, vgpr, field]."""
    g, f, at = view.judged.group.form.geometry, view.judged.factors, view.at
    chain = int(f.chain[at])
    m, n = view.judged.targets.m[chain], view.judged.targets.n[chain]
    stored = m != NOWHERE
    rows, cols = m.max(axis=2), n.max(axis=1)
    k = np.arange(g.a.shape[2])
    a, b, d = (view.origins[x] for x in "ABD")
    d_trusted = view.follows["D"] if "D" not in view.blamed() else (False, False)
    extents = (problem.batch * problem.m, problem.batch * problem.n)
    if view.judged.group.swapped:
        extents = extents[::-1]
    if matrix == "D":
        need = (a[0] + g.rows[..., None] + 0 * g.d, b[1] + g.cols[:, None, :] + 0 * g.d)
        held, slots, live, origin, tile = (m, n), g.d, np.ones_like(stored), (a[0], b[1]), (16, 16)
        shape = extents
    elif matrix == "A":
        depth = _depth(view, "A") + k
        line = d[0] + g.rows if d_trusted[0] else a[0] + g.rows if "D" in view.blamed() else rows
        need = (line[..., None] + 0 * g.a, depth + 0 * g.a)
        held, slots, live = (f.a_row[at], f.a_k[at]), g.a, (rows != NOWHERE)[..., None] & (g.a >= 0)
        origin, tile, shape = (
            (d[0] if d_trusted[0] else a[0], _depth(view, "A")),
            (16, k.size),
            (extents[0], problem.k),
        )
    else:
        depth = _depth(view, "B") + k
        line = d[1] + g.cols if d_trusted[1] else b[1] + g.cols if "D" in view.blamed() else cols
        need = (depth + 0 * g.b, line[..., None] + 0 * g.b)
        held, slots, live = (f.b_k[at], f.b_col[at]), g.b, (cols != NOWHERE)[..., None] & (g.b >= 0)
        origin, tile, shape = (
            (_depth(view, "B"), d[1] if d_trusted[1] else b[1]),
            (k.size, 16),
            (problem.k, extents[1]),
        )
    axes = view.judged.group.form.instruction.needed[matrix].row.shape[1:]

    def spread(values: NDArray[np.integer], fill: int) -> Ints:
        flat = np.full(int(np.prod(axes)), fill, np.int64)
        flat[slots.ravel()] = np.broadcast_to(values, slots.shape).ravel()
        return flat.reshape(axes)

    row, col = (spread(np.where(held[0] < 0, HOLE, x), HOLE) for x in held)
    need_row, need_col = (spread(x, HOLE) for x in need)
    name = "C" if matrix == "D" else matrix  # as the author knows it
    return Case(name, row, col, need_row, need_col, spread(live, 0) != 0, np.array(origin), tile, shape)


def _depth(view: _View, matrix: str) -> int:
    """First k that the operand needs: that of its partner, if the partner can be believed."""
    mine, other = (0, 1) if matrix == "B" else (1, 0)
    partner = "B" if matrix == "A" else "A"
    if view.follows[partner][other]:
        return view.origins[partner][other]
    step = view.judged.group.form.geometry.a.shape[2]
    return view.origins[matrix][mine] // step * step


def _copies_differ(case: Case, views: list[_View], copies: int) -> bool:
    """The lanes that a card takes for copies of each other hold different elements."""
    if not copies or case.matrix not in "AB":
        return False
    form = views[0].judged.group.form
    table = form.a if case.matrix == "A" else form.b
    held = table[[view.at for view in views]].reshape(case.row.shape)
    lanes = case.row.shape[1]
    partner = (np.arange(lanes) + copies) % lanes
    return bool(((held != held[:, partner]) & (case.live | case.live[:, partner])).any())


def _foreign(case: Case, views: list[_View]) -> Diagnosis | None:
    """An operand that holds nothing but elements of another matrix."""
    factors = views[0].judged.factors
    lines = {"A": factors.a_row, "B": factors.b_col}.get(case.matrix)
    if lines is None or not (lines[[view.at for view in views]] == FOREIGN).all():
        return None
    what = f"slots of {case.matrix} hold elements of another matrix"
    return Diagnosis("other-matrix", what, "does the load begin at the tile of this matrix?")
