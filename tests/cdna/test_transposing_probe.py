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
FORMS = [
    (TARGET, form)
    for form in TARGETS[TARGET].probed
    if form.bits in (8, 16) and form.blocks == 1 and not form.shape[0] % 16
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("target", "form"), one_of_each(FORMS, class_of), ids=id_of)
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
    each = 64 // form.bits
    for load in range(raw.shape[3] // each):
        for lane in range(64):
            for element in range(each):
                to_lane, to = goes_to(lane, element, form.bits)
                at = load * each
                assert np.array_equal(received[:, :, to_lane, at + to], raw[:, :, lane, at + element])


@pytest.mark.few(2)
@pytest.mark.parametrize("lds", SCHEMES)
@pytest.mark.parametrize("dtype", ["f16", "i8"])
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
    "rows of k fold": ("lane % 16 / (BITS / 4);", "lane % 16 / (BITS / 4) % 2;"),
    "the other strip of lines": ("lane % kRows / 16 * 16", "(lane % kRows / 16 ^ 1) * 16"),
    "the stores alone know the scheme": ("lds + T::byte_of(k, strip)", "lds + k * 2 * T::kHalves + strip"),
    "LDS read as by plain loads": (
        "received.each[part] = transposed<BITS>(at)",
        "received.each[part] = raw.each[part]",
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_probes_are_red(name: str, tmp_path: Path) -> None:
    old, new = WRONG[name]
    folder = edited(tmp_path, "cdna/transposing.hip", old, new)
    for view in (RAW, PACKED):
        report = dump(
            "B", "xor", arch=TARGET, instruction="v_mfma_f32_32x32x16_f16", view=view, probes=folder
        )
        assert report.exit_code == 1, view


def test_what_has_no_such_view_is_refused() -> None:
    with pytest.raises(UsageError, match="no transposing loads"):
        dump("B", arch="gfx942", dtype="f16", view=RAW)
    with pytest.raises(UsageError, match="no transposing loads"):
        dump("B", arch=TARGET, dtype="f64", view=RAW)
    with pytest.raises(UsageError, match="only A and B"):
        dump("D", arch=TARGET, dtype="f16", view=RAW)
    with pytest.raises(UsageError, match="no view"):
        dump("B", arch=TARGET, dtype="f16", view="loaded")
