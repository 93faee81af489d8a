"""Waits of RDNA4: a dropped or too weak one is named with load and use; what the counters guarantee is green."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import launch, verdict
from scaffold import scaffolded

from layoutprobe.backends.base import Buffer
from layoutprobe.checks import waits
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.isa.store import load_instructions
from layoutprobe.observe.happens_before import is_of_card
from layoutprobe.report.gate import CheckResult
from layoutprobe.toolchain.compile import assemble, compile_hip

GEMM = Path(__file__).parent / "kernels" / "gemm.hip"
ADDRESS = "v_lshlrev_b32_e32 v1, 2, v0"
LOAD = "global_load_b32 v2, v1, s[4:5]"
NEXT = "global_load_b32 v3, v1, s[4:5] offset:128"
STORE = "global_store_b32 v1, v2, s[6:7]"
SCALARS = ("s_load_b32 s8, s[4:5], 0x0", "s_load_b32 s9, s[4:5], 0x4")


def result_of(*body: str, lds: int = 0, block: int = 32) -> CheckResult:
    text = "\n".join(f"  {inst}" for inst in (ADDRESS, *body))
    code = scaffolded(text, target="gfx1200", lds=lds)
    data = np.arange(256, dtype=np.uint32)
    return verdict(waits.CHECK, launch(code, [data, np.zeros(256, np.uint32)], block=block))


ENOUGH = {
    "each counter": (
        *(LOAD, NEXT, "s_wait_loadcnt 0x1", STORE, "s_wait_loadcnt 0x0", "v_add_nc_u32_e32 v2, v2, v3"),
        *("ds_store_b32 v1, v2", "s_wait_dscnt 0x0", "s_barrier_signal -1", "s_barrier_wait -1"),
        *("ds_load_b32 v4, v1", "s_wait_dscnt 0x0", "v_mov_b32_e32 v2, v4", STORE),
        *(*SCALARS, "s_wait_kmcnt 0x0", "s_add_co_i32 s8, s8, s9"),
    ),
    "two counters at once": (
        *(LOAD, "ds_load_b32 v4, v1", NEXT, "s_wait_loadcnt_dscnt 0x100", "v_mov_b32_e32 v5, v4"),
        *("v_mov_b32_e32 v5, v2",),
    ),
    "a scalar load does not count with LDS": ("ds_load_b32 v4, v1", SCALARS[0], "s_wait_dscnt 0x0",
                                              "v_mov_b32_e32 v5, v4"),
    "invalidating a cache counts with the loads": (
        *(LOAD, "global_inv scope:SCOPE_DEV", "s_wait_loadcnt 0x1", STORE),
    ),
    "writing back counts with the stores": (LOAD, "global_wb scope:SCOPE_DEV", "s_wait_loadcnt 0x0", STORE),
    "everything": (LOAD, *SCALARS, "s_wait_idle", STORE, "s_add_co_i32 s8, s8, s9"),
}  # fmt: skip


@pytest.mark.parametrize("case", ENOUGH)
def test_what_the_counters_guarantee_holds(case: str) -> None:
    result = result_of(*ENOUGH[case], lds=256)
    assert (result.status, result.findings) == ("holds", ()), result


MISSING = {
    # Instructions: words, what is expected.
    "no wait": ((LOAD, STORE), "global_store_b32 reads v2 while global_load_b32", "s_wait_loadcnt 0"),
    "the first of two needs the second not": (
        (LOAD, NEXT, "v_mov_b32_e32 v5, v2"), "v_mov_b32 reads v2", "s_wait_loadcnt 1",
    ),
    "too weak": (
        (LOAD, NEXT, "s_wait_loadcnt 0x1", "v_mov_b32_e32 v5, v3"), "v_mov_b32 reads v3", "s_wait_loadcnt 0",
    ),
    "the wrong counter": ((LOAD, "s_wait_dscnt 0x0", STORE), "reads v2", "s_wait_loadcnt 0"),
    "a wait for stores": ((LOAD, "s_wait_storecnt 0x0", STORE), "reads v2", "s_wait_loadcnt 0"),
    "all ones": ((LOAD, "s_wait_loadcnt 0x3f", STORE), "reads v2", "s_wait_loadcnt 0"),
    "LDS": (("ds_load_b32 v4, v1", "v_mov_b32_e32 v5, v4"), "v_mov_b32 reads v4", "s_wait_dscnt 0"),
    "LDS, in the pair": (
        (LOAD, "ds_load_b32 v4, v1", "s_wait_loadcnt_dscnt 0x1", "v_mov_b32_e32 v5, v4"),
        *("v_mov_b32 reads v4", "s_wait_dscnt 0"),
    ),
    "the load, in the pair": (
        (LOAD, "ds_load_b32 v4, v1", "s_wait_loadcnt_dscnt 0x100", "v_mov_b32_e32 v5, v2"),
        *("v_mov_b32 reads v2", "s_wait_loadcnt 0"),
    ),
    "the pair of stores and LDS": (
        (LOAD, "s_wait_storecnt_dscnt 0x0", STORE), "reads v2", "s_wait_loadcnt 0",
    ),
    "scalar loads wait for kmcnt": (
        (*SCALARS, "s_wait_dscnt 0x0", "s_mov_b32 s10, s9"), "s_mov_b32 reads s9", "s_wait_kmcnt 0",
    ),
    "scalar loads come in any order": (
        (*SCALARS, "s_wait_kmcnt 0x1", "s_mov_b32 s10, s8"), "s_mov_b32 reads s8", "s_wait_kmcnt 0",
    ),
    "overwritten": ((LOAD, "v_mov_b32_e32 v2, 0"), "v_mov_b32 overwrites v2", "s_wait_loadcnt 0"),
    "writing back is no load": (
        (LOAD, "global_wb scope:SCOPE_DEV", "s_wait_loadcnt 0x1", STORE), "reads v2", "s_wait_loadcnt 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISSING)
def test_a_missing_wait_is_named(case: str) -> None:
    body, what, expected = MISSING[case]
    finding = only(result_of(*body, lds=256))
    assert what in finding.what
    assert finding.expected.startswith(expected + " or less before ")


def handed_over(first: str, between: str = "", second: str = "") -> CheckResult:
    """Two waves: each stores a word, and loads the other wave's behind the barrier."""
    return result_of(
        "ds_store_b32 v1, v0",
        *filter(None, [first, "s_barrier_signal -1", between, "s_barrier_wait -1", second]),
        *("v_xor_b32_e32 v3, 0x80, v1", "ds_load_b32 v2, v3", "s_wait_dscnt 0x0", STORE),
        lds=256,
        block=64,
    )


