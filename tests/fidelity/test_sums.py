"""The question of sums: of every rule that a card may follow, its answers name that rule and no other."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe import arch
from layoutprobe.fidelity.sums import _judged, consistent, questions
from layoutprobe.numbers import element_type
from layoutprobe.numbers.sums import SumRule

F16 = ("f16", (16, 8, 16))
TF32 = ("tf32", (16, 8, 4))


def _rules(depth: int) -> Iterator[SumRule]:
    for bits, steps in product((23, 24, 25, 13), (1, 2)):
        yield SumRule(bits, depth // steps)
    yield SumRule(25, depth, "product")
    yield SumRule(25, depth, cut="down")
    yield SumRule(25, depth, cut="even")
    yield SumRule(25, depth, result="even")
    yield SumRule(25, depth, apart=True)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "shape"), [F16, TF32])
def test_each_rule_is_known_by_its_answers(kind: str, shape: tuple[int, int, int]) -> None:
    asked = questions(kind, shape)
    for rule in _rules(shape[2]):
        answers = [rule.total(kind, q["A"], q["B"], q["C"]) for q in asked]
        # So few bits that every sum is an f32: its rounding cannot be seen.
        same = [rule, replace(rule, result="even")] if rule.fraction_bits == 13 else [rule]
        assert consistent(kind, shape[2], asked, answers) == same


def test_one_wrong_bit_leaves_no_rule() -> None:
    kind, shape = F16
    asked = questions(kind, shape)
    answers = [SumRule(25, 16).total(kind, q["A"], q["B"], q["C"]) for q in asked]
    answers[3][1, 2, 3] = np.nextafter(np.float32(answers[3][1, 2, 3]), np.float32(np.inf))
    assert consistent(kind, shape[2], asked, answers) == []


def _exact(value: Fraction, unit: Fraction) -> Fraction:
    """Towards zero, on the grid of `unit`."""
    whole = abs(value) / unit
    cut = unit * (whole.numerator // whole.denominator)
    return cut if value >= 0 else -cut


def _log2(value: Fraction) -> int:
    """Exponent of the leading bit."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if value >= Fraction(2) ** exponent else exponent - 1


def _restated(bits: int, terms: int, a: NDArray[np.float64], b: NDArray[np.float64], c: float) -> Fraction:
    """The published rule in exact fractions, for numbers that are all normal: one element of D."""
    total = Fraction(c)
    for first in range(0, len(a), terms):
        pairs = [(Fraction(x), Fraction(y)) for x, y in zip(a[first:], b[first:], strict=True)][:terms]
        highest = [_log2(abs(x)) + _log2(abs(y)) for x, y in pairs if x * y]
        highest += [_log2(abs(total))] if total else []
        unit = Fraction(2) ** (max(highest) - bits)
        kept = sum((_exact(x * y, unit) for x, y in pairs), _exact(total, unit))
        total = _exact(kept, Fraction(2) ** (_log2(abs(kept)) - 23)) if kept else Fraction(0)
    return total


@pytest.mark.parametrize(("bits", "terms"), [(24, 8), (25, 16), (23, 16)])
def test_the_rule_equals_its_restatement_in_fractions(bits: int, terms: int) -> None:
    kind, shape = F16
    for q in questions(kind, shape):
        given = SumRule(bits, terms).total(kind, q["A"], q["B"], q["C"])
        for row, col in product(range(shape[0]), range(shape[1])):
            wanted = _restated(bits, terms, q["A"][1, row], q["B"][1, :, col], q["C"][1, row, col])
            assert Fraction(given[1, row, col]) == wanted


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_questions_are_numbers_of_their_type(kind: str) -> None:
    for q in questions(kind, (16, 8, 8)):
        for name, dtype in (("A", kind), ("B", kind), ("C", "f32")):
            assert element_type(dtype).holds(q[name]).all()
            assert np.isfinite(q[name]).all()


def test_a_published_rule_that_the_card_does_not_follow_is_a_difference() -> None:
    seen, published = SumRule(25, 16), SumRule(24, 8)
    assert _judged([seen], published, 10)[0] == "differ"
    assert _judged([seen], seen, 10)[0] == "agree"
    assert _judged([], seen, 10)[0] == "differ"
    assert _judged([], None, 10)[0] == "undecided"


def test_published_rules_stand_where_something_was_published() -> None:
    form = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert arch.find("sm_80").matrix[form].sums == SumRule(24, 8)
    assert arch.find("sm_90").matrix[form].sums == SumRule(25, 16)
    assert all(f.sums is None for f in arch.find("gfx1151").matrix.values())
