"""Scalar loads through a buffer descriptor: its size bounds them, as it bounds vector loads."""

from __future__ import annotations

import pytest
from emulator.lab import Array, assembled, fault, fresh, outputs, words

DATA = words(7, 64)


def run(offset: str, *, dwords: int = 1, records: int = 64, stride: int = 0) -> Array:
    """Dwords that each of two waves reads at s20 = `offset` of its number, through a buffer of `records` bytes."""
    last = 16 + dwords - 1
    target = f"s[16:{last}]" if dwords > 1 else "s16"
    stores = "".join(
        f"  v_mov_b32 v2, s{16 + j}\n  global_store_b32 v1, v2, s[4:5] offset:{256 * j}\n"
        for j in range(dwords)
    )
    body = f"""
      s_mov_b32 s14, {records}
      s_mov_b32 s15, 0x31004000
      s_mov_b32 s12, s6
      s_or_b32 s13, s7, {stride << 16:#x}
      v_readfirstlane_b32 s19, v0
      s_lshr_b32 s19, s19, 5
      {offset}
      s_buffer_load_b{32 * dwords} {target}, s[12:15], s20
      s_waitcnt lgkmcnt(0)
      v_lshlrev_b32_e32 v1, 2, v0
      {stores}
    """
    code = assembled(body, pointers=2)
    return outputs(code, [fresh((dwords, 64)), DATA], block=(64,))[0][:, ::32]


@pytest.mark.parametrize(
    ("at", "value"), [(0, DATA[0]), (60, DATA[15]), (62, DATA[15]), (64, 0), (200, 0), (1 << 20, 0)]
)
def test_beyond_the_end_is_zero(at: int, value: int) -> None:
    """Memory goes on there: what would be read without the descriptor's size is not 0."""
    assert run(f"s_mov_b32 s20, {at}")[0].tolist() == [value, value]


def test_each_wave_has_its_own_offset() -> None:
    assert run("s_mul_i32 s20, s19, 64")[0].tolist() == [DATA[0], 0]
    assert run("s_sub_u32 s20, 1, s19\n s_mul_i32 s20, s20, 64")[0].tolist() == [0, DATA[0]]


def test_wide_loads() -> None:
    assert run("s_mov_b32 s20, 48", dwords=4)[:, 0].tolist() == DATA[12:16].tolist()
    assert run("s_mov_b32 s20, 64", dwords=4)[:, 0].tolist() == [0] * 4


def test_what_is_not_known_is_refused() -> None:
    fault(lambda: run("s_mov_b32 s20, 56", dwords=4), "crosses the end of its buffer")
    fault(lambda: run("s_mov_b32 s20, 0", stride=8), "structured buffer")


def test_memory_that_the_size_admits_must_exist() -> None:
    fault(lambda: run("s_mov_b32 s20, 0x400", records=0x1000), "outside every allocation")
