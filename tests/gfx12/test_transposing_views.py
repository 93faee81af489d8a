"""Operands of RDNA4 behind transposing loads: what lanes fetch, receive and multiply, in a probe and in kernels."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from gfx12.test_transposing_gfx12 import goes_to, wanted_k
from msgspec.structs import replace
from wrong_probes import edited

from layoutprobe import dump
from layoutprobe.assets import asset_dir
from layoutprobe.checks.registry import CHECKS
from layoutprobe.errors import UsageError
from layoutprobe.gate.session import check_kernel
from layoutprobe.inspector.inspect import Inspection, look_into
from layoutprobe.layouts.views import PACKED, RAW, RECEIVED, VIEWS, OperandViews, k_and_col
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest

RDNA4 = asset_dir("probes") / "gemm" / "rdna4"
WAVES = {"tr16": (16, 32), "tr16-wave64": (16, 64), "tr8": (8, 32), "tr8-wave64": (8, 64)}
"""Kernel -> bits of its elements, and lanes of its waves."""
every = pytest.mark.parametrize("name", WAVES)


def case_of(name: str, folder: Path = RDNA4) -> KernelCase:
    cases = read_manifest(folder / "layoutprobe.toml").kernels
    return next(case for case in cases if case.name == name)


@pytest.mark.few(2)
@every
def test_correct_kernels_are_green(name: str) -> None:
    case = case_of(name)
    verdict = check_kernel(replace(case, sizes=case.sizes[-1:]), "gfx1201", CHECKS)
    assert not verdict.error
    assert verdict.findings == ()
    assert {"operand-provenance", "epilogue", "numerics", "waits", "memory"} <= {
        result.check for result in verdict.results if result.status == "holds"
    }


@cache
def views(name: str) -> OperandViews:
    """Of B in the second step of block (1, 2), at M=48 N=128 K=32."""
    case = case_of(name)
    kernel = look_into(replace(case, sizes=case.sizes[-1:]))
    return kernel.views("B", 0, workgroup=(1, 2, 0), iteration=1)


def check_exchanged(seen: OperandViews, bits: int, lanes: int) -> None:
    raw, received = (np.stack(k_and_col(layout)) for layout in (seen.raw, seen.received))
    for lane in range(32):
        for element in range(8):
            to_lane, to = goes_to(lane, element, lanes)
            assert np.array_equal(received[:, :, to_lane, to], raw[:, :, lane, element]), (lane, element)
    assert (raw[:, :, 32:] < 0).all(), "the others fetch nothing"
    assert raw.shape[2:] == (lanes, 8)
    assert received.shape[2:] == (lanes, 8 * 32 // lanes)


@pytest.mark.few(2)
@every
def test_the_three_views_of_a_kernels_operand(name: str) -> None:
    bits, lanes = WAVES[name]
    seen = views(name)
    check_exchanged(seen, bits, lanes)
    wave, lane, e = np.indices((4, lanes, 8 * 32 // lanes))
    k, col = k_and_col(seen.received)
    assert np.array_equal(k, 16 + lane // 16 % 2 * 8 + lane // 32 * 4 + e)
    assert np.array_equal(col, 64 + 16 * wave + lane % 16)
    assert seen.packed == seen.received
    k, col = (axis[:, :32, 0] for axis in k_and_col(seen.raw))
    assert np.array_equal(seen.address[:, :32, 0], (k * 128 + col) * bits // 8), "counted in B"
    assert (seen.address[:, 32:] == -1).all()
    assert (seen.together, seen.naming, seen.memory) == (8, 32, "global memory")
    assert seen.groups.shape == (4, lanes // 4)
    assert seen.groups[1].tolist() == [*range(8, 16), *range(40, 48)][: lanes // 4]


COLUMN = "return lane / 8 % 2 * 8; }"
ROW = "{ return lane / 16 % 2 * 8 + lane % 8; }"
LOAD = "const I::Operand b = I::transposed("
WRONG = {
    # Edit: rule, words of the finding, how its blocks begin and end.
    "columns of the second 8 lanes": (
        COLUMN, "return 0; }", "operand-provenance/folded", "columns fold by 8", "B0 parts at raw: the",
        "; columns fold by 8",
    ),
    "rows of the upper lanes": (
        ROW, "{ return lane % 8; }", "operand-provenance/folded", "rows fold by 8", "B0 parts at raw: the addresses",
        "; rows fold by 8; k 8-15 missing, k 0-7 more than once",
    ),
    "16 lanes to a tile, as on CDNA4": (
        ROW, "{ return lane / 16 % 2 * 8 + lane % 16 / 2; }", "operand-provenance/unexplained",
        "slots of B hold other", "B0 parts at raw: the addresses: the lanes name", "row of the loads",
    ),
    "rows of two lanes exchanged": (
        COLUMN, "return (lane / 8 ^ lane / 2) % 2 * 8; }", "operand-provenance/unexplained", "slots of B hold other",
        "B0 parts at raw: the addresses: the lanes name bytes enough", "(col ^ 8 at k 2-3, 6-7, 10-11, 14-15)",
    ),
    "one step for all": (
        "(k + row_named(lane))", "row_named(lane)", "operand-provenance/other-step", "16 k too early",
        "B0 parts at raw: the addresses: the lanes name bytes enough", "",
    ),
    "a plain load": (
        LOAD, "const I::Operand b = *(const I::Operand*)(", "operand-provenance/unexplained", "slots of B hold other",
        "", "",
    ),
    "behind a branch": (
        LOAD, "I::Operand b = {}; if (lane != 7) b = I::transposed(", "memory/transposing-lanes-off",
        "while lanes are off", "", "",
    ),
    "rows that are not aligned": (
        "+ column_named(lane)]", "+ column_named(lane) + (k == 0 ? 4 : 0)]", "memory/misaligned",
        "misaligned transposing read of", "", "",
    ),
}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("kernel", ["tr16", "tr8-wave64"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_addresses_are_named(name: str, kernel: str, tmp_path: Path) -> None:
    old, new, rule, words, begins, ends = WRONG[name]
    shutil.copy(RDNA4 / "layoutprobe.toml", tmp_path)
    text = (RDNA4 / "tr.hip").read_text()
    assert text.count(old) == 1
    (tmp_path / "tr.hip").write_text(text.replace(old, new))
    case = case_of(kernel, tmp_path)
    verdict = check_kernel(replace(case, sizes=case.sizes[-1:]), "gfx1201", CHECKS)
    assert not verdict.error
    (found,) = verdict.findings
    assert found.rule.id == rule
    assert words in found.what
    assert found.blocks.startswith(begins)
    assert found.blocks.endswith(ends)
    if begins:
        assert (found.place.instruction or "").startswith("global_load_tr_b")


def test_views_say_where_lanes_part(tmp_path: Path) -> None:
    shutil.copy(RDNA4 / "layoutprobe.toml", tmp_path)
    text = (RDNA4 / "tr.hip").read_text()
    (tmp_path / "tr.hip").write_text(text.replace(ROW, "{ return lane % 8; }"))
    kernel: Inspection = look_into(case_of("tr16-wave64", tmp_path))
    for view in (RAW, RECEIVED):
        report = kernel.operand("B", 0, view=view)
        assert report.exit_code == 1
        assert report.coverage is not None
        assert report.coverage.fold == "rows fold by 8"
        assert "256 bytes of global memory" in dict(report.about)["look at"]


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_the_probe(matrix: str, dtype: str) -> None:
    """What the instruction reads is AMD's calculator's; what is received, what the documents make of what is raw."""
    seen = {view: dump(matrix, arch="gfx1201", dtype=dtype, view=view) for view in VIEWS}
    assert {report.exit_code for report in seen.values()} == {0}
    raw, received, packed = (np.stack(k_and_col(seen[view].loaded)) for view in VIEWS)
    assert np.array_equal(received, packed)
    wave, lane, _ = np.indices(packed.shape[1:])
    assert np.array_equal(packed[0], np.broadcast_to(wanted_k(16, 32), packed.shape[1:]))
    assert np.array_equal(packed[1], 16 * wave + lane % 16)
    for lane_from in range(32):
        for element in range(8):
            to_lane, to = goes_to(lane_from, element, 32)
            assert np.array_equal(received[:, :, to_lane, to], raw[:, :, lane_from, element])
    assert seen[RAW].lds_form == ""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("const int k = k_of(lane, lane % kSide);", "const int k = k_of(lane, lane % kSide / 2 * 2);"),
        ("+ lane / kSide % 2 * kSide", "+ lane % 2 * kSide"),
        ("at % kK * kM + at / kK", "at"),
    ],
)
def test_wrong_probes_are_red(old: str, new: str, tmp_path: Path) -> None:
    folder = edited(tmp_path, "transposing.hip", old, new)
    matrix = "A" if new == "at" else "B"
    for view in (RAW, PACKED):
        assert dump(matrix, arch="gfx1201", view=view, probes=folder).exit_code == 1


def test_what_the_probe_cannot_show_is_refused() -> None:
    with pytest.raises(UsageError, match="read global memory: nothing goes through LDS"):
        dump("B", "xor", arch="gfx1201", view=RAW)
    with pytest.raises(UsageError, match="gfx1151 has no transposing loads"):
        dump("B", arch="gfx1151", view=RAW)
