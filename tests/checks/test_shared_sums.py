"""Sums over k that several workgroups share: stream-K and split-K, by atomics and a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from checks.gemm_lab import CHECKS, KERNELS, SIZES, Edit, Results, buffers, checked, edited, line, only

from layoutprobe.checks import epilogue, operand_provenance
from layoutprobe.checks.base import Check

PROVENANCE, EPILOGUE = operand_provenance.NAME, epilogue.NAME
MIXED = "M = 32, N = 40, K = 48"
"""Of four tiles two are split, and a wave of two has columns beyond N alone."""
SPLIT = "M = 16, N = 32, K = 64"
"""One tile, of two workgroups."""

SCALE = """
    { name = "scale", role = "in", dtype = "f32", shape = ["N"] },"""


def streamk(
    folder: Path,
    *edits: Edit,
    sizes: Sequence[str] = (MIXED,),
    scaled: bool = False,
    checks: Sequence[Check] = CHECKS,
) -> Results:
    """The stream-K kernel for three workgroups."""
    tiles = "(M + 15) / 16 * ((N + 31) / 32)"
    arguments = f"""
    {{ name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" }},
    {{ name = "B", role = "in", dtype = "f16", shape = ["K", "N"], matrix = "B" }},
{SCALE if scaled else ""}
    {{ name = "C", role = "out", dtype = "f16", shape = ["M", "N"], matrix = "D" }},
    {{ name = "ws", role = "inout", dtype = "f32", shape = ["{tiles} * 512"], initial = "zero" }},
    {{ name = "done", role = "inout", dtype = "i32", shape = ["{tiles}"], initial = "zero" }},"""
    return checked(
        folder,
        edited((KERNELS / "gemm_streamk.hip").read_text(), edits),
        arguments + SIZES,
        grid="[3]",
        block=64,
        sizes=sizes,
        contract='kind = "gemm"' + (', scales = ["scale"]' if scaled else ""),
        defines="SCALED = 1" if scaled else "",
        checks=checks,
    )


CLAMPED = (
    ("m0 + line < M && k < K ? A[(m0 + line) * K", "k < K ? A[min(m0 + line, M - 1) * K"),
    ("n0 + line < N && k < K ? B[k * N + n0 + line]", "k < K ? B[k * N + min(n0 + line, N - 1)]"),
)
"""Rows and columns beyond the edge are computed from those at the edge, and never stored."""
RIGHT = {
    "whole and split tiles": ((), MIXED, False),
    "split tiles": ((), SPLIT, False),
    "clamped edges": (CLAMPED, "M = 24, N = 40, K = 48", False),
    "a factor": ((), MIXED, True),
    "a factor on tiles that are all split": ((), SPLIT, True),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", RIGHT)
def test_tiles_that_workgroups_share_hold(tmp_path: Path, name: str) -> None:
    """What is beyond the edge is never stored, and needs no sum."""
    edits, size, scaled = RIGHT[name]
    results = streamk(tmp_path, *edits, sizes=(size,), scaled=scaled)
    assert {name: result.status for name, result in results.items()} == dict.fromkeys(results, "holds")
    assert all("several accumulators are added up" in results[name].reason for name in (PROVENANCE, EPILOGUE))


ADD = "atomicAdd(part + v * 32 + lane, acc[v])"
INCOMPLETE = "the sum over k is not complete: "
WRONG: dict[str, tuple[tuple[Edit, ...], str, str]] = {
    # Fault: edits, check, words.
    "steps twice": (
        (("s = first; s", "s = max(first - 1, 0); s"),),
        *(PROVENANCE, INCOMPLETE + "k 0-15 added more than once"),
    ),
    "a step left out": (
        (("s = first; s", "s = first + (first > 0); s"),),
        *(PROVENANCE, INCOMPLETE + "k 16-31 never added"),
    ),
    "stored, not added": (
        ((ADD, "part[v * 32 + lane] = acc[v]"),),
        *(
            PROVENANCE,
            INCOMPLETE + "k 32-47 never added, as 3 of 12 partial sums are never added where parts",
        ),
    ),
    "added twice": (
        ((ADD, f"{{ {ADD}; if (first > 0) {ADD}; }}"),),
        PROVENANCE,
        INCOMPLETE + "k 16-47 added more than once, as 3 of 12 are added twice where parts are added up",
    ),
    "a register left out": (
        ((ADD, f"if (v < 7) {ADD}"),),
        PROVENANCE,
        INCOMPLETE + "k 0-47 never added, as elements of 9 of 12 partial sums are never added",
    ),
    "another tile": (
        (("ws + tile * 512", "ws + (tile ^ (first > 0)) * 512"),),
        *(EPILOGUE, "columns of a tile of C are stored to other columns: 0 1 2 3 4 5 6 7 go to 32 33 34"),
    ),
    "other lanes": (
        ((ADD, ADD.replace("+ lane", "+ (first > 0 ? lane ^ 1 : lane)")),),
        *(EPILOGUE, "columns of a tile of C are stored to other columns: 0 1 2 3 4 5 6 7 ... go to 1 0 3 2"),
    ),
    "other lanes at clamped edges": (
        ((ADD, ADD.replace("+ lane", "+ (first > 0 ? lane ^ 1 : lane)")), *CLAMPED),
        *(EPILOGUE, "slots of C hold other elements than the store takes them for"),
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WRONG)
def test_a_share_that_is_wrong(tmp_path: Path, name: str) -> None:
    edits, check, words = WRONG[name]
    results = streamk(tmp_path, *edits, checks=CHECKS[:2])
    finding = results[check].findings[0]
    assert finding.what.startswith(words), results[check]
    if "partial sums" in words:
        assert finding.place.line == line(tmp_path, "acc[v]"), "where they are handed over"
    if check == EPILOGUE:
        assert finding.related[-1].place.line == line(tmp_path, "acc[v]")


def test_a_tile_that_two_waves_compute_and_one_stores_is_no_sum(tmp_path: Path) -> None:
    """The other one's accumulator is left out, and nothing is missed."""
    one = ("wave * 16;", "0;"), ("tile * 512 + wave * 256", "tile * 512"), (ADD, f"if (wave == 0) {ADD}")
    half = ("across = (N + 31) / 32", "across = (N + 15) / 16"), ("tile % across * 32", "tile % across * 16")
    results = streamk(tmp_path, *one, *half, sizes=("M = 16, N = 16, K = 64",), checks=CHECKS[:2])
    assert [result.status for result in results.values()] == ["holds", "holds"], results


def test_what_an_output_held_is_added(tmp_path: Path) -> None:
    """Nobody has set it to zero, though partial sums are added to it."""
    source = (KERNELS / "gemm_slices.hip").read_text()
    grid = '["(M + 15) / 16", "(N + 15) / 16", "(K + 31) / 32"]'
    arguments = buffers().replace('matrix = "C"', 'matrix = "D"') + SIZES
    size = ("M = 16, N = 24, K = 40",)
    results = checked(
        tmp_path, source, arguments, grid=grid, block=64, sizes=size, checks=CHECKS[2:], arch="gfx942"
    )
    assert only(results["numerics"]).what.endswith(
        "what the output held before the launch is added, and nothing sets it to zero"
    )
