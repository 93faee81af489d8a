"""Where accumulators end up: the codes that `AccumulatorCoder` left in the outputs, decoded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.manifest.model import Gemm
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


class Arrivals(Struct, frozen=True, eq=False):
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
    results = results_of(subject)
    slots = max((result.slots for result in results), default=1)
    narrow = {kind for inst in subject.insts.values() for kind in _converted_to(inst.name)}
    base = digit_base((dtype, *(result.kind.name for result in results), *sorted(narrow)))
    count = _SLACK * int(np.prod(shape)) + _SPARE * slots
    return _coded(subject, name, DigitCode.of(count, base, scrambled=True), slots)


def results_of(subject: Subject) -> list[Result]:
    """How the kernel's matrix instructions write their D."""
    return [
        Result.of(inst, subject.kernel.wavefront_size)
        for inst in subject.insts.values()
        if Kind.MATRIX in inst.kind and matrix_form(inst) is not None
    ]


def _coded(subject: Subject, name: str, codes: DigitCode, slots: int) -> Arrivals:
    runs = [
        subject.epilogue(AccumulatorCoding(codes, slots, place), StoreRecorder)
        for place in range(codes.digits)
    ]
    chains, *others = (run.record(Chains) for run in runs)
    if not chains.complete:
        raise UndecidedError("there are more accumulators than codes: check a smaller size")
    _same_links(chains, others)
    values = np.stack([np.asarray(run.outputs[name], np.float64) for run in runs])
    written = _written(subject, runs[0].record(Stores), name)
    return arrived(chains, codes, values, codes.numbers(list(values)), written)


def confirmed(subject: Subject, problem: Problem, arrivals: Arrivals) -> Arrivals:
    """Arrivals without those that other digits of the same numbers do not bear out.

    Where an epilogue makes one number of many (a sigmoid, a clamp), that one is a code, too, by chance: it stays the
    same whatever is put in.

    Raises:
        UndecidedError, RunStoppedError: see `arrivals_of`.
    """
    again = _coded(subject, problem.contract.d, turned(arrivals.codes), arrivals.chains.slots)
    return borne_out(arrivals, again)


def turned(codes: DigitCode) -> DigitCode:
    """Other digits for the same numbers: each one is another."""
    return replace(codes, turned=max(1, codes.base // 2))


def borne_out(arrivals: Arrivals, again: Arrivals) -> Arrivals:
    """Arrivals of slots that arrived in the same places again."""
    slot = np.where(arrivals.slot == again.slot, arrivals.slot, -1)
    return arrived(arrivals.chains, arrivals.codes, arrivals.values, slot, arrivals.written)


def summable(subject: Subject, problem: Problem, plain: Arrivals, parts: int, *, spread: int = 1) -> Arrivals:
    """Arrivals of codes of which so many may be added up: their sums are exact in all types on their way.

    Args:
        subject, problem: the kernel.
        plain: what arrived of other codes. Where that is nothing at all, results are multiplied by zeros: ones are
            multiplied and added instead.
        parts: codes that meet in one element at most.
        spread: so many times as many codes as there are slots, or more, so that hardly any number is one by chance.

    Raises:
        UndecidedError, RunStoppedError: see `arrivals_of`.
    """
    name, chains = problem.contract.d, plain.chains
    base = max(2, plain.codes.base // parts)
    codes = DigitCode.of(max(1, chains.wave.size) * chains.slots * spread, base, scrambled=True)
    contract, added = subject.contract, 0
    runs_of: Callable[[AccumulatorCoding], Recorded] = subject.epilogue
    if not plain.values.any():
        runs_of = subject.levels
        added = sum(map(bool, (contract.bias, contract.residual))) if isinstance(contract, Gemm) else 0
    runs = [runs_of(AccumulatorCoding(codes, chains.slots, place)) for place in range(codes.digits)]
    _same_links(chains, [run.record(Chains) for run in runs])
    values = np.stack([np.asarray(run.outputs[name], np.float64) - added for run in runs])
    return arrived(chains, codes, values, codes.numbers(list(values)), plain.written)


def arrived(
    chains: Chains, codes: DigitCode, values: NDArray[Any], slot: Ints, written: NDArray[np.bool_]
) -> Arrivals:
    """Arrivals of these slots in elements of D; numbers that no slot has are none."""
    slot = np.where(slot < chains.wave.size * chains.slots, slot, -1)
    element = np.full(chains.wave.size * chains.slots, -1, np.int64)
    held = np.flatnonzero(slot >= 0)
    element[slot.ravel()[held][::-1]] = held[::-1]  # backwards, so that the first one stays
    times = np.bincount(slot.ravel()[held], minlength=element.size)
    shape = -1, chains.slots
    return Arrivals(chains, codes, values, slot, written, element.reshape(shape), times.reshape(shape))


def _converted_to(name: str) -> Iterator[str]:
    """16-bit types that an instruction converts f32 to: codes have to survive that on their way."""
    if found := _NARROWS.fullmatch(name):
        yield found[1]


def _written(subject: Subject, stores: Stores, name: str) -> NDArray[np.bool_]:
    """Elements of an output that any store hit; all of them where stores were lost count of."""
    buffer, allocation = subject.binding.buffers[name], stores.allocation(f"buffer {name}")
    if allocation is None or not stores.complete:
        return np.ones(buffer.shape, np.bool_)
    plain, atomic = (touched(stores, allocation, buffer.itemsize, atomic=kind) for kind in (False, True))
    return np.asarray(buffer.view((plain + atomic)[: buffer.size] > 0))


def _same_links(first: Chains, others: Iterable[Chains]) -> None:
    if not all(same_links(first, other) for other in others):
        raise UndecidedError("accumulators cannot be followed: two runs with other codes differ")


def same_links(first: Chains, other: Chains) -> bool:
    """Whether two runs added to the same chains, one after the other."""
    return len(first.links) == len(other.links) and all(
        x.inst.pc == y.inst.pc and np.array_equal(x.wave, y.wave) and np.array_equal(x.chain, y.chain)
        for x, y in zip(first.links, other.links, strict=True)
    )


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
