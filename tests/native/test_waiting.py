"""Waves that wait for each other through memory: the native engine lets them end, as soon as numpy's does."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import LANES, assembled
from emulator_gemm.kernels import KERNELS
from sampling import one_in

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.native.interpreter import Interpreter
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.engine.spinning import waves_wait
from layoutprobe.errors import ExecutionError
from layoutprobe.machine.observer import Observer
from native.test_kernels import ENGINES, native

GROUPS = 600
"""More waves than the native engine holds together where none waits for another, and than numpy's engine."""

TURNS = """
      v_mov_b32 v3, 0
      MINE
      s_add_u32 s18, s16, 1
      v_mov_b32 v4, s18
    .Lspin:
      global_load_b32 v5, v3, s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v5
      s_cmp_lg_u32 s17, s16
      s_cbranch_scc1 .Lspin
      v_lshlrev_b32 v6, 2, v4
      global_store_b32 v6, v4, s[4:5]
      global_store_b32 v3, v4, s[4:5]
"""
"""Each workgroup waits until the first word holds its number, and then stores the next one."""
ORDERS = {"first to last": "s_mov_b32 s16, s2", "last to first": f"s_sub_u32 s16, {GROUPS // 4 - 1}, s2"}
SPENT = 60 * GROUPS
"""Instructions: a few rounds for each turn of another, of all waves together."""

LOCK = """
      v_mov_b32 v3, 0
      v_mov_b32 v6, 1
      v_mov_b32 v7, 0
      s_mov_b32 s20, exec_lo
      s_mov_b32 exec_lo, 1
    .Llock:
      global_atomic_cmpswap_b32 v5, v3, v[6:7], s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s17, v5
      s_cmp_lg_u32 s17, 0
      s_cbranch_scc1 .Llock
      global_load_b32 v8, v3, s[4:5] offset:4 glc
      s_waitcnt vmcnt(0)
      v_add_nc_u32 v8, s2, v8
      global_store_b32 v3, v8, s[4:5] offset:4
      global_store_b32 v3, v3, s[4:5]
"""
"""Under a lock, each workgroup adds its number to the second word."""


def turns(order: str) -> CodeObject:
    return assembled(TURNS.replace("MINE", ORDERS[order]), pointers=1)


@pytest.mark.few(1)
@pytest.mark.parametrize("order", ORDERS)
def test_workgroups_that_take_turns(order: str) -> None:
    code, groups = turns(order), GROUPS // 4
    launch = Launch(code, "k", (groups, 1, 1), (LANES, 1, 1), [Buffer(np.zeros(groups + 1, np.uint32))])
    results = [EmulatorBackend(SPENT, engine=engine).run(launch).buffers[0] for engine in ENGINES]
    for stored in results:
        assert stored is not None
        assert stored.tolist() == [groups, *range(1, groups + 1)]
    assert native(code, "k")


def test_a_lock() -> None:
    code = assembled(LOCK, pointers=1)
    launch = Launch(code, "k", (40, 1, 1), (2 * LANES, 1, 1), [Buffer(np.zeros(2, np.uint32))])
    for engine in ENGINES:
        stored = EmulatorBackend(100_000, engine=engine).run(launch).buffers[0]
        assert stored is not None
        assert stored.tolist() == [0, 2 * sum(range(40))]


def test_who_waits_for_himself_spends_the_budget() -> None:
    """Nobody's turn comes first."""
    code = assembled(TURNS.replace("MINE", "s_add_u32 s16, s2, 1"), pointers=1)
    launch = Launch(code, "k", (4, 1, 1), (LANES, 1, 1), [Buffer(np.zeros(5, np.uint32))])
    for engine in ENGINES:
        with pytest.raises(ExecutionError, match="did not end within 5000"):
            EmulatorBackend(5_000, engine=engine).run(launch)


def test_watched_waves_that_wait_are_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Observers are told in an order in which it could have been."""

    class Blocks(Observer):
        def block(self, c: object, block: object) -> None:
            pass

    monkeypatch.setattr(Interpreter, "run", None)
    code = turns("last to first")
    groups = GROUPS // 4
    launch = Launch(code, "k", (groups, 1, 1), (LANES, 1, 1), [Buffer(np.zeros(groups + 1, np.uint32))])
    EmulatorBackend(1_000_000, engine=ENGINES[0]).run(launch, [Blocks()])


LOOPS = {
    "a flag": (True, "global_load_b32 v5, v3, s[4:5]\n v_readfirstlane_b32 s17, v5\n s_cmp_eq_u32 s17, 0"),
    "a scalar flag": (True, "s_load_b32 s17, s[4:5], 0x0\n s_nop 0\n s_cmp_eq_u32 s17, 0"),
    "a flag, counted": (True, "s_add_u32 s18, s18, 1\n s_load_b32 s17, s[4:5], 0x0\n s_cmp_eq_u32 s17, s18"),
    "a flag, negated": (True, "s_load_b32 s17, s[4:5], 0x0\n s_not_b32 s18, s17\n s_cmp_eq_u32 s18, 0"),
    "counted": (False, "global_load_b32 v5, v3, s[4:5]\n s_add_u32 s17, s17, 1\n s_cmp_lt_u32 s17, 4"),
    "counted where a load was": (
        False, "s_load_b32 s17, s[4:5], 0x0\n v_add_nc_u32 v4, s17, v4\n s_add_u32 s18, s18, 1\n"
               " s_mov_b32 s17, s18\n s_cmp_lt_u32 s17, 4"),
    "before the loop": (False, "s_cmp_lt_u32 s9, 4"),
}  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
def test_who_may_wait(loop: str) -> None:
    waits, body = LOOPS[loop]
    code = assembled(f"s_load_b32 s9, s[4:5], 0x0\n .Lagain:\n {body}\n s_cbranch_scc1 .Lagain", pointers=1)
    assert waves_wait(NumpyEngine().program(code, code.kernel("k"))) is waits


def test_no_gemm_waits() -> None:
    for kernel in one_in(4, list(KERNELS.values())):
        code = kernel.build()
        assert not any(waves_wait(NumpyEngine().program(code, each)) for each in code.kernels.values()), (
            kernel
        )
