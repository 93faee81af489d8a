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
ENDS = {
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


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_a_loop_that_something_ends_goes_on(body: str, rounds: list[None]) -> None:
    got = outputs(assembled(body, pointers=1), [np.zeros(32, np.uint32)], block=(64,), engine="numpy")
    assert got[0][0]
    assert len(rounds) > 1000
