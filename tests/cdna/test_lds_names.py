"""LDS and memory accesses by the names of GFX9: stores to two addresses, and widths that are spelled out."""

from __future__ import annotations

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import launch, verdict
from scaffold import scaffolded

from layoutprobe.checks import races
from layoutprobe.isa.inst import Inst
from layoutprobe.observe.lds_access import granule_shift
from layoutprobe.report.gate import CheckResult

LANE = ("v_and_b32_e32 v2, 63, v0", "v_lshrrev_b32_e32 v3, 6, v0", "v_lshlrev_b32_e32 v4, 2, v2")
"""v2 lane, v3 wave, v4 four times the lane."""
READ = ("s_waitcnt lgkmcnt(0)", "s_barrier", "ds_read2_b32 v[8:9], v4 offset1:64", "s_waitcnt lgkmcnt(0)",
        "v_lshlrev_b32_e32 v1, 2, v0", "global_store_dword v1, v8, s[6:7]")  # fmt: skip


def result_of(*body: str) -> CheckResult:
    code = scaffolded("\n".join((*LANE, *body)), target="gfx942", wave_size=64, lds=4096)
    return verdict(races.CHECK, launch(code, [np.zeros(256, np.uint32), np.zeros(256, np.uint32)], block=128))


def after_another(first: int, second: int) -> CheckResult:
    """Wave 0 stores 7 and 8 at dwords lane and 64 + lane; then wave 1 stores these values there."""
    seven = ("v_mov_b32_e32 v5, 7", "v_mov_b32_e32 v6, 8", "v_cmpx_eq_u32_e64 s[8:9], 0, v3")
    other = (f"v_mov_b32_e32 v5, {first}", f"v_mov_b32_e32 v6, {second}", "v_cmpx_eq_u32_e64 s[8:9], 1, v3")
    store = "ds_write2_b32 v4, v5, v6 offset1:64"
    return result_of(*seven, store, "s_mov_b64 exec, -1", *other, store, "s_mov_b64 exec, -1", *READ)


def test_equal_values_of_a_store_to_two_addresses_harm_nobody() -> None:
    assert after_another(7, 8).status == "holds"


@pytest.mark.parametrize(("first", "second", "byte"), [(9, 8, 0), (7, 9, 256)])
def test_each_of_its_values_is_looked_at(first: int, second: int, byte: int) -> None:
    finding = only(after_another(first, second))
    assert finding.place.instruction == "ds_write2_b32"
    assert finding.place.lds_byte == byte


def test_a_read_of_two_addresses_is_a_load() -> None:
    """Without the barrier, each wave reads what the other one stores."""
    unordered = tuple(inst for inst in READ if inst != "s_barrier")
    moved = ("v_lshlrev_b32_e32 v7, 2, v0", "ds_write_b32 v7, v0", *unordered)
    assert only(result_of(*moved)).rule.id == "races/read-after-write"
    assert result_of("v_lshlrev_b32_e32 v7, 2, v0", "ds_write_b32 v7, v0", *READ).status == "holds"


@pytest.mark.parametrize(
    ("name", "shift"),
    [
        ("flat_store_byte", 0),
        ("flat_load_ubyte", 0),
        ("flat_load_sbyte_d16", 0),
        ("flat_store_short", 1),
        ("flat_load_sshort", 1),
        ("flat_load_short_d16_hi", 1),
        ("flat_store_dwordx2", 2),
    ],
)
def test_widths_that_are_spelled_out(name: str, shift: int) -> None:
    assert granule_shift([Inst(0, 8, name, "FLAT")]) == shift
