"""Lanes that part, waves that part, barriers between them; each kernel against Python, lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulator.lab import (
    EVERYWHERE,
    LANES,
    WAVE32,
    Array,
    assembled,
    compiled,
    fault,
    fresh,
    launch,
    outputs,
    words,
)

from layoutprobe.engine.turns import PATIENCE

MASK = 0xFFFFFFFF


def run(kernel: str, *args: Any, **options: Any) -> list[Array]:
    return outputs(compiled("divergence"), list(args), kernel=kernel, **options)


def nested(data: list[int], at: int, extra: dict[int, int]) -> int:
    x = data[at]
    if x & 1:
        r = 3
        if x & 2:
            r = r * 7 + (x >> 8)
            if x & 4:
                r ^= data[x >> 8 & 63]
            elif x & 8:
                extra[at] = r & MASK
            else:
                r -= x & 0xFF
        elif x & 16:
            r = 99
        return r & MASK
    return (x // 3 if x & 32 and at > 5 else x % 5) + 1 & MASK


def loops(data: list[int], at: int, extra: dict[int, int]) -> int:
    x = data[at]
    r = x & 0xF
    for i in range(x >> 4 & 31):
        if r & 7 == 3:
            r = r + i & MASK
            continue
        if r > 5000:
            break
        for j in range(i, x >> 9 & 7):
            r = r * 3 + j & MASK
            if r & 0x100:
                break
        r = r + 2 & MASK
    return r


def switches(data: list[int], at: int, extra: dict[int, int]) -> int:
    x, r = data[at], 1
    match x % 11:
        case 0:
            r = x
        case 1:
            r = x * 3 + 10
        case 2:
            r = 11
        case 3 | 4:
            r = x >> 3
        case 5:
            r = 3 ** (x & 7)
        case 7:
            r = data[at ^ 1]
        case 9:
            extra[at] = x
            r = 5
        case _:
            r = ~x
    return r & MASK


@EVERYWHERE
@pytest.mark.parametrize("model", [nested, loops, switches], ids=lambda model: str(model.__name__))
@pytest.mark.parametrize("block", [32, 77, 256])
def test_lanes_go_their_own_ways(model: Callable[..., int], block: int) -> None:
    data = words(block, 256)
    got = run(model.__name__, data, np.full(512, 7, np.uint32), block=(block,))[1]
    extra: dict[int, int] = {}
    wanted = [model(data.tolist(), at, extra) for at in range(block)] + [7] * (512 - block)
    for at, value in extra.items():
        wanted[256 + at] = value
    assert got.tolist() == wanted


@WAVE32
def test_waves_go_their_own_ways() -> None:
    data = words(1, 256)
    got = run("waves", data, fresh(256), block=(256,))[1]
    for x in range(256):
        w, r = x // 32, int(data[x])
        for i in range(w * 3 + 1):
            r = r * 5 + i & MASK
            if w == 2 and i == 4:
                break
            if w & 1:
                r ^= 0x55
        r += 1000 if w == 1 else -1000 if w == 3 else 0
        assert got[x] == (r + int(data[x ^ 32])) & MASK, x


@WAVE32
def test_workgroups_of_one_batch_go_their_own_ways() -> None:
    groups = 300
    data = words(2, groups, 128)
    got = run("busy", data, fresh((groups, 128)), np.int32(9), grid=(groups,), block=(128,))[1]
    r = data.copy()
    limit = (np.arange(groups)[:, None] * 7 + np.arange(128) // 32 * 3) % 11 + 1
    for i in range(11):
        r = np.where(i < limit, r * np.uint32(1664525) + np.uint32(1013904223), r)
    assert np.array_equal(got, np.roll(r, -64, axis=1) + np.uint32(9))


# Barriers.


@EVERYWHERE
def test_a_barrier_in_each_turn_of_a_loop() -> None:
    data = words(3, 20, 512)
    got = run("reduce", data, fresh(20), grid=(20,), block=(512,))[1]
    assert np.array_equal(got, data.sum(axis=1, dtype=np.uint32))


@EVERYWHERE
@pytest.mark.parametrize("turns", [1, 2, 7])
def test_both_barriers_of_a_turn_count(turns: int) -> None:
    data = words(4, 256)
    got = run("relay", data, fresh(256), np.int32(turns), block=(256,))[1]
    r = data.copy()
    for i in range(turns):
        r = np.roll(r, -32) * np.uint32(3) + np.uint32(i)
    assert np.array_equal(got, r)


ORDER = """
  v_readfirstlane_b32 s16, v0
  s_lshr_b32 s16, s16, 5
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  s_cmp_lg_u32 s16, 0
  s_cbranch_scc1 .Lwait
  ds_store_b32 v3, v3
  s_waitcnt lgkmcnt(0)
