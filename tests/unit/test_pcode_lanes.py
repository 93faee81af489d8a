"""The oracle on instructions that touch memory or other lanes, against values worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from oracle.pcode import PcodeFault, Result, evaluate, evaluate_wave

LANES = range(32)
ALL = 0xFFFFFFFF
# Distinct values that are no lane numbers, so that a wrong register cannot pass for a right one.
VALUES = [1000 + 37 * lane for lane in LANES]
OLD = [7_000_000 + lane for lane in LANES]


def memory(at: int, data: bytes) -> dict[int, int]:
    return {at + i: byte for i, byte in enumerate(data)}


def column(result: Result, register: int = 2) -> list[int]:
    """The destination VGPR afterwards."""
    return [result.vgpr_writes.get((lane, register), OLD[lane]) for lane in LANES]


@pytest.mark.parametrize(
    ("op", "data", "d0"),
    [
        ("ds_load_u8", b"\xfe", 0x000000FE),
        ("ds_load_i8", b"\xfe", 0xFFFFFFFE),
        ("global_load_u16", b"\x34\xf2", 0x0000F234),
        ("global_load_i16", b"\x34\xf2", 0xFFFFF234),
        ("ds_load_u16_d16", b"\x34\xf2", 0x5555F234),
        ("ds_load_u16_d16_hi", b"\x34\xf2", 0xF2346666),
        ("ds_load_i8_d16_hi", b"\x80", 0xFF806666),
        ("global_load_d16_u8", b"\x80", 0x55550080),
        ("flat_load_d16_hi_b16", b"\x34\xf2", 0xF2346666),
        ("scratch_load_d16_hi_u8", b"\x80", 0x00806666),
        ("buffer_load_d16_b16", b"\x34\xf2", 0x5555F234),
        ("ds_load_b32", b"\x78\x56\x34\x12", 0x12345678),
    ],
)
def test_loads_keep_the_half_they_do_not_write(op: str, data: bytes, d0: int) -> None:
    result = evaluate(op, addr=0x100, offset=8, mem=memory(0x108, data), d0=0x55556666)
    assert hex(result.d0) == hex(d0)


def test_wide_loads_put_the_lowest_address_into_the_lowest_register() -> None:
    data = bytes(range(1, 17))
    assert evaluate("global_load_b128", addr=64, mem=memory(64, data)).d0 == int.from_bytes(data, "little")
    assert evaluate("ds_load_b96", addr=64, mem=memory(64, data)).d0 == int.from_bytes(data[:12], "little")
    assert evaluate("s_load_b64", addr=64, mem=memory(64, data)).d0 == int.from_bytes(data[:8], "little")


@pytest.mark.parametrize(
    ("op", "stride", "size"),
    [
        ("ds_load_2addr_b32", 4, 4),
        ("ds_load_2addr_stride64_b32", 256, 4),
        ("ds_load_2addr_b64", 8, 8),
        ("ds_load_2addr_stride64_b64", 512, 8),
    ],
)
def test_two_addresses_count_in_elements(op: str, stride: int, size: int) -> None:
    first, second = bytes(range(10, 10 + size)), bytes(range(90, 90 + size))
    data = memory(16 + 3 * stride, first) | memory(16 + 5 * stride, second)
    result = evaluate(op, addr=16, offset0=3, offset1=5, mem=data)
    assert result.d0 == int.from_bytes(first + second, "little")
    stored = evaluate(
        op.replace("load", "store"),
        addr=16,
        offset0=3,
        offset1=5,
        data=int.from_bytes(first, "little"),
        data2=int.from_bytes(second, "little"),
    )
    assert stored.writes == data


@pytest.mark.parametrize(
    ("op", "written"),
    [
        ("ds_store_b8", b"\x44"),
        ("ds_store_b16", b"\x44\x33"),
        ("ds_store_b8_d16_hi", b"\x22"),
        ("global_store_d16_hi_b16", b"\x22\x11"),
        ("scratch_store_b32", b"\x44\x33\x22\x11"),
        ("flat_store_b64", b"\x44\x33\x22\x11\x88\x77\x66\x55"),
    ],
)
def test_stores_write_so_many_bytes_and_no_more(op: str, written: bytes) -> None:
    assert evaluate(op, addr=0x30, offset=2, data=0x5566778811223344).writes == memory(0x32, written)


@pytest.mark.parametrize(
    ("op", "inputs", "after"),
    [
        ("ds_add_rtn_u32", {"data": 5}, 4),  # wraps
        ("ds_sub_u32", {"data": 1}, 0xFFFFFFFE),
        ("ds_min_rtn_i32", {"data": 3}, ALL),
        ("ds_min_rtn_u32", {"data": 3}, 3),
        ("ds_max_i32", {"data": 3}, 3),
        ("ds_inc_rtn_u32", {"data": 9}, 0),
        ("ds_xor_rtn_b32", {"data": 0xF0}, 0xFFFFFF0F),
        ("ds_storexchg_rtn_b32", {"data": 77}, 77),
        ("ds_cmpstore_rtn_b32", {"data": 77, "data2": ALL}, 77),
        ("ds_cmpstore_rtn_b32", {"data": 77, "data2": 1}, ALL),
        ("global_atomic_cmpswap_b32", {"data": ALL << 32 | 88}, 88),
        ("global_atomic_cmpswap_b32", {"data": 88 << 32 | ALL}, ALL),
        ("flat_atomic_dec_u32", {"data": 9}, 9),
    ],
)
def test_atomics_return_what_was_there(op: str, inputs: dict[str, Any], after: int) -> None:
    before = memory(12, b"\xff\xff\xff\xff")
    result = evaluate(op, addr=8, offset=4, mem=before, **inputs)
    assert (result.d0, result.writes) == (ALL, memory(12, after.to_bytes(4, "little")))


def test_float_atomics_round() -> None:
    result = evaluate("ds_add_f32", addr=0, mem=memory(0, b"\x00\x00\x80\x4b"), data=0x3F800000)
    assert result.writes == memory(0, b"\x00\x00\x80\x4b")  # 2**24 + 1 is not representable


def test_memory_that_was_not_given_is_a_fault() -> None:
    with pytest.raises(PcodeFault, match="0x11"):
        evaluate("ds_load_u16", addr=0x10, mem={0x10: 1})


def test_readlane_readfirstlane_and_writelane() -> None:
    vgpr = {1: VALUES}
    assert evaluate_wave("v_readlane_b32", vgpr=vgpr, src0=1, s1=37).d0 == VALUES[5]  # lane modulo 32
    assert evaluate_wave("v_readfirstlane_b32", vgpr=vgpr, src0=1, exec_=0xF00).d0 == VALUES[8]
    assert evaluate_wave("v_readfirstlane_b32", vgpr=vgpr, src0=1, exec_=0).d0 == VALUES[0]
    wrote = evaluate_wave("v_writelane_b32", vgpr=vgpr, vdst=2, s0=99, s1=9, exec_=0)
    assert wrote.vgpr_writes == {(9, 2): 99}


def test_permlane16_selects_within_the_row_and_permlanex16_in_the_other() -> None:
    selects = {"s1": 0x76543210, "s2": 0x89ABCDEF}  # lanes 8..15 mirrored
    lanes = [*range(8), *range(15, 7, -1)]
    vgpr = {1: VALUES, 2: OLD}
    here = evaluate_wave("v_permlane16_b32", vgpr=vgpr, src0=1, vdst=2, **selects)
    assert column(here) == [VALUES[i] for i in lanes] + [VALUES[16 + i] for i in lanes]
    there = evaluate_wave("v_permlanex16_b32", vgpr=vgpr, src0=1, vdst=2, **selects)
    assert column(there) == [VALUES[16 + i] for i in lanes] + [VALUES[i] for i in lanes]


@pytest.mark.parametrize(("opsel", "from_inactive"), [(0, OLD[4]), (2, 0), (1, VALUES[20])])
def test_permlanex16_of_an_inactive_lane(opsel: int, from_inactive: int) -> None:
    active = 0x0000FFFF | 1 << 21
    result = evaluate_wave(
        "v_permlanex16_b32",
        vgpr={1: VALUES, 2: OLD},
        src0=1,
        vdst=2,
        s1=0x76543210,
        s2=0xFEDCBA98,
        exec_=active,
        opsel=opsel,
    )
    after = column(result)
    assert (after[4], after[5], after[21]) == (from_inactive, VALUES[21], VALUES[5])
    assert after[16:21] == OLD[16:21]


@pytest.mark.parametrize(
    ("offset", "source"),
    [
        (0x041F, lambda i: i ^ 1),
        (0x401F, lambda i: i ^ 16),
        (0x0018, lambda i: i & 24),
        (0x0060 | 0x1C, lambda i: i & 28 | 3),
        (0x801B, lambda i: i & 28 | 3 - (i & 3)),
        (0xC020, lambda i: (i + 1) % 32),
        (0xC420, lambda i: (i - 1) % 32),
        (0xC027, lambda i: (i & 7) | ((i + 1) & 24)),
        (0xE000, lambda i: int(f"{i:05b}"[::-1], 2)),
        (0xE01F, lambda i: i),
    ],
)
def test_swizzle_modes(offset: int, source: object) -> None:
    assert callable(source)
    result = evaluate_wave("ds_swizzle_b32", vgpr={1: VALUES, 2: OLD}, addr=1, vdst=2, offset=offset)
    assert column(result) == [VALUES[source(i)] for i in LANES]


def test_swizzle_reads_zero_from_inactive_lanes_and_writes_only_active_ones() -> None:
    result = evaluate_wave("ds_swizzle_b32", vgpr={1: VALUES, 2: OLD}, addr=1, vdst=2, offset=0x041F, exec_=7)
    assert column(result) == [VALUES[1], VALUES[0], 0, *OLD[3:]]


def test_bpermute_pulls_and_permute_pushes() -> None:
    """With lanes rotated by 5 the two move data in opposite directions."""
    vgpr = {0: [4 * (lane + 5) for lane in LANES], 1: VALUES, 2: OLD}
    pulled = evaluate_wave("ds_bpermute_b32", vgpr=vgpr, addr=0, data0=1, vdst=2)
    assert column(pulled) == [VALUES[(lane + 5) % 32] for lane in LANES]
    pushed = evaluate_wave("ds_permute_b32", vgpr=vgpr, addr=0, data0=1, vdst=2)
    assert column(pushed) == [VALUES[(lane - 5) % 32] for lane in LANES]


def test_bpermute_ignores_high_and_low_bits_of_the_address() -> None:
    vgpr = {0: [0x80000000 | 4 * lane | 3 for lane in LANES], 1: VALUES, 2: OLD}
    result = evaluate_wave("ds_bpermute_b32", vgpr=vgpr, addr=0, data0=1, vdst=2, offset=8)
    # The three low bits carry into the lane: 4 * lane + 3 + 8 divided by 4.
    assert column(result) == [VALUES[(lane + 2) % 32] for lane in LANES]


def test_bpermute_of_an_inactive_lane_is_zero_and_permute_takes_the_highest() -> None:
    vgpr = {0: [16] * 32, 1: VALUES, 2: OLD}
    pulled = evaluate_wave("ds_bpermute_b32", vgpr=vgpr, addr=0, data0=1, vdst=2, exec_=0x3)
    assert column(pulled) == [0, 0, *OLD[2:]]
    pushed = evaluate_wave("ds_permute_b32", vgpr=vgpr, addr=0, data0=1, vdst=2, exec_=0x1F)
    assert column(pushed) == [0, 0, 0, 0, VALUES[4], *OLD[5:]]
