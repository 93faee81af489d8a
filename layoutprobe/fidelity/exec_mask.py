"""A matrix instruction while lanes are inactive."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutprobe.fidelity.bench import Bench, Experiment, always
from layoutprobe.fidelity.operands import difference, operands, raw_of
from layoutprobe.report.fidelity import Case

_FORM = "v_wmma_f32_16x16x16_f16"
_MASKS = (0xFFFFFFFF, 0, 1, 0x0000FFFF, 0xFFFF0000, 0x5A3C96E1)


def _run(bench: Bench) -> Iterator[Case]:
    rng = np.random.default_rng(20261204)
    form = bench.target.matrix_form(_FORM)
    numbers = {key: rng.integers(0, 8, (len(_MASKS), 16, 16)) for key in "ABC"}
    matrices = {key: raw_of("f32" if key == "C" else "f16", x) for key, x in numbers.items()}
    old = rng.integers(0, 1 << 32, (len(_MASKS), form.vgprs(32)["D"], 32), np.uint32)
    inputs = {**operands(form, 32, matrices, old=old), "mask": np.array(_MASKS, np.uint32)}
    card, emulated = bench.probe("exec_mask", inputs)
    lanes = np.arange(32, dtype=np.uint32)
    for at, mask in enumerate(_MASKS):
        name = f"EXEC {mask:#010x}"
        mine, theirs = card.outputs["d"][at], emulated.outputs["d"][at]
        why = difference(mine, theirs, lambda i: f"VGPR {i[0]}, lane {i[1]}")
        if why:
            active = mask >> lanes & 1 == 1
            if (mine == np.where(active, theirs, old[at])).all():
                why = f"inactive lanes of D are not written: {why}"
            yield Case(name, "differ", why)
        else:
            yield Case(name, "agree", "all lanes of D are written, from all lanes of A, B and C")


EXEC_MASK = Experiment(
    name="inactive lanes",
    question="Does a matrix instruction ignore EXEC, for what it reads and for what it writes?",
    meaning="a kernel that multiplies within a divergent branch gives other numbers on the card",
    reference="the emulator, which follows AMD's pseudocode: EXEC is ignored",
    refusal=lambda target: always(target) or ("" if _FORM in target.matrix else f"no {_FORM}"),
    run=_run,
)
