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


def result_of(*body: str, lds: int = 256, target: str = "gfx942", block: int = 64) -> CheckResult:
    text = "\n".join(f"  {inst}" for inst in ("s_mov_b32 m0, 0", ADDRESS, *body))
    code = scaffolded(text, target=target, wave_size=64, lds=lds, vgprs=64, first_accvgpr=32)
    data = np.arange(512, dtype=np.uint32)
    return verdict(waits.CHECK, launch(code, [data, np.zeros(512, np.uint32)], block=block))


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


# Loads that go directly to LDS, against LDS accesses of the same wave.

DIRECT = "global_load_lds_dword v1, s[4:5]"
ELSEWHERE = ("s_movk_i32 m0, 0x100", "s_nop 0")
READ = "ds_read_b32 v2, v1"
ENDS = ("s_waitcnt vmcnt(0) lgkmcnt(0)",)

ARRIVED = {
    "waited for": (DIRECT, "s_waitcnt vmcnt(0)", READ),
    "as many may be outstanding as came later": (
        DIRECT, *ELSEWHERE, DIRECT, NEXT, "s_waitcnt vmcnt(2)", READ,
    ),
    "stores count, too": (DIRECT, STORE, "s_waitcnt vmcnt(1)", READ),
    "another place": (DIRECT, "ds_read_b32 v2, v1 offset:256"),
    "another place by M0": (*ELSEWHERE, DIRECT, READ),
    "another place by the offset": ("global_load_lds_dword v1, s[4:5] offset:256", READ),
    "lanes that are off": (
        "s_mov_b64 exec, 0xffff", DIRECT, "s_mov_b64 exec, -1",
        "v_cmpx_lt_u32_e64 exec, 15, v0", READ,
    ),
    "no lane at all": (DIRECT, "s_mov_b64 exec, 0", NEXT, DIRECT, "s_mov_b64 exec, -1", "s_waitcnt vmcnt(2)", READ),
    "read before": (READ, "s_waitcnt lgkmcnt(0)", DIRECT),
    "read before, and counted": (READ, "ds_read_b32 v3, v1 offset:256", "s_waitcnt lgkmcnt(1)", DIRECT),
    "one after the other": (DIRECT, DIRECT),
}  # fmt: skip


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("case", ARRIVED)
def test_what_goes_directly_to_lds_and_is_waited_for_holds(case: str, target: str) -> None:
    result = result_of(
        "ds_write_b32 v1, v0", "s_waitcnt lgkmcnt(0)", *ARRIVED[case], *ENDS, lds=1024, target=target
    )
    assert result.status == "holds", result


