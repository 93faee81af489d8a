"""16-bit results of RDNA3: op_sel picks a half of C and D, and the other half of D stays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.fidelity.bench import Bench, Experiment, Words, attempted, where_some
from layoutprobe.fidelity.operands import difference, operands, place, raw_of
from layoutprobe.instructions import Variant
from layoutprobe.report.fidelity import Case

_RUNS = 4


def _run(bench: Bench) -> Iterator[Case]:
    for form in bench.target.matrix.values():
        if not form.halves:
            continue
        for wave in form.waves:
            for opsel in form.opsels(wave):
                name = f"{form.name}, wave{wave}, op_sel {opsel}"
                yield attempted(name, partial(_look, bench, form, wave, opsel, name))


def _look(bench: Bench, form: MatrixForm, wave: int, opsel: int, name: str) -> Case:
    """Products of 0 and 1 and addends up to 7: no sum exceeds 23, so none rounds in 8 bits."""
    rng = np.random.default_rng(20261202)
    numbers = {key: rng.integers(0, 2, (_RUNS, 16, 16)) for key in "AB"}
    matrices = {key: raw_of(form.a, x) for key, x in numbers.items()}
    matrices["C"] = raw_of(form.result, rng.integers(0, 8, (_RUNS, 16, 16)))
    shape = (_RUNS, form.vgprs(wave)["D"], wave)
    old = rng.integers(1, 1 << 32, shape, np.uint32)
    given = operands(form, wave, matrices, opsel=opsel, old=old)
    selected = np.uint32(0xFFFF0000 if opsel else 0x0000FFFF)
    given["c"] |= rng.integers(1, 1 << 32, shape, np.uint32) & ~selected
    card, emulated = bench.instruction(Variant(form, bench.target.name, wave, opsel), given)
    if why := difference(card & selected, emulated & selected, place(wave)):
        return Case(name, "differ", f"in the half that op_sel selects: {why}")
    if why := difference(card & ~selected, emulated & ~selected, place(wave)):
        return Case(name, "differ", f"the other half of D {_what_became(card, given, ~selected)}: {why}")
    return Case(name, "agree", "the selected half is read and written, the other half of D stays")


def _what_became(card: Words, given: dict[str, Words], half: np.uint32) -> str:
    seen = card & half
    if not seen.any():
        return "is cleared"
    if (seen == given["c"] & half).all():
        return "comes from C"
    return "does not stay"


HALVES = Experiment(
    name="op_sel of 16-bit results",
    question="Does op_sel select a half of C and D, and does the other half of D stay as it was?",
    meaning="kernels that keep two accumulators in one register lose one of them on the card, or keep one "
    "that the emulator thinks lost",
    reference="the emulator: the other half stays",
    refusal=lambda target: where_some(
        target, lambda form: form.halves, "no op_sel that chooses halves of C and D"
    ),
    run=_run,
)
