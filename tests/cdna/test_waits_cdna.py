"""Waits of GFX9: stores and loads to LDS count with the loads, FLAT is done in no order."""

from __future__ import annotations

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import launch, verdict
from scaffold import scaffolded

from layoutprobe.checks import waits
from layoutprobe.isa.dialect import known
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.observe.counters import operation
from layoutprobe.observe.counters import waits as limits
from layoutprobe.report.gate import CheckResult

ADDRESS = "v_lshlrev_b32_e32 v1, 2, v0"
LOAD = "global_load_dword v2, v1, s[4:5]"
NEXT = "global_load_dword v3, v1, s[4:5] offset:128"
STORE = "global_store_dword v1, v0, s[6:7]"
USE = "v_mov_b32_e32 v5, v2"
FLAT = ("v_mov_b32_e32 v8, s4", "v_mov_b32_e32 v9, s5", "flat_load_dword v2, v[8:9]")
SCALAR = "s_load_dword s8, s[4:5], 0x0"


def result_of(*body: str, lds: int = 256, target: str = "gfx942") -> CheckResult:
    text = "\n".join(f"  {inst}" for inst in ("s_mov_b32 m0, 0", ADDRESS, *body))
    code = scaffolded(text, target=target, wave_size=64, lds=lds, vgprs=64, first_accvgpr=32)
    data = np.arange(512, dtype=np.uint32)
    return verdict(waits.CHECK, launch(code, [data, np.zeros(512, np.uint32)], block=64))


ENOUGH = {
    "one of two loads": (LOAD, NEXT, "s_waitcnt vmcnt(1)", USE),
    "a store counts with the loads": (LOAD, STORE, "s_waitcnt vmcnt(1)", USE),
    "so does writing back a cache": (LOAD, "buffer_wbl2 sc1", "s_waitcnt vmcnt(1)", USE),
    "invalidating does not": (LOAD, NEXT, "buffer_inv sc1", "s_waitcnt vmcnt(1)", USE),
    "LDS": ("ds_read_b32 v2, v1", "ds_read_b32 v3, v1", "s_waitcnt lgkmcnt(1)", USE),
    "scalars": (SCALAR, "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v5, s8"),
    "FLAT, by both": (*FLAT, "s_waitcnt vmcnt(0) lgkmcnt(0)", USE),
    "into AccVGPRs": ("global_load_dword a2, v1, s[4:5]", "v_mov_b32_e32 v5, v1", "s_waitcnt vmcnt(0)",
                      "v_accvgpr_read_b32 v5, a2"),
    "an AccVGPR is no VGPR": ("global_load_dword a2, v1, s[4:5]", "v_mov_b32_e32 v2, v1", USE,
                              "s_waitcnt vmcnt(0)"),
}  # fmt: skip


@pytest.mark.parametrize("case", ENOUGH)
def test_what_the_counters_guarantee_holds(case: str) -> None:
    result = result_of(*ENOUGH[case])
    assert (result.status, result.findings) == ("holds", ()), result


MISSING = {
    # Instructions: words, what is expected.
    "no wait": ((LOAD, USE), "v_mov_b32 reads v2 while global_load_dword", "s_waitcnt vmcnt(0)"),
    "the second needs its own wait": (
        (LOAD, NEXT, "s_waitcnt vmcnt(1)", "v_mov_b32_e32 v5, v3"),
        *("v_mov_b32 reads v3", "s_waitcnt vmcnt(0)"),
    ),
    "too weak for a load before a store": ((LOAD, STORE, "s_waitcnt vmcnt(2)", USE), "reads v2", "vmcnt(1)"),
    "the wrong counter": ((LOAD, "s_waitcnt lgkmcnt(0)", USE), "reads v2", "s_waitcnt vmcnt(0)"),
    "LDS by vmcnt": (("ds_read_b32 v2, v1", "s_waitcnt vmcnt(0)", USE), "reads v2", "s_waitcnt lgkmcnt(0)"),
    "the largest count waits for nothing": (
        ("ds_read_b32 v2, v1", "s_waitcnt lgkmcnt(15)", USE), "reads v2", "s_waitcnt lgkmcnt(0)",
    ),
    "FLAT, by one": ((*FLAT, "s_waitcnt vmcnt(0)", USE), "reads v2", "s_waitcnt lgkmcnt(0)"),
    "FLAT in no order": (
        (*FLAT, NEXT, "s_waitcnt vmcnt(1) lgkmcnt(0)", USE),
        *("v_mov_b32 reads v2 while flat_load_dword", "s_waitcnt vmcnt(0)"),
    ),
    "two scalars in no order": (
        (SCALAR, "s_load_dword s9, s[4:5], 0x4", "s_waitcnt lgkmcnt(1)", "v_mov_b32_e32 v5, s8"),
        *("v_mov_b32 reads s8", "s_waitcnt lgkmcnt(0)"),
    ),
    "an AccVGPR": (
        ("global_load_dword a2, v1, s[4:5]", "v_accvgpr_read_b32 v5, a2"),
        *("v_accvgpr_read_b32 reads a2 while global_load_dword", "s_waitcnt vmcnt(0)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISSING)
def test_a_missing_wait_is_named(case: str) -> None:
    body, words, wanted = MISSING[case]
    finding = only(result_of(*body))
    assert words in finding.what, finding
    assert wanted in str(finding.expected), finding


@pytest.mark.parametrize("name", ["global_load_lds_dword", "buffer_load_dword"])
def test_a_load_to_lds_counts_with_the_loads_and_writes_no_register(name: str) -> None:
    counting = known("gfx942").counting
    inst = Inst(0, 8, name, "MUBUF" if name.startswith("buffer") else "GLOBAL", src=(Operand("v", 1),))
    found = operation(inst, counting)
    assert found is not None
    assert (found.counters, found.ordered, found.targets) == (("vmcnt",), True, frozenset())


def test_the_fields_of_the_wait() -> None:
    """clang: s_waitcnt vmcnt(63) expcnt(2) lgkmcnt(3) is 0xC32F; vmcnt lies in two pieces."""
    counting = known("gfx950").counting

    def of(simm16: int) -> dict[str, int]:
        return limits(Inst(0, 4, "s_waitcnt", "SOPP", mods={"simm16": simm16}), counting)

    assert of(0xC32F) == {"lgkmcnt": 3}
    assert of(0x0F70) == {"vmcnt": 0}
    assert of(0x4F72) == {"vmcnt": 18}
    assert of(0xC07F) == {"lgkmcnt": 0}
