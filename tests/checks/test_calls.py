"""Checks follow a call and its return: waits, wait states, races, coverage, and GEMMs made of functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import buffers, edited, only
from checks.watched import launch, subject, verdict
from scaffold import loads, scaffolded

from layoutprobe.assets import asset_dir
from layoutprobe.checks import races, wait_states, waits
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.observe.coverage import Coverage, CoverageRecorder
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.subject import RunSpec

CALL = ("s_getpc_b64 s[10:11]", "after:", "s_add_u32 s10, s10, function-after", "s_addc_u32 s11, s11, 0",
        "s_swappc_b64 s[30:31], s[10:11]")  # fmt: skip
RETURN = "s_setpc_b64 s[30:31]"


def result_of(
    check: Check, before: tuple[str, ...], function: tuple[str, ...], behind: tuple[str, ...] = (), *,
    target: str = "gfx1151", block: int = 32,
) -> CheckResult:  # fmt: skip
    """A kernel that does something, calls a function, and does something else."""
    wave = 64 if target.startswith("gfx9") else 32
    prologue = loads(2, target) + "\n  v_lshlrev_b32_e32 v1, 2, v0"
    body = (*before, *CALL, *behind, "s_endpgm", "function:", *function, RETURN)
    code = scaffolded(
        "\n".join(f"  {inst}" for inst in body), target=target, wave_size=wave, lds=1024, vgprs=128,
        prologue=prologue, first_accvgpr=64 if wave == 64 else None,
    )  # fmt: skip
    given = [np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)]
    return verdict(check, launch(code, given, block=block))


LOAD, USE = "global_load_b32 v2, v1, s[4:5]", "v_add_nc_u32_e32 v3, v2, v2"
WAIT = "s_waitcnt vmcnt(0)"


@pytest.mark.parametrize(
    ("before", "function", "behind"),
    [
        ((LOAD,), (USE,), (WAIT,)),
        ((), (LOAD,), (USE, WAIT)),
        ((LOAD,), ("v_mov_b32_e32 v4, 0",), (USE, WAIT)),
    ],
    ids=["loaded before, used inside", "loaded inside, used behind", "loaded before, used behind"],
)
def test_loads_stay_outstanding_through_a_call(
    before: tuple[str, ...], function: tuple[str, ...], behind: tuple[str, ...]
) -> None:
    finding = only(result_of(waits.CHECK, before, function, behind))
    assert "v_add_nc_u32 reads v2 while global_load_b32 is outstanding" in finding.what
    waiting = [tuple(inst for step in part for inst in ((WAIT, step) if step == USE else (step,)))
               for part in (before, function, behind)]  # fmt: skip
    assert result_of(waits.CHECK, waiting[0], waiting[1], waiting[2]).status == "holds"


def test_the_address_of_a_return_must_have_arrived() -> None:
    saved = ("v_mov_b32_e32 v4, 0", "v_mov_b32_e32 v2, s30", "v_mov_b32_e32 v3, s31",
             "global_store_b64 v4, v[2:3], s[6:7]", "s_waitcnt_vscnt null, 0x0",
             "s_load_b64 s[30:31], s[6:7], 0x0")  # fmt: skip
    finding = only(result_of(waits.CHECK, (), saved))
    assert "s_setpc_b64 reads s30" in finding.what
    assert result_of(waits.CHECK, (), (*saved, "s_waitcnt lgkmcnt(0)")).status == "holds"


MATRIX = "v_mfma_f32_32x32x8_f16 v[8:23], v[30:31], v[32:33], v[8:23]"
CLEAR = (*(f"v_mov_b32_e32 v{n}, 0" for n in range(8, 40)), "s_nop 15")
NEEDED, ON_THE_WAY = 11, 1
"""Wait states of the table for eight passes; S_SETPC, or S_SWAPPC, is one itself."""


@pytest.mark.parametrize("missing", [0, 1])
def test_wait_states_are_counted_through_a_return(missing: int) -> None:
    nop = f"s_nop {NEEDED - ON_THE_WAY - missing - 1}"
    result = result_of(
        wait_states.CHECK, CLEAR, (MATRIX, nop), ("v_mov_b32_e32 v40, v9",), target="gfx942", block=64
    )
    assert len(result.findings) == missing
    assert result.status == ("finding" if missing else "holds")


@pytest.mark.parametrize("barrier", [True, False])
def test_races_in_a_function_are_found(barrier: bool) -> None:
    function = (
        *("ds_store_b32 v1, v0", "s_waitcnt lgkmcnt(0)", *(["s_barrier"] if barrier else [])),
        *("v_xor_b32_e32 v2, 0x80, v1", "ds_load_b32 v3, v2", "s_waitcnt lgkmcnt(0)"),
    )
    result = result_of(races.CHECK, (), function, ("global_store_b32 v1, v3, s[6:7]",), block=64)
    assert (result.status == "holds") is barrier


def test_loops_of_functions_are_counted() -> None:
    loop = (
        "s_mov_b32 s12, 5",
        "round:",
        "s_sub_u32 s12, s12, 1",
        "s_cmp_lg_u32 s12, 0",
        "s_cbranch_scc1 round",
    )
    given = launch(
        scaffolded("\n".join([*CALL, "s_endpgm", "function:", *loop, RETURN]), target="gfx1151"),
        [np.zeros(32, np.uint32)] * 2,
    )
    seen = subject(given).run(RunSpec(observers=(CoverageRecorder,))).record(Coverage)
    assert [set(counts) for counts in seen.passes.values()] == [{5}]


NOINLINE = "__device__ __attribute__((noinline)) "
PIECES = ("Staged load_checked", "void store_to_lds", "Fragment load_fragment", "void store_tiles")
SHAPES = {
    "the tile is a function": tuple(
        (f"__device__ inline {name}", NOINLINE + name) for name in ("void block_tile",)
    ),
    "loads, LDS and epilogue are functions": tuple(
        (f"__device__ inline {name}", NOINLINE + name) for name in PIECES
    ),
}


def gemm(
    folder: Path, edits: tuple[tuple[str, str], ...], target: str, k: int = 37
) -> dict[str, CheckResult]:
    source = (asset_dir("probes") / "gemm" / "standard.hip").read_text()
    (folder / "kernel.hip").write_text(edited(source, edits))
    scalars = "".join(f'{{ name = "{x}", role = "scalar", dtype = "i32", value = "{x}" }},' for x in "MNK")
    (folder / "layoutprobe.toml").write_text(
        f"""
