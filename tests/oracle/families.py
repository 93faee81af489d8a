"""Which mnemonics which test speaks about. Together they are all that have semantics."""

from __future__ import annotations

import re

from layoutprobe import semantics

LANES_EXCHANGE = (
    "v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32", "v_permlane16_b32", "v_permlanex16_b32",
    "ds_permute_b32", "ds_bpermute_b32", "ds_swizzle_b32", "v_permlane64_b32",
)  # fmt: skip
"""Data moves between lanes: test_semantics_lanes.py."""

HINTS = (
    "v_nop", "v_pipeflush", "s_nop", "s_clause", "s_delay_alu", "s_sleep", "s_setprio", "s_sethalt", "s_code_end",
    "s_set_inst_prefetch_distance", "s_ttracedata", "s_ttracedata_imm", "s_incperflevel", "s_decperflevel",
    "s_icache_inv", "s_dcache_inv", "s_gl1_inv", "s_wakeup", "s_wait_idle", "s_wait_event", "s_waitcnt",
    "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_expcnt", "s_waitcnt_depctr",
    "buffer_gl0_inv", "buffer_gl1_inv",
)  # fmt: skip
"""No register and no memory changes: test_semantics_hints.py."""

MODES = ("s_sendmsg", "s_denorm_mode", "s_round_mode", "s_trap")
"""One operand is harmless, all others are refused in words: test_semantics_hints.py."""

ELSEWHERE = {
    "v_dual": "no mnemonic but the binder of pairs: test_semantics_dual.py runs all pairs of VOPD",
    **dict.fromkeys(
        ("v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32", "v_movrelsd_2_b32"),
        "M0 picks the registers: test_semantics_indexed.py",
    ),
    **dict.fromkeys(
        ("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32", "s_sendmsg_rtn_b64"),
        "hardware registers and clocks: tests/emulator/test_hardware.py",
    ),
    "v_swap_b32": "writes its source too: test_semantics_lanes.py",
    "v_wmma_f32_16x16x16_f16": "AMD gives no pseudocode; tests/emulator/test_wmma.py has loops over matrices",
    "v_wmma_f32_16x16x16_bf16": "as v_wmma_f32_16x16x16_f16",
    "v_wmma_f16_16x16x16_f16": "as v_wmma_f32_16x16x16_f16",
    "v_wmma_bf16_16x16x16_bf16": "as v_wmma_f32_16x16x16_f16",
    "v_wmma_i32_16x16x16_iu8": "as v_wmma_f32_16x16x16_f16",
    "v_wmma_i32_16x16x16_iu4": "as v_wmma_f32_16x16x16_f16",
}
"""Why a mnemonic is in no family."""

NAMES = tuple(semantics.names())
_SPECIAL = {*LANES_EXCHANGE, *HINTS, *MODES, *ELSEWHERE}
_MEMORY = re.compile(r"(ds|global|flat|scratch|buffer)_")
_SCALAR_LOAD = re.compile(r"s_(buffer_)?load_")

VECTOR = tuple(n for n in NAMES if n.startswith("v_") and n not in _SPECIAL)
SCALAR_LOADS = tuple(n for n in NAMES if _SCALAR_LOAD.match(n))
SCALAR = tuple(n for n in NAMES if n.startswith("s_") and n not in _SPECIAL and not _SCALAR_LOAD.match(n))
MEMORY = tuple(n for n in NAMES if _MEMORY.match(n) and n not in _SPECIAL)
