"""By which rule a matrix unit adds: fraction bits, what is cut off, and how many products a step takes.

Nothing is assumed but the family of rules in `numbers.sums`. All of its members compute what the card was
asked; those that give every bit of every answer are what is left. A rule that was published for the
card is told beside them, also where it is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.arch.base import Arch
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.fidelity.bench import Bench, Experiment, attempted
from layoutprobe.fidelity.operands import elements, operands, raw_of
from layoutprobe.instructions.probe import Prober, Variant
from layoutprobe.numbers import element_type
from layoutprobe.numbers.sums import CUTS, EXPONENTS, SumRule
from layoutprobe.report.fidelity import Case, Verdict

Doubles = NDArray[np.float64]
Matrices = Mapping[str, Doubles]
"""Numbers of "A" [run, row, k], "B" [run, k, col] and "C" [run, row, col]."""

_RUNS = 4
_SEED = 20261122
_FRACTION_BITS = range(10, 31)
_INPUTS = ("f16", "bf16", "tf32", "fp8", "bf8")


def _far_apart(rng: np.random.Generator, shape: tuple[int, ...]) -> Doubles:
    """Over eight binades, of both signs: what is small falls off the end of a sum."""
    return np.ldexp(rng.uniform(1, 2, shape), rng.integers(-6, 3, shape)) * rng.choice([-1.0, 1.0], shape)


def _positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Doubles:
    return np.ldexp(rng.uniform(1, 2, shape), rng.integers(-6, 3, shape))


def _halves_cancel(rng: np.random.Generator, shape: tuple[int, ...]) -> Doubles:
    """Two large ones that cancel among tiny ones: a sum in one step loses the tiny ones, one in two does not."""
    values = np.ldexp(rng.uniform(1, 2, shape), -6)
    large = rng.integers(0, shape[-1] // 2, shape[:-1])
    np.put_along_axis(values, 2 * large[..., None], 8.0, axis=-1)
    np.put_along_axis(values, 2 * large[..., None] + 1, -8.0, axis=-1)
    return values


_KINDS: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Doubles]] = {
    "far apart": _far_apart,
    "positive": _positive,
    "halves cancel": _halves_cancel,
}


@cache
def questions(kind: str, shape: tuple[int, int, int]) -> tuple[Matrices, ...]:
    """What a card is asked: numbers that the element type has, with accumulators of f32."""
    m, n, k = shape
    asked = []
    for number, make in enumerate(_KINDS.values()):
        rng = np.random.default_rng(_SEED + number)
        a, b = make(rng, (_RUNS, m, k)), _positive(rng, (_RUNS, k, n))
        b = np.ldexp(1.0, rng.integers(-6, 1, b.shape)) if make is _halves_cancel else b
        c = np.ldexp(_far_apart(rng, (_RUNS, m, n)), rng.integers(-12, 9, (_RUNS, m, n)))
        held = {"A": _held(kind, a), "B": _held(kind, b), "C": _held("f32", c)}
        asked += [held, {**held, "C": np.zeros_like(c)}]
    return tuple(asked)


def _held(kind: str, numbers: Doubles) -> Doubles:
    return element_type(kind).decode(element_type(kind).encode(numbers))


def rules(depth: int) -> Iterator[SumRule]:
    """The family: every rule that is tried for an instruction of that K."""
    terms = [depth >> halvings for halvings in range(4) if depth >> halvings]
    for fraction_bits, count in product(_FRACTION_BITS, terms):
        for exponent, cut, result, apart in product(EXPONENTS, CUTS, (CUTS[0], CUTS[-1]), (False, True)):
            yield SumRule(fraction_bits, count, exponent, cut, result, apart)


def consistent(kind: str, depth: int, asked: Sequence[Matrices], answers: Sequence[Doubles]) -> list[SumRule]:
    """The rules that give every bit of every answer."""
    possible = set(_give_first_row(kind, depth, asked[0], answers[0]))
    return [
        rule
        for rule in rules(depth)
        if rule in possible
        and all(
            np.array_equal(rule.total(kind, q["A"], q["B"], q["C"]), answer)
            for q, answer in zip(asked, answers, strict=True)
        )
    ]


def _give_first_row(kind: str, depth: int, asked: Matrices, answer: Doubles) -> Iterator[SumRule]:
    """The few rules that give the first row of an answer, asked for all numbers of fraction bits at once."""
    bits = np.array(_FRACTION_BITS)[:, None, None]
    a, b, c = (
        np.repeat(m[:1], len(bits), axis=0) for m in (asked["A"][:, :1], asked["B"], asked["C"][:, :1])
    )
    for rule in rules(depth):
        if rule.fraction_bits == _FRACTION_BITS[0]:
            given = rule.total(kind, a, b, c, fraction_bits=bits)
            right = (given == answer[:1, :1]).all(axis=(1, 2))
            yield from (
                replace(rule, fraction_bits=n) for n, r in zip(_FRACTION_BITS, right, strict=True) if r
            )


def _run(bench: Bench) -> Iterator[Case]:
    for form in bench.target.matrix.values():
        if form.result == "f32" and not form.sparse and form.a == form.b and form.a in _INPUTS:
            yield attempted(form.name, partial(_look, bench, form))


def _look(bench: Bench, form: MatrixForm) -> Case:
    lanes = bench.target.wave_size
    prober = Prober(Variant(form, bench.target.name, lanes), bench)
    asked = questions(form.a, form.shape)
    answers = []
    for given in asked:
        matrices = {name: raw_of(form.result if name == "C" else form.a, x) for name, x in given.items()}
        words = prober(operands(form, lanes, matrices))
        answers.append(element_type("f32").decode(elements(form.fragments(lanes)["D"], words)))
    found = consistent(form.a, form.shape[2], asked, answers)
    count = sum(answer.size for answer in answers)
    return Case(form.name, *_judged(found, form.sums, count))


def _judged(found: list[SumRule], published: SumRule | None, count: int) -> tuple[Verdict, str]:
    seen = f"{found[0]}: {count} of {count} results bit by bit" if found else ""
    if len(found) > 1:
        seen += f" ({len(found) - 1} other rules of the family give the same bits)"
    if published is None:
        return ("agree", seen) if found else ("undecided", f"no rule of the family gives all {count} results")
    if published in found:
        return "agree", f"as published; {published}: {count} of {count} results bit by bit"
    if found:
        return "differ", f"published is {published}; the card does {seen}"
    return (
        "differ",
        f"published is {published}; neither it nor any rule of the family gives all {count} results",
    )


def _refusal(target: Arch) -> str:
    known = any(form.sums for form in target.matrix.values())
    return "" if known else f"no rule of the family is published for {target.name}"


SUMS = Experiment(
    name="sums",
    question="By which rule does the matrix unit add: how many bits are kept, what is cut off, in how many steps?",
    meaning="a tolerance, or a comparison of last bits, that rests on the published rule is wrong for this card",
    reference="the published rule of the card (MMA-Sim, arXiv 2511.10909), and a family of rules around it",
    refusal=_refusal,
    run=_run,
)
