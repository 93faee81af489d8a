"""Scratch, flat pointers, LDS addresses, and atomics whose lanes collide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator.lab import EVERYWHERE, LANES, Array, assembled, compiled, fault, fresh, launch, outputs, words

from layoutprobe.backends.base import Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.observe.lds import LdsObserver

MASK = 0xFFFFFFFF


def run(kernel: str, *args: Any, **options: Any) -> list[Array]:
    return outputs(compiled("memory"), list(args), kernel=kernel, **options)


# Scratch.


def private_array(data: list[int], x: int, n: int) -> int:
    a = [data[x] * (i + 1) & MASK for i in range(24)]
    for i in range(n):
        a[data[x + i & 255] % 24] ^= a[(x + i) % 24]
    total = 0
    for value in a:
        total = total * 31 + value & MASK
    return total


@EVERYWHERE
@pytest.mark.parametrize(("grid", "block"), [(1, 32), (1, 256), (1, 40)])
def test_a_private_array_is_each_lanes_own(grid: int, block: int) -> None:
    data = words(1, 256)
    got = run("private_array", data, fresh(block), np.int32(17), block=(block,))[1]
    assert got.tolist() == [private_array(data.tolist(), x, 17) for x in range(block)]


def private_bytes(data: list[int], x: int, n: int) -> int:
    b = [(data[x] >> (i & 24) & 255) + i & 255 for i in range(40)]
    h = [data[x] * i & 0xFFFF for i in range(12)]
    for i in range(n):
        at = data[x + i] % 40
        b[at] = b[at] + (h[data[x + i + 3] % 12] & 255) & 255
        h[(x + i) % 12] ^= b[i % 40]
    total = 0
    for value in b:
        total = total * 5 + value & MASK
    for value in h:
        total = total * 7 + value & MASK
    return total


@EVERYWHERE
def test_private_bytes_and_halves() -> None:
    data = words(2, 256)
    got = run("private_bytes", data, fresh(96), np.int32(9), block=(96,))[1]
    assert got.tolist() == [private_bytes(data.tolist(), x, 9) for x in range(96)]


@pytest.mark.parametrize("offset", [16, 13, -4])
def test_scratch_beyond_the_frame_is_an_error(offset: int) -> None:
    code = assembled(f"scratch_load_b32 v2, off, off offset:{offset}", pointers=1, scratch=16)
    error = fault(lambda: launch(code, [fresh(LANES)]), "scratch access of 4 bytes beyond")
    assert error.observed == f"byte address {offset}"


def test_scratch_addresses_add_up() -> None:
    """VGPR plus SGPR plus offset, each lane in its own copy."""
    body = """
      v_lshlrev_b32 v3, 2, v0
      v_and_b32 v3, 28, v3
      s_mov_b32 s16, 32
      scratch_store_b32 v3, v0, s16 offset:16
      v_mov_b32 v4, 0x1234
      scratch_store_b32 off, v4, s16 offset:12
      s_waitcnt vmcnt(0)
      v_add_nc_u32 v3, 52, v3
      scratch_load_b32 v2, v3, off offset:-4
      s_waitcnt vmcnt(0)
      global_store_b32 v1, v2, s[4:5]
    """
    got = outputs(assembled(body, pointers=1, scratch=128), [fresh(64)], block=(64,))[0]
    assert np.array_equal(got, np.arange(64))


# Flat.


@EVERYWHERE
def test_one_pointer_into_three_memories() -> None:
    data = words(3, 64) >> 1
    changed, got = run("flat_pointer", data.copy(), fresh(64), np.int32(5), block=(64,))
    wanted_data, wanted = data.copy(), np.zeros(64, np.uint32)
    for x in range(64):
        which = data[x] % 3
        before = {0: int(data[x]), 1: (x ^ 1) + 7, 2: 1000 * x + 5}[int(which)]
        wanted[x] = ((before + 5) * 2 + before) & MASK
        if which == 0:
            wanted_data[x] = before + 5
    assert np.array_equal(got, wanted)
    assert np.array_equal(changed, wanted_data)
    assert len(set((data % 3).tolist())) == 3


@EVERYWHERE
@pytest.mark.parametrize("shared", [0, 1])
def test_flat_accesses_of_every_width(shared: int) -> None:
    data = words(4, 65)
    data[0] = shared
    got = run("flat_widths", data, fresh(8192), np.int32(0), block=(64,), undefined_allowed=True)[1][:64]
    x = data[1:].astype(np.int64)
    byte, half = x & 255, x >> 8 & 0xFFFF
    total = byte + half * 3 + (x ^ 0x5A5A5A5A) + (byte ^ 128) - 128 + (half ^ 0x8000) - 0x8000
    assert np.array_equal(got, total & MASK)


# LDS addresses.


@EVERYWHERE
def test_counting_down_from_an_offset() -> None:
    """clang makes a negative base and a positive offset of x[63 - i]; inactive lanes must not matter."""
    data = words(5, 64)
    got = run("countdown", data, fresh(64), block=(64,))[1]
    wanted = np.where(np.arange(64) % 2, data[::-1] * np.uint32(3) + data, 1)
    assert np.array_equal(got, wanted)


def test_a_negative_base_in_the_last_workgroup_with_few_active_lanes() -> None:
    body = """
      ds_store_b32 v1, v0
      v_sub_nc_u32 v3, 0, v1
      s_waitcnt lgkmcnt(0)
      v_add_nc_u32 v3, 0xffff0000, v3
      v_mov_b32 v2, 7
      s_mov_b32 exec_lo, 0x80000000
      v_mov_b32 v3, 0xffffff00
      ds_load_b32 v2, v3 offset:260
      s_waitcnt lgkmcnt(0)
      s_mov_b32 exec_lo, -1
      global_store_b32 v1, v2, s[4:5]
    """
    got = outputs(assembled(body, pointers=1, lds=128), [fresh(LANES)])[0]
    assert got.tolist() == [7] * 31 + [1]


@pytest.mark.parametrize(
    ("body", "what", "observed"),
    [
        ("ds_load_b32 v2, v1 offset:4", "LDS access of 4 bytes beyond", "128"),
        ("ds_load_b128 v[12:15], v1", "LDS access of 16 bytes beyond", "116"),
        ("v_mov_b32 v3, -4\n ds_load_b32 v2, v3", "LDS access of 4 bytes beyond", "-4"),
        ("v_mov_b32 v3, 0x7ffffffc\n ds_store_b32 v3, v0", "LDS access of 4 bytes beyond", "2147483644"),
        ("ds_load_2addr_b32 v[2:3], v1 offset1:1", "LDS access of 4 bytes beyond", "128"),
        ("v_mov_b32 v3, 128\n ds_add_u32 v3, v0", "LDS access of 4 bytes beyond", "128"),
        ("v_mov_b32 v3, 2\n ds_add_u32 v3, v0", "misaligned LDS atomic of 4 bytes", "2"),
        ("v_mov_b32 v3, 4\n ds_add_u64 v3, v[0:1]", "misaligned LDS atomic of 8 bytes", "4"),
        ("v_mov_b32 v3, 4\n ds_cmpstore_b64 v3, v[0:1], v[0:1] offset:8", "misaligned LDS atomic of 8", "12"),
        ("v_mov_b32 v3, 0\n ds_add_rtn_f32 v3, v3, v0 offset:1", "misaligned LDS atomic of 4 bytes", "1"),
    ],
)
def test_lds_faults_name_the_byte(body: str, what: str, observed: str | None) -> None:
    code = assembled(body, pointers=1, lds=128)
    error = fault(lambda: launch(code, [fresh(LANES)]), what)
    assert {"kernel", "line", "PC", "wave", "lane", "workgroup"} <= set(error.where)
    assert observed is None or error.observed == f"byte address {observed}"


# Atomics.


@EVERYWHERE
@pytest.mark.parametrize("n", [256, 1000])
def test_a_histogram_counts_every_lane(n: int) -> None:
    data = words(6, n)
    got = run("histogram", data, np.zeros(16, np.uint32), np.int32(n), grid=(3,), block=(256,))[1]
    assert np.array_equal(got, 3 * np.bincount(data & 15, minlength=16))


@EVERYWHERE
def test_every_ticket_is_given_once() -> None:
    """The order is unspecified; that each value is returned once is not."""
    counter, got = run("tickets", np.full(1, 10, np.uint32), fresh(768), grid=(3,), block=(256,))
    assert sorted(got.tolist()) == list(range(10, 778))
    assert counter.tolist() == [778]


@EVERYWHERE
def test_integer_atomics_that_collide() -> None:
    data = words(7, 512).view(np.int32)
    start = np.array([-(1 << 31), (1 << 31) - 1, 0, 99, -1, 1], np.int32)
    wide = np.array([5, 1 << 40], np.uint64)
    _, out, sums = run("extremes", data, start, wide, grid=(2,), block=(256,))
    total = int(data.view(np.uint32).astype(object).sum())
    wanted = [
        int(data.max()),
        int(data.min()),
        int(data.view(np.uint32).max().view(np.int32)),
        int(np.bitwise_xor.reduce(data)) ^ 99,
        int(np.bitwise_and.reduce(data | 0x0F0F0000)),
        int(np.bitwise_or.reduce(data & 0x00FF00FF)) | 1,
    ]
    assert out.tolist() == wanted
    assert sums.tolist() == [5 + total, ((1 << 40) - total) % (1 << 64)]


@EVERYWHERE
def test_float_atomics_add_up() -> None:
    data = (np.random.default_rng(8).integers(-1000, 1000, 512) / 8).astype(np.float32)
    got = run("float_sum", data, np.zeros(4, np.float32), grid=(2,), block=(256,))[1]
    assert got.tolist() == [float(data[lane::4].sum()) for lane in range(4)]


@EVERYWHERE
def test_compare_and_swap_lets_every_lane_have_its_turn() -> None:
    data = words(9, 64)
    got = run("swap_loop", data, np.ones(1, np.uint32), block=(64,))[1]
    product = 1
    for value in data.tolist():
        product = product * (value | 1) & MASK
    assert got.tolist() == [product]


@EVERYWHERE
def test_the_last_workgroup_sees_what_the_others_left() -> None:
    data = words(10, 20, 8)
    got = run("last_one", data, fresh(20), np.zeros(1, np.uint32), fresh(20), grid=(20,))[3]
    assert np.array_equal(got, data.sum(axis=1, dtype=np.uint32))


@pytest.mark.parametrize(
    ("body", "inactive"),
    [
        ("global_atomic_add_u32 v2, v3, v0, s[4:5] glc", 99),
        ("global_atomic_cmpswap_b32 v2, v3, v[4:5], s[4:5] glc", 99),
        ("ds_add_rtn_u32 v2, v3, v0", 99),
    ],
)
def test_a_returning_atomic_leaves_inactive_lanes_alone(body: str, inactive: int) -> None:
    setup = """
      v_mov_b32 v3, 0
      v_mov_b32 v4, 0
      v_mov_b32 v5, 0
      v_mov_b32 v2, 99
      ds_store_b32 v3, v3
      s_waitcnt lgkmcnt(0)
      s_mov_b32 exec_lo, 0x0000fff0
    """
    end = "s_waitcnt vmcnt(0) lgkmcnt(0)\n s_mov_b32 exec_lo, -1\n global_store_b32 v1, v2, s[6:7]"
    data, got = outputs(assembled(f"{setup}\n{body}\n{end}", lds=128), [np.zeros(4, np.uint32), fresh(LANES)])
    assert (got[:4] == inactive).all()
    assert (got[16:] == inactive).all()
    if "add" in body:
        assert got[4:16].tolist() == [sum(range(4, lane)) for lane in range(4, 16)]
        assert "ds" in body or data[0] == sum(range(4, 16))


# LDS at addresses that are not natural: ordinary source, which clang reads with one wide access.
# It takes for granted (feature unaligned-access-mode, on for amdhsa) that any byte address will do.


@EVERYWHERE
@pytest.mark.parametrize("step", [9, 10, 13])
def test_eight_halves_at_any_even_address(step: int) -> None:
    """x[step * i + 0..7] of 16-bit elements is one ds_load_b128 at an address divisible by 2."""
    data = words(11, 256)
    got = run("halves", data, fresh(64), np.int32(step), block=(64,))[1]
    stored = (data[np.arange(1024) & 255] + np.arange(1024)) & 0xFFFF
    wanted = np.zeros(64, np.int64)
    for j in range(8):
        wanted = wanted * 3 + stored[step * np.arange(64) + j] & MASK
    assert np.array_equal(got, wanted)


@EVERYWHERE
def test_packed_structs() -> None:
    """A 64-bit member at offset 6 of a struct of 14 bytes."""
    data = words(12, 64)
    got = run("packed", data, fresh(64), block=(64,))[1]
    x = data[np.arange(64) ^ 1].astype(object)
    wanted = [((v & 0xFFFF) + v * 3 + (v * 0x100000001 >> 16)) & MASK for v in x]
    assert got.tolist() == wanted


CROOKED = """
  v_lshlrev_b32 v3, 3, v0
  ds_store_b64 v3, v[0:1] offset:8
  s_waitcnt lgkmcnt(0)
  ds_load_b32 v2, v3 offset:{offset}
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v2, s[4:5]
"""


@pytest.mark.parametrize(("offset", "complete"), [(8, True), (12, True), (10, False)])
def test_races_are_undecided_where_granules_cannot_tell_accesses_apart(offset: int, complete: bool) -> None:
    """A program of dwords is watched in dwords; an address between two of them is right, but not seen."""
    code = assembled(CROOKED.format(offset=offset), pointers=1, lds=512)
    watcher = LdsObserver()
    launch = Launch(code, "k", (1, 1, 1), (LANES, 1, 1), [fresh(LANES)])
    result = EmulatorBackend().run(launch, [watcher])
    assert watcher.record().complete == complete
    x = np.arange(LANES, dtype=np.uint64)
    got = result.buffers[0]
    assert got is not None
    assert np.array_equal(got, (x | x << np.uint64(34)) >> np.uint64(8 * (offset - 8)) & np.uint64(MASK))
