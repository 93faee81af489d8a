"""The terms that were found, against executions with random operands.

The search shows each output one product at a time. Whether the instruction is the sum of just these
products, and whether nothing else enters, is what random numbers in all slots at once tell: an
output with another bilinear form agrees in one execution with a chance of at most 3/4 for
each wrong term (numbers are 0 to 3), and all outputs must agree in every execution.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ProbeError
from layoutprobe.solver.alphabet import alphabet_of
from layoutprobe.solver.bench import PLACES, Answer, Bench
from layoutprobe.solver.draws import Draws
from layoutprobe.solver.hotsets import Meetings
from layoutprobe.solver.scales import BYTES, ONE, scale_words
from layoutprobe.solver.sparse import LEGAL_PAIRS, NIBBLES, kinds_of, words_of

Ints = NDArray[np.int64]

ROUNDS = 8
"""Executions; also the settings by which a sparse instruction's places are known."""
_TOP = 3


class Trial(Struct, frozen=True, eq=False):
    """An execution with random operands.

    Attributes:
        numbers: "a", "b", "c", "old" -> what the slots hold: int64 [round, slot].
        places: what the index operand selects, [round, slot of it]; empty where A is dense.
        powers: "A", "B" -> exponents of the scales, [round, byte]; empty where nothing is scaled.
        answer: what came out.
    """

    numbers: Mapping[str, Ints]
    places: Ints
    powers: Mapping[str, Ints]
    answer: Answer

    __repr__ = brief


def ask_random(bench: Bench) -> Trial:
    """Ask what random operands give: whatever will be found must explain it."""
    extents = bench.extents
    random = Draws(1151)
    operand_of = {"a": "A", "b": "B", "c": "D", "old": "D"}
    numbers = {
        name: random.integers(0, _TOP + 1, (ROUNDS, extents.count(operand)))
        for name, operand in operand_of.items()
    }
    slots = {name: alphabet_of(extents.types[operand_of[name]]).integers(n) for name, n in numbers.items()}
    places, powers = np.zeros(0, np.int64), {}
    if extents.sparse:
        pairs = LEGAL_PAIRS[random.integers(0, 6, (ROUNDS, extents.lanes, NIBBLES))]
        slots["index"] = words_of(pairs)
        places = (pairs[..., None] >> np.array([0, 2]) & 3).reshape(ROUNDS, -1)
    if extents.scaled:
        powers = {name: random.integers(-1, 3, (ROUNDS, extents.lanes * BYTES)) for name in "AB"}
        slots |= {f"scale_{name.lower()}": scale_words(ONE + power) for name, power in powers.items()}
    return Trial(numbers, places, powers, bench.ask("random operands", ROUNDS, **slots))


def verify(trial: Trial, met: Meetings, index: Ints, scales: Mapping[str, Ints]) -> None:
    """Compare every output of an execution with random operands.

    Args:
        trial: the execution.
        met: what was found.
        index: slot of the index operand by term; empty where A is dense.
        scales: "A", "B" -> byte with the scale of each term; empty where there are none.

    Raises:
        ProbeError: the instruction does something that the terms do not explain.
    """
    observed, numbers = trial.answer.numbers, trial.numbers
    factor = np.ones((ROUNDS, 1))
    for name, byte in scales.items():
        factor = factor * (2.0 ** trial.powers[name])[:, byte]
    b = np.broadcast_to(met.partners[0], (ROUNDS, met.a.size))
    if index.size:
        b = _selected(met, trial.places[:, index])
    expected = np.empty(observed.shape)
    for wave in range(ROUNDS):
        product = numbers["a"][wave, met.a] * numbers["b"][wave, b[wave]]
        expected[wave] = np.bincount(met.d, factor[wave] * product, observed.shape[1])
    expected[:, met.c_to] += numbers["c"][:, met.c]
    expected[:, met.kept] = numbers["old"][:, met.kept]
    if not np.array_equal(observed, expected):
        wave, slot = (int(x) for x in np.argwhere(observed != expected)[0])
        raise ProbeError(
            "With random operands the instruction gives something else than the products found",
            where={"slot of D": slot},
            expected=f"{expected[wave, slot]:g}",
            observed=f"{observed[wave, slot]:g}",
            hint="the instruction is not a plain matrix product of these operands",
        )


def _selected(met: Meetings, places: Ints) -> Ints:
    """Slot of B that each term meets when its element has that place: [wave, term].

    Each element was seen in three of the four places. The fourth is one that no legal pair gives it:
    places ascend, so that the lower of two is never 3, and the higher never 0.
    """
    kind = kinds_of(met)
    term = np.arange(met.a.size)
    by_place = np.full((4, met.a.size), -1)
    for setting in range(len(met.partners)):
        by_place[np.array(PLACES)[kind, setting], term] = met.partners[setting]
    return np.asarray(by_place[places, term])
