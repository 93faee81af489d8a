"""How floating sums round: which mode of the emulator gives the card's bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.fidelity.bench import Bench, Experiment, attempted, waves_of_32
from layoutprobe.fidelity.operands import Raw, difference, elements, operands, raw_of
from layoutprobe.instructions import Prober, Variant
from layoutprobe.numbers import element_type
from layoutprobe.report.fidelity import Case

_RUNS = 8
_SHAPE = (_RUNS, 16, 16)
Numbers = NDArray[np.float64]

# For each kind of operands: (random generator, element type) -> numbers. C takes those of its own type.


def _random(rng: np.random.Generator, kind: str) -> Numbers:
    return rng.uniform(-1, 1, _SHAPE)


def _mixed_signs(rng: np.random.Generator, kind: str) -> Numbers:
    """Small integers: exact in every order, if each step is."""
    return rng.integers(-8, 9, _SHAPE).astype(np.float64)


def _far_apart(rng: np.random.Generator, kind: str) -> Numbers:
    """Positive, over 20 binades: what is small falls off the end of a sum, sooner or later."""
    return np.ldexp(rng.uniform(1, 2, _SHAPE), rng.integers(-10, 3, _SHAPE))


def _cancelling(rng: np.random.Generator, kind: str) -> Numbers:
    """Large ones that cancel among small ones: the order of the sum decides what is left."""
    large = np.ldexp(1.0, rng.integers(4, 7, _SHAPE)) * rng.choice([-1.0, 1.0], _SHAPE)
    return np.where(rng.integers(0, 3, _SHAPE) == 0, large, np.ldexp(rng.uniform(-1, 1, _SHAPE), -7))


def _subnormal(rng: np.random.Generator, kind: str) -> Numbers:
    """Half of the elements below the smallest normal number of their type, half near one."""
    tiny = rng.uniform(-1, 1, _SHAPE) * element_type(kind).normal
    return np.where(rng.integers(0, 2, _SHAPE) == 0, tiny, rng.uniform(-2, 2, _SHAPE))


def _special(rng: np.random.Generator, kind: str) -> Numbers:
    """A few infinities, NaN and zeros of both signs."""
    odd = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0], _SHAPE)
    return np.where(rng.integers(0, 24, _SHAPE) == 0, odd, rng.uniform(-4, 4, _SHAPE))


KINDS: Mapping[str, Callable[[np.random.Generator, str], Numbers]] = {
    "random numbers": _random,
    "integers of mixed sign": _mixed_signs,
    "magnitudes far apart": _far_apart,
    "large ones that cancel": _cancelling,
    "subnormal numbers": _subnormal,
    "infinities, NaN, zeros": _special,
}


def _run(bench: Bench) -> Iterator[Case]:
    for form in bench.target.matrix.values():
        if not form.sparse and form.a == form.b and form.a in ("f16", "bf16"):
            yield attempted(form.name, partial(_look, bench, form))


def _look(bench: Bench, form: MatrixForm) -> Case:
    variant = Variant(form, bench.target.name, 32)
    modes = form.arithmetic
    equal = dict.fromkeys(modes, 0)
    first: dict[str, str] = {}
    total = 0
    for number, (kind, numbers) in enumerate(KINDS.items()):
        rng = np.random.default_rng(20261206 + number)
        types = {"A": form.a, "B": form.b, "C": form.result}
        matrices = {key: raw_of(dtype, numbers(rng, dtype)) for key, dtype in types.items()}
        given = operands(form, 32, matrices)
        card = _results(form, Prober(variant, bench)(given))
        total += card.size
        for mode in modes:
            emulated = _results(form, Prober(variant, bench.reference(mode))(given))
            equal[mode] += int((card == emulated).sum())
            why = difference(card, emulated, lambda i: f"run {i[0]}, D[{i[1]}][{i[2]}]")
            if why:
                first.setdefault(mode, f"{kind}: {why}")
    for mode in reversed(modes):  # both, where nothing told them apart
        if mode not in first:
            return Case(
                form.name, "agree", f"{total} results bit by bit as --arithmetic {mode} (any NaN is NaN)"
            )
    best = max(modes, key=lambda mode: equal[mode])
    counts = ", ".join(f"{mode} {equal[mode]}" for mode in modes)
    return Case(form.name, "differ", f"of {total} results equal: {counts}; {best}, {first[best]}")


def _results(form: MatrixForm, words: NDArray[np.uint32]) -> Raw:
    """D as bits, with one NaN for all."""
    raw = elements(form.fragments(32)["D"], words)
    kind = element_type(form.result)
    return np.where(np.isnan(kind.decode(raw)), np.uint32(kind.nan or 0), raw)


ARITHMETIC = Experiment(
    name="arithmetic",
    question="Does the card round like a mode of the emulator: order of sums, subnormals, mixed signs?",
    meaning="results differ in their last bits, or for subnormal numbers, from emulated ones: compare with a "
    "tolerance, and judge no rounding by the emulator",
    reference="the emulator, --arithmetic ieee and (RDNA3) silicon",
    refusal=waves_of_32,
    run=_run,
)
