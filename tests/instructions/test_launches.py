"""How many executions a solution takes, and that none of them can be spared.

Three parts of the argument, each with a test: an output shows one product for each hot set, so K
hot sets are needed; n slots need as many digits as the alphabet asks for; and for each single
execution of the search there are two instructions that only it tells apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from instructions.calculator import Table, tables
from instructions.card import Card
from layoutprobe import instructions
from layoutprobe.instructions import Prober, Variant
from layoutprobe.instructions.solving import extents_of, solved_by
from layoutprobe.numbers.digits import digits_of
from layoutprobe.solver.alphabet import alphabet_of, coded, decoded
from layoutprobe.solver.bench import Bench
from layoutprobe.solver.hotsets import hot_sets

Words = NDArray[np.uint32]

VARIANTS = [v for target in ("gfx1151", "gfx1200") for v in instructions.variants(target) if v.opsel == 0]


def card_of(variant: Variant, **changed: Table) -> Card:
    return Card(variant, tables(variant) | changed)


def find(target: str, name: str, wave: int = 32) -> Variant:
    return next(v for v in VARIANTS if (v.arch, v.form.name, v.wave) == (target, name, wave))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.arch}-{v.kernel}-w{v.wave}")
def test_the_search_takes_no_more_than_the_bounds(variant: Variant) -> None:
    """K hot sets for each operand, and the fewest digits: exactly what the bounds below ask for."""
    card = card_of(variant)
    solved = solved_by(variant, card.execute)
    extents, form = extents_of(variant), variant.form
    terms = Counter(solved.meetings.d.tolist())
    assert set(terms.values()) == {form.shape[2] // (2 if form.sparse else 1)}
    products = max(terms.values())
    settings = 4 if form.sparse else 1
    bench = Bench(extents, card.execute)
    place = int(hot_sets(bench, "A")[0].sum(axis=1).max())
    for operand, count, other, times in (
        ("A", extents.count("B"), "B", settings),
        ("B", place, "A", 1),
    ):
        alphabet = alphabet_of(extents.types[other])
        digits = digits_of(count, alphabet.size)
        assert alphabet.size ** (digits - 1) < count <= alphabet.size**digits
        assert solved.launches[f"partners of {operand}"] == products * digits * times
    if form.sparse:
        pairs = variant.wave * 8
        assert solved.launches["index operand"] == products * digits_of(pairs, 3)
        assert 3 ** (digits_of(pairs, 3) - 1) < pairs


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.arch}-{v.kernel}-w{v.wave}")
def test_hot_sets_are_as_few_as_an_output_has_products(variant: Variant) -> None:
    """Of a hot set an output reads one slot at most; it has K; so fewer than K sets leave one out."""
    bench = Bench(extents_of(variant), card_of(variant).execute)
    kept = variant.form.shape[2] // (2 if variant.form.sparse else 1)
    for operand in "AB":
        (sets,) = hot_sets(bench, operand)
        assert len(sets) == kept
        assert (sets.sum(axis=0) <= 1).all(), "no slot twice"


def test_fewer_digits_cannot_number_the_slots() -> None:
    """An output answers with one of `size` letters, or zero: two slots share every shorter code."""
    for name, count in (
        ("iu4", 512),
        ("iu4", 256),
        ("iu8", 512),
        ("bf16", 512),
        ("f16", 512),
        ("f64", 512),
        ("fp8", 256),
        ("bf8", 512),
        ("f16", 1024),
    ):
        rows = coded(count, alphabet_of(name))
        assert np.unique(rows, axis=1).shape[1] == count
        shown = alphabet_of(name).value(rows)
        assert np.array_equal(decoded(shown, count, alphabet_of(name)), np.arange(count))
        for spared in range(len(rows)):
            assert np.unique(np.delete(rows, spared, axis=0), axis=1).shape[1] < count


class Recorded:
    """Runs a card, and keeps what it was fed."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.fed: list[Mapping[str, Words]] = []

    def __call__(self, operands: Mapping[str, Words]) -> Words:
        self.fed.append({name: words.copy() for name, words in operands.items()})
        return self.card.execute(operands)


def search(variant: Variant) -> tuple[Card, dict[str, Words]]:
    """A card, and everything that the search fed it, one execution after the other.

    The first launch is left out: random operands check what will be found. What looks for partners comes last.
    """
    run = Recorded(card_of(variant))
    solved_by(variant, run)
    names = variant.inputs
    return run.card, {name: np.concatenate([fed[name] for fed in run.fed[1:]]) for name in names}


