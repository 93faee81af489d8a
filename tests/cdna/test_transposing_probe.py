"""The probe with transposing loads: packed against the documents, received against raw, wrong probes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from examples import one_of_each
from wrong_probes import edited

from cdna.test_probes import assert_documented, class_of, id_of
from cdna.test_transposing import goes_to
from layoutprobe import dump
from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.errors import UsageError
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.layouts.views import PACKED, RAW, RECEIVED, k_and_col

TARGET, DEEP = "gfx950", "v_mfma_f32_32x32x64_f8f6f4 cbsz:0 blgp:0"
PLAIN = "v_mfma_f32_32x32x16_f16"
FP4, FP6 = "v_mfma_f32_32x32x64_f8f6f4 cbsz:4 blgp:4", "v_mfma_f32_16x16x128_f8f6f4 cbsz:2 blgp:2"
MIXED = "v_mfma_scale_f32_16x16x128_f8f6f4 cbsz:3 blgp:4"
FORMS = [
    (TARGET, form)
    for form in TARGETS[TARGET].probed
    if max(form.bits, form.b_bits) <= 16 and form.blocks == 1 and not form.shape[0] % 16 and not form.sparse
]


def width_of(case: object) -> object:
    """Forms with loads of the same widths into registers as many."""
    assert isinstance(case, tuple)
    form = case[1]
    return class_of(case), form.b_bits, form.scaled


@pytest.mark.all_in_ci
@pytest.mark.few(2)
@pytest.mark.parametrize(("target", "form"), one_of_each(FORMS, width_of, ci=False), ids=id_of)
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_every_cell_is_the_documents(target: str, form: MatrixForm, matrix: str) -> None:
    """Of what the instruction reads; and what is received is what the documents make of what was fetched."""
    seen = {
        view: dump(matrix, "xor", arch=target, instruction=form.spelling, view=view)
        for view in (RAW, RECEIVED, PACKED)
    }
    assert {report.exit_code for report in seen.values()} == {0}
    assert_documented(form, matrix, seen[PACKED].loaded)
    assert seen[RECEIVED].loaded == seen[PACKED].loaded
    raw, received = (np.stack(k_and_col(seen[view].loaded)) for view in (RAW, RECEIVED))
    bits = form.element_bits(matrix)
    each = {16: 4, 8: 8, 6: 16, 4: 16}[bits]
    for load in range(raw.shape[3] // each):
        for lane in range(64):
            for element in range(each):
                to_lane, to = goes_to(lane, element, bits)
                at = load * each
                assert np.array_equal(received[:, :, to_lane, at + to], raw[:, :, lane, at + element])


@pytest.mark.few(2)
@pytest.mark.parametrize("lds", SCHEMES)
@pytest.mark.parametrize("dtype", ["f16", "i8", "bf6", "fp4"])
def test_what_lanes_fetch_does_not_depend_on_the_scheme(lds: str, dtype: str) -> None:
    """Store and load know the scheme both: only where the elements lie differs."""
    report = dump("B", lds, dtype=dtype, arch=TARGET, view=RAW)
    assert report.exit_code == 0
    assert report.loaded == dump("B", "none", dtype=dtype, arch=TARGET, view=RAW).loaded
    assert report.lds_form.startswith("row*") or lds == "row-permute"


def test_rows_of_seed_003_by_the_probe() -> None:
    """Of the form with 64 k: lanes 0-31 rows 0-15 and 32-47, lanes 32-63 rows 16-31 and 48-63."""
    report = dump("B", "row-permute", arch=TARGET, instruction=DEEP, view=RECEIVED)
    assert dict(report.about)["wave 0"] == "lanes 0-31: k 0-15, 32-47; lanes 32-63: k 16-31, 48-63"


WRONG = {
    "rows of k fold": ("lane % 16 / L::kLanesOfRow;", "lane % 16 / L::kLanesOfRow % 2;"),
    "the other strip of lines": ("(first + lane % lines / 16 * 16)", "((first + lane % lines / 16 * 16) ^ 16)"),
    "the stores alone know the scheme": (
        "lds + T::byte_of(k, strip)",
        "lds + k * 2 * T::kHalves + strip / T::kUsed * kChunkBytes + strip % T::kUsed",
    ),
    "LDS read as by plain loads": (
        "L::transposed(received.each + v, at);", "L::put(received.each + v, (const u32*)at);"
    ),
    "k of 8 neighbours, as of 8 bits": (
        "Held::k_byte(lane / lines, 4 * v) * 8 / Bits", "Held::k_byte(lane / lines, 4 * v) * 8 / Bits / 16 * 8"
    ),
    "every second load forgotten": (
        "received.each + v, at", "received.each + v / (2 * L::kWords) * 2 * L::kWords, at"
    ),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("instruction", [PLAIN, FP4, FP6, MIXED])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_probes_are_red(name: str, instruction: str, tmp_path: Path) -> None:
    old, new = WRONG[name]
    folder = edited(tmp_path, "cdna/transposing.hip", old, new)
    for view in (RAW, PACKED):
        report = dump("B", "xor", arch=TARGET, instruction=instruction, view=view, probes=folder)
        assert report.exit_code == 1, view


def test_rows_of_four_and_six_bits_by_the_probe() -> None:
    """A lane fetches 16 lines of one k, and receives 16 k of one line; its second load has those behind."""
    for instruction, dtype in ((FP4, "fp4"), (FP6, "fp6")):
        views = {v: dump("B", "none", arch=TARGET, instruction=instruction, view=v) for v in (RAW, RECEIVED)}
        assert dtype in views[RAW].dtype
        k, col = k_and_col(views[RAW].loaded)
        assert np.array_equal(col[0, 5, :16], np.arange(16))
        assert np.array_equal(k[0, 5], np.repeat([5, 21], 16))
        k, col = k_and_col(views[RECEIVED].loaded)
        assert np.array_equal(k[0, 5], np.arange(32))
        assert set(col[0, 5].tolist()) == {5}


def test_what_has_no_such_view_is_refused() -> None:
    with pytest.raises(UsageError, match="no transposing loads"):
        dump("B", arch="gfx942", dtype="f16", view=RAW)
    with pytest.raises(UsageError, match="no probe feeds v_smfmac"):
        dump("B", arch=TARGET, instruction="v_smfmac_f32_16x16x32_f16", view=RAW)
    with pytest.raises(UsageError, match="no transposing loads"):
        dump("B", arch=TARGET, dtype="f64", view=RAW)
    with pytest.raises(UsageError, match="only A and B"):
        dump("D", arch=TARGET, dtype="f16", view=RAW)
    with pytest.raises(UsageError, match="no view"):
        dump("B", arch=TARGET, dtype="f16", view="loaded")
