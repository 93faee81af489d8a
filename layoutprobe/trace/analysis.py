"""Coded runs put together: every execution of a matrix instruction held against the product's law.

The checks `operand-provenance` and `epilogue` read the same analysis: which of A, B and D is to be
blamed can only be said with all three in view.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.accumulators import FROM_OTHER
from layoutprobe.observe.matrix import Operands
from layoutprobe.solver.product import NOWHERE, Factors, Judgement, Targets, judge, parts
from layoutprobe.trace.accumulators import Arrivals, arrivals_of, chain_of, confirmed
from layoutprobe.trace.levels import levelled, levelled_sums
from layoutprobe.trace.operands import MOSTLY, Executions, by_roles, executions_of
from layoutprobe.trace.parts import Sums, sums_of
from layoutprobe.trace.problem import NoProductError, Problem
from layoutprobe.trace.subject import Subject

Ints = NDArray[np.int64]


class JudgedExecutions(Struct, frozen=True, eq=False):
    """Executions, and what came of them.

    Attributes:
        executions: of one kind of instruction, in one role of A and B.
        factors: what their live slots held.
        targets: where every chain is stored, in those roles.
        judgement: where the law is broken.
    """

    executions: Executions
    factors: Factors
    targets: Targets
    judgement: Judgement


class Analysis(Struct, frozen=True, eq=False):
    """All that coded runs tell about a kernel at one size.

    Attributes:
        problem: the product.
        operands: record of the first coded run.
        arrivals: where accumulators end up.
        judged: executions by instruction and role.
        lost: PC -> why its operands cannot be followed.
        sums: several accumulators are added into one element of D; None where they are not.
        foreign: elements of D that were written but hold no accumulator's value.
        tainted: bool [chain], chains of which an execution could not be followed.
        astray: int64, flat elements of D that hold the accumulator of another one. Empty where
            executions are wrong or elements foreign: then that is what is to be told.
    """

    problem: Problem
    operands: Operands
    arrivals: Arrivals
    judged: tuple[JudgedExecutions, ...]
    lost: Mapping[int, str]
    sums: Sums | None = None
    foreign: int = 0
    tainted: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    astray: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    __repr__ = brief


def analysis_of(subject: Subject) -> Analysis:
    """The analysis of a subject, made once.

    Raises:
        NoProductError: the contract is no product, or the kernel has no matrix instruction.
        UndecidedError: the kernel cannot be followed.
        RunStoppedError: a run stopped at a fault.
    """
    return subject.once(_analyse)


def _analyse(subject: Subject) -> Analysis:
    problem = Problem.of(subject)
    if not any(Kind.MATRIX in inst.kind for inst in subject.insts.values()):
        raise NoProductError("the kernel has no matrix instruction")
    kinds, operands = executions_of(subject.coded(), problem.coding)
    if not kinds:
        raise NoProductError("no matrix instruction is executed at this size")
    arrivals = arrivals_of(subject, problem)
    followed: list[Executions] = []
    lost: dict[int, str] = {}
    tainted = np.zeros(arrivals.chains.wave.size, np.bool_)
    for kind in kinds:
        found, missed = by_roles(kind, problem)
        followed += found
        lost.update(missed)
        tainted[chain_of(kind, arrivals.chains)[np.isin(kind.pc, list(missed))]] = True
    made = [(done, done.factors(problem, chain_of(done, arrivals.chains))) for done in followed]
    expected = _expected(problem, arrivals, made)
    sums = None if problem.contract.split_k else sums_of(subject, problem, expected, arrivals)
    if sums is None and _doubtful(problem, arrivals, expected):
        arrivals = confirmed(subject, problem, arrivals)
        sums = None if problem.contract.split_k else sums_of(subject, problem, expected, arrivals)
    if sums is not None:
        arrivals = sums.arrivals
    element, foreign = (arrivals.element, 0) if sums is not None else _destinations(problem, arrivals)
    if foreign and not problem.contract.split_k:
        again = levelled(subject, problem, arrivals)
        left = (again.slot < 0) & again.written
        if (
            again.slot >= 0
        ).any() and left.mean() < MOSTLY:  # else what looks like a code is chance here, too
            arrivals, foreign, element = again, int(left.sum()), again.element
        elif (sums := levelled_sums(subject, problem, expected, arrivals)) is not None:
            arrivals, foreign, element = sums.arrivals, 0, sums.arrivals.element
    judged = tuple(
        JudgedExecutions(done, factors, targets, judge(factors, targets, done.geometry, problem.k))
        for done, factors in made
        for targets in [_targets(problem, element, done)]
    )
    broken = any(one.judgement.broken.any() for one in judged)
    astray = (
        np.zeros(0, np.int64)
        if broken or sums is not None or foreign
        else _astray(problem, arrivals, expected, tainted)
    )
    return Analysis(problem, operands, arrivals, judged, lost, sums, foreign, tainted, astray)


def _targets(problem: Problem, element: Ints, done: Executions) -> Targets:
    """Where the slots of every chain go, by their flat element of D."""
    at = element[:, done.code_slots]
    product, inside = np.divmod(at, problem.m * problem.n)
    row, col = np.divmod(inside, problem.n)
    product %= problem.batch
    there = at >= 0
    m, n = (
        np.where(there, product * extent + axis, NOWHERE).astype(np.int32)
        for extent, axis in ((problem.m, row), (problem.n, col))
    )
    if done.swapped:
        m, n = n, m
    return Targets(m, n)


def _destinations(problem: Problem, arrivals: Arrivals) -> tuple[Ints, int]:
    """Element of D for every slot of every chain; and how many elements hold none of their codes."""
    foreign = (arrivals.slot < 0) & arrivals.written
    if problem.contract.split_k:
        foreign &= ~_idle(arrivals)
    # Where hardly anything is a code, what looks like one is chance.
    element = arrivals.element if foreign.mean() < MOSTLY else np.full_like(arrivals.element, -1)
    return element, int(foreign.sum())


def _idle(arrivals: Arrivals) -> NDArray[np.bool_]:
    """Elements of partial products that are zero as a whole: there was no k left for them. Numerics judges whether
    the others have it all."""
    axes = tuple(range(1, arrivals.slot.ndim))
    nothing = (arrivals.values == 0).all(axis=0) & arrivals.written
    return np.broadcast_to(nothing.all(axis=axes, keepdims=True), arrivals.slot.shape)


def _astray(problem: Problem, arrivals: Arrivals, expected: Ints, tainted: NDArray[np.bool_]) -> Ints:
    """Elements of D whose slot the operands put elsewhere: a slot may be stored more than once, and
    only one of its elements is the one that `Arrivals.element` knows."""
    expected, slot = expected.ravel(), arrivals.slot.ravel()
    held = np.flatnonzero(slot >= 0)
    held = held[~tainted[slot[held] // arrivals.chains.slots]]
    wanted, several = expected[slot[held]], arrivals.times.ravel()[slot[held]] > 1
    # What waves that were not looked at should hold is unknown, but two elements they cannot be.
    elsewhere = wanted != held % (problem.batch * problem.m * problem.n)
    return np.asarray(held[elsewhere & ((wanted >= 0) | several)])


def _doubtful(problem: Problem, arrivals: Arrivals, expected: Ints) -> bool:
    """Whether elements hold the code of another accumulator than theirs, or one that others hold, too."""
    held = np.flatnonzero(arrivals.slot.ravel() >= 0)
    slot = arrivals.slot.ravel()[held]
    own = expected.ravel()[slot] == held % (problem.batch * problem.m * problem.n)
    return bool((~own | (arrivals.times.ravel()[slot] > 1)).any())


def _expected(problem: Problem, arrivals: Arrivals, made: list[tuple[Executions, Factors]]) -> Ints:
    """Element that every slot should go to, as the operands of its chain say: [chain, slot]."""
    expected = np.full(arrivals.chains.wave.size * arrivals.chains.slots, -1, np.int64)
    for done, every in made:
        for factors in map(every.select, parts(every.chain.size)):
            # Where one operand is zero (a K tail), nothing is added, whatever the other holds.
            live = np.logical_and((factors.a_row >= 0).any(axis=2), (factors.b_col >= 0).any(axis=2))
            row, col = (np.where(live[:, :, None], x, -1).max(axis=3) for x in (factors.a_row, factors.b_col))
            m, n = row[..., None], col[:, :, None, :]
            if done.swapped:
                m, n = n, m
            inside = (m >= 0) & (n >= 0) & (m // problem.m == n // problem.n)
            flat = m * problem.n + n % problem.n
            at = factors.chain[:, None, None, None] * arrivals.chains.slots + done.code_slots
            expected[at[inside]] = flat[inside]
    return expected.reshape(-1, arrivals.chains.slots)


def wrong_counts(analysis: Analysis) -> tuple[Ints, NDArray[np.int32], NDArray[np.bool_]]:
    """Accumulators whose stored outputs miss a k or have one twice, block by block of the instruction.

    Those that share their outputs count together. Left out are chains of which an execution is
    already known to be wrong, was not kept, or could not be followed.

    Returns:
        chain numbers, how often each k was added: [found, K], and which began with values that are
        neither zero nor an accumulator's.
    """
    chains, k = analysis.arrivals.chains, analysis.problem.k
    count = chains.wave.size
    bad = analysis.tainted | ~analysis.operands.kept[chains.wave]
    blocks = max((judged.judgement.counted.shape[1] for judged in analysis.judged), default=1)
    counted, stored = np.zeros((count, blocks, k), np.int32), np.zeros((count, blocks), np.bool_)
    share = np.arange(count * blocks).reshape(count, blocks)
    for judged in analysis.judged:
        own = judged.judgement.counted.shape[1]
        bad[judged.factors.chain[judged.judgement.broken]] = True
        counted[:, :own] += judged.judgement.counted
        stored[:, :own] |= judged.targets.stored.any(axis=(2, 3))
        if analysis.sums is not None or analysis.problem.contract.split_k:
            lines = (np.sort(axis, axis=2) for axis in (judged.targets.row(), judged.targets.col()))
            outputs = np.concatenate(list(lines), axis=2)
            same = np.unique(outputs.reshape(count * own, -1), axis=0, return_inverse=True)[1]
            share[:, :own] = same.reshape(count, own)
    together = np.zeros((count * blocks, k), np.int32)
    if analysis.sums is not None:
        counted *= analysis.sums.times[:, None, None].astype(np.int32)
    np.add.at(together, share[stored], counted[stored])
    spoiled = np.zeros(count * blocks, np.bool_)
    spoiled[share[stored & bad[:, None]]] = True
    wrong = stored & ~spoiled[share] & (together[share] != 1).any(axis=2)
    chain = np.nonzero(wrong)[0]
    return chain, together[share[wrong]], chains.start[chain] == FROM_OTHER
