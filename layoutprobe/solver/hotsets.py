"""Which slots of A and B meet in which slot of D, in as few executions as separate all candidates.

A *hot set* is a set of slots of one operand of which every output reads at most one. With ones in a
hot set of A, zeros elsewhere in A, and letters that number the slots in B, every output shows
the slot of B that its one slot of the hot set meets. An output that sums K products needs K
hot sets, as each shows it one of them; and numbering n slots with an alphabet of r letters takes
log_r(n) executions. The same with A and B exchanged tells which slot of the hot set it was: there, only
the slots within a hot set need different numbers.

Hot sets are found, not assumed: start with one field of one VGPR in all lanes, count how many of
its slots each output reads (ones in both operands), and halve the lanes until it is at most one.

What was found is then held against executions with random operands. An instruction that is no
sum of products of pairs of slots fails there, or earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ProbeError
from layoutprobe.solver.alphabet import alphabet_of, coded, decoded
from layoutprobe.solver.bench import INDEX_SETTINGS, Answer, Bench, Extents

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Meetings(Struct, frozen=True, eq=False):
    """What was seen to meet: the products that enter each output. Slots by number.

    Attributes:
        a, d: int64 [product]: slot of A, slot of D.
        partners: int64 [setting, product]: slot of B that it meets under each setting of the index
            operand; one setting where A is dense.
        c, c_to: int64: slot c[n] of C is added into slot c_to[n] of D.
        kept: bool [slot of D]: keeps what the destination held.
    """

    a: Ints
    d: Ints
    partners: Ints
    c: Ints
    c_to: Ints
    kept: Mask

    @property
    def b(self) -> Ints:
        """Slot of B of each product; under the first setting, if A is sparse."""
        return np.asarray(self.partners[0])

    __repr__ = brief


def hot_sets(bench: Bench, operands: str = "AB") -> list[Mask]:
    """Sets of slots of A or B of which no output reads two; together, all that are read.

    Returns:
        For each operand bool [set, slot].
    """
    found: list[list[Mask]] = [[] for _ in operands]
    searches = [_search(bench, operand, sets) for operand, sets in zip(operands, found, strict=True)]
    for _ in zip_longest(*searches):
        """Each asks its next question, and all of these are executed together."""
    return [np.concatenate(sets) for sets in found]


def _search(bench: Bench, operand: str, found: list[Mask]) -> Iterator[None]:
    """Adds hot sets of an operand to those found; stands still between a question and its answer."""
    pending = _planes(bench.extents, operand)
    answer = _count(bench, operand, pending)
    yield
    counts = answer.numbers
    while True:
        _check_counts(counts, operand, bench.extents.count(operand))
        most = counts.max(axis=1)
        found.append(pending[most == 1])
        wide, both = pending[most > 1], counts[most > 1]
        if not len(wide):
            return
        lower = _lower_halves(wide)
        answer = _count(bench, operand, lower)
        yield
        # What the upper half of the lanes adds is the rest; so only one half is executed.
        pending = np.concatenate([lower, wide & ~lower])
        counts = np.concatenate([answer.numbers, both - answer.numbers])


def _planes(extents: Extents, operand: str) -> Mask:
    """The slots of a register and field in all lanes: one set for each, [set, slot]."""
    lanes, vgprs, fields = extents.slots(operand)
    planes = np.zeros((vgprs * fields, lanes, vgprs * fields), np.bool_)
    for plane in range(vgprs * fields):
        planes[plane, :, plane] = True
    return planes.reshape(vgprs * fields, -1)


def _count(bench: Bench, operand: str, sets: Mask) -> Answer:
    """How many slots of each set every output reads."""
    extents, other = bench.extents, "B" if operand == "A" else "A"
    one, ones = alphabet_of(extents.types[operand]), alphabet_of(extents.types[other])
    slots = {
        operand.lower(): one.hot(sets),
        other.lower(): np.full((1, extents.count(other)), ones.one, ones.raw),
    }
    return bench.ask(f"hot sets of {operand}", len(sets), **slots)


def _check_counts(counts: NDArray[np.float64], operand: str, most: int) -> None:
    wrong = (counts < 0) | (counts != np.floor(counts)) | (counts > most * most)
    if wrong.any():
        raise ProbeError(
            f"With ones in both operands, an output does not count slots of {operand}",
            expected="how many products it sums",
            observed=f"{counts[wrong][0]:g}",
            hint="the instruction is not a plain matrix product of these operands",
        )


def _lower_halves(sets: Mask) -> Mask:
    """The first half of the slots of each set."""
    size = sets.sum(axis=1, keepdims=True)
    if size.min() < 2:
        raise ProbeError(
            "An output counts one slot several times",
            expected="a sum of products of pairs of slots, each once",
            hint="the instruction is not a plain matrix product of these operands",
        )
    return np.asarray(sets & (np.cumsum(sets, axis=1) <= size // 2))


def _meet(bench: Bench, operand: str, sets: Mask, number: Ints, settings: int) -> Answer:
    """Which slot of the other operand each output's slot of each hot set meets.

    Args:
        bench: executes.
        operand: "A" or "B", whose hot sets are given.
        sets: one after the other is hot.
        number: int64 [slot], numbers of the other operand's slots.
        settings: of the index operand, one after the other.
    """
    extents, other = bench.extents, "B" if operand == "A" else "A"
    one, letters = alphabet_of(extents.types[operand]), alphabet_of(extents.types[other])
    rows = coded(int(number.max()) + 1, letters)[:, number]
    hot = np.repeat(one.hot(sets), len(rows), axis=0)
    waves = len(sets) * len(rows) * settings
    index = np.repeat(np.array(INDEX_SETTINGS[:settings], np.uint32), len(sets) * len(rows))
    slots = {
        operand.lower(): np.tile(hot, (settings, 1)),
        other.lower(): np.tile(rows, (settings * len(sets), 1)),
        "index": np.repeat(index[:, None], extents.lanes, axis=1),
    }
    return bench.ask(f"partners of {operand}", waves, **slots)


def _letters_met(
    extents: Extents, operand: str, sets: Mask, number: Ints, settings: int, value: NDArray[np.float64]
) -> Ints:
    """What `_meet` asked, answered by numbers.

    Returns:
        int64 [setting, set, slot of D]: number of the slot of the other operand; -1 where it meets none.
    """
    other = "B" if operand == "A" else "A"
    count = int(number.max()) + 1
    digits = np.moveaxis(value.reshape(settings, len(sets), -1, value.shape[1]), 2, 0)
    met = decoded(digits, count, alphabet_of(extents.types[other]))
    if (met == -2).any():
        raise ProbeError(
            f"With ones in a hot set of {operand}, an output shows no letter of {other}",
            expected="zero, or one of the numbers fed",
            observed=f"{digits[:, met == -2][0, 0]}",
            hint="the instruction is not a plain matrix product of these operands",
        )
    return met


def find_meetings(bench: Bench) -> Meetings:
    """What enters each output, by executing the instruction.

    Hot A against numbered B tells which slot of B each slot of the hot set meets, and so its hot set;
    hot B then need only tell which slot of the hot set in A it is.

    Raises:
        ProbeError: the instruction is no sum of products of pairs of slots.
    """
    extents = bench.extents
    addends = _ask_addends(bench)
    sets_a, sets_b = hot_sets(bench)
    if not len(sets_a) or not len(sets_b):
        raise ProbeError("No output of the instruction depends on A and B")
    settings = len(INDEX_SETTINGS) if extents.sparse else 1
    rank, members = _ranked(sets_a)
    halves = ("A", sets_a, np.arange(extents.count("B")), settings), ("B", sets_b, rank, 1)
    answers = [_meet(bench, *half) for half in halves]
    of_a, (of_b,) = (
        _letters_met(extents, *half, answer.numbers) for half, answer in zip(halves, answers, strict=True)
    )
    hot, d = np.nonzero(of_a[0] >= 0)
    b = of_a[:, hot, d]
    in_set = _owner(sets_b)[b[0]]
    place = np.where(in_set >= 0, of_b[in_set, d], -1)
    a = members[hot, place]
    if (
        (b < 0).any()
        or (in_set < 0).any()
        or (place < 0).any()
        or (a < 0).any()
        or (of_b >= 0).sum() != a.size
    ):
        raise ProbeError(
            "The two halves of the experiment contradict each other",
            expected="the same meetings from hot A and from hot B",
            observed=f"{a.size} and {int((of_b >= 0).sum())} meetings",
            hint="the instruction is not a plain matrix product of these operands",
        )
    c, c_to, kept = _addends(extents, *addends)
    return Meetings(a, d, b, c, c_to, kept)


def _owner(sets: Mask) -> Ints:
    """Number of the set that each slot is in; -1 in none."""
    return np.where(sets.any(axis=0), sets.argmax(axis=0), -1)


def _ranked(sets: Mask) -> tuple[Ints, Ints]:
    """Place of each slot within its set (0 in none), and the slots of each set by place, -1 beyond."""
    places = np.cumsum(sets, axis=1) - 1
    number, slot = np.nonzero(sets)
    rank = np.zeros(sets.shape[1], np.int64)
    rank[slot] = places[number, slot]
    slots = np.full((len(sets), int(sets.sum(axis=1).max())), -1)
    slots[number, rank[slot]] = slot
    return rank, slots


def _ask_addends(bench: Bench) -> list[Answer]:
    """Numbered slots of C, and then numbered slots of what D held before, where that is not C; A and B zero."""
    rows = coded(bench.extents.count("D"), alphabet_of(bench.extents.types["D"]))
    asked = [bench.ask("slots of C", len(rows), c=rows)]
    if not bench.extents.sparse:
        asked.append(bench.ask("slots of D that stay", len(rows), old=rows))
    return asked


def _addends(extents: Extents, *answers: Answer) -> tuple[Ints, Ints, Mask]:
    """Where each slot of C goes, and which slots of D keep what they held."""
    count, letters = extents.count("D"), alphabet_of(extents.types["D"])
    number, *others = (decoded(answer.numbers, count, letters) for answer in answers)
    kept = np.zeros(count, np.bool_)
    for old in others:
        kept = old >= 0
        if (old == -2).any() or (old[kept] != np.flatnonzero(kept)).any():
            raise ProbeError("With A, B and C zero, an output is neither zero nor what it was")
    if (number == -2).any():
        raise ProbeError(
            "With A and B zero, an output is not a single slot of C",
            hint="the instruction adds several slots of C, or scales C",
        )
    c_to = np.flatnonzero(number >= 0)
    return number[c_to], c_to, kept
