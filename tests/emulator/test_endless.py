"""Waves that all go round for ever end a launch before the budget is spent; whoever may still go on does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator.lab import assembled, fault, launch, outputs

from layoutprobe.engine import outcome, scheduler

LOOKS = """
      global_load_b32 v5, v3, s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v5
      s_cmp_eq_u32 s17, 0
      s_cbranch_scc1 .Lspin
"""
BEGIN = """
      v_mov_b32 v3, 0
      v_mov_b32 v4, 1
      v_readfirstlane_b32 s16, v0
      s_cmp_eq_u32 s16, 0
"""
ENDLESS = {
    "one wave": f"v_mov_b32 v3, 0\n.Lspin:\n{LOOKS}",
    "nothing at all": "v_mov_b32 v3, 0\n.Lspin:\ns_branch .Lspin",
    "all at one flag, some sooner": f"{BEGIN}\ns_cbranch_scc1 .Lspin\ns_nop 0\ns_nop 1\n.Lspin:\n{LOOKS}",
    "the others at a barrier": f"{BEGIN}\ns_cbranch_scc1 .Lspin\ns_barrier\ns_endpgm\n.Lspin:\n{LOOKS}\ns_barrier",
}
COUNTED = LOOKS.replace(
    "      global_load", "      s_add_i32 s18, s18, 1\n      v_add_nc_u32 v6, v6, v4\n      global_load"
)
BEGIN_COUNTING = f"{BEGIN}\ns_mov_b32 s18, 0\nv_mov_b32 v6, 0\ns_cmp_eq_u32 s16, 0"
ENDLESS |= {
    "one that counts its looks": f"{BEGIN_COUNTING}\n.Lspin:\n{COUNTED}",
    "two that count": f"{BEGIN_COUNTING}\ns_cbranch_scc1 .Lspin\ns_nop 0\n.Lspin:\n{COUNTED}\nv_mov_b32 v7, v6",
}
ENDS = {
    "it looks so often at most": f"""
      {BEGIN_COUNTING}
    .Lspin:
      s_add_i32 s18, s18, 1
      s_cmp_gt_u32 s18, 0x1000
      s_cbranch_scc1 .Lout
      {LOOKS}
    .Lout:
      global_store_b32 v3, v4, s[4:5]
""",
    "a loop around it asks how often": f"""
      {BEGIN_COUNTING}
    .Lagain:
      s_cmp_gt_u32 s18, 0x1000
      s_cbranch_scc1 .Lout
    .Lspin:
      s_add_i32 s18, s18, 1
      s_bitcmp1_b32 s18, 0
      s_cbranch_scc1 .Lagain
      {LOOKS}
    .Lout:
      global_store_b32 v3, v4, s[4:5]
""",
    "it counts up what it looks at the third byte of": """
      v_mov_b32 v3, 0
      v_mov_b32 v4, 1
    .Lspin:
      global_atomic_add_u32 v3, v4, s[4:5]
      global_load_u8 v5, v3, s[4:5] offset:2 glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v5
      s_cmp_lg_u32 s17, 1
      s_cbranch_scc1 .Lspin
""",
    "another one counts before it sets the flag": f"""
      {BEGIN}
      s_movk_i32 s18, 0x1000
      s_cbranch_scc0 .Lcount
    .Lspin:
      {LOOKS}
      s_endpgm
    .Lcount:
      s_sub_u32 s18, s18, 1
      s_cmp_lg_u32 s18, 0
      s_cbranch_scc1 .Lcount
      global_store_b32 v3, v4, s[4:5]
""",
}


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each branch that was executed; launches count as long ones soon."""
    monkeypatch.setattr(scheduler, "_LONG", 8)
    gone: list[None] = []
    taken = outcome.taken

    def counted(*args: Any) -> Any:
        gone.append(None)
        return taken(*args)

    monkeypatch.setattr(outcome, "taken", counted)
    return gone


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_waves_that_all_go_round_for_ever_end_at_once(body: str, rounds: list[None]) -> None:
    code = assembled(body, pointers=1)
    found = fault(
        lambda: launch(code, [np.zeros(32, np.uint32)], block=(64,), engine="numpy"),
        "did not end within 1000000",
    )
    assert found.kind == "budget"
    assert len(rounds) < 1000


HANDED = {
    "counted": "s_add_i32 s18, s18, 1",
    "counted in 64 bits": "s_add_u32 s18, s18, 1\ns_addc_u32 s19, s19, 0",
    "so often at most": "s_add_i32 s18, s18, 1\ns_cmp_gt_u32 s18, 0x4000\ns_cbranch_scc1 .Lover",
}


@pytest.mark.parametrize("counting", HANDED.values(), ids=HANDED)
def test_who_counts_its_looks_lets_others_go_first(counting: str, rounds: list[None]) -> None:
    """Each of four waves waits for the one before it: all of them spent thousands of rounds."""
    body = f"""
      v_mov_b32 v3, 0
      v_lshrrev_b32 v4, 5, v0
      v_add_nc_u32 v4, 1, v4
      v_readfirstlane_b32 s16, v0
      s_lshr_b32 s16, s16, 5
      s_mov_b64 s[18:19], 0
    .Lspin:
      {counting}
      global_load_b32 v5, v3, s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v5
      s_cmp_lg_u32 s17, s16
      s_cbranch_scc1 .Lspin
      global_store_b32 v3, v4, s[4:5]
    .Lover:
"""
    got = outputs(assembled(body, pointers=1), [np.zeros(32, np.uint32)], block=(128,), engine="numpy")
    assert got[0][0] == 4
    assert len(rounds) < 300


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_a_loop_that_something_ends_goes_on(body: str, rounds: list[None]) -> None:
    got = outputs(assembled(body, pointers=1), [np.zeros(32, np.uint32)], block=(64,), engine="numpy")
    assert got[0][0]
    assert len(rounds) > 1000
