"""After an access outside of every buffer a run goes on where somebody asks for that: lanes that load there get
undefined bits, all others what they asked for; what is stored there is dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator.lab import LANES, assembled
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Observer

INSIDE = 20
"""Lanes whose element exists."""


class Forgiving(Observer):
    """Asks for it, and keeps what it is told of."""

    def __init__(self) -> None:
        self.lanes: list[int | None] = []
        self.kinds: list[str] = []
        self.accessed: list[int] = []

    def fault(self, c: Cohort, inst: Inst, error: ExecutionError) -> None:
        self.lanes.append(error.place.lane)
        self.kinds.append(error.kind)

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        if not store:
            self.accessed.append(int(place.mask.sum()))


def run(code: CodeObject, size: int, *observers: Observer) -> tuple[NDArray[Any], NDArray[Any]]:
    """What was stored and which bits of it are undefined: uint32 [lane, dword]."""
    source = np.arange(INSIDE * size, dtype=np.uint32)
    target = Buffer(np.zeros(LANES * size, np.uint32), undefined=True)
    launch = Launch(code, "k", (1, 1, 1), (LANES, 1, 1), [Buffer(source), target])
    result = EmulatorBackend().run(launch, observers)
    stored, undefined = result.buffers[1], result.undefined[1]
    assert stored is not None
    assert undefined is not None
    return stored.reshape(LANES, size), undefined.reshape(LANES, size)


def copying(suffix: str, size: int, before: str = "") -> CodeObject:
    """Lane i loads element i of `size` dwords, and stores it to element i."""
    registers = "v4" if size == 1 else f"v[4:{3 + size}]"
    return assembled(
        f"""
  v_mul_u32_u24 v3, {4 * size}, v0
  {before}
  global_load_{suffix} {registers}, v3, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_b{32 * size} v3, {registers}, s[6:7]
""",
        pointers=2,
    )


@pytest.mark.parametrize("size", [1, 2, 4])
def test_only_the_lanes_that_went_astray_are_undefined(size: int) -> None:
    watcher = Forgiving()
    stored, undefined = run(copying(f"b{32 * size}", size), size, watcher)
    assert (stored[:INSIDE].ravel() == np.arange(INSIDE * size)).all()
    assert (undefined[:INSIDE] == 0).all()
    assert (undefined[INSIDE:] == 0xFFFFFFFF).all()
    assert watcher.lanes == [INSIDE]
    assert watcher.accessed[-1] == INSIDE, "observers are told of the lanes that load"


@pytest.mark.parametrize(
    ("suffix", "bits"), [("d16_b16", 0x0000FFFF), ("d16_hi_b16", 0xFFFF0000), ("u8", 0xFFFFFFFF)]
)
def test_a_half_is_as_undefined_as_the_load_is_wide(suffix: str, bits: int) -> None:
    undefined = run(copying(suffix, 1, "v_mov_b32 v4, 0"), 1, Forgiving())[1]
    assert (undefined[INSIDE:] == bits).all()
    assert (undefined[:INSIDE] == 0).all()


def test_all_lanes_astray() -> None:
    watcher = Forgiving()
    _, undefined = run(far(), 1, watcher)
    assert (undefined == 0xFFFFFFFF).all()
    assert len(watcher.accessed) == 2, "the scalar loads of the arguments, and no other"


def far() -> CodeObject:
    return assembled(
        """
  v_add_nc_u32 v3, 0x8000, v1
  global_load_b32 v4, v3, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_b32 v1, v4, s[6:7]
""",
        pointers=2,
    )


def test_nobody_asks_and_it_ends() -> None:
    with pytest.raises(ExecutionError, match="outside every allocation") as caught:
        run(copying("b32", 1), 1)
    assert caught.value.kind == "global-load"


STORE = "global_store_b32 v1, v0, s[4:5]"


def test_a_store_is_dropped() -> None:
    watcher = Forgiving()
    far_and_near = (
        f"{STORE}\n  v_lshlrev_b32 v1, 2, v0\n  v_cmpx_gt_u32 9, v0\n  global_store_b32 v1, v0, s[6:7]"
    )
    stored, undefined = run(assembled(far_and_near, pointers=2), 1, watcher)
    assert watcher.kinds == ["global-store"]
    assert (undefined.ravel() == 0).tolist() == [lane < 9 for lane in range(LANES)], (
        "what comes behind it is executed"
    )
    assert stored.ravel()[:9].tolist() == [*range(9)]


@pytest.mark.parametrize("inst", [STORE, "global_atomic_add_u32 v1, v0, s[4:5]"])
def test_nobody_asks_or_it_is_an_atomic_and_it_ends(inst: str) -> None:
    watchers = [Forgiving()] if "atomic" in inst else []
    with pytest.raises(ExecutionError, match="outside every allocation") as caught:
        run(assembled(inst, pointers=2), 1, *watchers)
    assert caught.value.kind == "global-store"
