"""Wait states of CDNA: one too few is a finding, the number itself holds; by tables typed in from the documents.

The tables below are LLVM's, row by row (GCNHazardRecognizer.cpp), and not the project's. tests/cdna's oracle
asks the compiler for the numbers that its own code shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import launch, verdict
from scaffold import scaffolded

from layoutprobe.checks import wait_states
from layoutprobe.report.gate import CheckResult

CLEAR = (*(f"v_mov_b32_e32 v{n}, 0" for n in range(8, 56)), "v_mov_b32_e32 v60, s5")
SETTLE = ("s_nop 15", "s_nop 15")
"""Wait states that no rule exceeds."""


def result_of(*body: str, target: str = "gfx942") -> CheckResult:
    text = "\n".join(
        f"  {inst}" for inst in ("s_mov_b32 m0, 0", "v_lshlrev_b32_e32 v1, 4, v0", *CLEAR, *SETTLE, *body)
    )
    code = scaffolded(text, target=target, wave_size=64, lds=4096, vgprs=128, first_accvgpr=64)
    given = [np.arange(2048, dtype=np.uint32), np.zeros(2048, np.uint32)]
    return verdict(wait_states.CHECK, launch(code, given, block=64))


def nops(states: int) -> tuple[str, ...]:
    """So many wait states."""
    return (*["s_nop 15"] * (states // 16), *([f"s_nop {states % 16 - 1}"] if states % 16 else []))


XDL2 = "v_mfma_f32_4x4x4_16b_f16 v[8:11], v[30:31], v[32:33], v[8:11]"
XDL4 = "v_mfma_f32_16x16x16_f16 v[8:11], v[30:31], v[32:33], v[8:11]"
XDL8 = "v_mfma_f32_32x32x8_f16 v[8:23], v[30:31], v[32:33], v[8:23]"
XDL16 = "v_mfma_f32_16x16x4_4b_f16 v[8:23], v[30:31], v[32:33], v[8:23]"
F2 = "v_mfma_f32_4x4x1_16b_f32 v[8:11], v30, v31, v[8:11]"
F8 = "v_mfma_f32_16x16x4_f32 v[8:11], v30, v31, v[8:11]"
F16 = "v_mfma_f32_32x32x2_f32 v[8:23], v30, v31, v[8:23]"
D4 = "v_mfma_f64_4x4x4_4b_f64 v[8:9], v[30:31], v[32:33], v[8:9]"
D8 = "v_mfma_f64_16x16x4_f64 v[8:15], v[30:31], v[32:33], v[8:15]"
SPARSE = "v_smfmac_f32_16x16x32_f16 v[8:11], v[30:31], v[32:35], v36"

READ = "v_mov_b32_e32 v40, v9"
STORE = "global_store_dword v1, v9, s[6:7]"
LDS = "ds_write_b32 v1, v9"
OVER = "v_mov_b32_e32 v9, 1"
LOAD = "global_load_dword v9, v1, s[4:5]"
AS_A = "v_mfma_f32_16x16x16_f16 v[40:43], v[8:9], v[32:33], v[40:43]"
AS_B = "v_mfma_f32_16x16x4_f32 v[40:43], v30, v9, v[40:43]"
AS_INDEX = "v_smfmac_f32_16x16x32_f16 v[40:43], v[30:31], v[32:35], v9"
PART_C = "v_mfma_f32_16x16x16_f16 v[40:43], v[30:31], v[32:33], v[10:13]"
PART_C32 = "v_mfma_f32_16x16x4_f32 v[40:43], v30, v31, v[10:13]"
PART_C64 = "v_mfma_f64_4x4x4_4b_f64 v[40:41], v[30:31], v[32:33], v[10:11]"

ROWS = {
    # Earlier and later instruction: wait states on gfx942, on gfx950.
    **{f"{first[:24]} read": (first, READ, *needed) for first, needed in (
        (XDL2, (5, 5)), (XDL4, (7, 8)), (XDL8, (11, 12)), (SPARSE, (7, 8)), (F2, (4, 4)), (F8, (10, 10)),
        (F16, (18, 18)), (D4, (6, 6)), (D8, (11, 19)))},
    "stored": (XDL4, STORE, 7, 8),
    "stored to LDS": (XDL8, LDS, 11, 12),
    "f64 4x4 stored": (D4, STORE, 9, 9),
    "f64 16x16 stored": (D8, STORE, 18, 18),
    "overwritten": (XDL8, OVER, 11, 12),
    "overwritten by a load": (XDL8, LOAD, 11, 12),
    "f64 overwritten": (D8, OVER, 11, 11),
    "as A": (XDL4, AS_A, 7, 8),
    "as B": (F8, AS_B, 10, 10),
    "as index": (XDL8, AS_INDEX, 11, 12),
    "f64 as A": (D8, AS_A, 11, 19),
    "same accumulator": (XDL4, XDL4, 0, 0),
    "same accumulator, 2 passes": (XDL2, XDL2, 2, 2),
    "same accumulator, f64 4x4": (D4, D4, 4, 4),
    "same accumulator, f64 16x16": (D8, D8, 0, 0),
    "same accumulator, sparse": (SPARSE, SPARSE, 0, 0),
    "another instruction on it": (XDL4, F8, 5, 6),
    "part as C": (XDL8, PART_C, 9, 10),
    "part as C, 4 passes": (XDL4, PART_C, 5, 6),
    "part as C of f32": (XDL8, PART_C32, 9, 10),
    "part of f32 as C of f32": (F16, PART_C32, 16, 16),
    "part of f32 as C of f16": (F16, PART_C, 0, 0),
    "part of f64 as C of f64": (D8, PART_C64, 9, 17),
    "f64 multiplied and added": (D4, "v_fma_f64 v[40:41], v[34:35], v[34:35], v[34:35]", 2, 2),
}  # fmt: skip

WAR = "v_mfma_f32_{} v[40:{}], v[30:31], v[32:33], v[8:{}]"
VALU = "v_mov_b32_e32 v9, v20"
VECTOR = {
    "C overwritten, 2 passes": (WAR.format("4x4x4_16b_f16", 43, 11), OVER, 1, 1),
    "C overwritten, 4 passes": (WAR.format("16x16x16_f16", 43, 11), OVER, 3, 3),
    "C overwritten, 8 passes": (WAR.format("32x32x8_f16", 55, 23), OVER, 7, 7),
    "C of f32 overwritten": ("v_mfma_f32_16x16x4_f32 v[40:43], v30, v31, v[8:11]", OVER, 0, 0),
    "A from the vector ALU": (VALU, AS_A, 2, 2),
    "C from the vector ALU": (VALU, XDL4, 2, 2),
    "matrix after EXEC": ("v_cmpx_eq_u32_e64 s[8:9], v0, v0", XDL4, 4, 4),
    "scalar read": ("v_readfirstlane_b32 s8, v20", "v_mov_b32_e32 v9, s8", 2, 2),
    "carry": ("v_add_co_u32_e32 v9, vcc, v20, v21", "v_addc_co_u32_e32 v10, vcc, v20, v21, vcc", 2, 2),
    "scalar in an address": ("v_readfirstlane_b32 s5, v60", LOAD, 5, 5),
    "scalar in a scalar address": ("v_readfirstlane_b32 s5, v60", "s_load_dword s9, s[4:5], 0x0", 0, 0),
    "lane number": ("v_readfirstlane_b32 s8, v20", "v_readlane_b32 s9, v20, s8", 4, 4),
    "div_fmas": ("v_div_scale_f32 v9, vcc, v20, v21, v20", "v_div_fmas_f32 v10, v20, v21, v22", 4, 4),
    "readlane": (VALU, "v_readfirstlane_b32 s8, v9", 1, 1),
    "lane after EXEC": ("v_cmpx_eq_u32_e64 s[8:9], v0, v0", "v_readfirstlane_b32 s10, v20", 4, 4),
    "DPP": (VALU, "v_mov_b32_dpp v10, v9 row_shr:1 row_mask:0xf bank_mask:0xf", 2, 2),
    "DPP after EXEC": (
        "v_cmpx_eq_u32_e64 s[8:9], v0, v0", "v_mov_b32_dpp v10, v9 row_shr:1 row_mask:0xf bank_mask:0xf", 5, 5,
    ),
    "transcendental": ("v_rcp_f32_e32 v9, v20", READ, 1, 1),
    "two transcendental": ("v_rcp_f32_e32 v9, v20", "v_exp_f32_e32 v40, v9", 0, 0),
    "added to a transcendental": ("v_rcp_f32_e32 v9, v20", "v_fmac_f32_e32 v9, v20, v21", 1, 1),
    "SDWA": ("v_add_u32_sdwa v9, v20, v21 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
             READ, 1, 1),
    "SDWA of a whole register": (
        "v_add_u32_sdwa v9, v20, v21 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD", READ, 0, 0,
    ),
    "op_sel": ("v_mad_u16 v9, v20, v21, v22 op_sel:[0,0,0,1]", READ, 1, 1),
    "DOT": ("v_dot2_f32_f16 v9, v20, v21, v22", READ, 3, 3),
    "DOT into the next one's C": (
        "v_dot2_f32_f16 v9, v20, v21, v9", "v_dot2_f32_f16 v9, v20, v21, v9", 0, 0,
    ),
    "DOT into the next one's A": ("v_dot2_f32_f16 v9, v20, v21, v22", "v_dot2_f32_f16 v10, v9, v21, v22", 3, 3),
    "wide store overwritten": ("global_store_dwordx4 v1, v[8:11], s[6:7]", OVER, 2, 2),
    "narrow store overwritten": ("global_store_dwordx2 v1, v[8:9], s[6:7]", OVER, 0, 0),
    "M0 of a load to LDS": ("s_mov_b32 m0, 64", "global_load_lds_dword v1, s[4:5]", 1, 1),
}  # fmt: skip


ALL = ROWS | VECTOR
TARGETS = ("gfx942", "gfx950")


def needed_by(case: str, target: str) -> int:
    return int(ALL[case][2 + TARGETS.index(target)])


def all_of(target: str, states: Callable[[int], int]) -> CheckResult:
    """Every case after the other in one kernel, with so many wait states where so many are needed."""
    bodies = ((ALL[case], states(needed_by(case, target))) for case in ALL)
    return result_of(
        *(inst for (first, then, *_), count in bodies for inst in (first, *nops(count), then, *SETTLE)),
        target=target,
    )


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_tables_ask_for_is_enough(target: str) -> None:
    result = all_of(target, lambda needed: needed)
    assert (result.status, result.findings) == ("holds", ()), result
    kept = result.metrics["pairs kept apart"]
    assert isinstance(kept, int)
    assert kept >= sum(needed_by(case, target) > 0 for case in ALL)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("states", ["none", "one too few"])
def test_less_is_not(target: str, states: str) -> None:
    """A finding for every case that needs any, with both instructions and the numbers."""
    left = {case: needed for case in ALL if (needed := needed_by(case, target))}
    result = all_of(target, lambda needed: max(needed - 1, 0) if states == "one too few" else 0)
    found = sorted(result.findings, key=lambda finding: finding.place.pc or 0)
    for (case, needed), finding in zip(left.items(), found, strict=True):
        first, then = (re.sub("_(e32|e64|sdwa|dpp)$", "", text.split()[0]) for text in ALL[case][:2])
        seen = needed - 1 if states == "one too few" else 0
        assert finding.expected.startswith(f"{needed} wait state"), (case, finding)
        assert finding.observed == ("none" if not seen else f"{seen} wait state{'s' * (seen > 1)}"), case
        assert finding.hint.startswith(f"add s_nop {needed - seen - 1} "), case
        assert (finding.related[0].place.instruction, finding.place.instruction) == (first, then), case


def test_the_finding_names_the_register_and_the_rule() -> None:
    finding = only(result_of(XDL4, READ))
    assert finding.what == "v_mov_b32 takes v9 too early after v_mfma_f32_16x16x16_f16, which writes it"
    assert finding.rule is wait_states.RESULT
    assert only(result_of(XDL8, OVER)).rule is wait_states.OVERWRITTEN
    assert only(result_of(VECTOR["C overwritten, 8 passes"][0], OVER)).rule is wait_states.OVERWRITTEN
    assert only(result_of("v_rcp_f32_e32 v9, v20", READ)).rule is wait_states.VECTOR


def test_accvgprs_are_followed_by_their_names() -> None:
    first = "v_mfma_f32_16x16x16_f16 a[0:3], v[30:31], v[32:33], 0"
    finding = only(result_of(first, "v_accvgpr_read_b32 v40, a2"))
    assert "takes a2 too early" in finding.what
    assert result_of(first, "v_mov_b32_e32 v40, v2").status == "holds"


def test_other_instructions_make_wait_states() -> None:
    between = (
        "v_mov_b32_e32 v40, 0",
        "s_mov_b32 s8, 0",
        "ds_read_b32 v41, v1",
        "s_waitcnt lgkmcnt(0)",
        "s_nop 2",
    )
    assert result_of(XDL4, *between, READ).status == "holds"
    assert only(result_of(XDL4, *between[1:], READ)).observed == "6 wait states"


def test_one_missing_wait_is_one_finding() -> None:
    """What comes behind the first use has waited as well."""
    assert only(result_of(XDL4, READ, "v_mov_b32_e32 v41, v10", STORE)).place.instruction == "v_mov_b32"


def test_along_the_path_that_is_taken() -> None:
    """From the end of a loop to its beginning, and not where the branch goes elsewhere."""
    loop = ("s_mov_b32 s8, 2", "loop:", READ, "s_sub_u32 s8, s8, 1", *nops(8), XDL4, "s_cmp_lg_u32 s8, 0")
    finding = only(result_of(*loop, "s_cbranch_scc1 loop", *SETTLE))
    assert finding.observed == "2 wait states", "the comparison and the branch"
    assert result_of(*loop, "s_nop 4", "s_cbranch_scc1 loop", *SETTLE).status == "holds"
    skipped = (XDL4, "s_branch behind", READ, "behind:", "s_nop 5", READ)
    assert result_of(*skipped).status == "holds"


def test_without_such_instructions_it_does_not_apply() -> None:
    text = "  s_mov_b32 s8, 0"
    code = scaffolded(text, target="gfx942", wave_size=64, pointers=0)
    assert verdict(wait_states.CHECK, launch(code, [], block=64)).status == "skipped"
