"""Every cell of every matrix instruction of CDNA3 and CDNA4, solved by execution, against the documents."""

from __future__ import annotations

import numpy as np
import pytest

from cdna.inverse import Instruction
from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.instructions.meetings import executed_alone
from layoutprobe.instructions.probe import Variant
from layoutprobe.instructions.solving import interaction_by

FORMS = {target: TARGETS[target].matrix for target in ("gfx942", "gfx950")}
ONCE = [
    *(("gfx942", form) for form in FORMS["gfx942"].values()),
    *(("gfx950", form) for name, form in FORMS["gfx950"].items() if not form.scaled),
]


def name_of(case: object) -> str:
    return case.spelling if isinstance(case, MatrixForm) else str(case)


@pytest.mark.parametrize(("target", "form"), ONCE, ids=name_of)
def test_every_cell_is_the_documents(target: str, form: MatrixForm) -> None:
    instruction = Instruction(form.spelling)
    for opsel in form.opsels(64):
        variant = Variant(form, target, 64, opsel)
        solved = interaction_by(variant, executed_alone(variant))
        assert set(solved.needed) == {*"ABCD", *(["index"] if form.sparse else [])}
        for name, layout in solved.needed.items():
            slots = instruction.index(opsel) if name == "index" else instruction.operand(name)
            assert layout.field_bits == slots.bits
            assert np.array_equal(layout.row.reshape(64, -1), slots.row), name
            assert np.array_equal(layout.col.reshape(64, -1), slots.col), name
        met, (m, n, k) = solved.meetings, form.shape
        assert met.a.size == form.blocks * m * n * (k // 2 if form.sparse else k)
        assert not met.kept.any()


def test_the_lists_are_amds() -> None:
    """46 mnemonics of gfx942 and 68 of gfx950 assemble, two of these with scales."""
    names = {target: {form.name for form in forms.values()} for target, forms in FORMS.items()}
    assert [len(found) for found in names.values()] == [46, 68]
    assert names["gfx942"] - names["gfx950"] == {"v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32"}
    sparse = {target: sum("smfmac" in name for name in found) for target, found in names.items()}
    assert sparse == {"gfx942": 14, "gfx950": 28}
    by_formats = [form for form in FORMS["gfx950"].values() if form.name.endswith("_f8f6f4")]
    assert len(by_formats) == 4 * 25


def test_what_rests_on_one_source_says_so() -> None:
    long = [form for form in FORMS["gfx950"].values() if form.sparse and form.vgprs(64)["B"] == 8]
    assert len(long) == 14
    assert all("one source" in form.document for form in long)
    others = [form for forms in FORMS.values() for form in forms.values() if form not in long]
    assert not any("one source" in form.document for form in others)


def test_eight_bit_floats_are_those_of_the_generation() -> None:
    name = "v_mfma_f32_16x16x32_fp8_bf8"
    old, new = (forms[name] for forms in FORMS.values())
    assert (old.a, old.b, new.a, new.b) == ("fp8_fnuz", "bf8_fnuz", "fp8", "bf8")