def test_a_store_is_waited_for_before_the_signal() -> None:
    assert handed_over("s_wait_dscnt 0x0").status == "holds"
    for late in (
        handed_over(""),
        handed_over("", "s_wait_dscnt 0x0"),
        handed_over("", "", "s_wait_dscnt 0x0"),
    ):
        finding = only(late)
        assert finding.what.startswith("an LDS store is outstanding at the barrier")
        assert finding.expected.startswith("s_wait_dscnt 0 between ")
        assert " and s_barrier_signal at kernel.s:" in finding.expected


# Compiled code: every wait that a result depends on is missed when it is dropped.


def gemm(assembly: str) -> CheckResult:
    code: CodeObject = load(assemble(assembly, target="gfx1200").data)
    m, n, k = 16, 64, 32
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 9, (m, k)).astype(np.float16), rng.integers(0, 9, (k, n)).astype(np.float16)
    args = [a, b, Buffer(np.zeros((m, n), np.float32), undefined=True), *(np.uint32(x) for x in (m, n, k))]
    return verdict(waits.CHECK, launch(code, args, kernel="gemm", block=128))


@pytest.mark.long
def test_every_wait_of_a_compiled_gemm_is_needed() -> None:
    assembly = compile_hip(GEMM, target="gfx1200").assembly
    assert gemm(assembly).status == "holds"
    found = list(re.finditer(r"^\ts_wait_(load|ds|km|loadcnt_ds)cnt.*\n", assembly, re.M))
    assert {match[1] for match in found} >= {"load", "ds", "km"}
    for match in found:
        rest = assembly[match.end() :]
        # Loads of global memory are also waited for where a barrier releases them, though none is used there.
        spare = re.match(r"(?:\t\.loc.*\n)*\ts_barrier_signal", rest) and match[1] == "load"
        assert gemm(assembly[: match.start()] + rest).status == ("holds" if spare else "finding"), match[0]


@pytest.mark.parametrize(
    ("target", "fence", "of_card"),
    [
        ("gfx1200", "global_inv scope:SCOPE_SE", False),
        ("gfx1200", "global_inv scope:SCOPE_DEV", True),
        ("gfx1200", "global_wb scope:SCOPE_SYS", True),
        ("gfx1151", "buffer_gl0_inv", False),
        ("gfx1151", "buffer_gl1_inv", True),
    ],
)
def test_the_fence_of_a_barrier_is_for_its_own_workgroup(target: str, fence: str, of_card: bool) -> None:
    """So that a kernel with barriers alone is not one whose workgroups wait for each other."""
    code = scaffolded(f"  {fence}", target=target)
    insts = load_instructions(code, code.kernel("k")).values()
    assert any(is_of_card(inst) for inst in insts) is of_card
