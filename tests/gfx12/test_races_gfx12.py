"""Races on RDNA4, whose waves signal a barrier and wait at it later: what lies in between is unordered."""

from __future__ import annotations

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import launch, verdict
from scaffold import scaffolded

from layoutprobe.checks import races
from layoutprobe.report.gate import CheckResult

# Each wave has a word of its own (v1) and knows the other one's (v3).
OWN_STORE, OWN_LOAD = ("ds_store_b32 v1, v0", "s_wait_dscnt 0x0"), ("ds_load_b32 v2, v1", "s_wait_dscnt 0x0")
OTHER_LOAD = ("ds_load_b32 v2, v3", "s_wait_dscnt 0x0")
SIGNAL, WAIT = ("s_barrier_signal -1",), ("s_barrier_wait -1",)
BARRIER = (*SIGNAL, *WAIT)
KEEP = ("global_store_b32 v1, v2, s[6:7]",)


def result_of(*body: str, block: int = 64) -> CheckResult:
    text = "\n".join(("v_lshlrev_b32_e32 v1, 2, v0", "v_xor_b32_e32 v3, 0x80, v1", *body, *KEEP))
    code = scaffolded(text, target="gfx1201", lds=4 * block)
    data = np.arange(256, dtype=np.uint32)
    return verdict(races.CHECK, launch(code, [data, np.zeros(256, np.uint32)], block=block))


ORDERED = {
    "store, barrier, load": (*OWN_STORE, *BARRIER, *OTHER_LOAD),
    "load, barrier, store": (*OWN_STORE, *BARRIER, *OTHER_LOAD, *BARRIER, *OWN_STORE),
    "own word between signal and wait": (*SIGNAL, *OWN_STORE, *OWN_LOAD, *WAIT),
    "store between, and one more barrier": (*SIGNAL, *OWN_STORE, *WAIT, *BARRIER, *OTHER_LOAD),
    "load between, long after the store": (*OWN_STORE, *BARRIER, *SIGNAL, *OTHER_LOAD, *WAIT),
    "load between, and one more barrier": (
        *(*OWN_STORE, *BARRIER, *SIGNAL, *OTHER_LOAD, *WAIT, *BARRIER, *OWN_STORE),
    ),
}


@pytest.mark.parametrize("case", ORDERED)
def test_what_a_barrier_orders_holds(case: str) -> None:
    result = result_of(*ORDERED[case])
    assert (result.status, result.reason) == ("holds", "2 waves a workgroup"), result


UNORDERED = {
    "no barrier": ((*OWN_STORE, *OTHER_LOAD), "read after write", False),
    "a signal without a wait behind the store": ((*SIGNAL, *OWN_STORE, *WAIT, *OTHER_LOAD), "read after write",
                                                  True),
    "a load before the wait": ((*OWN_STORE, *SIGNAL, *OTHER_LOAD, *WAIT), "read after write", True),
    "both between": ((*SIGNAL, *OWN_STORE, *OTHER_LOAD, *WAIT), "read after write", True),
    "a load before the wait, a store after it": (
        (*OWN_STORE, *BARRIER, *SIGNAL, *OTHER_LOAD, *WAIT, *OWN_STORE), "write after read", True,
    ),
    "a store between, a load before the signal": (
        (*OWN_STORE, *BARRIER, *OTHER_LOAD, *SIGNAL, *OWN_STORE, *WAIT), "write after read", True,
    ),
    "between two barriers": (
        (*SIGNAL, *OWN_STORE, *WAIT, *SIGNAL, *OTHER_LOAD, *WAIT), "read after write", True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNORDERED)
def test_a_race_is_found(case: str) -> None:
    body, kind, between = UNORDERED[case]
    finding = only(result_of(*body))
    assert finding.what.endswith(f"with no barrier between: {kind}")
    assert ("between s_barrier_signal and s_barrier_wait" in str(finding.hint)) == between


@pytest.mark.parametrize("between", [True, False])
@pytest.mark.parametrize("early", range(3))
def test_readers_that_come_later_hide_no_early_one(early: int, between: bool) -> None:
    """One wave reads word 0 between signal and wait; others before their signal, but after it in time.

    The emulator takes code at low addresses first.
    """
    load = ("ds_load_b32 v2, v4", "s_wait_dscnt 0x0")
    first = (*SIGNAL, *load) if between else (*load, *SIGNAL)
    body = (
        *("s_bfe_u32 s12, ttmp8, 0x50019", "v_mov_b32_e32 v4, 0"),  # the wave's number; word 0
        *(*OWN_STORE, *BARRIER),
        *(f"s_cmp_lg_u32 s12, {early}", "s_cbranch_scc1 .Lothers"),
        *(*first, "s_branch .Lwait"),
        *(".Lothers:", "s_cmp_eq_u32 s12, 3", "s_cbranch_scc1 .Lsignal"),
        *(f"s_cmp_lg_u32 s12, {(early + 1) % 3}", "s_cbranch_scc1 .Llast"),
        *(*load, "s_branch .Lsignal", ".Llast:", *load),  # one after the other
        *(".Lsignal:", *SIGNAL),
        *(".Lwait:", *WAIT),
        *("s_cmp_lg_u32 s12, 3", "s_cbranch_scc1 .Lend0", "ds_store_b32 v4, v0", "s_wait_dscnt 0x0"),
        *("v_mov_b32_e32 v2, v0", ".Lend0:"),
    )
    result = result_of(*body, block=128)
    if between:
        assert f"wave 3 overwrites what another wave reads (wave {early})" in only(result).what
    else:
        assert result.status == "holds"


def test_waves_that_wait_at_different_barriers() -> None:
    """Wave 1 passes a barrier more: others let it go from their last one."""
    finding = only(
        result_of(
            "s_bfe_u32 s12, ttmp8, 0x50019",
            *("s_cmp_eq_u32 s12, 0", "s_cbranch_scc1 .Lall"),
            *BARRIER,
            ".Lall:",
            *BARRIER,
            *OWN_STORE,
            *OWN_LOAD,
        )
    )
    assert finding.what.startswith("divergent barrier: ")
