"""mma.sync as an H100 executed it: solved again from the recorded runs, and held against NVIDIA's document.

h100.cap was recorded on 2026-11-21 with `layoutprobe capture -o h100.cap --arch sm_90 --backend cuda`.
The solver is the one that reads the emulator's runs; nothing here needs a card or a CUDA compiler.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from nvidia.ptx_formulas import A, B, D, Formula

from layoutprobe import instructions
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.backends.recorded import Replay
from layoutprobe.capture.capture import Capture
from layoutprobe.capture.file import CaptureFile, read_captures
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import Layout

RECORDED = Path(__file__).with_name("h100.cap")
FORMS = [variant.form for variant in instructions.variants("sm_90")]


@cache
def recorded() -> CaptureFile:
    return read_captures(RECORDED)


def solved(form: MatrixForm, file: CaptureFile | None = None) -> InstructionLayout:
    return instructions.solve(form.name, "sm_90", backend=Replay(file or recorded()))


def by_document(formula: Formula, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    row, col = np.empty_like(layout.row), np.empty_like(layout.col)
    for _, lane, vgpr, field in np.ndindex(layout.row.shape):
        i = vgpr * layout.fields + field
        row[0, lane, vgpr, field], col[0, lane, vgpr, field] = formula(lane >> 2, lane % 4, i)
    return row, col


def formulas(form: MatrixForm) -> dict[str, Formula]:
    m, _, k = form.shape
    return {"A": A[m, k, form.bits], "B": B[m, k, form.bits], "C": D[m], "D": D[m]}


def agrees(result: InstructionLayout, form: MatrixForm) -> bool:
    """Every slot of every operand holds what NVIDIA's document says."""
    return all(
        np.array_equal(result.operands[name].row, row) and np.array_equal(result.operands[name].col, col)
        for name, formula in formulas(form).items()
        for row, col in [by_document(formula, result.operands[name])]
    )


def test_every_instruction_of_the_table_was_recorded() -> None:
    runs = [capture for capture in recorded().captures if capture.probe == "interaction"]
    names = {capture.parameters["instruction"] for capture in runs}
    assert names == {form.name for form in FORMS}
    assert len(names) == 32


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_an_h100_agrees_with_nvidias_document(form: MatrixForm) -> None:
    result = solved(form)
    assert agrees(result, form)
    assert str(result.evidence) == (
        f"replayed (measured on NVIDIA H100 80GB HBM3, capture {recorded().digest[:12]})"
    )
    assert result.arithmetic == ""
    assert result.live["A"].all()
    assert result.live["B"].all()
    assert not result.kept.any()


@pytest.mark.parametrize("form", FORMS[::5], ids=lambda form: form.name)
def test_names_of_rows_columns_and_k_are_said_to_be_names(form: MatrixForm) -> None:
    result = solved(form)
    m, n, k = form.shape
    assert [result.gauge[axis].units for axis in "MNK"] == [m, n, k]
    assert "NVIDIA's PTX ISA" in result.convention


def test_the_files_say_which_card_and_compiler() -> None:
    first = recorded().captures[0]
    assert first.device["target"] == "sm_90"
    assert first.toolchain["compiler"].startswith("NVRTC")
    assert len(first.toolchain["code_object"]) == 64
    assert first.time.startswith("2026-11-21T")


def wrong(form: MatrixForm, change: str) -> CaptureFile:
    """The recorded runs of one instruction as a card with another layout had printed them."""

    def changed(capture: Capture) -> Capture:
        d = capture.outputs["d"].copy()
        if change == "D's lanes rotated":
            d = np.roll(d, 1, axis=2)
        elif change == "D's registers reversed":
            d = d[:, ::-1].copy()
        else:
            d[:, :, 5] = d[:, :, 6]
        return replace(capture, outputs={"d": d})

    kept = [c for c in recorded().captures if c.parameters.get("instruction") == form.name]
    return replace(recorded(), captures=tuple(changed(c) for c in kept))


@pytest.mark.parametrize(
    "change", ["D's lanes rotated", "D's registers reversed", "a lane shows its neighbour"]
)
@pytest.mark.parametrize("form", FORMS[::6], ids=lambda form: form.name)
def test_another_layout_is_seen(form: MatrixForm, change: str) -> None:
    """A joint renaming of rows or columns is none; these move parts of rows and columns."""
    try:
        result = solved(form, wrong(form, change))
    except (ProbeError, UsageError):
        return
    assert not agrees(result, form)


def test_a_question_that_was_not_asked_is_not_answered() -> None:
    with pytest.raises(UsageError, match="has no run of interaction on sm_80"):
        instructions.solve(FORMS[0].name, "sm_80", backend=Replay(recorded()))


def test_without_a_card_the_next_step_is_named() -> None:
    with pytest.raises(UsageError, match="does not execute code for sm_90") as caught:
        instructions.solve(FORMS[0].name, "sm_90")
    assert "replay" in str(caught.value.hint)
