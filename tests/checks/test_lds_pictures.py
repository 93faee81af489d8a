"""Pictures of LDS beside findings: each dword beside the address functions of docs/gemm64.hip, written here again."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutprobe
from layoutprobe.render import formats
from layoutprobe.report.gate import GateReport, lds_key
from layoutprobe.report.lds_picture import ROLES, LdsPicture

GEMM = Path(__file__).resolve().parents[2] / "docs" / "gemm64.toml"


@cache
def checked(kernel: str) -> GateReport:
    return layoutprobe.check(GEMM, kernels=[kernel])


def drawn(report: GateReport, rule: str, matrix: str) -> LdsPicture:
    (verdict,) = report.verdicts
    found = [one for (id_, _, m), one in verdict.pictures.lds.items() if (id_, m) == (rule, matrix)]
    assert found, list(verdict.pictures.lds)
    return found[0]


def dwords(picture: LdsPicture, *roles: str) -> set[int]:
    """Which of LDS have one of these roles."""
    flat = np.isin(picture.role.ravel(), [ROLES.index(role) for role in roles])
    return set((picture.first // 4 + np.flatnonzero(flat)).tolist())


def swizzled(row: NDArray[np.int64], chunk: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Byte of a chunk of eight halves in a tile: chunk_at of the source."""
    return 64 * row + 16 * ((chunk ^ row >> 1) & 3)


def in_dwords(first: NDArray[np.int64]) -> set[int]:
    """Those of 16 bytes from each of these."""
    return set((first[:, None] // 4 + np.arange(4)).ravel().tolist())


def test_a_race_shows_both_accesses_and_where_they_meet() -> None:
    """The store is that of threads 64 to 95: rows 16 to 23 of A's first buffer; the load one chunk of 16 rows."""
    report = checked("barrier")
    (found,) = report.verdicts[0].findings
    picture = drawn(report, found.rule.id, "")
    assert (found.place.wave, found.related[0].place.wave) == (2, 1)
    thread = 64 + np.arange(32)
    assert dwords(picture, "one", "both") == in_dwords(swizzled(thread // 4, thread % 4))
    loads = [in_dwords(swizzled(16 + np.arange(16), chunk)) for chunk in (1, 3)]
    assert dwords(picture, "other", "both") in loads
    assert dwords(picture, "both") == dwords(picture, "one", "both") & dwords(picture, "other", "both")
    assert found.place.lds_byte is not None
    assert found.place.lds_byte // 4 in dwords(picture, "both")
    assert picture.says["one"] == "wave 2 stores, gemm64.hip:18"
    assert picture.says["other"] == f"wave 1 loads, {found.related[0].place.line}".replace("docs/", "")
    assert picture.note.startswith(
        f"at byte {found.place.lds_byte}, bank {found.place.lds_byte // 4 % 32}, lane "
    )


def test_a_swizzle_on_one_side_shows_where_elements_lie_and_where_they_are_looked_for() -> None:
    """Chunks 2 and 3 of rows 16 to 31 are looked for where no swizzle would put them."""
    report = checked("swizzle")
    picture = drawn(report, "swizzle/lds-one-sided", "A")
    row = np.repeat(16 + np.arange(16), 2)
    chunk = np.tile([2, 3], 16)
    plain, lies = 64 * row + 16 * chunk, swizzled(row, chunk)
    astray = plain != lies
    assert dwords(picture, "one", "both") == in_dwords(plain[astray])
    assert dwords(picture, "other", "both") == in_dwords(lies[astray])
    assert dwords(picture, "stored", "one", "other", "both") <= set(range(64 * 64 // 4))
    assert picture.note.startswith(f"{8 * int(astray.sum())} of 256 elements are looked for in a wrong place")


@pytest.mark.parametrize("kernel", ["barrier", "swizzle"])
def test_the_page_has_the_picture(kernel: str) -> None:
    report = checked(kernel)
    stream = io.StringIO()
    formats.find("gate", "html").write(report, stream)
    (verdict,) = report.verdicts
    (found,) = verdict.findings
    picture = verdict.pictures.lds[lds_key(found)]
    for role, text in picture.says.items():
        assert (text in stream.getvalue()) == bool(dwords(picture, role)), role
    assert picture.note.split(",")[0] in stream.getvalue()


@pytest.mark.parametrize("kernel", ["right", "epilogue", "tail"])
def test_others_have_none(kernel: str) -> None:
    assert not checked(kernel).verdicts[0].pictures.lds


COLLIDING = """#include <hip/hip_runtime.h>
extern "C" __global__ void half(int* out) {
  __shared__ unsigned short tile[64];
  tile[threadIdx.x & 15 | threadIdx.x >> 5 << 4] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x & 31];
}
extern "C" __global__ void waves(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x & 31] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x & 31];
}
"""
ENTRY = """[[kernel]]
name = "{0}"
source = "colliding.hip"
symbol = "{0}"
block = [64]
grid = [1]
sizes = [{{}}]
contract = {{ kind = "none" }}
argument = [{{ name = "out", role = "out", dtype = "i32", shape = [64] }}]
"""


def test_stores_that_meet_show_where_they_do(tmp_path: Path) -> None:
    """Halves of a dword are neighbours, and no meeting: lanes 16 apart meet, and so do waves."""
    (tmp_path / "colliding.hip").write_text(COLLIDING)
    manifest = tmp_path / "layoutprobe.toml"
    manifest.write_text("\n".join(ENTRY.format(name) for name in ("half", "waves")))
    half, waves = layoutprobe.check(manifest, checks=["races"]).verdicts
    lanes, pair = (drawn(GateReport("", (one,), ""), one.findings[0].rule.id, "") for one in (half, waves))
    assert half.findings[0].rule.id == "races/lost-store"
    first = 8 * (half.findings[0].place.wave or 0)
    assert dwords(lanes, "both") == set(range(first, first + 8))
    assert lanes.says["both"] == "several of its lanes store here at once"
    assert "lane 0 of wave 0 and lane 16 of wave 0 meet" in lanes.note
    assert dwords(pair, "both") == set(range(32))
    assert pair.note == "at byte 0, bank 0, lane 0 of wave 1 and lane 0 of wave 0 meet"
