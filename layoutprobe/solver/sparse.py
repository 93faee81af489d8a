"""The index operand of a sparse instruction: which two bits tell the k of which element of A."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import ProbeError
from layoutprobe.numbers import NO_NUMBER, DigitCode
from layoutprobe.solver.alphabet import alphabet_of
from layoutprobe.solver.bench import Bench
from layoutprobe.solver.hotsets import Meetings

Ints = NDArray[np.int64]

FIELDS = 16
"""Places, of two bits each, in an index register."""
NIBBLES = FIELDS // 2
"""Pairs of them."""
_PAIRS = np.array([0x4, 0x9, 0xE], np.int64)
"""(0,1), (1,2), (2,3): whichever of its two values an element is told by, these are three places."""
LEGAL_PAIRS = np.array([0x4, 0x8, 0xC, 0x9, 0xD, 0xE], np.int64)
"""All pairs of ascending places: (0,1), (0,2), (0,3), (1,2), (1,3), (2,3)."""


def kinds_of(met: Meetings) -> Ints:
    """By which half of an index pair each term's element of A is told: 0 the low bits, 1 the high.

    Raises:
        ProbeError: neither half explains what the settings of the index select.
    """
    zero_one, one_two, _, zero_two = met.partners
    low, high = zero_one == zero_two, one_two == zero_two
    if (low == high).any():
        raise ProbeError(
            "An element of A follows neither the low nor the high value of its index pair",
            expected="one of the two",
            hint="the index operand is not made of pairs of two bits",
        )
    return np.where(low, 0, 1)


def words_of(pairs: Ints) -> NDArray[np.uint32]:
    """Index registers [wave, lane] of index pairs [wave, lane, nibble]."""
    shifts = 4 * np.arange(NIBBLES)
    return np.asarray(np.bitwise_or.reduce(pairs << shifts, axis=-1), np.uint32)


def find_index(bench: Bench, met: Meetings, place: Ints) -> Ints:
    """Slot of the index operand that tells each term's k: lane * FIELDS + two-bit field; [term].

    Every index pair is numbered in threes, and written as one of three legal pairs; with one
    element of A hot at a time, each output shows which place it was given, digit by digit. Three
    places and n pairs take at least log3(n) executions.

    Args:
        bench: executes.
        met: what meets.
        place: place in its group, 0 to 3, of every slot of B.
    """
    extents = bench.extents
    count = extents.lanes * NIBBLES
    code = DigitCode.of(count, len(_PAIRS))
    digits = code.digits
    number = np.arange(count)
    trits = np.stack([code.digit(number, digit) - 1 for digit in range(digits)])
    index = words_of(_PAIRS[trits].reshape(digits, extents.lanes, NIBBLES))
    kind = kinds_of(met)

    rank, slots = hot_one_by_one(bench, met)
    sets = len(slots)
    letters = alphabet_of(extents.types["B"])
    places = letters.letters(4)[place % 4][None]
    answer = bench.ask(
        "index operand",
        sets * digits,
        a=np.repeat(slots, digits, axis=0),
        b=places,
        index=np.tile(index, (sets, 1)),
    )
    value = answer.numbers.reshape(sets, digits, -1)
    seen = value[rank, :, met.d]
    names = letters.value(letters.letters(4))
    at = np.minimum(np.searchsorted(names, seen), 3)
    trit = at - kind[:, None]
    found = code.numbers(list(trit.T + 1))
    if (names[at] != seen).any() or (found == NO_NUMBER).any() or (found >= count).any():
        raise ProbeError(
            "An element of A is told its place by no single index pair",
            expected="the place that one pair of the index operand names",
            hint="the instruction is not sparse in groups of four",
        )
    lane, nibble = np.divmod(found, NIBBLES)
    return np.asarray(lane * FIELDS + 2 * nibble + kind)


def hot_one_by_one(bench: Bench, met: Meetings) -> tuple[Ints, NDArray[np.unsignedinteger]]:
    """A with one element of each output hot at a time.

    Returns:
        For each product the number of the execution in which it is hot, int64 [product]; and A of each
        execution, raw elements [execution, slot].

    Raises:
        ProbeError: outputs of one row have different slots of A.
    """
    order = np.lexsort((met.a, met.d))
    first = np.searchsorted(met.d[order], met.d[order])
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size) - first
    one = alphabet_of(bench.extents.types["A"])
    slots = np.zeros((int(rank.max()) + 1, bench.extents.count("A")), one.raw)
    slots[rank, met.a] = one.one
    owner = np.full(slots.shape[1], -1)
    owner[met.a] = rank
    if (owner[met.a] != rank).any():
        raise ProbeError("Two outputs of one row do not sum the same slots of A")
    return rank, slots