_BUFFER = (
    "s_mov_b64 s[8:9], s[4:5]", "s_mov_b32 s10, 0x800", "s_mov_b32 s11, 0x00020000",
    "buffer_load_dword v1, s[8:11], 0 offen lds",
)  # fmt: skip
EARLY = "waits/lds-before-wait"
OVERTAKEN = "waits/lds-overwritten-before-wait"
NOT_ARRIVED = {
    "never waited for": ((DIRECT, READ), EARLY, "ds_read_b32 reads LDS"),
    "nor is a load of a buffer": ((*_BUFFER, READ), EARLY, "ds_read_b32 reads LDS to which buffer_load_dword"),
    "the wrong counter": ((DIRECT, "s_waitcnt lgkmcnt(0)", READ), EARLY, "ds_read_b32 reads LDS"),
    "a barrier is no wait": ((DIRECT, "s_barrier", READ), EARLY, "ds_read_b32 reads LDS"),
    "the wait is too weak": ((DIRECT, *ELSEWHERE, DIRECT, "s_waitcnt vmcnt(2)", READ), EARLY, "reads LDS"),
    "the last of two": (
        (*ELSEWHERE, DIRECT, "s_mov_b32 m0, 0", "s_nop 0", DIRECT, "s_waitcnt vmcnt(1)", READ), EARLY, "reads LDS",
    ),
    "stored to before it arrives": ((DIRECT, "ds_write_b32 v1, v0"), EARLY, "ds_write_b32 overwrites LDS"),
    "half of the lanes": (
        ("s_mov_b64 exec, 0xffff", DIRECT, "s_mov_b64 exec, -1", READ), EARLY, "ds_read_b32 reads LDS",
    ),
    "one of two reads": ((DIRECT, "ds_read2_b32 v[2:3], v1 offset0:64"), EARLY, "ds_read2_b32 reads LDS"),
    "read, and not waited for": ((READ, DIRECT), OVERTAKEN, "goes to LDS that the wave is still loading from"),
    "an older read, counted": (
        ("ds_read_b32 v3, v1 offset:256", READ, "s_waitcnt lgkmcnt(1)", DIRECT), OVERTAKEN, "goes to LDS",
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("case", NOT_ARRIVED)
def test_what_goes_directly_to_lds_is_not_there_by_itself(case: str, target: str) -> None:
    body, rule, words = NOT_ARRIVED[case]
    stored = ("ds_write_b32 v1, v0", "ds_write_b32 v1, v0 offset:256", "s_waitcnt lgkmcnt(0)")
    finding = only(result_of(*stored, *body, *ENDS, lds=1024, target=target))
    assert finding.rule.id == rule
    assert words in finding.what
    wait = "lgkmcnt" if rule == OVERTAKEN else "vmcnt"
    assert finding.expected.startswith(f"s_waitcnt {wait}(0), or as many as were issued later")


def test_a_transposing_read_of_what_the_wave_loads_to_lds_itself_must_wait() -> None:
    """Lanes name eight bytes each: 32 of them those that the load still has to write."""
    stored = ("ds_write_b32 v1, v0", "ds_write_b32 v1, v0 offset:256", "s_waitcnt lgkmcnt(0)")
    read = ("v_lshlrev_b32_e32 v4, 3, v0", "ds_read_b64_tr_b16 v[2:3], v4")
    waited = (*stored, DIRECT, "s_waitcnt vmcnt(0)", *read, *ENDS)
    assert result_of(*waited, lds=1024, target="gfx950").status == "holds"
    finding = only(result_of(*stored, DIRECT, *read, *ENDS, lds=1024, target="gfx950"))
    assert finding.rule.id == EARLY
    assert "ds_read_b64_tr_b16 reads LDS" in finding.what


def test_the_widest_load_to_lds_is_followed_to_its_last_dword() -> None:
    body = (
        "v_lshlrev_b32_e32 v1, 4, v0",
        "global_load_lds_dwordx4 v1, s[4:5]",
        "v_lshlrev_b32_e32 v3, 4, v0",
    )
    late = (*body, "s_waitcnt vmcnt(1)", "ds_read_b32 v2, v3 offset:12", *ENDS)
    assert only(result_of(*late, lds=1024, target="gfx950")).rule.id == EARLY
    assert result_of(*late, lds=1024, target="gfx950").findings[0].count == 64


PIPELINE = """\
v_readfirstlane_b32 s2, v0
s_lshl_b32 s2, s2, 2
v_xor_b32_e32 v2, 0x100, v1
v_mov_b32_e32 v5, 0
s_mov_b32 s8, 0
s_mov_b32 s10, 4
s_mov_b32 m0, s2
s_nop 0
global_load_lds_dword v1, s[4:5]
loop:
s_xor_b32 s9, s8, 0x200
s_add_u32 m0, s2, s9
s_nop 0
global_load_lds_dword v1, s[4:5]
s_waitcnt vmcnt({left})
s_barrier
v_add_u32_e32 v4, s8, v2
ds_read_b32 v3, v4
s_waitcnt lgkmcnt({reads})
s_barrier
s_waitcnt lgkmcnt(0)
v_add_u32_e32 v5, v5, v3
s_mov_b32 s8, s9
s_add_i32 s10, s10, -1
s_cmp_lg_u32 s10, 0
s_cbranch_scc1 loop
global_store_dword v1, v5, s[6:7]
s_waitcnt vmcnt(0) lgkmcnt(0)"""
"""Two waves, two buffers: each reads what the other one's load has brought, while the next one is outstanding."""


def test_a_load_to_lds_may_be_outstanding_over_barriers_while_nobody_needs_it() -> None:
    body = PIPELINE.format(left=1, reads=0).split("\n")
    result = result_of(*body, lds=1024, block=128)
    assert result.status == "holds", result


@pytest.mark.parametrize(("left", "reads", "access"), [(2, 0, "store"), (1, 1, "load")])
def test_what_is_outstanding_at_the_barrier_is_late(left: int, reads: int, access: str) -> None:
    finding = only(result_of(*PIPELINE.format(left=left, reads=reads).split("\n"), lds=1024, block=128))
    assert finding.rule.id == "waits/lds-at-barrier"
    assert f"an LDS {access} is outstanding at the barrier" in finding.what


def test_a_load_that_is_outstanding_at_the_barrier_and_never_used_harms_nobody() -> None:
    """Compilers wait where a value is used: on the path on which it is not, they need not."""
    body = PIPELINE.replace("v_add_u32_e32 v5, v5, v3", "v_add_u32_e32 v5, v5, v1")
    result = result_of(*body.format(left=1, reads=1).split("\n"), lds=1024, block=128)
    assert result.status == "holds", result


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