.Lwait:
  s_barrier
  s_cmp_lg_u32 s16, 1
  s_cbranch_scc1 .Lsecond
  ds_store_b32 v3, v4
  s_waitcnt lgkmcnt(0)
.Lsecond:
  {second}
  ds_load_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v2, s[4:5]
"""


def test_the_second_barrier_is_not_ignored() -> None:
    """Wave 1 writes between two barriers what wave 0 reads after them."""
    code = assembled(ORDER.format(second="s_barrier"), pointers=1, lds=128)
    assert (outputs(code, [fresh(64)], block=(64,))[0] == 1).all()


@WAVE32
@pytest.mark.parametrize("first", [0, 8])
def test_waves_that_have_ended_do_not_hold_up_a_barrier(first: int) -> None:
    data = words(5, 256)
    got = run(
        "early", data, np.full(256, 3, np.uint32), np.int32(first), block=(256,), undefined_allowed=True
    )[1]
    gone = {x for x in range(256) if x // 32 & 1 and x // 32 > first}
    for x in range(256):
        # x ^ 64 is in a wave of the same parity: it left, or it did not, together with this one.
        wanted = 3 if x in gone else (int(data[x]) + 1) * 2 & MASK
        assert got[x] == wanted, x


@EVERYWHERE
def test_lanes_that_have_returned() -> None:
    data = words(6, 64)
    got = run("lanes_leave", data, np.zeros(64, np.uint32), np.int32(41), block=(64,))[1]
    assert got.tolist() == [*data[::-1][:41].tolist(), *[0] * 23]


def test_waves_may_meet_at_different_barriers() -> None:
    """The hardware counts arrivals; it does not ask which instruction they came to."""
    body = """
      v_readfirstlane_b32 s16, v0
      s_cmp_eq_u32 s16, 0
      s_cbranch_scc1 .Lother
      ds_store_b32 v1, v0
      s_waitcnt lgkmcnt(0)
      s_barrier
      s_branch .Lend_of_it
    .Lother:
      v_add_nc_u32 v5, 100, v0
      ds_store_b32 v1, v5
      s_waitcnt lgkmcnt(0)
      s_barrier
    .Lend_of_it:
      v_xor_b32 v3, 0x80, v1
      ds_load_b32 v2, v3
      s_waitcnt lgkmcnt(0)
      global_store_b32 v1, v2, s[4:5]
    """
    got = outputs(assembled(body, pointers=1, lds=256), [fresh(64)], block=(64,))[0]
    assert got.tolist() == [*range(32, 64), *range(100, 132)]


def test_a_barrier_that_some_waves_never_reach() -> None:
    """Wave 1 skips the second barrier and ends: it must not hold up wave 0."""
    body = """
      s_barrier
      v_readfirstlane_b32 s16, v0
      s_cmp_lg_u32 s16, 0
      s_cbranch_scc1 .Lgone
      s_barrier
    .Lgone:
      global_store_b32 v1, v0, s[4:5]
    """
    assert outputs(assembled(body, pointers=1), [fresh(64)], block=(64,))[0].tolist() == list(range(64))


def test_an_endless_wait_for_another_wave_ends_with_an_error() -> None:
    """Wave 0 spins at a flag that wave 1 only sets after the barrier at which it waits for wave 0."""
    body = """
      v_mov_b32 v3, 0
      v_mov_b32 v4, 1
      v_readfirstlane_b32 s16, v0
      s_cmp_eq_u32 s16, 0
      s_cbranch_scc1 .Lspin
      s_barrier
      global_store_b32 v3, v4, s[4:5]
      s_endpgm
    .Lspin:
      global_load_b32 v5, v3, s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v5
      s_cmp_eq_u32 s17, 0
      s_cbranch_scc1 .Lspin
      s_barrier
    """
    code = assembled(body, pointers=1)
    error = fault(
        lambda: launch(code, [np.zeros(LANES, np.uint32)], block=(64,), budget=5000),
        "did not end within 5000",
    )
    assert error.where["kernel"] == "k"
    assert "line" in error.where


def test_a_wave_that_spins_lets_the_others_run() -> None:
    """Wave 1 waits for a flag that wave 0 sets later, at a higher address than the loop."""
    body = """
      v_mov_b32 v3, 0
      v_mov_b32 v4, 1
      v_readfirstlane_b32 s16, v0
      s_cmp_eq_u32 s16, 0
      s_cbranch_scc1 .Lset
    .Lspin:
      global_load_b32 v5, v3, s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v5
      s_cmp_eq_u32 s17, 0
      s_cbranch_scc1 .Lspin
      s_endpgm
    .Lset:
      global_store_b32 v3, v4, s[4:5]
    """
    code = assembled(body, pointers=1)
    assert outputs(code, [np.zeros(1, np.uint32)], block=(64,), budget=100_000)[0].tolist() == [1]


TURNS = """
      v_mov_b32 v3, 0
      v_lshrrev_b32 v4, 5, v0
      v_readfirstlane_b32 s16, v4
      s_add_u32 s18, s16, 1
      v_mov_b32 v4, s18
      s_mov_b32 s19, 0
    .Lspin:
      s_add_u32 s19, s19, COUNTED
      global_load_b32 v5, v3, s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v5
      s_cmp_lg_u32 s17, s16
      s_cbranch_scc1 .Lspin
      v_lshlrev_b32 v6, 2, v4
      global_store_b32 v6, v4, s[4:5]
      s_nop 0
      s_branch .Lpass
    .Lpass:
      global_store_b32 v3, v4, s[4:5]
