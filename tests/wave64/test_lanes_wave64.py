"""Instructions whose result depends on the number of lanes: 64 of them, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import Array, fault, fresh, launch, outputs, words
from scaffold import scaffolded

LANE = np.arange(64)
STORE = """
  v_lshlrev_b32_e32 v1, 2, v0
  global_store_b32 v1, v2, s[4:5]
"""


def run(body: str, *inputs: Array, block: int = 64, lds: int = 0, scratch: int = 0) -> Array:
    """What the lanes store from v2; v3 and v4 hold their words of the inputs."""
    loads = "v_lshlrev_b32_e32 v1, 2, v0\n" + "".join(
        f"  global_load_b32 v{3 + i}, v1, s[{6 + 2 * i}:{7 + 2 * i}]\n" for i in range(len(inputs))
    )
    text = f"{loads}  s_waitcnt vmcnt(0)\n{body}\n{STORE}"
    code = scaffolded(
        text, target="gfx1151", wave_size=64, pointers=1 + len(inputs), lds=lds, scratch=scratch
    )
    return outputs(code, [fresh(block), *inputs], block=(block,))[0]


def bits(mask: int) -> Array:
    """Lanes of a 64-bit mask, as 0 or 1."""
    return np.array([mask >> lane & 1 for lane in range(64)], np.uint32)


def test_a_compare_writes_two_registers() -> None:
    a, b = words(1, 64), words(2, 64)
    less = sum(int(x < y) << i for i, (x, y) in enumerate(zip(a, b, strict=True)))
    body = """
      v_cmp_lt_u32_e64 s[10:11], v3, v4
      v_mov_b32 v2, s10
      v_mov_b32 v5, s11
      v_cmp_lt_u32_e32 vcc, 31, v0
      v_cndmask_b32_e32 v2, v2, v5, vcc
    """
    got = run(body, a, b)
    assert (got[:32] == less & 0xFFFFFFFF).all()
    assert (got[32:] == less >> 32).all()


def test_cmpx_and_saveexec_turn_single_lanes_off() -> None:
    keep = 0x8000_0001_F0F0_0003
    body = f"""
      v_mov_b32 v2, 7
      s_mov_b32 s10, {keep & 0xFFFFFFFF:#x}
      s_mov_b32 s11, {keep >> 32:#x}
      s_and_saveexec_b64 s[12:13], s[10:11]
      v_cmpx_lt_u32_e32 20, v0
      v_mov_b32 v2, v3
      s_mov_b64 exec, s[12:13]
    """
    a = words(3, 64)
    assert np.array_equal(run(body, a), np.where((bits(keep) != 0) & (LANE > 20), a, 7))


@pytest.mark.parametrize("half", ["exec_lo", "exec_hi"])
def test_each_half_of_exec_by_itself(half: str) -> None:
    a = words(4, 64)
    body = f"""
      v_mov_b32 v2, 9
      s_mov_b64 s[10:11], exec
      s_mov_b32 {half}, 0x55
      v_mov_b32 v2, v3
      s_mov_b64 exec, s[10:11]
    """
    mask = 0xFFFFFFFF_00000055 if half == "exec_lo" else 0x00000055_FFFFFFFF
    assert np.array_equal(run(body, a), np.where(bits(mask) != 0, a, 9))


@pytest.mark.parametrize("register", ["vcc_lo", "vcc_hi", "exec_lo", "exec_hi"])
def test_branches_look_at_both_halves(register: str) -> None:
    """Neither mask is zero while one of its two words is not."""
    name = register[:-3] + "z"
    body = f"""
      s_mov_b64 s[10:11], exec
      s_mov_b64 {register[:-3]}, 0
      s_mov_b32 {register}, 8
      s_mov_b32 s12, 5
      s_cbranch_{name} skip
      s_mov_b32 s12, 6
    skip:
      s_mov_b64 exec, s[10:11]
      v_mov_b32 v2, s12
    """
    assert (run(body) == 6).all()


def test_readlane_and_writelane_reach_every_lane() -> None:
    a = words(5, 64)
    got = run("v_readlane_b32 s10, v3, 45\n v_mov_b32 v2, v3\n v_writelane_b32 v2, s10, 62", a)
    assert np.array_equal(got, np.where(LANE == 62, a[45], a))
    first = (
        "s_mov_b32 exec_lo, 0\n s_mov_b32 exec_hi, 0xf00\n v_readfirstlane_b32 s10, v3\n s_mov_b64 exec, -1"
    )
    assert (run(f"{first}\n v_mov_b32 v2, s10", a) == a[40]).all()


def test_mbcnt_counts_the_lanes_below() -> None:
    mask = 0xFEDC_BA98_7654_3211
    body = f"""
      s_mov_b32 s10, {mask & 0xFFFFFFFF:#x}
      s_mov_b32 s11, {mask >> 32:#x}
      v_mbcnt_lo_u32_b32 v2, s10, 100
      v_mbcnt_hi_u32_b32 v2, s11, v2
    """
    assert np.array_equal(run(body), 100 + np.cumsum(bits(mask)) - bits(mask))
    assert np.array_equal(run("v_mbcnt_lo_u32_b32 v2, -1, 0\n v_mbcnt_hi_u32_b32 v2, -1, v2"), LANE)


def test_dpp_stays_in_rows_of_16() -> None:
    a = words(6, 64)
    in_row = LANE % 16
    shifted = np.where(in_row < 3, 0, a[np.maximum(LANE - 3, 0)])
    assert np.array_equal(
        run("v_mov_b32_dpp v2, v3 row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:1", a), shifted
    )
    mirrored = a[LANE - in_row + 15 - in_row]
    masked = "v_mov_b32 v2, 4\n v_mov_b32_dpp v2, v3 row_mirror row_mask:0xa bank_mask:0x5"
    enabled = np.isin(LANE // 16, [1, 3]) & np.isin(in_row // 4, [0, 2])
    assert np.array_equal(run(masked, a), np.where(enabled, mirrored, 4))
    eights = run("v_mov_b32_dpp v2, v3 dpp8:[7,6,5,4,3,2,1,0]", a)
    assert np.array_equal(eights, a[LANE ^ 7])


@pytest.mark.parametrize("name", ["v_permlane16_b32", "v_permlanex16_b32"])
def test_permlane_within_each_half(name: str) -> None:
    a, select = words(7, 64), np.random.default_rng(8).permutation(16)
    packed = sum(int(s) << 4 * i for i, s in enumerate(select))
    body = f"s_mov_b32 s10, {packed & 0xFFFFFFFF:#x}\n s_mov_b32 s11, {packed >> 32:#x}\n {name} v2, v3, s10, s11"
    row = LANE & 48 ^ (16 if "x16" in name else 0)
    assert np.array_equal(run(body, a), a[row + select[LANE % 16]])


def test_permlane64_swaps_the_halves_inactive_lanes_included() -> None:
    a = words(9, 64)
    body = """
      v_mov_b32 v2, 5
      s_mov_b32 exec_hi, 0
      v_permlane64_b32 v2, v3
      s_mov_b32 exec_hi, -1
    """
    assert np.array_equal(run(body, a), np.where(LANE < 32, a[LANE ^ 32], 5))


def test_lds_permutations_keep_to_their_half() -> None:
    """RDNA3 ISA guide: each half of a wave64 permutes as an independent wave32."""
    a = words(10, 64)
    target = np.concatenate([np.random.default_rng(s).permutation(32) for s in (11, 12)]).astype(np.uint32)
    place = (LANE & 32) + target.astype(np.int64)
    shift = "v_lshlrev_b32 v4, 2, v4\n"
    pulled = run(f"{shift} ds_bpermute_b32 v2, v4, v3\n s_waitcnt lgkmcnt(0)", a, target)
    assert np.array_equal(pulled, a[place])
    pushed = run(f"{shift} ds_permute_b32 v2, v4, v3\n s_waitcnt lgkmcnt(0)", a, target)
    wanted = np.empty_like(a)
    wanted[place] = a
    assert np.array_equal(pushed, wanted)
    # Bits above the lane's five do not reach into the other half.
    beyond = run(
        f"v_add_nc_u32 v4, 32, v4\n {shift} ds_bpermute_b32 v2, v4, v3\n s_waitcnt lgkmcnt(0)", a, target
    )
    assert np.array_equal(beyond, a[place])


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        ("swizzle(SWAP, 16)", LANE ^ 16),
        ("swizzle(REVERSE, 32)", LANE ^ 31),
        ("swizzle(BROADCAST, 32, 5)", (LANE & 32) + 5),
        ("swizzle(QUAD_PERM, 3, 1, 0, 2)", (LANE & ~3) + np.array([3, 1, 0, 2])[LANE & 3]),
    ],
)
def test_swizzle_keeps_to_its_half(pattern: str, source: Array) -> None:
    a = words(13, 64)
    got = run(f"ds_swizzle_b32 v2, v3 offset:{pattern}\n s_waitcnt lgkmcnt(0)", a)
    assert np.array_equal(got, a[source])


def test_lds_and_scratch_have_room_for_64_lanes() -> None:
    a = words(14, 128)
    through_lds = """
      v_xor_b32 v5, 0x1fc, v1
      ds_store_b32 v1, v3
      s_waitcnt lgkmcnt(0)
      s_barrier
      ds_load_b32 v2, v5
      s_waitcnt lgkmcnt(0)
    """
    assert np.array_equal(run(through_lds, a, block=128, lds=512), a[::-1])
    private = """
      scratch_store_b32 off, v3, off offset:4
      s_waitcnt_vscnt null, 0
      scratch_load_b32 v2, off, off offset:4
      s_waitcnt vmcnt(0)
    """
    assert np.array_equal(run(private, a, block=128, scratch=16), a)


def test_carries_go_through_register_pairs() -> None:
    a, b = words(15, 64), words(16, 64)
    body = "v_add_co_u32 v2, s[10:11], v3, v4\n v_add_co_ci_u32_e64 v2, s[12:13], 0, 0, s[10:11]"
    carries = ((a.astype(np.uint64) + b) >> np.uint64(32)).astype(np.uint32)
    assert np.array_equal(run(body, a, b), carries)


def test_only_the_upper_word_undefined_is_seen() -> None:
    body = f"s_mov_b32 s10, -1\n s_and_saveexec_b64 s[12:13], s[10:11]\n v_mov_b32 v2, 1\n{STORE}"
    code = scaffolded(body, target="gfx1151", wave_size=64, pointers=1)
    error = fault(lambda: launch(code, [fresh(64)], block=(64,)), "active lanes depends on an undefined")
    assert error.where["instruction"] == "s_and_saveexec_b64"
    # 32 work-items: the upper lanes are off, and their bits cannot turn them on.
    assert (outputs(code, [fresh(32)], block=(32,))[0] == 1).all()


def test_a_fault_names_a_lane_of_the_upper_half() -> None:
    body = "v_lshlrev_b32 v1, 2, v0\n v_mov_b32 v2, v0\n global_store_b32 v1, v2, s[4:5]"
    code = scaffolded(body, target="gfx1151", wave_size=64, pointers=1)
    error = fault(lambda: launch(code, [np.zeros(40, np.uint32)], block=(64,)), "outside every allocation")
    assert error.where["lane"] == 40
