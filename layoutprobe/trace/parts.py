"""Accumulators that are added up before they are stored: by a wave, in LDS, by atomics, or through a workspace.

Each accumulator that belongs to an element of D, as its operands say, has a number of its own. What arrives is the
sum of these numbers, each as often as it was added, and of those that belong elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.trace.accumulators import Arrivals, summable
from layoutprobe.trace.operands import MOSTLY
from layoutprobe.trace.problem import Problem
from layoutprobe.trace.subject import Subject

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MOST = 5
"""Parts of an element for which all ways to add them are tried: 3 ** 5."""
_NEVER_TO_TWICE = (1, 0, 2)
_SPREAD = 1 << 10
"""One number of so many is a code, where sums are taken apart."""


class Sums(Struct, frozen=True, eq=False):
    """What the elements of D are sums of.

    Attributes:
        arrivals: what arrived where, as the sums tell.
        times: int64 [chain], how often each accumulator is added to what is stored: 1, but where that is wrong.
        wrong: an element of D to which an accumulator is not added once, -1 for none.
        partly: that is so of some elements of an accumulator, and of others not.
    """

    arrivals: Arrivals
    times: Ints
    wrong: int = -1
    partly: bool = False

    __repr__ = brief

    @property
    def added_up(self) -> bool:
        """No accumulator is left out."""
        return bool(self.times.all())


class Parts(Struct, frozen=True, eq=False):
    """Slots that belong to each element of D, one of each accumulator.

    Of a tile that reaches beyond the edge an accumulator may have several for one element, where addresses are
    clamped: they hold the same, and any may be stored.

    Attributes:
        slots: int64, by element, then by accumulator.
        heads, choices: int64 [part], the first of its slots, and how many there are.
        chosen: int64 [part], which of them is taken.
        target: int64 [element], those that have any parts.
        starts, sizes: int64 [element], their parts.
    """

    slots: Ints
    heads: Ints
    choices: Ints
    chosen: Ints
    target: Ints
    starts: Ints
    sizes: Ints

    __repr__ = brief

    @classmethod
    def of(cls, expected: Ints) -> Parts:
        """From the element of D that every slot of every chain belongs to, -1 for none."""
        slot = np.flatnonzero(expected.ravel() >= 0)
        element = expected.ravel()[slot]
        order = np.lexsort((slot, element))
        slot, element = slot[order], element[order]
        heads = _firsts(element, slot // expected.shape[1])
        starts = _firsts(element[heads])
        choices, sizes = np.diff(np.r_[heads, slot.size]), np.diff(np.r_[starts, heads.size])
        return cls(slot, heads, choices, np.zeros_like(heads), element[heads][starts], starts, sizes)

    @property
    def slot(self) -> Ints:
        """The slot of each part: int64 [part]."""
        return np.asarray(self.slots[self.heads + self.chosen])

    @property
    def ambiguous(self) -> Mask:
        """Elements of which some accumulator has several slots: [element]."""
        return np.asarray(np.maximum.reduceat(self.choices, self.starts) > 1)

    def ranks(self, expected: Ints) -> Ints:
        """Which of the parts of its element every slot is, 0 for those that are none: like `expected`."""
        rank = np.zeros(expected.size, np.int64)
        of_part = np.arange(self.heads.size) - np.repeat(self.starts, self.sizes)
        rank[self.slots] = np.repeat(of_part, self.choices)
        return rank.reshape(expected.shape)

    def groups(self) -> Iterator[tuple[Ints, Ints]]:
        """Elements that have equally many: their places in `target`, and their slots."""
        slot = self.slot
        for size in np.unique(self.sizes):
            which = np.flatnonzero(self.sizes == size)
            yield which, slot[self.starts[which][:, None] + np.arange(size)]

    def settled(self, arrived: Arrivals) -> tuple[Parts, Mask]:
        """Those whose sums arrived, each part once, and of which elements that is so: [element]."""
        chosen, good = self.chosen.copy(), np.zeros(self.target.size, np.bool_)
        most = np.maximum.reduceat(self.choices, self.starts)
        for choice in range(int(most.max())):
            left = ~good & (most > choice)
            of_left = np.repeat(left, self.sizes)
            pick = np.minimum(choice, self.choices[of_left] - 1)
            slot, sizes = self.slots[self.heads[of_left] + pick], self.sizes[left]
            fits = np.ones(sizes.size, np.bool_)
            for place, value in enumerate(arrived.values if sizes.size else ()):
                total = np.add.reduceat(arrived.codes.digit(slot, place), np.cumsum(sizes) - sizes)
                fits &= total == value.ravel()[self.target[left]]
            good[left] = fits
            chosen[of_left] = np.where(np.repeat(fits, sizes), pick, chosen[of_left])
        return replace(self, chosen=chosen), good

    def elements(self, expected: Ints) -> Ints:
        """Element of D of each slot that is taken, -1 for all others: like `expected`."""
        element = np.full(expected.size, -1, np.int64)
        element[self.slot] = np.repeat(self.target, self.sizes)
        return element.reshape(expected.shape)


def _firsts(*keys: Ints) -> Ints:
    """Where runs of equal keys begin."""
    differs = np.zeros(keys[0].size, np.bool_)
    differs[:1] = True
    for key in keys:
        differs[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(differs)


def sums_of(subject: Subject, problem: Problem, expected: Ints, arrivals: Arrivals) -> Sums | None:
    """What D holds, where that is sums of accumulators; None where it is not, or they cannot be told.

    Args:
        subject, problem: the kernel.
        expected: element of D that every slot of every chain belongs to, -1 for none: [chain, slot].
        arrivals: what arrived, with codes that need not survive a sum.
    """
    parts = Parts.of(expected)
    most = int(parts.sizes.max(initial=0))
    if most < 2:
        return None
    if (right := _right(parts, expected, arrivals)) is not None:
        return right
    # Operands that hold the lines of others make it seem so, too: then elements are stored that have no part, or
    # most have several of one accumulator.
    whole = parts.target.size == np.count_nonzero(arrivals.written) and parts.ambiguous.mean() < MOSTLY
    whole &= bool(
        arrivals.values.any()
    )  # what is multiplied by zeros tells nothing of how often it was added
    if whole and (times := _alike(parts, expected, arrivals)) is not None:
        return Sums(as_sums(arrivals, parts.elements(expected)), times, int(parts.target[0]))
    if not ((arrivals.slot < 0) & arrivals.written).any():
        return _alone(parts, expected, arrivals) if whole else None
    exact = summable(subject, problem, arrivals, most)
    if (right := _right(parts, expected, exact)) is not None or not whole:
        return right
    return _taken_apart(parts, expected, summable(subject, problem, arrivals, most + 1, spread=_SPREAD))


def _right(parts: Parts, expected: Ints, arrivals: Arrivals) -> Sums | None:
    """Where all that arrived are the sums of the parts, each once."""
    parts, good = parts.settled(arrivals)
    rest = np.ones(arrivals.slot.size, np.bool_)
    rest[parts.target] = False
    if not good.all() or any(value.ravel()[rest].any() for value in arrivals.values):
        return None
    return Sums(as_sums(arrivals, parts.elements(expected)), np.ones(len(expected), np.int64))


def _alone(parts: Parts, expected: Ints, arrivals: Arrivals) -> Sums | None:
    """Where each element holds one accumulator of its own as it was, and others that belong there arrive nowhere:
    parts that are stored in place of added, or never. Who computes a tile that another one stores is out, too."""
    held = arrivals.slot.ravel()[parts.target]
    if (expected.ravel()[held] != parts.target).any():
        return None
    there = expected >= 0
    arrived = np.isin(np.arange(expected.size), held).reshape(expected.shape)
    lost = there.any(axis=1) & ~(arrived & there).any(axis=1)
    if not lost.any():
        return None
    wrong = int(expected[lost].max())
    return Sums(arrivals, np.where(lost, 0, 1), wrong)


def as_sums(arrivals: Arrivals, element: Ints) -> Arrivals:
    """Arrivals of sums whose parts go to these elements. What looks like one code where sums are stored is chance."""
    return replace(
        arrivals, slot=np.full_like(arrivals.slot, -1), element=element, times=(element >= 0).astype(np.int64)
    )


def _alike(parts: Parts, expected: Ints, arrivals: Arrivals) -> Ints | None:
    """How often each chain is added, where one way explains all elements: reductions are loops over parts."""
    if parts.sizes.min() != parts.sizes.max() or parts.sizes[0] > _MOST or parts.ambiguous.any():
        return None
    ((_, slots),) = parts.groups()
    weights, held = _digits(slots, parts.target, arrivals)
    for often in product(_NEVER_TO_TWICE, repeat=slots.shape[1]):
        if (weights @ often == held).all():
            times = np.ones(len(expected), np.int64)
            times[slots // expected.shape[1]] = np.broadcast_to(often, slots.shape)
            return times
    return None


def _digits(slots: Ints, target: Ints, arrivals: Arrivals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Digits of parts, [digit, element, part], and what arrived of their elements, [digit, element]."""
    places = range(len(arrivals.values))
    weights = np.stack([arrivals.codes.digit(slots, place).astype(np.float64) for place in places])
    return weights, np.stack([value.ravel()[target] for value in arrivals.values])


