"""Steps along k that are missing from a sum: what lay unread in LDS, and zeros that were taken for an operand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.layouts.layout import HOLE
from layoutprobe.observe.accumulators import Link
from layoutprobe.observe.load_path import FollowBack, LoadPaths, Step, Target
from layoutprobe.place import Place
from layoutprobe.report.words import spans
from layoutprobe.solver.product import ZERO
from layoutprobe.trace.analysis import Analysis
from layoutprobe.trace.blame import tiles_of
from layoutprobe.trace.places import where
from layoutprobe.trace.problem import Problem
from layoutprobe.trace.subject import RunSpec, Subject

Ints = NDArray[np.int64]


def left_in_lds(
    subject: Subject, problem: Problem, link: Link, chain: int, missing: Ints
) -> tuple[Place, str] | None:
    """The load of LDS that takes a buffer again while others lie unread, and in words what those hold; None where
    the missing k are no whole steps, or were not seen in LDS.

    Args:
        subject, problem: the kernel and its product.
        link: the last instruction that adds to the accumulator.
        chain: the accumulator.
        missing: k that are never added to it.
    """
    form = matrix_form(link.inst)
    if form is None or not missing.size or missing.size % form.shape[2]:
        return None
    steps = missing.reshape(-1, form.shape[2])
    if (steps % form.shape[2] != np.arange(form.shape[2])).any():
        return None
    held = np.unique([k for name in (problem.contract.a, problem.contract.b) for k in _in_lds(subject, name)])
    lying = missing[np.isin(missing, held)]
    if not lying.size:
        return None
    load = next((step for step in _path(subject, link, chain, 0) if Kind.LOAD in step.inst.kind), None)
    if load is None or Kind.LDS not in load.inst.kind:
        return None
    what = f"k {spans(lying)} are stored to LDS, and not where the load looks for them"
    return where(subject, load.inst, load.who), what


def zeros_taken(
    subject: Subject, analysis: Analysis, link: Link, chain: int
) -> tuple[str, tuple[Step, ...]] | None:
    """The operand, as the contract names it, that is zero in every step of a sum of which its partner holds elements,
    and the way of its first slot back to where it began. None where there is none.

    Args:
        subject, analysis: the kernel.
        link: the last instruction that adds to the accumulator.
        chain: the accumulator.
    """
    for judged in analysis.judged:
        mine = judged.factors.chain == chain
        numbers = (judged.executions.a[mine], judged.executions.b[mine])
        for at, (zero, partner) in enumerate((numbers, numbers[::-1])):
            if mine.any() and (zero == ZERO).all() and (partner >= 0).any():
                return judged.executions.letter("AB"[at]), _path(subject, link, chain, at)
    return None


def _in_lds(subject: Subject, name: str) -> Iterator[int]:
    """k of all elements of A or B that were seen in LDS."""
    buffers = subject.binding.buffers
    for tile in tiles_of(subject):
        if tile.buffer == name:
            along = tile.col if buffers[name].argument.matrix == "A" else tile.row
            yield from np.unique(along[tile.row != HOLE]).tolist()


def _path(subject: Subject, link: Link, chain: int, operand: int) -> tuple[Step, ...]:
    at = int(np.flatnonzero(link.chain == chain)[0])
    target = Target(int(link.wave[at]), int(link.turn[at]), link.inst.src[operand].index, 0, 0)
    run = subject.run(RunSpec("integers", (FollowBack((target,)),)), partial=True)
    return run.record(LoadPaths).paths.get(target, ())
