"""Where accumulators end up: the codes that `AccumulatorCoder` left in the outputs, decoded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.numbers import DigitCode, digit_base
from layoutprobe.observe.accumulators import AccumulatorCoding, Chains
from layoutprobe.observe.outputs import StoreRecorder, Stores, touched
from layoutprobe.observe.results import Result
from layoutprobe.trace.operands import Executions
from layoutprobe.trace.problem import Problem
from layoutprobe.trace.subject import Recorded, Subject, UndecidedError

Ints = NDArray[np.int64]

_SLACK = 4
"""Slots that are numbered, per element of D: ragged tiles and several accumulators need more."""
_NARROWS = re.compile(r"v_cvt_(?:pk_|pkrtz_)?(b?f16)_f32\w*")
_SPARE = 64
"""Chains that have numbers in any case."""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """What arrived in D.

    Attributes:
        chains: what was accumulated where.
        codes: the numbering.
        values: float64 [digit, ...], D after each run.
        slot: int64, shape of D: slot that an element came from, -1 where it holds no code.
        written: bool, shape of D: elements that were stored to.
        element: int64 [chain, slot], flat index of the element of D that a slot was stored
            to, the first one; -1 where it was stored nowhere.
        times: int64 [chain, slot], elements that hold its code.
    """

    chains: Chains
    codes: DigitCode
    values: NDArray[np.float64]
    slot: Ints
    written: NDArray[np.bool_]
    element: Ints
    times: Ints

    __repr__ = brief


def arrivals_of(subject: Subject, problem: Problem) -> Arrivals:
    """Runs the kernel with coded accumulators, and decodes D.

    Raises:
        UndecidedError: there are too many accumulators, or the runs differ.
        RunStoppedError: a run stopped at a fault.
    """
    name = problem.contract.d
    dtype, shape = subject.binding.buffers[name].dtype, subject.binding.buffers[name].shape
    lanes = subject.kernel.wavefront_size
    results = [
        Result.of(inst, lanes)
        for inst in subject.insts.values()
        if Kind.MATRIX in inst.kind and matrix_form(inst) is not None
    ]
    slots = max((result.slots for result in results), default=1)
    narrow = {kind for inst in subject.insts.values() for kind in _converted_to(inst.name)}
    base = digit_base((dtype, *(result.kind.name for result in results), *sorted(narrow)))
    codes = DigitCode.of(_SLACK * int(np.prod(shape)) + _SPARE * slots, base, scrambled=True)
    runs = [
        subject.epilogue(AccumulatorCoding(codes, slots, place), StoreRecorder)
        for place in range(codes.digits)
    ]
    chains = runs[0].record(Chains)
    if not chains.complete:
        raise UndecidedError("there are more accumulators than codes: check a smaller size")
    _same_links(runs)
    values = np.stack([np.asarray(run.outputs[name], np.float64) for run in runs])
    slot = codes.numbers(list(values))
    slot = np.where(slot < chains.wave.size * slots, slot, -1)
    element = np.full(chains.wave.size * slots, -1, np.int64)
    held = np.flatnonzero(slot >= 0)
    element[slot.ravel()[held][::-1]] = held[::-1]  # backwards, so that the first one stays
    times = np.bincount(slot.ravel()[held], minlength=element.size)
    written = _written(subject, runs[0].record(Stores), name)
    return Arrivals(
        chains, codes, values, slot, written, element.reshape(-1, slots), times.reshape(-1, slots)
    )


def _converted_to(name: str) -> Iterator[str]:
    """16-bit types that an instruction converts f32 to: codes have to survive that on their way."""
    if found := _NARROWS.fullmatch(name):
        yield found[1]


def _written(subject: Subject, stores: Stores, name: str) -> NDArray[np.bool_]:
    """Elements of an output that any store hit; all of them where stores were lost count of."""
    buffer, allocation = subject.binding.buffers[name], stores.allocation(f"buffer {name}")
    if allocation is None or not stores.complete:
        return np.ones(buffer.shape, np.bool_)
    plain, atomic = (touched(stores, allocation, atomic=kind)[: buffer.nbytes] for kind in (False, True))
    hit: NDArray[np.bool_] = (plain + atomic).reshape(-1, buffer.itemsize) > 0
    return np.asarray(buffer.view(np.any(hit, axis=1, keepdims=True)[:, 0]))


def _same_links(runs: Sequence[Recorded]) -> None:
    first, *others = (run.record(Chains) for run in runs)
    for other in others:
        same = len(first.links) == len(other.links) and all(
            x.inst.pc == y.inst.pc and np.array_equal(x.wave, y.wave) and np.array_equal(x.chain, y.chain)
            for x, y in zip(first.links, other.links, strict=True)
        )
        if not same:
            raise UndecidedError("accumulators cannot be followed: two runs with other codes differ")


_DATA_DEPENDENT = "which matrix instructions are executed depends on the values of A and B"


def chain_of(done: Executions, chains: Chains) -> Ints:
    """Chain that every execution adds to: int64 [execution].

    Raises:
        UndecidedError: the coded runs executed other instructions than the run that coded accumulators.
    """
    links = [link for link in chains.links if link.inst.pc in done.insts]
    wave, turn, chain, pc = (
        np.concatenate([np.zeros(0, np.int64), *parts])
        for parts in (
            [link.wave for link in links],
            [link.turn for link in links],
            [link.chain for link in links],
            [np.full(link.wave.size, link.inst.pc, np.int64) for link in links],
        )
    )
    span = int(max(turn.max(initial=0), done.turn.max(initial=0))) + 1
    key = wave * span + turn
    if not key.size and done.wave.size:
        raise UndecidedError(_DATA_DEPENDENT)
    order = np.argsort(key)
    at = np.searchsorted(key, done.wave * span + done.turn, sorter=order)
    at = order[np.minimum(at, order.size - 1)]
    same = (wave[at] == done.wave) & (turn[at] == done.turn) & (pc[at] == done.pc)
    if not same.all():
        raise UndecidedError(_DATA_DEPENDENT)
    return np.asarray(chain[at])
