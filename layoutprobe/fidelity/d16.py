"""16-bit loads and stores: the half that they touch, and the half that stays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutprobe.fidelity.bench import Bench, Experiment, waves_of_32
from layoutprobe.fidelity.operands import difference
from layoutprobe.report.fidelity import Case

OPS = (
    "global_load_d16_b16",
    "global_load_d16_hi_b16",
    "global_load_d16_u8",
    "global_load_d16_hi_u8",
    "global_load_d16_i8",
    "global_load_d16_hi_i8",
    "ds_load_u16_d16",
    "ds_load_u16_d16_hi",
    "ds_load_u8_d16",
    "ds_load_u8_d16_hi",
    "ds_load_i8_d16",
    "ds_load_i8_d16_hi",
    "ds_store_b16",
    "ds_store_b16_d16_hi",
)
"""In the order of the probe's axis "op"."""

_WAVES = 4


def _run(bench: Bench) -> Iterator[Case]:
    rng = np.random.default_rng(20261205)
    inputs = {
        "memory": rng.integers(1, 1 << 32, 32, np.uint32),
        "old": rng.integers(1, 1 << 32, (_WAVES, len(OPS), 32), np.uint32),
    }
    card, emulated = bench.probe("d16", inputs)
    for op, name in enumerate(OPS):
        mine, theirs = card.outputs["out"][:, op], emulated.outputs["out"][:, op]
        why = difference(mine, theirs, lambda i: f"run {i[0]}, lane {i[1]}")
        if not why:
            stays = "the other half of the dword" if "store" in name else "the other half of the register"
            yield Case(name, "agree", f"{stays} stays")
            continue
        upper = "store" not in name and "_hi" in name
        touched = np.uint32(0xFFFF0000 if upper else 0x0000FFFF)
        if (mine & touched == theirs & touched).all():
            became = "is cleared" if not (mine & ~touched).any() else "does not stay"
            why = f"the other half {became}: {why}"
        yield Case(name, "differ", why)


D16 = Experiment(
    name="16-bit loads and stores",
    question="Do 16-bit loads keep the other half of their register, and stores take the half they name?",
    meaning="fragments that are gathered half by half have wrong elements in every other slot on the card",
    reference="the emulator: the other half stays",
    refusal=waves_of_32,
    run=_run,
)
