"""Who is wrong, and how: broken executions become culprits with a diagnosis.

Only names that the documents give to rows, columns and k can say which of two partners is at fault:
an operand that follows them is believed before one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from layoutprobe.checks.held import Problem
from layoutprobe.checks.provenance import Judged
from layoutprobe.layouts.layout import HOLE
from layoutprobe.solver.diagnose import HYPOTHESES, Case, Diagnosis, diagnose
from layoutprobe.solver.product import NOWHERE, origin_of

Ints = NDArray[np.int64]

SAMPLE = 32
"""Broken executions of one instruction that are looked at closely."""
_LDS_LAWS = ("lds-one-sided", "lds-stride")
_LDS_TILES = (16, 32, 64, 128, 256)


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
        found = {
            "A": (origin_of(f.a_row[at], g.rows[..., None], rows), origin_of(f.a_k[at], k, rows)),
            "B": (origin_of(f.b_k[at], k, cols), origin_of(f.b_col[at], g.cols[..., None], cols)),
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
                found |= {operand} if stored else {"D"} if follows else {operand, "D"}
        if j.k_bad[at].any() and not found & {"A", "B"}:
            found |= {"A"} if b_k and not a_k else {"B"} if a_k and not b_k else {"A", "B"}
        return tuple(sorted(found))


def culprits(judged: Judged, problem: Problem) -> Iterator[Culprit]:
    """What is wrong in a group of executions, each matrix and reason once per instruction."""
    broken = np.flatnonzero(judged.judgement.broken)
    pc = judged.group.form.pc[broken]
    for here in np.unique(pc):
        events = broken[pc == here]
        step = max(1, events.size // SAMPLE)
        sample = np.unique(np.concatenate([events[::step][:SAMPLE], events[-1:]]))
        views = [_View.of(judged, int(at)) for at in sample]
        for matrix in "ABD":
            guilty = [view for view in views if matrix in view.blamed()]
            if guilty:
                yield _culprit(matrix, guilty, problem, _count(judged, events, matrix))


def _count(judged: Judged, events: Ints, matrix: str) -> int:
    """Wrong slots in all broken executions of one instruction; of D, all slots of its chains."""
    j = judged.judgement
    if matrix == "D":
        return int(np.unique(judged.factors.chain[events]).size) * judged.group.form.geometry.d.size
    bad = j.a_bad if matrix == "A" else j.b_bad
    return int((bad[events] | j.k_bad[events][:, None, None, :]).sum())


def _culprit(matrix: str, views: list[_View], problem: Problem, count: int) -> Culprit:
    judged = views[0].judged
    cases = [_case(matrix, view, problem) for view in views]
    case = Case(
        matrix=matrix,
        row=np.stack([c.row for c in cases]),
        col=np.stack([c.col for c in cases]),
        need_row=np.stack([c.need_row for c in cases]),
        need_col=np.stack([c.need_col for c in cases]),
        live=np.stack([c.live for c in cases]),
        origin=np.stack([c.origin for c in cases]),
        tile=cases[0].tile,
        shape=cases[0].shape,
    )
    inside = (case.need_row < case.shape[0]) & (case.need_col < case.shape[1])
    inside &= (case.need_row >= 0) & (case.need_col >= 0)
    wrong = case.live & inside & ((case.row != case.need_row) | (case.col != case.need_col))
    if not wrong.any():
        wrong = case.live
    slot = tuple(int(x) for x in np.argwhere(wrong)[0])
    return Culprit(
        matrix,
        judged,
        np.array([view.at for view in views]),
        _diagnosis(case),
        slot,  # type: ignore[arg-type]
        (int(case.need_row[slot]), int(case.need_col[slot])),
        max(count, int(wrong.sum())),
    )


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
            (16, 16),
            (extents[0], problem.k),
        )
    else:
        depth = _depth(view, "B") + k
        line = d[1] + g.cols if d_trusted[1] else b[1] + g.cols if "D" in view.blamed() else cols
        need = (depth + 0 * g.b, line[..., None] + 0 * g.b)
        held, slots, live = (f.b_k[at], f.b_col[at]), g.b, (cols != NOWHERE)[..., None] & (g.b >= 0)
        origin, tile, shape = (
            (_depth(view, "B"), d[1] if d_trusted[1] else b[1]),
            (16, 16),
            (problem.k, extents[1]),
        )
    axes = view.judged.group.form.instruction.needed[matrix].row.shape[1:]

    def spread(values: NDArray[np.integer], fill: int) -> Ints:
        flat = np.full(int(np.prod(axes)), fill, np.int64)
        flat[slots.ravel()] = np.broadcast_to(values, slots.shape).ravel()
        return flat.reshape(axes)

    row, col = (spread(np.where(held[0] < 0, HOLE, x), HOLE) for x in held)
    need_row, need_col = (spread(x, HOLE) for x in need)
    return Case(matrix, row, col, need_row, need_col, spread(live, 0) != 0, np.array(origin), tile, shape)


def _depth(view: _View, matrix: str) -> int:
    """First k that the operand needs: that of its partner, if the partner can be believed."""
    mine, other = (0, 1) if matrix == "B" else (1, 0)
    partner = "B" if matrix == "A" else "A"
    if view.follows[partner][other]:
        return view.origins[partner][other]
    return view.origins[matrix][mine] // 16 * 16


def _diagnosis(case: Case) -> Diagnosis:
    if case.matrix in "AB" and (late := _steps_late(case)):
        steps = f"{abs(late)} k too {'late' if late > 0 else 'early'}"
        return Diagnosis(
            "other-step",
            f"{case.matrix} holds elements of another K step than its partner: {steps}",
            "is a buffer of LDS or registers read before the new tile is in it, or the wrong one of two?",
        )
    found = diagnose(case)
    if found.name == "unexplained" and case.matrix in "AB":
        found = next(_in_lds_tiles(case), found)
    return found


def _steps_late(case: Case) -> int:
    """By how many k the slots are off, where that is a whole number of steps for all of them."""
    row, col, need = case.row, case.col, (case.need_row, case.need_col)
    line, k = ((row, need[0]), (col, need[1])) if case.matrix == "A" else ((col, need[1]), (row, need[0]))
    use = case.live & (row != HOLE)
    if not use.any() or (line[0] != line[1])[use].any():
        return 0
    shift = np.unique((k[0] - k[1])[use])
    return int(shift[0]) if shift.size == 1 and shift[0] % 16 == 0 else 0


def _in_lds_tiles(case: Case) -> Iterator[Diagnosis]:
    """Faults of LDS addressing, for tiles of usual sizes: their causes show in the tile's coordinates."""
    rows, cols = case.need_row, case.need_col
    for tall in _LDS_TILES:
        for wide in _LDS_TILES:
            first = [
                np.where(case.live, x, np.iinfo(np.int64).max).min(axis=(1, 2, 3)) // size * size
                for x, size in ((rows, tall), (cols, wide))
            ]
            down, right = (x[:, None, None, None] for x in first)
            hole = case.row == HOLE
            local = replace(
                case,
                row=np.where(hole, HOLE, case.row - down),
                col=np.where(hole, HOLE, case.col - right),
                need_row=rows - down,
                need_col=cols - right,
                origin=case.origin - np.stack(first, axis=1),
                shape=(tall, wide),
            )
            live = local.live
            if ((local.need_row >= tall) | (local.need_col >= wide))[live].any():
                continue
            if ((local.row >= tall) | (local.col >= wide))[live].any():
                continue
            for hypothesis in HYPOTHESES:
                if hypothesis.name in _LDS_LAWS:
                    for text, row, col in hypothesis.guesses(local):
                        if local.predicts(row, col):
                            yield Diagnosis(hypothesis.name, text, hypothesis.hint)
