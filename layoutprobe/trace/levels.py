"""Accumulators behind an epilogue that computes on them: what it makes of few numbers tells which one it had.

A run for each level tells what that becomes: all accumulators hold it. Then levels are digits of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.numbers import DigitCode
from layoutprobe.observe.accumulators import AccumulatorCoding, Chains
from layoutprobe.trace.accumulators import Arrivals, arrived, borne_out, results_of, same_links, turned
from layoutprobe.trace.parts import Parts, Sums, as_sums
from layoutprobe.trace.problem import Problem
from layoutprobe.trace.subject import Subject, UndecidedError

Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]

_LADDERS = (
    *((scale, 2 * scale, 3 * scale) for scale in (1.0, -1.0, 0.125, -0.125, 64.0)),
    *((-reach, reach) for reach in (8.0, 64.0, 4096.0)),
)
"""Levels that are tried until all that they become differ: activations are flat here and there, or steps."""
_GROUPS = 4
"""Groups of the accumulators of an element, of which each is asked whether it comes as often as the others."""
_FAR = (1024.0, 4.0)
"""What a group holds more than the others do without: much, and what 16 bits hold exactly, too."""


class _Passage(Struct, frozen=True, eq=False):
    """Runs of which outputs tell what the accumulators held.

    Attributes:
        subject, problem: the kernel.
        plain: what arrived in runs in which everything else is zero; its chains are right.
        share: float64 [chain, slot], what a slot holds of a level: 1, or part of it where several are added.
    """

    subject: Subject
    problem: Problem
    plain: Arrivals
    share: Doubles

    __repr__ = brief

    def output(self, values: NDArray[Any] | float) -> Doubles:
        """D where slots hold their share of these values: [chain, slot], or one for all.

        Raises:
            UndecidedError: what the accumulators hold decides where they are added.
            RunStoppedError: the run stopped at a fault.
        """
        held = (values * self.share).astype(np.float32).tobytes()
        run = self.subject.levels(AccumulatorCoding(self.plain.codes, self.plain.chains.slots, values=held))
        if not same_links(self.plain.chains, run.record(Chains)):
            raise UndecidedError("accumulators cannot be followed: two runs with other codes differ")
        return np.asarray(run.outputs[self.problem.contract.d], np.float64)

    def made(self) -> _Made:
        """What becomes of levels, of those that most elements tell apart."""
        found: list[_Made] = []
        for levels in _LADDERS:
            if levels[0] % 1 and not self.fractions:
                continue
            found.append(_Made(np.array(levels), np.stack([self.output(level) for level in levels])))
            if found[-1].apart[self.plain.written].all():
                break
        return max(found, key=lambda made: int(made.apart.sum()))

    @property
    def fractions(self) -> bool:
        """Whether accumulators are floats."""
        return all(result.kind.is_float for result in results_of(self.subject))


class _Made(Struct, frozen=True, eq=False):
    """What becomes of levels.

    Attributes:
        levels: float64 [level], those of the digits 1, 2 and so on.
        values: float64 [level, ...], D where all accumulators hold it.
    """

    levels: Doubles
    values: Doubles

    __repr__ = brief

    @property
    def apart(self) -> NDArray[np.bool_]:
        """Elements in which no two levels become the same."""
        different = np.all(self.values[1:] != self.values[:-1], axis=0)
        return np.asarray(different & (self.values[0] != self.values[-1]))

    def digits(self, output: Doubles) -> Ints:
        """The digit that each element shows, 0 where it shows none."""
        same = output == self.values
        return np.where(self.apart & (same.sum(axis=0) == 1), same.argmax(axis=0) + 1, 0)


def levelled(subject: Subject, problem: Problem, plain: Arrivals) -> Arrivals:
    """Arrivals where the kernel computes on its results before it stores them, element by element.

    Args:
        subject, problem: the kernel.
        plain: what arrived in runs in which everything else is zero; its chains are right.

    Raises:
        UndecidedError, RunStoppedError: see `arrivals_of`.
    """
    shape = plain.chains.wave.size, plain.chains.slots
    number = np.arange(shape[0] * shape[1]).reshape(shape)
    passage = _Passage(subject, problem, plain, np.ones(shape))
    made = passage.made()

    def coded(codes: DigitCode) -> Arrivals:
        values = [
            made.digits(passage.output(made.levels[codes.digit(number, place) - 1]))
            for place in range(codes.digits)
        ]
        return arrived(plain.chains, codes, np.stack(values), codes.numbers(values), plain.written)

    codes = DigitCode.of(max(1, number.size), made.levels.size, scrambled=True)
    found = coded(codes)
    # Sums of several may look like one of them.
    return borne_out(found, coded(turned(codes))) if (found.slot >= 0).any() else found


def levelled_sums(subject: Subject, problem: Problem, expected: Ints, plain: Arrivals) -> Sums | None:
    """What D holds, where the kernel computes on the sums of accumulators; None where that are not those that belong
    there, each as often as the others, or it cannot be told.

    All accumulators of an element hold equal shares of its number.

    Args:
        subject, problem, plain: see `levelled`.
        expected: element of D that every slot of every chain belongs to, -1 for none: [chain, slot].

    Raises:
        RunStoppedError: see `arrivals_of`.
    """
    parts = Parts.of(expected)
    if parts.sizes.max(initial=0) < 2 or parts.target.size != np.count_nonzero(plain.written):
        return None
    count = np.zeros(plain.slot.size, np.int64)
    count[parts.target] = parts.sizes
    passage = _Passage(subject, problem, plain, np.ones(expected.shape))
    part = 0.5 ** np.ceil(np.log2(np.maximum(count, 1))) if passage.fractions else np.ones(count.size)
    passage = replace(passage, share=np.where(expected >= 0, part[expected], 0.0))
    try:
        told = _told(passage, parts, expected, count)
    except UndecidedError:
        return None
    return Sums(as_sums(plain, parts.elements(expected)), np.ones(len(expected), np.int64)) if told else None


def _told(passage: _Passage, parts: Parts, expected: Ints, count: Ints) -> bool:
    """Every element shows its own number, and the same if some of its parts hold more of it and others less."""
    made = passage.made()
    if not made.apart.ravel()[parts.target].all():
        return False
    codes = DigitCode.of(count.size, made.levels.size, scrambled=True)
    for place in range(codes.digits):
        digit = codes.digit(np.arange(count.size), place)
        shown = made.digits(passage.output(made.levels[digit[expected] - 1]))
        if (shown.ravel() != digit)[parts.target].any():
            return False
    return any(_as_often(passage, made, parts, expected, count, far) for far in _FAR)


def _as_often(passage: _Passage, made: _Made, parts: Parts, expected: Ints, count: Ints, far: float) -> bool:
    """All elements stay as they are where some of their parts hold more, and the others as much less."""
    group, element = parts.ranks(expected) % _GROUPS, np.maximum(expected, 0)
    for one in range(min(_GROUPS, int(count.max()))):
        chosen = (count + _GROUPS - 1 - one) // _GROUPS  # parts of an element in this group
        more = far * np.where(group == one, count[element] - chosen[element], -chosen[element])
        for level, value in zip(made.levels[[0, -1]], made.values[[0, -1]], strict=True):
            if (passage.output(level + more) != value).ravel()[parts.target].any():
                return False
    return True
