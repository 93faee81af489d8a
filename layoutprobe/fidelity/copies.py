"""Which half-wave's copies of A and B an output reads, told by copies that differ (RDNA3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.fidelity.bench import Bench, Experiment, attempted, where_some
from layoutprobe.fidelity.operands import elements, operands, raw_of, registers
from layoutprobe.instructions import Variant
from layoutprobe.report.fidelity import Case

_RUNS, _LARGEST = 8, 8
Ints = NDArray[np.int64]


def _run(bench: Bench) -> Iterator[Case]:
    for form in bench.target.matrix.values():
        if form.result not in ("f32", "i32"):
            continue  # sums of 16 bits could round, which is another question
        for wave in form.waves:
            name = f"{form.name}, wave{wave}"
            yield attempted(name, partial(_look, bench, form, wave, name))


def _look(bench: Bench, form: MatrixForm, wave: int, name: str) -> Case:
    """Small non-negative integers: exact however the card rounds."""
    rng = np.random.default_rng(20261201)
    copies = form.fragments(wave)["A"].copies
    a, b = (rng.integers(0, _LARGEST, (copies, _RUNS, 16, 16)) for _ in "AB")
    zero = np.zeros((_RUNS, 16, 16), np.uint32)
    given = operands(form, wave, {"A": zero, "B": zero, "C": zero})
    for key, kind, matrices in (("a", form.a, a), ("b", form.b, b)):
        fragment = form.fragments(wave)[key.upper()]
        given[key] = registers(fragment, [raw_of(kind, one) for one in matrices], wave)
    card, emulated = bench.instruction(Variant(form, bench.target.name, wave), given)
    if (card == emulated).all():
        return Case(name, "agree", "each output reads the copies in the lanes of its own group of 16")
    raw = elements(form.fragments(wave)["D"], card)
    numbers = raw.view(np.float32) if form.result == "f32" else raw.view(np.int32)
    return Case(name, "differ", _read(numbers.astype(np.float64), a, b))


def _read(d: NDArray[np.float64], a: Ints, b: Ints) -> str:
    """Which copies explain D [run, row, col], in words."""
    copies = len(a)
    products = {(i, j): np.matmul(a[i], b[j]) for i in range(copies) for j in range(copies)}
    fits = {pair: (product == d).all(axis=0) for pair, product in products.items()}
    for (i, j), where in fits.items():
        if where.all():
            return f"every output reads lanes {_lanes(i)} of A and lanes {_lanes(j)} of B"
    rows = np.indices(d.shape[1:])[0]
    own = np.zeros(d.shape[1:], np.bool_)
    for copy in range(copies):
        own |= fits[copy, copy] & (rows % copies == copy)
    row, col = (int(i) for i in np.argwhere(~own)[0])
    seen = [
        f"lanes {_lanes(i)} of A and {_lanes(j)} of B" for (i, j), where in fits.items() if where[row, col]
    ]
    what = f"reads {' or '.join(seen)}" if seen else "is the product of no copy of A with one of B"
    group = row % copies
    return f"D[{row}][{col}] in lanes {_lanes(group)} {what}; {int((~own).sum())} of 256 outputs so"


def _lanes(copy: int) -> str:
    return f"{16 * copy}-{16 * copy + 15}"


COPIES = Experiment(
    name="half-wave copies",
    question="Which copies of A and B does an output read, where the copies of the half-waves differ?",
    meaning="kernels that replicate A and B as AMD asks are not affected; of one that does not, the card "
    "computes other numbers than the emulator, and findings about copies name the wrong lanes",
    reference="the emulator: an output reads the copies in its own 16 lanes",
    refusal=lambda target: where_some(
        target,
        lambda form: any(form.copies_every(wave) for wave in form.waves),
        "one copy of A and B only",
    ),
    run=_run,
)