def told_apart(card: Card, other: Card, fed: Mapping[str, Words]) -> NDArray[np.intp]:
    """Numbers of the executions in which the cards answer differently."""
    return np.flatnonzero((card.execute(fed) != other.execute(fed)).any(axis=(1, 2)))


def lanes_exchanged(card: Card, operand: str, k: int, one: int, other: int) -> Card:
    """The same instruction, but for one k two lines are read from each other's lanes."""
    table = card.tables[operand]
    line, depth = (table.row, table.col) if operand == "A" else (table.col, table.row)
    here, there = (depth == k) & (line == one), (depth == k) & (line == other)
    new = np.where(here, other, np.where(there, one, line))
    changed = Table(new, table.col) if operand == "A" else Table(table.row, new)
    return Card(card.variant, dict(card.tables) | {operand: changed})


DENSE = [v for v in VARIANTS if not v.form.sparse and v.wave == 32]


@pytest.mark.parametrize("variant", DENSE, ids=lambda v: f"{v.arch}-{v.kernel}")
def test_no_execution_with_hot_b_can_be_spared(variant: Variant) -> None:
    """Each is the only one that tells some instruction from this one."""
    card, fed = search(variant)
    solved = solved_by(variant, card.execute)
    alone = set()
    for k in range(variant.form.shape[2]):
        for one, other in ((0, 1), (0, 2), (0, 15), (1, 15)):
            seen = told_apart(card, lanes_exchanged(card, "A", k, one, other), fed)
            if len(seen) == 1:
                alone.add(int(seen[0]))
    first = len(fed["a"]) - solved.launches["partners of B"]
    executions = set(range(first, first + solved.launches["partners of B"]))
    spared = executions - alone
    # The highest digit of a place in a hot set of 32 lanes is the half-wave, where these are needed.
    if len(executions) == variant.form.shape[2]:
        assert not spared
    assert alone <= executions
    assert len(alone) >= variant.form.shape[2]


@pytest.mark.parametrize("variant", DENSE, ids=lambda v: f"{v.arch}-{v.kernel}")
def test_no_digit_with_hot_a_can_be_spared(variant: Variant) -> None:
    """Without it two slots of B are numbered alike, and this half of the search is blind to an exchange."""
    card, fed = search(variant)
    solved = solved_by(variant, card.execute)
    extents = extents_of(variant)
    letters = alphabet_of(extents.types["B"])
    digits = digits_of(extents.count("B"), letters.size)
    first = len(fed["a"]) - solved.launches["partners of B"] - solved.launches["partners of A"]
    of_digit = {
        d: set(range(first + d, first + solved.launches["partners of A"], digits)) for d in range(digits)
    }
    half = set().union(*of_digit.values())
    rows = coded(extents.count("B"), letters)
    for digit, executions in of_digit.items():
        # A card with copies reads those of its own lanes: exchange within sixteen.
        group = extents.count("B") // (variant.wave // 16 if variant.arch == "gfx1151" else 1)
        pairs = _alike(np.delete(rows, digit, axis=0), solved.meetings.b, group)
        seen = [set(told_apart(card, slots_exchanged(card, *pair), fed).tolist()) & half for pair in pairs]
        assert pairs
        assert all(found and found <= executions for found in seen), f"digit {digit}"


def slots_exchanged(card: Card, one: int, other: int) -> Card:
    """The same instruction with two slots of B in each other's place."""
    table = card.tables["B"]
    order = np.arange(table.row.size)
    order[[one, other]] = other, one
    row, col = (x.ravel()[order].reshape(x.shape) for x in (table.row, table.col))
    return Card(card.variant, dict(card.tables) | {"B": Table(row, col)})


def _alike(rows: Words, live: NDArray[np.int64], group: int) -> list[tuple[int, int]]:
    """Some pairs of slots, of the same group of so many, that these digits number alike."""
    slots = np.unique(live)
    codes = [tuple(code) for code in rows[:, slots].T.tolist()]
    by_code: dict[tuple[int, ...], list[int]] = {}
    for slot, code in zip(slots.tolist(), codes, strict=True):
        by_code.setdefault(code, []).append(slot)
    pairs = [(one, other) for same in by_code.values() for one in same for other in same if one < other]
    return [pair for pair in pairs if pair[0] // group == pair[1] // group][:6]


def test_launches_are_counted_and_reported() -> None:
    variant = find("gfx1151", "v_wmma_f32_16x16x16_f16")
    card = card_of(variant)
    result = instructions.result_of(Prober(variant, card))
    # 32 count the hot sets, 32 look for partners, 2 for C and D, 8 check.
    assert result.launches == card.waves == 32 + 32 + 2 + 8
