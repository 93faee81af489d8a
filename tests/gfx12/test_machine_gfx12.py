"""What a kernel of RDNA4 meets at its start, at barriers, in memory, and between lanes."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import Array, fault, fresh, launch, outputs, words
from scaffold import scaffolded

from layoutprobe.backends.base import Buffer
from layoutprobe.codeobj.model import CodeObject

TARGET = "gfx1200"


def kernel(
    body: str, *, wave_size: int = 32, pointers: int = 2, lds: int = 0, scratch: int = 0
) -> CodeObject:
    return scaffolded(body, target=TARGET, wave_size=wave_size, pointers=pointers, lds=lds, scratch=scratch)


def run(body: str, *inputs: Array, lanes: int = 32, lds: int = 0, scratch: int = 0) -> Array:
    """What the lanes of one wave store from v2; v3, v4 and v5 hold their words of the inputs."""
    loads = "".join(
        f"  global_load_b32 v{3 + i}, v1, s[{6 + 2 * i}:{7 + 2 * i}]\n" for i in range(len(inputs))
    )
    text = f"""
      v_lshlrev_b32_e32 v1, 2, v0
      {loads}
      s_wait_loadcnt 0x0
      {body}
      global_store_b32 v1, v2, s[4:5]
    """
    code = kernel(text, wave_size=lanes, pointers=1 + len(inputs), lds=lds, scratch=scratch)
    return outputs(code, [fresh(lanes), *inputs], block=(lanes,))[0]


# The start.


def test_workgroup_ids_and_wave_number_are_in_trap_temporaries() -> None:
    body = """
      v_lshlrev_b32_e32 v1, 2, v0
      s_and_b32 s10, ttmp7, 0xffff
      s_lshr_b32 s11, ttmp7, 16
      s_bfe_u32 s12, ttmp8, 0x50019
      s_mul_i32 s13, s11, 3
      s_add_co_i32 s13, s13, s10
      s_mul_i32 s13, s13, 5
      s_add_co_i32 s13, s13, ttmp9
      s_lshl_b32 s14, s13, 8
      v_mov_b32 v2, s13
      v_lshl_or_b32 v2, s12, 8, v2
      v_add_co_u32 v1, vcc_lo, s14, v1
      global_store_b32 v1, v2, s[4:5]
    """
    got = outputs(kernel(body, pointers=1), [fresh((30, 64))], grid=(5, 3, 2), block=(64,))[0]
    group = np.arange(30)[:, None]
    assert np.array_equal(got, group | (np.arange(64) // 32 << 8))


def test_scalar_registers_behind_the_user_sgprs_stay_undefined() -> None:
    """The ids went elsewhere: s2 is nobody's."""
    body = "v_mov_b32 v2, s2\n v_lshlrev_b32 v1, 2, v0\n global_store_b32 v1, v2, s[4:5]"
    bits = launch(kernel(body, pointers=1), [fresh(32)]).undefined[0]
    assert bits is not None
    assert (bits == 0xFFFFFFFF).all()


# Barriers.

EXCHANGE = """
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32 v3, 0xfc, v1
  v_add_nc_u32 v2, 7, v0
  ds_store_b32 v1, v2
  s_wait_dscnt 0x0
  {signal}
  s_barrier_wait {which}
  ds_load_b32 v2, v3
  s_wait_dscnt 0x0
  global_store_b32 v1, v2, s[4:5]
"""


def test_a_split_barrier_orders_the_waves() -> None:
    code = kernel(EXCHANGE.format(signal="s_barrier_signal -1", which="-1"), pointers=1, lds=256)
    assert np.array_equal(outputs(code, [fresh(64)], block=(64,))[0], np.arange(64)[::-1] + 7)


def test_waiting_without_a_signal_is_an_error() -> None:
    code = kernel(EXCHANGE.format(signal="s_nop 0", which="-1"), pointers=1, lds=256)
    error = fault(
        lambda: launch(code, [fresh(64)], block=(64,)), "waits at a barrier that it has not signalled"
    )
    assert error.kind == "barrier"
    assert error.where["instruction"] == "s_barrier_wait"


def test_a_signal_counts_for_one_wait() -> None:
    body = "s_barrier_signal -1\n s_barrier_wait -1\n s_barrier_wait -1"
    fault(lambda: launch(kernel(body, pointers=1), [fresh(1)], block=(64,)), "has not signalled")


@pytest.mark.parametrize(
    ("signal", "which", "name"),
    [("s_barrier_signal 3", "-1", "s_barrier_signal"), ("s_barrier_signal -1", "-2", "s_barrier_wait")],
)
def test_other_barriers_are_refused_by_name(signal: str, which: str, name: str) -> None:
    code = kernel(EXCHANGE.format(signal=signal, which=which), pointers=1, lds=256)
    error = fault(lambda: launch(code, [fresh(64)], block=(64,)), "does not know these instructions")
    assert f"{name} at PC" in error.what


# Memory.