"""
"""Eight waves take turns: each waits until the first word holds its number, and then stores the next one."""


@pytest.mark.parametrize(("counted", "budget"), [(0, 1_000), (1, 100_000)])
def test_waves_that_take_turns_spend_few_instructions_on_waiting(
    counted: int, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits goes last, and a few rounds a turn are enough; who counts the rounds gets its whole patience."""
    monkeypatch.setattr("layoutprobe.engine.turns.PATIENCE", PATIENCE // 10)
    code = assembled(TURNS.replace("COUNTED", str(counted)), pointers=1)
    got = outputs(code, [np.zeros(9, np.uint32)], block=(256,), budget=budget)
    assert got[0].tolist() == [8, *range(1, 9)]


def test_two_waves_that_wait_for_each_other_are_an_error() -> None:
    """Wave 0 waits for the flag that wave 1 sets after its own wait, and so does wave 1 for that of wave 0."""
    body = """
      v_lshrrev_b32 v4, 5, v0
      v_readfirstlane_b32 s16, v4
      v_lshlrev_b32 v3, 2, v4
      v_mov_b32 v5, 1
    .Lspin:
      global_load_b32 v6, v3, s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v6
      s_cmp_eq_u32 s17, 0
      s_cbranch_scc1 .Lspin
      v_xor_b32 v3, 4, v3
      global_store_b32 v3, v5, s[4:5]
    """
    code = assembled(body, pointers=1)
    fault(lambda: launch(code, [np.zeros(2, np.uint32)], block=(64,), budget=5000), "did not end within 5000")