[[kernel]]
name = "gemm"
source = "kernel.hip"
grid = ["(N + 127) / 128", "(M + 127) / 128"]
block = [256]
include = ["{asset_dir("probes")}"]
sizes = [{{ M = 70, N = 130, K = {k} }}]
contract = {{ kind = "gemm" }}
argument = [{buffers(c_role="out")} {scalars}]
"""
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    found = check_kernel(case, target, CHECKS)
    assert not found.error, found.error
    return {result.check: result for result in found.results}


@pytest.mark.few(1)
@pytest.mark.parametrize("target", ["gfx1151", "gfx1201"])
@pytest.mark.parametrize("shape", SHAPES)
def test_gemms_of_functions_are_green(shape: str, target: str, tmp_path: Path) -> None:
    results = gemm(tmp_path, SHAPES[shape], target)
    assert all(not result.findings for result in results.values())
    assert results["operand-provenance"].status == "holds"
    assert results["waits"].status == "holds"


@pytest.mark.long
def test_a_wrong_offset_in_a_function_is_named_at_its_line(tmp_path: Path) -> None:
    wrong = ("*(u32*)&b_lds[(at.b_col + i) * kStride", "*(u32*)&b_lds[(at.b_col + (i ^ 1)) * kStride")
    results = gemm(tmp_path, (*SHAPES["loads, LDS and epilogue are functions"], wrong), "gfx1151")
    finding = results["operand-provenance"].findings[0]
    text = (tmp_path / "kernel.hip").read_text().split("\n")
    (line,) = (n for n, at in enumerate(text, 1) if "(i ^ 1)" in at)
    assert finding.place.source is not None
    assert finding.place.source.line == line
