"""One broken execution as its two operands and what is stored tell it: which of them is to blame."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.solver.product import NOWHERE, ZERO, origin_of
from layoutprobe.trace.analysis import JudgedExecutions
from layoutprobe.trace.problem import Problem

Ints = NDArray[np.int64]


class Broken(Struct, frozen=True, eq=False):
    """One execution in the geometry's order, and how far each matrix follows the convention.

    Attributes:
        origins: "A" -> (row, k), "B" -> (k, col), "D" -> (row, col) of the tile.
        follows: the same -> whether every slot that holds an element has that origin.
        extents: rows and columns of one product, in the instruction's roles.
    """

    judged: JudgedExecutions
    at: int
    origins: dict[str, tuple[int, int]]
    follows: dict[str, tuple[bool, bool]]
    extents: tuple[int, int]

    @property
    def chain(self) -> int:
        """Accumulator chain that it adds to."""
        return int(self.judged.factors.chain[self.at])

    @classmethod
    def of(cls, judged: JudgedExecutions, at: int, problem: Problem) -> Broken:
        """Execution number `at` of those that were judged."""
        f, g, chain = judged.factors, judged.executions.geometry, int(judged.factors.chain[at])
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
            (problem.n, problem.m) if judged.executions.swapped else (problem.m, problem.n),
        )

    def blamed(self) -> tuple[str, ...]:
        """Matrices to blame."""
        j, at = self.judged.judgement, self.at
        f = self.judged.factors
        a_bad, b_bad = j.a_bad[at], j.b_bad[at]
        (a_m, a_k), (b_k, b_n), (d_m, d_n) = (self.follows[x] for x in "ABD")
        found = set()
        for operand, held, follows, stored in (
            ("A", f.a_row[at][a_bad], a_m, d_m),
            ("B", f.b_col[at][b_bad], b_n, d_n),
        ):
            if (held < 0).any():  # zeros of a ragged tile lie where they belong, and the store goes elsewhere
                elsewhere = follows and not stored and (held[held < 0] == ZERO).all()
                found.add("D" if elsewhere else operand)
        rows_apart, cols_apart = (a_bad & (f.a_row[at] >= 0)).any(), (b_bad & (f.b_col[at] >= 0)).any()
        if rows_apart and cols_apart and a_m and b_n and d_m and d_n:
            # Both agree on another tile than the one that is stored to; or they are read beyond the last k.
            return ("A", "B") if self.is_too_much() else ("D",)
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

    def is_too_much(self) -> bool:
        """Executions that are right bring every k to the accumulators: this one, of some elements, has nothing to
        add."""
        f, j = self.judged.factors, self.judged.judgement
        if (f.a_row[self.at] < 0).all() or (f.b_col[self.at] < 0).all():
            return False
        right = (f.chain == self.chain) & ~j.broken
        brought = np.intersect1d(f.a_k[right], f.b_k[right])
        return int((brought >= 0).sum()) == j.counted.shape[2]

    def _is_shifted(self, operand: str) -> bool:
        """D begins somewhere inside a tile, and an operand that disagrees with it where tiles do."""
        axis = "AB".index(operand)
        extent, tile = self.extents[axis], self.judged.executions.geometry.shape[axis]
        stored, held = (self.origins[name][axis] % extent % tile for name in ("D", operand))
        return bool(stored and not held)

    def _out_of_step(self) -> set[str]:
        """The operand that does not bring every k once, or else the one whose k are not in the order of lanes and
        registers; both, where neither tells them apart."""
        f, depth = self.judged.factors, self.judged.judgement.counted.shape[2]
        g, here = self.judged.executions.geometry, f.chain == f.chain[self.at]
        steady = {"A": _once_each(f.a_k[here], depth), "B": _once_each(f.b_k[here], depth)}
        if len(set(steady.values())) == 1:
            steady = {"A": _ascending(f.a_k[self.at], g.a), "B": _ascending(f.b_k[self.at], g.b)}
        return {name for name in "AB" if not steady[name]} if len(set(steady.values())) == 2 else {"A", "B"}


def _first_k(
    held: NDArray[np.int32], named: Ints, counts: NDArray[np.bool_], right: NDArray[np.bool_]
) -> tuple[int, bool]:
    """As origin_of, but only slots with an element of the right line say what the offset is."""
    offset, follows = origin_of(held, named, counts)
    sure = counts & right & (held >= 0)
    return origin_of(held, named, sure)[0] if sure.any() else offset, follows


def _once_each(k: NDArray[np.int32], depth: int) -> bool:
    """No k comes twice, within a block of an execution or in two executions, and every execution brings some
    unless all `depth` are there: k is [execution, block, line, k]."""
    if comes_twice(k):
        return False
    brought = [np.unique(one[one >= 0]) for one in k]
    every = np.unique(np.concatenate(brought))
    alone = every.size == sum(one.size for one in brought)
    return alone and (every.size == depth or all(one.size for one in brought))


def _ascending(k: NDArray[np.int32], slots: Ints) -> bool:
    """Along lanes, registers and fields the k of every line grow: k and slots are [block, line, k]."""
    order = np.take_along_axis(k, np.argsort(slots, axis=2), axis=2)
    return bool(
        (order >= 0).any()
        and (np.diff(order, axis=2)[(order[..., 1:] >= 0) & (order[..., :-1] >= 0)] > 0).all()
    )


def comes_twice(k: NDArray[np.int32]) -> bool:
    """Some block holds a k in two places: k is [..., line, k]."""
    places = np.sort(k.max(axis=-2), axis=-1)
    return bool(((places[..., 1:] == places[..., :-1]) & (places[..., 1:] >= 0)).any())
