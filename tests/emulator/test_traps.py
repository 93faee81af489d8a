"""Instructions that broke other emulators, each in the way that broke them; and where the other traps are."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.lab import LANES, Array, assembled, outputs, words

LANE = np.arange(LANES)
LOAD = "global_load_b32 v2, v1, s[6:7]\n global_load_b32 v3, v1, s[6:7] offset:128\n s_waitcnt vmcnt(0)\n"


def results(body: str, a: Array, b: Array | None = None, count: int = 1) -> Array:
    """v2 (and v3...) of each lane, after v2 = a[lane], v3 = b[lane] and `body`."""
    data = np.concatenate([a, a if b is None else b])
    stores = "\n".join(f"global_store_b32 v1, v{2 + i}, s[4:5] offset:{128 * i}" for i in range(count))
    code = assembled(f"{LOAD}{body}\n s_waitcnt lgkmcnt(0) vmcnt(0)\n{stores}", lds=4096)
    out = outputs(code, [np.zeros((count, LANES), np.uint32), data])[0]
    return out[0] if count == 1 else out


# Hints and cache operations: nothing happens.


@pytest.mark.parametrize(
    "hint",
    [
        "buffer_gl0_inv",
        "buffer_gl1_inv",
        "s_gl1_inv",
        "s_dcache_inv",
        "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)",
        "s_setprio 3",
        "s_set_inst_prefetch_distance 0x2",
        "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(TRANS32_DEP_1)",
        "s_clause 0x1",
        "s_nop 7",
        "s_sleep 1",
        "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)",
        "s_waitcnt_vscnt null, 0x0",
        "s_waitcnt_depctr 0xfff",
        "v_nop",
        "s_barrier",
        "s_icache_inv",
        "s_denorm_mode 0xf",
        "s_round_mode 0x0",
    ],
)
def test_hints_change_nothing(hint: str) -> None:
    a, b = words(1, LANES), words(2, LANES)
    assert np.array_equal(results(f"{hint}\n v_add_nc_u32 v2, v2, v3", a, b), a + b)


# D16: the other half stays.

D16: dict[str, tuple[bool, Callable[[Array], Array]]] = {
    "global_load_d16_b16 v2, v1, s[6:7]": (False, lambda a: a & 0xFFFF),
    "global_load_d16_hi_b16 v2, v1, s[6:7]": (True, lambda a: a & 0xFFFF),
    "global_load_d16_u8 v2, v1, s[6:7] offset:1": (False, lambda a: a >> 8 & 0xFF),
    "global_load_d16_hi_u8 v2, v1, s[6:7]": (True, lambda a: a & 0xFF),
    "global_load_d16_i8 v2, v1, s[6:7]": (False, lambda a: (a & 0xFF ^ 0x80) - 0x80 & 0xFFFF),
    "global_load_d16_hi_i8 v2, v1, s[6:7]": (True, lambda a: (a & 0xFF ^ 0x80) - 0x80 & 0xFFFF),
    "ds_load_u16_d16 v2, v1": (False, lambda a: a & 0xFFFF),
    "ds_load_u16_d16_hi v2, v1": (True, lambda a: a & 0xFFFF),
    "ds_load_u8_d16 v2, v1": (False, lambda a: a & 0xFF),
    "ds_load_u8_d16_hi v2, v1": (True, lambda a: a & 0xFF),
    "ds_load_i8_d16 v2, v1": (False, lambda a: (a & 0xFF ^ 0x80) - 0x80 & 0xFFFF),
    "ds_load_i8_d16_hi v2, v1": (True, lambda a: (a & 0xFF ^ 0x80) - 0x80 & 0xFFFF),
    "v_mov_b16_e32 v2.l, v5.l": (False, lambda a: a & 0xFFFF),
    "v_mov_b16_e32 v2.h, v5.h": (True, lambda a: a >> 16),
    "v_mov_b16_e64 v2.h, v5.l": (True, lambda a: a & 0xFFFF),
    "v_mov_b16_e64 v2.l, v5.h": (False, lambda a: a >> 16),
    "v_cvt_f16_u16_e32 v2.h, v6.l": (True, lambda a: a * 0 + 0x4500),
    "v_add_nc_u16 v2.h, v5.l, v6.l": (True, lambda a: (a & 0xFFFF) + 5 & 0xFFFF),
    "v_fma_mixlo_f16 v2, v6, v6, v6 op_sel_hi:[1,1,1]": (False, lambda a: a * 0 + 5),
    "v_fma_mixhi_f16 v2, v6, v6, v6 op_sel_hi:[1,1,1]": (True, lambda a: a * 0 + 5),
}


@pytest.mark.parametrize("instruction", D16)
def test_sixteen_bit_results_keep_the_other_half(instruction: str) -> None:
    """Overwriting it turns 1240 into 616."""
    high, value = D16[instruction]
    a, b = words(3, LANES), words(4, LANES)
    setup = (
        "v_mov_b32 v5, v2\n v_mov_b32 v6, 5\n ds_store_b32 v1, v2\n v_mov_b32 v2, v3\n s_waitcnt lgkmcnt(0)\n"
    )
    got = results(setup + instruction, a, b)
    wanted = value(a.astype(np.int64)).astype(np.uint32)
    assert np.array_equal(got, b & 0xFFFF | wanted << 16 if high else b & 0xFFFF0000 | wanted)


def test_sixteen_bit_stores_take_the_named_half() -> None:
    a = words(5, LANES)
    body = "ds_store_b16 v1, v2\n ds_store_b16_d16_hi v1, v2 offset:2\n ds_store_b8 v1, v3 offset:1\n"
    body += "ds_store_b8_d16_hi v1, v3 offset:3\n s_waitcnt lgkmcnt(0)\n ds_load_b32 v2, v1"
    b = words(6, LANES)
    wanted = a & 0x00FF00FF | (b & 0xFF) << 8 | (b >> 16 & 0xFF) << 24
    assert np.array_equal(results(body, a, b), wanted)


# DPP: all lanes are read before any is written.

DPP_LANES = {
    "quad_perm:[1,2,3,0]": LANE & ~3 | (LANE + 1 & 3),
    "quad_perm:[3,3,0,1]": LANE & ~3 | np.array([3, 3, 0, 1])[LANE & 3],
    "row_share:5": LANE & 16 | 5,
    "row_xmask:5": LANE ^ 5,
    "row_xmask:15": LANE ^ 15,
    "row_ror:3": LANE & 16 | (LANE - 3 & 15),
    "row_mirror": LANE ^ 15,
    "row_half_mirror": LANE ^ 7,
}


@pytest.mark.parametrize("pattern", DPP_LANES)
def test_dpp_in_place(pattern: str) -> None:
    a = words(7, LANES)
    got = results(f"v_mov_b32_dpp v2, v2 {pattern} row_mask:0xf bank_mask:0xf", a)
    assert np.array_equal(got, a[DPP_LANES[pattern]])
    got = results(f"v_add_nc_u32_dpp v2, v2, v2 {pattern} row_mask:0xf bank_mask:0xf", a)
    assert np.array_equal(got, a[DPP_LANES[pattern]] + a)
    got = results(f"v_sub_nc_u32_e64_dpp v2, v2, v3 {pattern} row_mask:0xf bank_mask:0xf", a, a[::-1])
    assert np.array_equal(got, a[DPP_LANES[pattern]] - a[::-1])


@pytest.mark.parametrize(("shift", "by"), [("row_shr:1", 1), ("row_shr:15", 15), ("row_shl:4", -4)])
@pytest.mark.parametrize("zero", [False, True])
def test_dpp_shifts_past_the_row(shift: str, by: int, zero: bool) -> None:
    """Lanes without a source keep their value, or with bound_ctrl read zero."""
    a, b = words(8, LANES), words(9, LANES)
    bound = " bound_ctrl:1" if zero else ""
    got = results(f"v_mov_b32_dpp v2, v3 {shift} row_mask:0xf bank_mask:0xf{bound}", a, b)
    source = LANE % 16 - by
    inside = (source >= 0) & (source < 16)
    moved = b[np.where(inside, (LANE & 16) + source, 0)]
    assert np.array_equal(got, np.where(inside, moved, 0 if zero else a))


def test_dpp_row_and_bank_masks_leave_lanes_alone() -> None:
    a, b = words(10, LANES), words(11, LANES)
    got = results("v_mov_b32_dpp v2, v3 row_xmask:1 row_mask:0x2 bank_mask:0x6", a, b)
    written = (LANE >= 16) & (LANE // 4 % 4 >= 1) & (LANE // 4 % 4 <= 2)
    assert np.array_equal(got, np.where(written, b[LANE ^ 1], a))


@pytest.mark.parametrize("fetch", [False, True])
def test_dpp8_and_fetch_inactive(fetch: bool) -> None:
    a, b = words(12, LANES), words(13, LANES)
    order = np.array([7, 0, 2, 1, 3, 6, 5, 4])
    body = "s_mov_b32 exec_lo, 0x00ff0ff0\n"
    body += f"v_mov_b32_dpp v2, v3 dpp8:[7,0,2,1,3,6,5,4]{' fi:1' if fetch else ''}\n s_mov_b32 exec_lo, -1"
    got = results(body, a, b)
    active = (0x00FF0FF0 >> LANE & 1).astype(bool)
    source = LANE & ~7 | order[LANE & 7]
    moved = np.where(active[source] | fetch, b[source], 0)
    assert np.array_equal(got, np.where(active, moved, a))


# Other moves between lanes.


@pytest.mark.parametrize(("name", "across"), [("v_permlane16_b32", 0), ("v_permlanex16_b32", 16)])
@pytest.mark.parametrize(
    ("op_sel", "inactive"), [("", "keep"), (" op_sel:[1,0]", "fetch"), (" op_sel:[0,1]", "zero")]
)
def test_permlane_with_inactive_sources(name: str, across: int, op_sel: str, inactive: str) -> None:
    a, b = words(14, LANES), words(15, LANES)
    select = [3, 0, 15, 7, 7, 1, 2, 9, 8, 14, 4, 5, 10, 13, 6, 11]
    low, high = (sum(s << 4 * i for i, s in enumerate(select[h : h + 8])) for h in (0, 8))
    body = f"s_mov_b32 s16, {low:#x}\n s_mov_b32 s17, {high:#x}\n s_mov_b32 exec_lo, 0xf0ff3ffc\n"
    got = results(f"{body} {name} v2, v3, s16, s17{op_sel}\n s_mov_b32 exec_lo, -1", a, b)
    active = (0xF0FF3FFC >> LANE & 1).astype(bool)
    source = (LANE & 16 ^ across) + np.array(select)[LANE & 15]
    instead = {"keep": a, "fetch": b[source], "zero": np.zeros(LANES, np.uint32)}[inactive]
    assert np.array_equal(got, np.where(active, np.where(active[source], b[source], instead), a))


def test_ds_swizzle_modes() -> None:
    a = words(16, LANES)
    for pattern, source in (
        ("swizzle(SWAP,8)", LANE ^ 8),
        ("swizzle(REVERSE,16)", LANE & 16 | 15 - (LANE & 15)),
        ("swizzle(BROADCAST,4,2)", LANE & ~3 | 2),
        ("swizzle(QUAD_PERM,2,0,3,1)", LANE & ~3 | np.array([2, 0, 3, 1])[LANE & 3]),
        ('swizzle(BITMASK_PERM,"01pip")', LANE & 5 | 8 | (LANE & 2 ^ 2)),
    ):
        assert np.array_equal(results(f"ds_swizzle_b32 v2, v2 offset:{pattern}", a), a[source]), pattern


def test_ds_permutes() -> None:
    a = words(17, LANES)
    target = np.random.default_rng(18).permutation(LANES)
    addresses = (4 * target).astype(np.uint32) + np.uint32(128)  # addresses wrap at 32 lanes
    assert np.array_equal(results("ds_bpermute_b32 v2, v3, v2", a, addresses), a[target])
    scattered = np.zeros(LANES, np.uint32)
    scattered[target] = a
    assert np.array_equal(results("ds_permute_b32 v2, v3, v2", a, addresses), scattered)


def test_readlane_and_writelane_ignore_exec() -> None:
    a = words(19, LANES)
    body = "s_mov_b32 exec_lo, 0x10\n v_readlane_b32 s16, v2, 9\n s_mov_b32 s17, 77\n"
    body += "v_writelane_b32 v2, s17, 20\n v_readfirstlane_b32 s18, v2\n s_mov_b32 exec_lo, -1\n"
    body += "s_add_u32 s16, s16, s18\n v_writelane_b32 v2, s16, 0"
    wanted = a.copy()
    wanted[20], wanted[0] = 77, a[9] + a[4]
    assert np.array_equal(results(body, a), wanted)


# Byte and bit selection.


def test_perm_alignbit_and_bfi() -> None:
    a, b = words(20, LANES), words(21, LANES)
    both = a.astype(np.uint64) << 32 | b
    octets = [(both >> 8 * i & 255).astype(np.uint32) for i in range(8)]
    got = results("v_perm_b32 v2, v2, v3, 0x07020c00", a, b)
    assert np.array_equal(got, octets[0] | octets[2] << 16 | octets[7] << 24)
    for selector, value in (
        ("0x0c0c0c08", (b >> 15 & 1) * 255),
        ("0x0d0c0c0b", 0xFF000000 | (a >> 31) * 255),
    ):
        assert np.array_equal(results(f"v_perm_b32 v2, v2, v3, {selector}", a, b), value)
    assert np.array_equal(
        results("v_alignbit_b32 v2, v2, v3, 45", a, b), (both >> 13 & 0xFFFFFFFF).astype(np.uint32)
    )
    assert np.array_equal(
        results("v_alignbyte_b32 v2, v2, v3, 3", a, b), (both >> 24 & 0xFFFFFFFF).astype(np.uint32)
    )
    assert np.array_equal(results("v_bfi_b32 v2, 0xff00ff, v2, v3", a, b), a & 0xFF00FF | b & 0xFF00FF00)


# VOPD: both halves read before either writes.


@pytest.mark.parametrize(
    ("pair", "x", "y"),
    [
        ("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2", lambda a, b: b, lambda a, b: a),
        ("v_dual_mov_b32 v2, v3 :: v_dual_lshlrev_b32 v3, 4, v2", lambda a, b: b, lambda a, b: a << 4),
        ("v_dual_mov_b32 v2, v3 :: v_dual_and_b32 v3, v2, v3", lambda a, b: b, lambda a, b: a & b),
        ("v_dual_mov_b32 v2, 0x12345678 :: v_dual_add_nc_u32 v3, 0x12345678, v2",
         lambda a, b: a * 0 + 0x12345678, lambda a, b: a + np.uint32(0x12345678)),
    ],
)  # fmt: skip
def test_dual_instructions_read_before_they_write(pair: str, x: object, y: object) -> None:
    a, b = words(22, LANES), words(23, LANES)
    assert callable(x)
    assert callable(y)
    got = results(pair, a, b, count=2)
    assert np.array_equal(got[0], x(a, b))
    assert np.array_equal(got[1], y(a, b))


def test_a_dual_instruction_under_exec() -> None:
    a, b = words(24, LANES), words(25, LANES)
    body = "s_mov_b32 exec_lo, 0x0f0f3333\n v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2\n s_mov_b32 exec_lo, -1"
    got = results(body, a, b, count=2)
    active = (0x0F0F3333 >> LANE & 1).astype(bool)
    assert np.array_equal(got[0], np.where(active, b, a))
    assert np.array_equal(got[1], np.where(active, a, b))


def test_a_dual_cndmask_reads_vcc() -> None:
    a, b = words(26, LANES), words(27, LANES)
    body = "s_mov_b32 vcc_lo, 0x12345678\n v_dual_cndmask_b32 v2, v3, v2 :: v_dual_mov_b32 v3, v2"
    got = results(body, a, b, count=2)
    assert np.array_equal(got[0], np.where(0x12345678 >> LANE & 1, a, b))
    assert np.array_equal(got[1], a)


# Scalar floats of RDNA3.5, as integer division uses them.


def scalar(body: str, value: int) -> int:
    """s3 after `body`, with s2 = value."""
    got = results(f"s_mov_b32 s2, {value & 0xFFFFFFFF:#x}\n{body}\n v_mov_b32 v2, s3", words(28, LANES))
    assert len(set(got.tolist())) == 1
    return int(got[0])


def bits(value: float | np.floating[Any]) -> int:
    return int(np.float32(value).view(np.uint32))


@pytest.mark.parametrize("value", [0, 1, 7, 0x80000001, 0xFFFFFFFF, 16777217])
def test_scalar_float_instructions(value: int) -> None:
    signed = value - (1 << 32) if value >> 31 else value
    assert scalar("s_cvt_f32_u32 s3, s2", value) == bits(value)
    assert scalar("s_cvt_f32_i32 s3, s2", value) == bits(signed)
    f = np.float32(value % 1000) + np.float32(0.75)
    assert scalar("s_cvt_u32_f32 s3, s2", bits(f)) == int(f)
    assert scalar("s_cvt_u32_f32 s3, s2", bits(-f)) == 0
    assert scalar("s_cvt_i32_f32 s3, s2", bits(-f)) == -int(f) & 0xFFFFFFFF
    assert scalar("s_mul_f32 s3, s2, 0x3fc00000", bits(f)) == bits(f * np.float32(1.5))
    assert scalar("s_add_f32 s3, s2, 1.0", bits(f)) == bits(f + np.float32(1))
    assert scalar("s_fmaak_f32 s3, s2, s2, 0x40490fdb", bits(f)) == bits(
        np.float32(float(f) ** 2 + float(np.float32(np.pi)))
    )
    assert scalar("s_cmp_neq_f32 s2, s2\n s_cselect_b32 s3, 1, 2", bits(f)) == 2
    assert scalar("s_cmp_neq_f32 s2, s2\n s_cselect_b32 s3, 1, 2", 0x7FC00000) == 1
    assert scalar("s_cmp_lt_f32 s2, 4.0\n s_cselect_b32 s3, 1, 2", bits(f)) == (1 if f < 4 else 2)


@pytest.mark.parametrize("mask", ["-1", "0x0ff0"])
def test_integer_clamp_saturates(mask: str) -> None:
    """With all lanes active and with some: the two take different ways."""
    a, b = words(29, LANES), words(30, LANES)
    active = (int(mask, 0) >> LANE & 1).astype(bool)
    for name, exact, low, high in (
        ("v_sub_nc_u32", a.astype(np.int64) - b, 0, (1 << 32) - 1),
        ("v_add_nc_u32", a.astype(np.int64) + b, 0, (1 << 32) - 1),
        ("v_sub_nc_i32", a.view(np.int32).astype(np.int64) - b.view(np.int32), -(1 << 31), (1 << 31) - 1),
        ("v_add_nc_i32", a.view(np.int32).astype(np.int64) + b.view(np.int32), -(1 << 31), (1 << 31) - 1),
    ):
        body = f"s_mov_b32 exec_lo, {mask}\n {name}_e64 v2, v2, v3 clamp\n s_mov_b32 exec_lo, -1"
        wanted = (np.clip(exact, low, high) & 0xFFFFFFFF).astype(np.uint32)
        assert (wanted != (exact & 0xFFFFFFFF)).any()
        assert np.array_equal(results(body, a, b), np.where(active, wanted, a)), name


# What broke others outside of single instructions has its test where its subject is.

ELSEWHERE = {
    "WMMA ignores EXEC": "emulator/test_wmma.py::test_exec_is_ignored",
    "A and B come from the own half-wave": "emulator/test_wmma.py::test_each_half_wave_uses_its_own_copies",
    "0x80 in an unused source field": "oracle/test_decode_bytes.py::test_an_unused_third_source_may_hold_anything",
    "true16 operands such as v9.h": "oracle/test_decode.py::test_every_encoding_and_every_kind_of_modifier_occurs",
    "the number of user SGPRs": "emulator/test_launch.py::test_the_first_workgroup_id_follows_the_user_sgprs",
    "work-item ids are packed": "emulator/test_launch.py::test_every_work_item_knows_its_place",
    "scratch is each lane's own": "emulator/test_memory.py::test_a_private_array_is_each_lanes_own",
    "hidden arguments": "emulator/test_launch.py::test_hidden_arguments_tell_the_extents",
    "Triton's two pointers at the end": "third_party/test_triton.py::test_correct_kernels_are_accepted",
    "dynamic LDS": "emulator/test_launch.py::test_dynamic_lds_is_as_large_as_the_launch_says",
    "code without optimisation": "emulator/test_faults.py::test_code_without_optimisation_gives_the_same_answers",
    "calls": "emulator/test_calls.py::test_functions",
    "printf and hostcalls": "emulator/test_faults.py::test_printf_and_hostcalls_are_named_where_they_fault",
    "a second barrier that is ignored": "emulator/test_divergence.py::test_the_second_barrier_is_not_ignored",
    "wild pointers": "emulator/test_faults.py::test_null_and_wild_pointers",
    "waits and barriers that are removed": "campaign/test_campaign.py::test_fault_is_found_and_named",
    "oracles that skip": "cli/test_shared_option.py::test_skips_and_missing_files_are_failures",
    "headers": "unit/test_device_headers.py::test_every_header_compiles_alone_and_twice",
}  # fmt: skip


@pytest.mark.parametrize("trap", ELSEWHERE)
def test_the_other_traps_are_tested_where_they_belong(trap: str) -> None:
    file, _, name = ELSEWHERE[trap].partition("::")
    module = ast.parse((Path(__file__).parents[1] / file).read_text())
    assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
