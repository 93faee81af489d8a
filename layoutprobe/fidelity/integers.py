"""Integer forms: which operand is signed, sums that saturate, sums that wrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.base import Arch
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.fidelity.bench import Bench, Experiment, always, attempted
from layoutprobe.fidelity.operands import difference, elements, operands, place, raw_of
from layoutprobe.instructions import Variant
from layoutprobe.report.fidelity import Case

_RUNS = 4
_TOP, _BOTTOM = 2**31 - 1, -(2**31)
Ints = NDArray[np.int64]

_SIGNED = {"": (), "neg1": ("A",), "neg2": ("B",), "clamp": ("A", "B")}
_SIGNS = {"": "A and B unsigned", "neg1": "A signed", "neg2": "B signed", "clamp": "A and B signed, clamp"}


def _forms(target: Arch) -> Iterator[tuple[MatrixForm, int]]:
    for form in target.matrix.values():
        if form.result == "i32" and not form.sparse and form.modifiers:
            for wave in form.waves:
                yield form, wave


def _cases(
    modifiers: tuple[str, ...], addend: Callable[[np.random.Generator], Ints]
) -> Callable[[Bench], Iterator[Case]]:
    def run(bench: Bench) -> Iterator[Case]:
        for form, wave in _forms(bench.target):
            for modifier in modifiers:
                name = f"{form.name}, wave{wave}, {_SIGNS[modifier]}"
                yield attempted(name, partial(_look, bench, form, wave, modifier, addend, name))

    return run


def _look(
    bench: Bench,
    form: MatrixForm,
    wave: int,
    modifier: str,
    addend: Callable[[np.random.Generator], Ints],
    name: str,
) -> Case:
    rng = np.random.default_rng(20261203)
    m, n, k = form.shape
    shapes = {"A": (_RUNS, m, k), "B": (_RUNS, k, n)}
    raw = {key: rng.integers(0, 1 << form.bits, shape, np.uint32) for key, shape in shapes.items()}
    c = addend(rng)
    given = operands(form, wave, {**raw, "C": raw_of("i32", c)})
    card, emulated = bench.instruction(Variant(form, bench.target.name, wave, 0, modifier), given)
    why = difference(card, emulated, place(wave))
    if not why:
        return Case(name, "agree", "as the emulator, bit by bit")
    d = elements(form.fragments(wave)["D"], card).view(np.int32).astype(np.int64)
    like = _explained(d, raw, c, form.bits)
    return Case(name, "differ", f"{like}: {why}" if like else why)


def _explained(d: Ints, raw: dict[str, NDArray[np.uint32]], c: Ints, bits: int) -> str:
    """Which rule gives D of these operands, in words; "" where none of those known does."""
    for modifier, signed in _SIGNED.items():
        a, b = (_numbers(raw[key], bits, key in signed) for key in "AB")
        total = np.matmul(a, b) + c
        what = "A and B signed" if modifier == "clamp" else _SIGNS[modifier]
        rules = {
            f"computed with {what}, wrapping": total.astype(np.uint32).view(np.int32).astype(np.int64),
            f"computed with {what}, saturating": np.clip(total, _BOTTOM, _TOP),
            f"clamped to the range of the {bits}-bit inputs": np.clip(
                total, -(1 << bits - 1), (1 << bits - 1) - 1
            ),
        }
        for rule, wanted in rules.items():
            if (wanted == d).all():
                return rule
    return ""


def _numbers(raw: NDArray[np.uint32], bits: int, signed: bool) -> Ints:
    value = raw.astype(np.int64)
    return value - (value >> bits - 1 << bits) if signed else value


def _small(rng: np.random.Generator) -> Ints:
    return rng.integers(-1000, 1000, (_RUNS, 16, 16))


def _at_the_ends(rng: np.random.Generator) -> Ints:
    """Within 300 of either end of an int32: sums of most rows pass it."""
    from_end = rng.integers(0, 300, (_RUNS, 16, 16))
    return np.where(rng.integers(0, 2, from_end.shape) == 1, _TOP - from_end, _BOTTOM + from_end)


def _refusal(target: Arch) -> str:
    return always(target) or ("" if any(_forms(target)) else f"{target.name} has no integer forms")


SIGNS = Experiment(
    name="signs of integers",
    question="Do the integer forms take A and B for signed as their modifiers say?",
    meaning="quantised kernels compute other numbers on the card than emulated",
    reference="the emulator: neg_lo of A and of B make them signed",
    refusal=_refusal,
    run=_cases(("", "neg1", "neg2"), _small),
)

CLAMP = Experiment(
    name="clamp and overflow",
    question="Do integer sums saturate with clamp, and wrap without it?",
    meaning="kernels that rely on clamp, or whose sums pass 32 bits, give other numbers on the card; the "
    "documents contradict each other about clamp",
    reference="the emulator: with clamp to the range of int32, without modulo 2**32",
    refusal=_refusal,
    run=_cases(("clamp", "neg1", ""), _at_the_ends),
)