@pytest.mark.parametrize(
    ("name", "dtype"), [("u8", np.uint8), ("i8", np.int8), ("u16", np.uint16), ("i16", np.int16)]
)
@pytest.mark.parametrize("at", [0, 1, 6, 11])
def test_narrow_scalar_loads(name: str, dtype: type[np.integer], at: int) -> None:
    data = words(1, 32)
    offset = at * np.dtype(dtype).itemsize
    got = run(f"s_load_{name} s10, s[6:7], {offset:#x}\n s_wait_kmcnt 0x0\n v_mov_b32 v2, s10", data)
    wanted = int(data.view(dtype)[at]) & 0xFFFFFFFF
    assert (got == wanted).all()
    offset_in_register = (
        f"s_mov_b32 s11, {offset}\n s_load_{name} s10, s[6:7], s11\n s_wait_kmcnt 0x0\n v_mov_b32 v2, s10"
    )
    assert (run(offset_in_register, data) == wanted).all()


def test_scalar_loads_of_three_dwords() -> None:
    data = words(2, 32)
    body = """
      s_mov_b32 s15, 9
      s_load_b96 s[12:14], s[6:7], 0x14
      s_wait_kmcnt 0x0
      v_mov_b32 v2, s12
      v_xor3_b32 v2, v2, s13, s14
      v_add_nc_u32 v2, v2, s15
    """
    assert (run(body, data) == np.uint32(data[5] ^ data[6] ^ data[7]) + np.uint32(9)).all()


def test_offsets_have_24_bits() -> None:
    data = words(3, 32)
    body = """
      v_add_co_u32 v5, vcc_lo, 0x7fff00, v1
      global_load_b32 v2, v5, s[6:7] offset:-8388352
      s_wait_loadcnt 0x0
    """
    assert np.array_equal(run(body, data), data)


def test_scratch_and_lds() -> None:
    data = words(4, 32)
    body = """
      scratch_store_b32 off, v3, off offset:8
      scratch_load_b32 v4, off, off offset:8
      s_wait_loadcnt 0x0
      ds_store_b32 v1, v4 offset:128
      s_wait_storecnt_dscnt 0x0
      ds_load_2addr_b32 v[4:5], v1 offset0:32 offset1:33
      s_wait_loadcnt_dscnt 0x0
      v_mov_b32 v2, v4
      global_wb scope:SCOPE_DEV
      global_inv scope:SCOPE_DEV
    """
    assert np.array_equal(run(body, data, lds=512, scratch=16), data)


def test_buffer_loads_are_bounds_checked() -> None:
    data = words(5, 32)
    body = """
      s_mov_b32 s8, 64
      s_mov_b32 s9, 0x31004000
      s_mov_b64 s[12:13], s[6:7]
      s_mov_b64 s[14:15], s[8:9]
      v_mov_b32 v2, 1
      buffer_load_b32 v2, v1, s[12:15], null offen offset:4
      s_wait_loadcnt 0x0
    """
    lane = np.arange(32)
    assert np.array_equal(run(body, data), np.where(lane < 15, data[np.minimum(lane + 1, 31)], 0))


def _atomic(name: str, memory: Array, given: Array) -> tuple[Array, Array]:
    """Memory after a returning atomic of every lane on its own cell, and what it returned."""
    body = f"""
      v_lshlrev_b32_e32 v1, 2, v0
      global_load_b32 v3, v1, s[8:9]
      s_wait_loadcnt 0x0
      {name} v2, v1, v3, s[6:7] th:TH_ATOMIC_RETURN
      s_wait_loadcnt 0x0
      global_store_b32 v1, v2, s[4:5]
    """
    out, after, _ = outputs(
        kernel(body, pointers=3), [fresh(32), memory.view(np.uint32), given.view(np.uint32)]
    )
    return after, out


def _lds_atomic(name: str, memory: Array, given: Array) -> tuple[Array, Array]:
    body = f"""
      ds_store_b32 v1, v3
      {name} v2, v1, v4
      s_wait_dscnt 0x0
    """
    old = run(body, memory.view(np.uint32), given.view(np.uint32), lds=128)
    new = run(
        body + "ds_load_b32 v2, v1\n s_wait_dscnt 0x0", memory.view(np.uint32), given.view(np.uint32), lds=128
    )
    return new, old


def _halves(function: np.ufunc, dtype: type[np.float16], a: Array, b: Array) -> Array:
    return np.asarray(function(a.view(dtype), b.view(dtype))).view(np.uint32)


