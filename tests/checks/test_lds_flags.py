"""Flags, counters and locks in LDS: green where they order the waves, and red at the lines that they leave open."""

from __future__ import annotations

import numpy as np
import pytest
from checks.gemm_lab import KERNELS
from checks.watched import assembly_kernel, launch, verdict

from layoutprobe.checks import races
from layoutprobe.codeobj.elf import load
from layoutprobe.report.gate import CheckResult
from layoutprobe.toolchain.compile import compile_hip

RIGHT = ["handed_over", "relayed", "locked", "last_wave", "two_took", "ringed"]
WRONG = {
    "told_early": ("races/read-after-write", "// takes", "// fills"),
    "unwaited": ("races/write-after-read", "// fills", "// takes"),
    "not_relayed": ("races/read-after-write", "// the third loads", "// stores for the third"),
    "unlocked": ("races/write-after-read", "// adds to the sum", "// adds to the sum"),
    "last_but_one": ("races/read-after-write", "// adds up", "// leaves its part"),
    "ring_told_early": ("races/read-after-write", "// drains", "// puts in"),
    "ring_taken_early": ("races/write-after-read", "// puts in", "// drains"),
}
"""Rule, line of the culprit, line of the other access."""
TARGETS = ["gfx1151", "gfx1201"]


def at(text: str) -> str:
    lines = (KERNELS / "lds_flags.hip").read_text().split("\n")
    (found,) = (i for i, one in enumerate(lines, 1) if text in one)
    return f"lds_flags.hip:{found}"


def result_of(kernel: str, target: str) -> CheckResult:
    code = load(compile_hip(KERNELS / "lds_flags.hip", target=target).data)
    return verdict(races.CHECK, launch(code, [np.zeros(128, np.int32)], kernel=kernel, block=96))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", RIGHT)
def test_waves_that_tell_each_other_through_lds_are_in_order(kernel: str, target: str) -> None:
    result = result_of(kernel, target)
    assert result.status == "holds", result


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", WRONG)
def test_waves_that_are_told_too_early_or_not_at_all(kernel: str, target: str) -> None:
    rule, culprit, other = WRONG[kernel]
    result = result_of(kernel, target)
    assert result.findings[0].rule.id == rule, result
    assert result.findings[0].place.line == at(culprit)
    assert at(other) in {related.place.line for related in result.findings[0].related}


def test_every_kernel_of_the_file_is_judged() -> None:
    code = load(compile_hip(KERNELS / "lds_flags.hip", target="gfx1151").data)
    assert set(code.kernels) == {*RIGHT, *WRONG}


USED = """
  v_cmp_ne_u32_e32 vcc_lo, 77, v4
  s_cbranch_vccz over
  s_nop 0
over:
"""
"""Something depends on what was loaded into v4: races of loads whose values nobody uses are none."""
OUT_OF_LINE = """
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v4, 0
  ds_store_b32 v2, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_cmp_ne_u32_e32 vcc_lo, 0, v0
  s_mov_b32 s9, exec_lo
  s_and_b32 exec_lo, s9, vcc_lo
  s_cbranch_execnz others
  s_branch first
done:
  s_branch end
others:
  ds_load_b32 v4, v2
  s_waitcnt lgkmcnt(0)
  s_xor_b32 exec_lo, s9, exec_lo
  s_cbranch_execz done
first:
  ds_store_b32 v2, v0
  s_waitcnt lgkmcnt(0)
end:
  s_mov_b32 exec_lo, s9
"""


def test_a_branch_back_out_of_a_block_that_stands_aside_waits_for_nothing() -> None:
    """No loop: what stands between the two is not run again. The load was taken for a look at a flag, and excused."""
    result = verdict(
        races.CHECK,
        launch(assembly_kernel(OUT_OF_LINE + USED, lds=128), [np.zeros(64, np.int32)] * 2, block=64),
    )
    (finding,) = result.findings
    assert finding.rule.id == "races/write-after-read"
    assert finding.place.instruction.startswith("ds_store_b32")


ADDRESS_MADE_AGAIN = {
    "of a register that the loop leaves alone": ("v_mov_b32_e32 v3, s9", "s_nop 0"),
    "of a constant": ("v_mov_b32_e32 v3, 4", "s_nop 0"),
    "by an addition": ("v_add_nc_u32_e64 v3, s9, 0", "s_nop 0"),
}
OTHER_ADDRESSES = {
    "counted": ("v_mov_b32_e32 v3, s9", "s_add_i32 s9, s9, 4"),
    "of what was found": ("v_lshlrev_b32_e32 v3, 2, v3", "s_nop 0"),
    "made before a register of it is": ("v_mov_b32_e32 v3, s10\n  s_add_i32 s10, s10, 4", "s_nop 0"),
}
"""What makes the address in front of the load in a loop, and what stands behind it."""