def _taken_apart(parts: Parts, expected: Ints, arrivals: Arrivals) -> Sums | None:
    """Element by element: which parts are in it, how often, and which accumulator of another one."""
    parts, good = parts.settled(arrivals)
    slots_of, total = expected.shape[1], expected.size
    often = np.ones(total, np.int64)
    needed = parts.elements(expected).ravel()
    element, own = needed.copy(), good.copy()
    # Those with a choice go the way of their neighbours.
    for which, slots in parts.groups():
        some = ~good[which] & ~parts.ambiguous[which]
        which, slots = which[some], slots[some]
        found, extra = _explained(*_digits(slots, parts.target[which], arrivals), arrivals, total)
        if (found < 0).any():
            return None
        own[which] = found.any(axis=1)
        often[slots] = found
        strange = extra >= 0
        element[extra[strange]] = parts.target[which][strange]
    if own.mean() < MOSTLY:
        return None  # what computes on results may make numbers of them that mean nothing
    odd = (often != 1) & (element == needed)
    times = np.ones(len(expected), np.int64)
    times[np.flatnonzero(odd) // slots_of] = often[odd]
    wrong = int(element[np.flatnonzero(odd)[0]]) if odd.any() else -1
    taken, odd = ((x.reshape(expected.shape)).sum(axis=1) for x in (needed >= 0, odd))
    partly = bool(((odd > 0) & (odd < taken)).any())
    return Sums(as_sums(arrivals, element.reshape(expected.shape)), times, wrong, partly)


def _explained(
    weights: NDArray[np.float64], held: NDArray[np.float64], arrivals: Arrivals, total: int
) -> tuple[Ints, Ints]:
    """How often each part was added, -1 where that is not known, and the slot of another element that was, too, or
    -1: [element, part], [element]."""
    count = weights.shape[2]
    found, extra = np.full(weights.shape[1:], -1, np.int64), np.full(weights.shape[1], -1, np.int64)
    for way in _ways(count):
        left = np.flatnonzero(found[:, 0] < 0)
        if not left.size:
            break
        found[left[(weights[:, left] @ way == held[:, left]).all(axis=0)]] = way
    few = np.ones((count + 2, count), np.int64) - np.eye(count + 2, count, -1, np.int64)
    few[-1] = 0
    for way in few:
        left = np.flatnonzero(found[:, 0] < 0)
        number = arrivals.codes.numbers(list(held[:, left] - weights[:, left] @ way))
        fits = (number >= 0) & (number < total)
        found[left[fits]], extra[left[fits]] = way, number[fits]
    return found, extra


def _ways(count: int) -> Iterator[Ints]:
    """How often parts may be added, the likeliest first: each once; one of them otherwise; one alone; any."""
    once = np.ones(count, np.int64)
    yield once
    for part in range(count):
        for often in (0, 2):
            yield np.where(np.arange(count) == part, often, once)
    yield from np.eye(count, dtype=np.int64)
    yield np.zeros(count, np.int64)
    if count <= _MOST:
        yield from map(np.array, product(_NEVER_TO_TWICE, repeat=count))