def test_new_atomics() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.integers(0, 40, (2, 32)).astype(np.uint32)
    for run_atomic, prefix, rtn in ((_atomic, "global_atomic_", ""), (_lds_atomic, "ds_", "_rtn")):
        after, old = run_atomic(f"{prefix}cond_sub{rtn}_u32", a, b)
        assert np.array_equal(old, a)
        assert np.array_equal(after, np.where(a >= b, a - b, a))
        after, old = run_atomic(f"{prefix}sub_clamp{rtn}_u32", a, b)
        assert np.array_equal(old, a)
        assert np.array_equal(after, np.where(a >= b, a - b, 0))
        x, y = rng.normal(size=(2, 32)).astype(np.float32)
        x[3], y[4] = np.nan, np.nan
        for verb, function in (("min", np.fmin), ("max", np.fmax)):
            after, old = run_atomic(f"{prefix}{verb}_num{rtn}_f32", x, y)
            assert np.array_equal(old, x.view(np.uint32))
            assert np.array_equal(after.view(np.float32), function(x, y))
        h, k = rng.normal(size=(2, 64)).astype(np.float16)
        after, old = run_atomic(f"{prefix}pk_add{rtn}_f16", h, k)
        assert np.array_equal(after.view(np.float16), h + k)
        assert np.array_equal(old, h.view(np.uint32))
        whole = rng.integers(-60, 60, (2, 64)).astype(np.float32)  # exact in bf16
        wide = [(w.view(np.uint32) >> np.uint32(16)).astype(np.uint16) for w in whole]
        after, _ = run_atomic(f"{prefix}pk_add{rtn}_bf16", *wide)
        sums = (after.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
        assert np.array_equal(sums, whole[0] + whole[1])


# Lanes.


@pytest.mark.parametrize("lanes", [32, 64])
def test_lds_permutations_reach_the_whole_wave(lanes: int) -> None:
    """Unlike on RDNA3, where each half of a wave64 keeps to itself."""
    a = words(7, lanes)
    target = np.random.default_rng(8).permutation(lanes).astype(np.uint32)
    pulled = run(
        "v_lshlrev_b32 v4, 2, v4\n ds_bpermute_b32 v2, v4, v3\n s_wait_dscnt 0x0", a, target, lanes=lanes
    )
    assert np.array_equal(pulled, a[target])
    pushed = run(
        "v_lshlrev_b32 v4, 2, v4\n ds_permute_b32 v2, v4, v3\n s_wait_dscnt 0x0", a, target, lanes=lanes
    )
    wanted = np.empty_like(a)
    wanted[target] = a
    assert np.array_equal(pushed, wanted)


@pytest.mark.parametrize(("name", "inactive"), [("ds_bpermute_b32", False), ("ds_bpermute_fi_b32", True)])
def test_bpermute_from_inactive_lanes(name: str, inactive: bool) -> None:
    a, lane = words(9, 32), np.arange(32)
    body = f"""
      v_mov_b32 v2, 5
      v_xor_b32 v4, 4, v1
      s_mov_b32 exec_lo, 0x0000ff55
      {name} v2, v4, v3
      s_wait_dscnt 0x0
      s_mov_b32 exec_lo, -1
    """
    active = (0xFF55 >> lane & 1) != 0
    source = lane ^ 1
    read = np.where(active[source] | inactive, a[source], 0)
    assert np.array_equal(run(body, a), np.where(active, read, 5))


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("name", ["v_permlane16_var_b32", "v_permlanex16_var_b32"])
def test_permlane_with_a_choice_per_lane(name: str, lanes: int) -> None:
    a, select = words(10, lanes), words(11, lanes)
    lane = np.arange(lanes)
    row = lane & 48 ^ (16 if "x16" in name else 0)
    got = run(f"{name} v2, v3, v4", a, select, lanes=lanes)
    assert np.array_equal(got, a[row + (select & 15)])


# Scalar transcendentals: uniform values, in the float unit of the vector ALU.


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("exp", np.exp2),
        ("log", np.log2),
        ("rcp", np.reciprocal),
        ("sqrt", np.sqrt),
        ("rsq", lambda x: 1 / np.sqrt(x)),
    ],
)
def test_scalar_transcendentals(name: str, function: np.ufunc) -> None:
    for value in (0.3, 7.25, 60.5):
        x = np.full(32, value, np.float32)
        load = "s_load_b32 s10, s[6:7], 0x0\n s_wait_kmcnt 0x0\n"
        scalar = run(f"{load} v_s_{name}_f32 s11, s10\n v_mov_b32 v2, s11", x.view(np.uint32)).view(
            np.float32
        )
        assert np.allclose(scalar, function(np.float64(np.float32(value))), rtol=2e-7)
    h = np.full(64, 2.75, np.float16)
    got = run(f"{load} s_mov_b32 s11, -1\n v_s_{name}_f16 s11, s10\n v_mov_b32 v2, s11", h.view(np.uint32))
    assert (got >> 16 == 0).all()  # the upper half is zeroed
    assert np.allclose(got.astype(np.uint16).view(np.float16), function(np.float64(2.75)), rtol=1e-3)


def test_what_is_missing_is_listed_before_anything_runs() -> None:
    body = "ds_append v6\n s_getreg_b32 s10, hwreg(HW_REG_WAVE_MODE)\n s_endpgm"
    error = fault(
        lambda: launch(kernel(body, pointers=1), [Buffer(words(1, 4))]), "does not know these instructions"
    )
    assert "ds_append at PC" in error.what
    assert "s_getreg_b32 at PC" in error.what