@pytest.mark.parametrize("loop", [*ADDRESS_MADE_AGAIN, *OTHER_ADDRESSES])
def test_a_loop_may_make_the_address_of_a_flag_again(loop: str) -> None:
    """Compilers do so where registers are short. The loop was no wait then, and what the flag orders was a race."""
    address, behind = (ADDRESS_MADE_AGAIN | OTHER_ADDRESSES)[loop]
    code = assembly_kernel(
        f"""
  v_readfirstlane_b32 s8, v0
  v_mov_b32 v2, 4
  v_mov_b32 v3, 1
  s_movk_i32 s9, 4
  s_movk_i32 s10, 4
  v_lshlrev_b32_e32 v5, 2, v0
  s_cmp_lt_u32 s8, 32
  s_cbranch_scc0 waits
  v_mov_b32 v6, 1
  ds_store_b32 v5, v0 offset:64
  ds_store_b32 v2, v6
  s_branch end
waits:
  {address}
  s_sleep 0
  ds_load_b32 v3, v3
  s_waitcnt lgkmcnt(0)
  {behind}
  v_cmp_ne_u32_e32 vcc_lo, 1, v3
  s_cbranch_vccnz waits
  v_subrev_nc_u32_e32 v5, 0x80, v5
  ds_load_b32 v4, v5 offset:64
  s_waitcnt lgkmcnt(0){USED}end:
""",
        lds=256,
    )
    result = verdict(races.CHECK, launch(code, [np.zeros(64, np.int32)] * 2, block=64))
    assert result.status == ("holds" if loop in ADDRESS_MADE_AGAIN else "finding"), result


FIRST_LOOKS = {"decides": "v_cmp_ne_u32_e32 vcc_lo, 1, v4", "does not": "v_cmp_ne_u32_e32 vcc_lo, 4, v2"}
"""Whether what is loaded in front of a loop decides if the loop is entered."""


@pytest.mark.parametrize("test", FIRST_LOOKS)
def test_the_first_look_in_front_of_a_loop_is_one_however_its_address_is_made(test: str) -> None:
    """Where the flag had come by then, the loop never ran, and what the flag orders was a race."""
    code = assembly_kernel(
        f"""
  v_readfirstlane_b32 s8, v0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 4
  v_lshlrev_b32_e32 v5, 2, v0
  s_cmp_lt_u32 s8, 32
  s_cbranch_scc0 first
  v_mov_b32 v6, 1
  ds_store_b32 v5, v0 offset:64
  ds_store_b32 v2, v6
  s_branch end
first:
  ds_load_b32 v4, v1 offset:4
  s_waitcnt lgkmcnt(0)
  {FIRST_LOOKS[test]}
  s_cbranch_vccz come
waits:
  s_sleep 0
  ds_load_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  v_cmp_ne_u32_e32 vcc_lo, 1, v3
  s_cbranch_vccnz waits
come:
  v_subrev_nc_u32_e32 v5, 0x80, v5
  ds_load_b32 v4, v5 offset:64
  s_waitcnt lgkmcnt(0){USED}end:
""",
        lds=256,
    )
    result = verdict(races.CHECK, launch(code, [np.zeros(64, np.int32)] * 2, block=64))
    assert result.status == ("holds" if test == "decides" else "finding"), result


LOOPS_OF_DATA = {
    "the other half of a pair moves the address": """
  v_dual_mov_b32 v8, v5 :: v_dual_add_nc_u32 v3, 4, v3
  v_readfirstlane_b32 s10, v4
  s_cmp_lg_u32 s10, 63""",
    "counted": """
  v_add_nc_u32 v5, v4, v5
  s_add_u32 s9, s9, 1
  s_cmp_lt_u32 s9, 4""",
}
"""What follows a load in a loop that is no look at a flag: it goes on to another place, or is not left by what it
finds."""


@pytest.mark.parametrize("loop", LOOPS_OF_DATA)
def test_a_loop_over_data_waits_for_nothing(loop: str) -> None:
    code = assembly_kernel(
        f"""
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v5, 0
  s_mov_b32 s9, 0
  ds_store_b32 v2, v0
again:
  ds_load_b32 v4, v3
  s_waitcnt lgkmcnt(0){LOOPS_OF_DATA[loop]}
  s_cbranch_scc1 again{USED}""",
        lds=256,
    )
    result = verdict(races.CHECK, launch(code, [np.zeros(64, np.int32)] * 2, block=64))
    assert {finding.rule.id for finding in result.findings} == {"races/read-after-write"}, result
    assert result.findings[0].place.instruction.startswith("ds_load_b32")
