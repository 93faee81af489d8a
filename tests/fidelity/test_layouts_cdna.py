"""Layouts of CDNA: forms whose formats are modifiers, blocks, and an emulator that is wrong against the document."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe import instructions
from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.backends.source import Live
from layoutprobe.fidelity import layouts
from layoutprobe.fidelity.examine import examine

CHOSEN = (
    "v_mfma_scale_f32_16x16x128_f8f6f4 cbsz:0 blgp:4",
    "v_mfma_f32_16x16x128_f8f6f4 cbsz:3 blgp:2",
    "v_mfma_f32_16x16x4_4b_f16",
    "v_mfma_f32_4x4x1_16b_f32",
    "v_smfmac_i32_16x16x64_i8",
)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions above, out of 190 variants of gfx950."""
    every = list(instructions.variants("gfx950"))
    some = [next(v for v in every if v.form.spelling == spelling) for spelling in CHOSEN]
    monkeypatch.setattr(instructions, "variants", lambda target: some)


class Rows(EmulatorBackend):
    """An emulator that turns the rows of D by one, in every block of four lanes' registers."""

    def run(self, launch: Launch, *args: object) -> RunResult:
        result = super().run(launch)
        d = result.buffers[-1]
        assert d is not None
        d[...] = np.roll(d, 1, axis=1)
        return result


def test_the_emulator_is_held_against_the_document() -> None:
    told: list[str] = []
    report = examine(
        "gfx950", Live(EmulatorBackend()), (layouts.LAYOUTS,), lambda what, done, of: told.append(what)
    )
    (outcome,) = report.outcomes
    assert [case.verdict for case in outcome.cases] == ["agree"] * len(CHOSEN)
    assert [case.name for case in outcome.cases] == [f"{name}, wave64" for name in CHOSEN]
    # The bar moves with every case: there is one experiment, and it takes long.
    assert told == ["layouts", *(f"layouts: {name}, wave64" for name in CHOSEN)]


def test_an_emulator_that_differs_from_the_document_is_found() -> None:
    (outcome,) = examine("gfx950", Live(Rows()), (layouts.LAYOUTS,)).outcomes
    assert [case.verdict for case in outcome.cases] == ["differ"] * len(CHOSEN)
