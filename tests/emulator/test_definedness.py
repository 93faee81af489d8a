"""Undefined bits: where they come from, how far they may travel, and where they are an error."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import LANES, Array, assembled, fault, fresh, launch, outputs, undefined, words

from layoutprobe.codeobj.model import CodeObject

LOW, HIGH, ALL = 0x0000FFFF, 0xFFFF0000, 0xFFFFFFFF


def stored(body: str, *inputs: Array, lds: int = 0, scratch: int = 0) -> tuple[Array, Array]:
    """Value and undefined bits of v2, stored by each lane after `body`."""
    code = assembled(
        f"{body}\n  global_store_b32 v1, v2, s[4:5]", pointers=1 + len(inputs), lds=lds, scratch=scratch
    )
    result = launch(code, [fresh(LANES), *inputs])
    value = result.buffers[0]
    assert value is not None
    return value, undefined(result)


def lanes(*defined_from: int, bits: int = ALL) -> Array:
    """`bits` in the lanes listed, 0 elsewhere."""
    out = np.zeros(LANES, np.uint32)
    out[list(defined_from)] = bits
    return out


# Sources of undefined bits.


@pytest.mark.parametrize(
    ("body", "bits"),
    [
        ("v_mov_b32 v2, v9", ALL),
        ("v_mov_b32 v2, s40", ALL),
        ("v_mov_b32 v2, m0", ALL),
        ("v_mov_b32 v2, vcc_lo", ALL),
        ("v_mov_b32 v2, v0", 0),
        ("v_mov_b32 v2, s2", 0),  # the workgroup id
        ("v_mov_b32 v2, exec_lo", 0),
        ("ds_load_b32 v2, v1\n s_waitcnt lgkmcnt(0)", ALL),
        ("scratch_load_b32 v2, off, off\n s_waitcnt vmcnt(0)", ALL),
        ("ds_load_u8 v2, v1\n s_waitcnt lgkmcnt(0)", 0xFF),
        ("ds_load_u16 v2, v1\n s_waitcnt lgkmcnt(0)", LOW),
        ("ds_load_i8 v2, v1\n s_waitcnt lgkmcnt(0)", ALL),  # an undefined sign is copied upward
        ("ds_load_u16_d16_hi v2, v1\n s_waitcnt lgkmcnt(0)", ALL),
    ],
)
def test_registers_lds_and_scratch_start_undefined(body: str, bits: int) -> None:
    _, found = stored(body, lds=128, scratch=16)
    assert set(found.tolist()) == {bits}


def test_memory_that_nobody_wrote_is_undefined_and_memory_that_was_given_is_not() -> None:
    code = assembled("global_load_b32 v2, v1, s[6:7]\n s_waitcnt vmcnt(0)\n global_store_b32 v1, v2, s[4:5]")
    data = words(1, LANES)
    result = launch(code, [fresh(LANES), fresh(LANES)])
    assert result.undefined[0] is not None
    assert (result.undefined[0] == ALL).all()
    result = launch(code, [fresh(LANES), data])
    assert result.undefined == (None, None)
    assert np.array_equal(np.asarray(result.buffers[0]), data)


def test_what_a_kernel_leaves_unwritten_is_reported_bit_by_bit() -> None:
    code = assembled("v_lshlrev_b32 v3, 3, v0\n global_store_b16 v3, v0, s[4:5] offset:2", pointers=1)
    bits = launch(code, [fresh(2 * LANES)]).undefined[0]
    assert bits is not None
    assert (bits[0::2] == LOW).all()
    assert (bits[1::2] == ALL).all()


# Copies are legal, and exact.

LOAD_HALF = "global_load_b32 v3, v1, s[6:7]\n s_waitcnt vmcnt(0)\n"


@pytest.mark.parametrize(
    ("body", "bits", "value"),
    [
        ("global_load_d16_b16 v2, v1, s[6:7]", HIGH, lambda x: x & LOW),
        ("global_load_d16_hi_b16 v2, v1, s[6:7]", LOW, lambda x: (x & LOW) << 16),
        ("v_and_b32 v2, 0xffff, v9\n v_mov_b32 v2, v3", 0, lambda x: x),
        ("v_and_b32 v2, 0xff, v9", 0xFF, lambda x: x * 0),
        ("v_or_b32 v2, 0xffff0000, v9", LOW, lambda x: x * 0 + HIGH),
        ("v_lshlrev_b32 v2, 8, v9", 0xFFFFFF00, lambda x: x * 0),
        ("v_lshrrev_b32 v2, 24, v9", 0xFF, lambda x: x * 0),
        ("v_bfe_u32 v2, v9, 4, 8", 0xFF, lambda x: x * 0),
        ("v_bfi_b32 v2, 0xffff, v3, v9", HIGH, lambda x: x & LOW),
        ("v_perm_b32 v2, v9, v3, 0x03020706", LOW, lambda x: x & HIGH),
        ("v_perm_b32 v2, v9, v3, 0x0c0c0100", 0, lambda x: x & LOW),
        ("v_alignbit_b32 v2, v3, v9, 16", LOW, lambda x: x << 16),
        ("v_alignbyte_b32 v2, v9, v3, 1", 0xFF000000, lambda x: x >> 8),
        ("v_pack_b32_f16 v2, v3.l, v9.l", HIGH, lambda x: x & LOW),
        ("v_mov_b16_e32 v2.h, v3.l", LOW, lambda x: (x & LOW) << 16),
        ("v_pk_add_u16 v2, v3, v9 op_sel_hi:[1,0]\n v_mov_b16_e32 v2.l, v3.l", HIGH, lambda x: x & LOW),
        ("s_mov_b32 s3, -1\n v_cndmask_b32 v2, v9, v3, s3", 0, lambda x: x),
        ("v_add_nc_u32 v2, v3, v9", ALL, lambda x: x * 0),
        ("v_mul_f32 v2, v3, v9", ALL, lambda x: x * 0),
        ("v_mov_b16_e32 v9.l, v3.l\n v_add_f16_e32 v2.l, v9.l, v9.l\n v_mov_b16_e32 v2.h, 0", 0, None),
        ("v_mov_b16_e32 v9.l, v3.l\n v_add_f16_e32 v2.l, v9.l, v9.h\n v_mov_b16_e32 v2.h, 0", LOW, None),
        ("v_mov_b16_e32 v9.l, v3.l\n v_and_or_b32 v2, v9, 0xffff, 0", 0, lambda x: x & LOW),
        ("v_or3_b32 v2, v9, 0xffff0000, 0", LOW, None),
        ("v_mov_b16_e32 v9.h, v3.h\n v_fma_mix_f32 v2, v9, 1.0, 0 op_sel:[1,0,0] op_sel_hi:[1,0,0]", 0, None),
        ("v_mov_b16_e32 v9.h, v3.h\n v_fma_mix_f32 v2, v9, 1.0, 0 op_sel_hi:[1,0,0]", ALL, None),
        ("v_mov_b16_e32 v9.l, v3.l\n v_cvt_f32_ubyte1 v2, v9", 0, None),
        ("v_mov_b16_e32 v9.l, v3.l\n v_cvt_f32_ubyte2 v2, v9", ALL, None),
        ("v_mov_b16_e32 v9.l, 5\n v_readfirstlane_b32 s3, v9\n s_sext_i32_i16 s3, s3\n v_mov_b32 v2, s3", 0, None),
        ("s_and_not1_b32 s40, s40, exec_lo\n v_mov_b32 v2, s40", 0, lambda x: x * 0),  # as in every loop
        ("s_mov_b32 s3, 0xffff\n s_and_not1_b32 s40, s40, s3\n v_mov_b32 v2, s40", HIGH, lambda x: x * 0),
        ("s_mov_b32 s3, 0xffff\n s_or_not1_b32 s40, s40, s3\n v_mov_b32 v2, s40", LOW, lambda x: x * 0 + HIGH),
        ("v_swap_b32 v9, v3\n v_mov_b32 v2, v9", 0, lambda x: x),
        ("v_swap_b32 v9, v3\n v_mov_b32 v2, v3", ALL, lambda x: x * 0),
        ("v_dual_mov_b32 v2, v9 :: v_dual_mov_b32 v11, v3", ALL, lambda x: x * 0),
        ("v_dual_mov_b32 v10, v9 :: v_dual_mov_b32 v11, v3\n v_mov_b32 v2, v11", 0, lambda x: x),
    ],
)  # fmt: skip
def test_an_undefined_half_or_byte_may_be_copied(body: str, bits: int, value: object) -> None:
    data = words(2, LANES)
    got, found = stored(LOAD_HALF + body + "\n s_waitcnt vmcnt(0)", data)
    assert set(found.tolist()) == {bits}
    if callable(value):
        mask = np.uint32(~bits & ALL)
        assert np.array_equal(got & mask, value(data).astype(np.uint32) & mask)


def test_lanes_are_undefined_one_by_one() -> None:
    """A write under EXEC defines only the active lanes; a lane move takes its bit along."""
    body = "s_mov_b32 exec_lo, 0x0000ff0f\n v_mov_b32 v2, 7\n s_mov_b32 exec_lo, -1\n"
    active = [*range(4), *range(8, 16)]
    passive = sorted(set(range(LANES)) - set(active))
    _, found = stored(body)
    assert np.array_equal(found, lanes(*passive))
    _, found = stored(body + "v_mov_b32_dpp v2, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1")
    moved = [lane for lane in range(LANES) if lane % 16 and lane - 1 in passive]
    assert np.array_equal(found, lanes(*moved))
    _, found = stored(body + "ds_swizzle_b32 v2, v2 offset:swizzle(SWAP,16)\n s_waitcnt lgkmcnt(0)")
    assert np.array_equal(found, lanes(*((lane + 16) % 32 for lane in passive)))
    for lane, expected in ((3, 0), (4, ALL)):
        _, found = stored(body + f"v_readlane_b32 s3, v2, {lane}\n v_mov_b32 v2, s3")
        assert set(found.tolist()) == {expected}


def test_lds_keeps_definedness_by_bytes() -> None:
    body = "ds_store_b8 v1, v0 offset:1\n ds_store_b16 v1, v9 offset:2\n s_waitcnt lgkmcnt(0)\n ds_load_b32 v2, v1\n"
    value, found = stored(body + "s_waitcnt lgkmcnt(0)", lds=128)
    assert (found == 0xFFFF00FF).all()
    assert np.array_equal(value & 0xFF00, np.arange(LANES, dtype=np.uint32) << 8)


def test_a_defined_store_over_undefined_memory_defines_it() -> None:
    code = assembled("global_store_b8 v1, v9, s[4:5]\n global_store_b32 v1, v0, s[4:5]", pointers=1)
    assert np.array_equal(outputs(code, [fresh(LANES)])[0], np.arange(LANES))


# Where an undefined value is an error.


@pytest.mark.parametrize(
    ("body", "what", "lane"),
    [
        ("global_load_b32 v2, v9, s[4:5]", "used as an address", 0),
        ("global_load_b32 v2, v[8:9], off", "used as an address", 0),
        ("global_load_b32 v2, v1, s[40:41]", "used as an address", 0),
        ("global_store_b32 v9, v0, s[4:5]", "used as an address", 0),
        ("global_atomic_add_u32 v9, v0, s[4:5]", "used as an address", 0),
        ("flat_load_b32 v2, v[8:9]", "used as an address", 0),
        ("scratch_load_b32 v2, v9, off", "used as a scratch address", 0),
        ("ds_load_b32 v2, v9", "used as an LDS address", 0),
        ("ds_add_u32 v9, v0", "used as an LDS address", 0),
        ("s_load_b32 s3, s[40:41], 0x0", "used as a scalar address", 0),
        ("s_mov_b32 exec_lo, 0xfff0\n v_mov_b32 v9, v1\n s_mov_b32 exec_lo, -1\n ds_load_b32 v2, v9",
         "used as an LDS address", 0),
        ("s_mov_b32 exec_lo, 0xff\n v_mov_b32 v9, v1\n s_mov_b32 exec_lo, -1\n ds_load_b32 v2, v9",
         "used as an LDS address", 8),
        ("v_cmp_gt_u32 vcc_lo, 5, v9\n s_cbranch_vccz .L0\n s_nop 1\n.L0:", "branch depends", 0),
        ("s_cmp_eq_u32 s40, 4\n s_cbranch_scc1 .L0\n s_nop 1\n.L0:", "branch depends", 0),
        ("s_cbranch_scc0 .L0\n s_nop 1\n.L0:", "branch depends", 0),
        ("v_cmp_gt_u32 vcc_lo, 5, v9\n s_and_saveexec_b32 s3, vcc_lo", "set of active lanes", None),
        ("v_cmpx_gt_u32 5, v9", "set of active lanes", 0),
        ("s_mov_b32 exec_lo, s40", "set of active lanes", None),
        ("s_and_b32 exec_lo, exec_lo, s40", "set of active lanes", None),
    ],
)  # fmt: skip
def test_an_undefined_value_may_not_reach_an_address_or_a_branch(
    body: str, what: str, lane: int | None
) -> None:
    code = assembled(f"s_nop 0\n{body}\n  s_nop 0", pointers=1, lds=128, scratch=16)
    error = fault(lambda: launch(code, [np.zeros(LANES, np.uint32)]), what)
    assert error.where["kernel"] == "k"
    assert str(error.where["line"]).startswith("kernel.s:")
    assert str(error.where["PC"]).startswith("0x")
    assert "instruction" in error.where
    if lane is not None:
        assert (error.where["wave"], error.where["lane"]) == (0, lane)


def test_an_undefined_address_in_an_inactive_lane_is_no_error() -> None:
    body = "s_mov_b32 exec_lo, 0xff\n v_mov_b32 v9, v1\n v_mov_b32 v2, 3\n global_store_b32 v9, v2, s[4:5]"
    got = outputs(assembled(body, pointers=1), [np.zeros(LANES, np.uint32)])[0]
    assert got.tolist() == [3] * 8 + [0] * 24


def test_a_comparison_of_defined_lanes_is_defined_even_if_others_are_not() -> None:
    """The mask has undefined bits only where its lane has; those lanes never run."""
    body = """
      s_mov_b32 exec_lo, 0xffff
      v_mov_b32 v9, v0
      v_cmp_gt_u32 vcc_lo, 5, v9
      s_and_saveexec_b32 s3, vcc_lo
      v_mov_b32 v2, 3
      global_store_b32 v1, v2, s[4:5]
    """
    got = outputs(assembled(body, pointers=1), [np.zeros(LANES, np.uint32)])[0]
    assert got.tolist() == [3] * 5 + [0] * 27


# Atomics.

LDS_READ = "s_waitcnt lgkmcnt(0)\n ds_load_b32 v2, v1\n s_waitcnt lgkmcnt(0)"


@pytest.mark.parametrize(
    ("body", "bits"),
    [
        ("v_mov_b32 v3, 1\n ds_add_u32 v1, v3\n " + LDS_READ, ALL),  # a counter that nobody cleared
        ("v_mov_b32 v3, 1\n ds_add_rtn_u32 v2, v1, v3\n s_waitcnt lgkmcnt(0)", ALL),
        ("ds_store_b32 v1, v0\n ds_add_u32 v1, v9\n " + LDS_READ, ALL),
        ("ds_store_b32 v1, v0\n ds_add_rtn_u32 v2, v1, v9\n s_waitcnt lgkmcnt(0)", 0),
        ("ds_store_b32 v1, v0\n ds_max_rtn_u32 v2, v1, v0\n " + LDS_READ, 0),
        ("ds_storexchg_rtn_b32 v2, v1, v0\n s_waitcnt lgkmcnt(0)", ALL),
        ("ds_storexchg_rtn_b32 v3, v1, v0\n " + LDS_READ, 0),
        ("ds_store_b32 v1, v0\n ds_storexchg_rtn_b32 v3, v1, v9\n " + LDS_READ, ALL),
        ("ds_store_b32 v1, v0\n ds_cmpstore_rtn_b32 v3, v1, v0, v9\n " + LDS_READ, ALL),
    ],
)
def test_atomics_on_undefined_values_leave_undefined_values(body: str, bits: int) -> None:
    _, found = stored(body, lds=128)
    assert set(found.tolist()) == {bits}


def test_a_global_atomic_with_an_undefined_operand_spoils_its_lane_only() -> None:
    body = "s_mov_b32 exec_lo, 0xff\n v_mov_b32 v9, v0\n s_mov_b32 exec_lo, -1\n global_atomic_add_u32 v1, v9, s[4:5]"
    result = launch(assembled(body, pointers=1), [np.full(LANES, 7, np.uint32)])
    assert np.array_equal(undefined(result), lanes(*range(8, 32)))
    assert result.buffers[0] is not None
    assert result.buffers[0][:8].tolist() == [7 + i for i in range(8)]


# Across waves, and in the fast path.


def two_waves(body: str) -> CodeObject:
    return assembled(body + "\n global_store_b32 v1, v2, s[4:5]", pointers=1, lds=512)


def test_definedness_is_per_wave() -> None:
    body = """
      v_readfirstlane_b32 s3, v0
      s_cmp_eq_u32 s3, 0
      s_cbranch_scc0 .L1
      v_mov_b32 v2, 5
    .L1:
    """
    bits = launch(two_waves(body), [fresh(64)], block=(64,)).undefined[0]
    assert bits is not None
    assert (bits[:32] == 0).all()
    assert (bits[32:] == ALL).all()


def test_lds_written_by_another_wave_is_defined() -> None:
    body = """
      ds_store_b32 v1, v0
      s_waitcnt lgkmcnt(0)
      s_barrier
      v_xor_b32 v3, 0x80, v1
      ds_load_b32 v2, v3
      s_waitcnt lgkmcnt(0)
    """
    got = outputs(two_waves(body), [fresh(64)], block=(64,))[0]
    assert np.array_equal(got, np.arange(64) ^ 32)
