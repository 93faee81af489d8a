"""Who is wrong, and how: broken executions become culprits with a diagnosis.

Only names that the documents give to rows, columns and k can say which of two partners is at fault:
an operand that follows them is believed before one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.kind import Kind
from layoutprobe.layouts.layout import HOLE
from layoutprobe.numbers.distinct import distinct
from layoutprobe.solver.diagnose import (
    OTHER_MATRIX,
    ZEROS,
    Diagnosis,
    beyond_slots,
    diagnose_executions,
    wrong_slots,
)
from layoutprobe.solver.product import FOREIGN, NOWHERE, UNDEFINED, ZERO
from layoutprobe.solver.suspect import Suspect
from layoutprobe.trace.analysis import JudgedExecutions, analysis_of
from layoutprobe.trace.batches import batch_fault, within_batch
from layoutprobe.trace.broken import Broken, comes_twice
from layoutprobe.trace.operands import Slot
from layoutprobe.trace.problem import Problem
from layoutprobe.trace.subject import Subject

Ints = NDArray[np.int64]

SAMPLE = 32
"""Broken executions of one instruction that are looked at closely."""
CHAINS = 64
"""Accumulators of which one broken execution is: those that are stored to one place tell of each other."""


class Culprit(Struct, frozen=True, eq=False):
    """A matrix that is wrong in some executions, for one reason.

    Attributes:
        slot: the first wrong slot.
        need: coordinates that it needs (row, col of its matrix, in the instruction's roles).
        batch: the product that they are of.
        chain: accumulator chain that its execution adds to.
        diagnosis: the reason.
        count: wrong slots in all executions that share the instruction.
        suspect: what its executions held and needed, as far as they were looked at.
    """

    slot: Slot
    need: tuple[int, int]
    batch: int
    chain: int
    diagnosis: Diagnosis
    count: int
    suspect: Suspect

    __repr__ = brief


def culprits_of(subject: Subject) -> tuple[Culprit, ...]:
    """What is wrong in a kernel, each matrix and reason once per instruction.

    Raises:
        NoProductError, UndecidedError, RunStoppedError: as `analysis_of`.
    """
    return subject.once(_culprits)


def _culprits(subject: Subject) -> tuple[Culprit, ...]:
    analysis = analysis_of(subject)
    waves = analysis.operands.waves.index
    return tuple(
        culprit
        for judged in analysis.judged
        for culprit in _in_group(subject, judged, analysis.problem, waves)
    )


def _in_group(subject: Subject, judged: JudgedExecutions, problem: Problem, waves: Ints) -> Iterator[Culprit]:
    """What is wrong in a group of executions; `waves` are the numbers of all waves in their workgroups."""
    copies = subject.copies_every
    in_lds = any(Kind.LDS in inst.kind and Kind.LOAD in inst.kind for inst in subject.insts.values())
    broken = np.flatnonzero(judged.judgement.broken)
    pc = judged.executions.pc[broken]
    for here in distinct(pc):
        events = broken[pc == here]
        step = max(1, events.size // SAMPLE)
        begins = np.unique(judged.factors.chain[events], return_index=True)[1]
        sample = np.unique(np.concatenate([events[::step][:SAMPLE], events[begins][:CHAINS], events[-1:]]))
        views = [Broken.of(judged, int(at), problem) for at in sample]
        if fault := batch_fault(subject, judged, problem, np.flatnonzero(judged.executions.pc == here)):
            matrix, diagnosis = fault
            yield _culprit(
                matrix, views, problem, copies, waves, _count(judged, events, matrix), in_lds, diagnosis
            )[0]
            continue
        chain = judged.factors.chain[[view.at for view in views]]
        stored = [views[first] for first in np.sort(np.unique(chain, return_index=True)[1])]
        blamed = {
            matrix: _culprit(matrix, guilty, problem, copies, waves, _count(judged, events, matrix), in_lds)
            for matrix in "ABD"
            if (guilty := [v for v in (stored if matrix == "D" else views) if matrix in v.blamed()])
        }
        # A matrix in which every slot is right is not to blame where another one shows a wrong slot.
        wrong = [culprit for culprit, shows in blamed.values() if shows]
        yield from wrong or [culprit for culprit, _ in blamed.values()]


def _count(judged: JudgedExecutions, events: Ints, matrix: str) -> int:
    """Wrong slots in all broken executions of one instruction; of D, all slots of its chains."""
    j = judged.judgement
    if matrix == "D":
        return int(np.unique(judged.factors.chain[events]).size) * judged.executions.geometry.d.size
    bad = j.a_bad if matrix == "A" else j.b_bad
    return int((bad[events] | j.k_bad[events][:, None, None, :]).sum())


def _culprit(
    matrix: str,
    views: list[Broken],
    problem: Problem,
    copies: int,
    waves: Ints,
    count: int,
    in_lds: bool,
    known: Diagnosis | None = None,
) -> tuple[Culprit, bool]:
    """A culprit, and whether any of its slots is wrong; `known`: its diagnosis, where that was made before."""
    judged = views[0].judged
    suspects = [_suspect(matrix, view, problem) for view in views]
    suspect = Suspect(
        matrix=suspects[0].matrix,
        row=np.stack([c.row for c in suspects]),
        col=np.stack([c.col for c in suspects]),
        need_row=np.stack([c.need_row for c in suspects]),
        need_col=np.stack([c.need_col for c in suspects]),
        live=np.stack([c.live for c in suspects]),
        nonzero=np.stack([c.nonzero for c in suspects if c.nonzero is not None]),
        origin=np.stack([c.origin for c in suspects]),
        tile=suspects[0].tile,
        shape=suspects[0].shape,
        bits=suspects[0].bits,
        nothing=_nothing(matrix, views),
        wave=waves[judged.executions.wave[[view.at for view in views]]],
        extents=problem.named_extents,
        strides=suspects[0].strides,
    )
    wrong = wrong_slots(suspect)
    if not wrong.any():
        wrong = beyond_slots(suspect)
    if matrix == "D" and (wrong & (suspect.row != HOLE)).any():
        wrong &= suspect.row != HOLE  # one that is stored somewhere tells more
    shows = bool(wrong.any())
    if not shows:
        wrong = suspect.live
    first = tuple(int(x) for x in np.argwhere(wrong)[0])
    at = views[first[0]].at
    culprit = Culprit(
        Slot(judged.executions, matrix, at, *first[1:]),
        (int(suspect.need_row[first]), int(suspect.need_col[first])),
        _batch(matrix, views[first[0]], problem),
        views[first[0]].chain,
        known
        or _foreign(suspect, views)
        or diagnose_executions(suspect, copies_differ=_copies_differ(suspect, views, copies), in_lds=in_lds),
        max(count, int(wrong.sum())),
        suspect,
    )
    return culprit, shows


def _nothing(matrix: str, views: list[Broken]) -> str:
    """What slots of an operand hold that hold no element."""
    factors = views[0].judged.factors
    lines = {"A": factors.a_row, "B": factors.b_col}.get(matrix)
    held = np.zeros(0) if lines is None else np.unique(lines[[view.at for view in views]])
    special = [int(code) for code in held if code < 0]
    if special == [ZERO]:
        return ZEROS
    return "bits that were never defined" if special == [UNDEFINED] else "no element (undefined or unknown)"


def beside_needed(
    judged: JudgedExecutions, at: int, matrix: str, problem: Problem
) -> tuple[Suspect, NDArray[np.bool_]]:
    """What one matrix held in one execution beside what it needed, and its wrong slots; axes [lane, vgpr, field].

    A matrix that is not to blame has none: orders of rows, columns and k that all three share are right.
    """
    view = Broken.of(judged, at, problem)
    suspect = _suspect(matrix, view, problem)
    if not judged.judgement.broken[at] or matrix not in view.blamed():
        live = suspect.live & (suspect.row != HOLE)
        row, col = (np.where(live, axis, HOLE) for axis in (suspect.row, suspect.col))
        return replace(suspect, need_row=row, need_col=col), np.zeros_like(live)
    wrong = wrong_slots(suspect)
    return suspect, wrong if wrong.any() else beyond_slots(suspect)


def _suspect(matrix: str, view: Broken, problem: Problem) -> Suspect:
    """One execution of one matrix; axes [lane, vgpr, field]."""
    done, f, at, chain = view.judged.executions, view.judged.factors, view.at, view.chain
    g, targets = done.geometry, view.judged.targets
    m, n = targets.m[chain], targets.n[chain]
    if matrix == "D":
        first = view.origins["A"][0], view.origins["B"][1]
        need = (first[0] + g.rows)[..., None], (first[1] + g.cols)[:, None, :]
        held, slots, live = (m, n), g.d, np.ones_like(m, np.bool_)
    else:
        axis = "AB".index(matrix)
        line, start = _lines(view, axis)
        depth = _depth(view, matrix)
        first, need = (start, int(depth.min())), (line[..., None], depth[:, None])
        held, slots = ((f.a_row[at], f.a_k[at]), g.a) if axis == 0 else ((f.b_col[at], f.b_k[at]), g.b)
        live = (m.max(axis=2) if axis == 0 else n.max(axis=1))[..., None] != NOWHERE
        if matrix == "B":
            first, need, held = first[::-1], need[::-1], held[::-1]
    axes = done.instruction.needed[matrix].row.shape[1:]

    def spread(values: NDArray[Any], fill: int) -> Ints:
        flat = np.full(int(np.prod(axes)), fill, np.int64)
        flat[slots.ravel()] = np.broadcast_to(values, slots.shape).ravel()
        return flat.reshape(axes)

    row, col = (spread(np.where(x < 0, HOLE, x), HOLE) for x in held)
    need_row, need_col = (spread(x, HOLE) for x in need)
    m_all, n_all = (problem.n, problem.m) if done.swapped else (problem.m, problem.n)
    tile, shape = _extents(matrix, g.shape), _extents(matrix, (m_all, n_all, problem.k))
    name = "C" if matrix == "D" else matrix  # as the author knows it
    bits = done.instruction.needed[matrix].field_bits
    live, nonzero = spread(live, 0) != 0, spread(held[0] != ZERO, 0) != 0
    strides = problem.strides("D" if matrix == "D" else done.letter(matrix))
    strides = strides[::-1] if done.swapped else strides
    found = Suspect(
        name,
        row,
        col,
        need_row,
        need_col,
        live,
        np.array(first),
        tile,
        shape,
        bits,
        nonzero=nonzero,
        strides=strides,
    )
    return within_batch(found, _batch(matrix, view, problem), problem, swapped=done.swapped)


def _batch(matrix: str, view: Broken, problem: Problem) -> int:
    """The product that an execution is a part of: by where it is stored, and for D by its operands."""
    extent = problem.n if view.judged.executions.swapped else problem.m
    rows = view.judged.targets.m[view.chain]
    row = view.origins["A"][0] if matrix == "D" else int(rows[rows != NOWHERE].min(initial=rows.max()))
    return max(row, 0) // extent if problem.batch > 1 else 0


def _extents(matrix: str, of: tuple[int, int, int]) -> tuple[int, int]:
    """Rows and columns of a matrix, from (M, N, K)."""
    m, n, k = of
    return {"A": (m, k), "B": (k, n)}.get(matrix, (m, n))


def _lines(view: Broken, axis: int) -> tuple[Ints, int]:
    """Row (axis 0) or column (1) of C that every line of the operand should be for, and that of the first."""
    g, own = view.judged.executions.geometry, view.origins["AB"[axis]][axis]
    named = (g.rows, g.cols)[axis]
    if "D" in view.blamed():
        return own + named, own
    if view.follows["D"][axis]:
        return view.origins["D"][axis] + named, view.origins["D"][axis]
    targets = view.judged.targets
    return (targets.row() if axis == 0 else targets.col())[view.chain].astype(np.int64), own


def _depth(view: Broken, matrix: str) -> Ints:
    """k that the operand needs in each block, those of its partner if that can be believed: int64 [block, k]."""
    mine, other = (0, 1) if matrix == "B" else (1, 0)
    partner = "B" if matrix == "A" else "A"
    judged = view.judged
    blocks, _, step = judged.executions.geometry.a.shape
    named = np.broadcast_to(np.arange(step), (blocks, step))
    if view.is_too_much():
        return judged.judgement.counted.shape[2] + named
    if view.follows[partner][other]:
        return view.origins[partner][other] + named
    of_partner = (judged.factors.a_k if partner == "A" else judged.factors.b_k)[view.at]
    if partner not in view.blamed() and not comes_twice(of_partner):
        held = of_partner.max(axis=1)
        # Where the partner has nothing, it is beyond the last k.
        return np.where(held >= 0, held, judged.judgement.counted.shape[2]).astype(np.int64)
    turn = _turn(view, matrix)
    return (view.origins[matrix][mine] if turn is None else turn) // step * step + named


def _turn(view: Broken, matrix: str) -> int | None:
    """First k of an execution whose chain goes through all k in order; None where no slots say so, or fewer than say
    something else. A swizzle on one side leaves as many elements in each other step as in their own."""
    f, depth = view.judged.factors, view.judged.judgement.counted.shape[2]
    held = (f.a_k if matrix == "A" else f.b_k)[view.at]
    step, of_chain = held.shape[-1], np.flatnonzero(f.chain == view.chain)
    first = int(np.searchsorted(of_chain, view.at)) * step
    starts, times = np.unique((held - np.arange(step))[held >= 0], return_counts=True)
    own = times[starts == first].max(initial=0)
    return first if of_chain.size * step == depth and 0 < own == times.max() else None


def _copies_differ(suspect: Suspect, views: list[Broken], copies: int) -> bool:
    """The lanes that a card takes for copies of each other hold different elements."""
    if not copies or suspect.matrix not in "AB":
        return False
    form = views[0].judged.executions
    table = form.a if suspect.matrix == "A" else form.b
    held = table[[view.at for view in views]].reshape(suspect.row.shape)
    lanes = suspect.row.shape[1]
    partner = (np.arange(lanes) + copies) % lanes
    return bool(((held != held[:, partner]) & (suspect.live | suspect.live[:, partner])).any())


def _foreign(suspect: Suspect, views: list[Broken]) -> Diagnosis | None:
    """An operand that holds nothing but elements of another matrix."""
    factors = views[0].judged.factors
    lines = {"A": factors.a_row, "B": factors.b_col}.get(suspect.matrix)
    if lines is None or not (lines[[view.at for view in views]] == FOREIGN).all():
        return None
    what = f"slots of {suspect.matrix} hold elements of another matrix"
    return Diagnosis(OTHER_MATRIX, what, "does the load begin at the tile of this matrix?")
