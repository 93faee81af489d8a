"""Runs in which registers and LDS that nobody has set count as defined: the same on both engines, and nothing of them
stays. Buffers are what they are: who looks where a kernel stored asks for their undefined bits."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import LANES, assembled

from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.choice import NATIVE, NUMPY
from layoutprobe.engine.registry import make_engine
from layoutprobe.machine.registers import POISON

SOURCES = {
    "a register": "v_mov_b32 v2, v12",
    "some lanes of one": "s_mov_b32 exec_lo, 0xff00\n v_mov_b32 v2, v0\n s_mov_b32 exec_lo, -1",
    "a scalar one": "v_mov_b32 v2, s20",
    "LDS": "ds_load_b32 v2, v1\n s_waitcnt lgkmcnt(0)",
    "what decides": "v_cmp_eq_u32 vcc_lo, v12, v0\n v_cndmask_b32 v2, v0, v12, vcc_lo",
}
IN_MEMORY = 0xA5A5A5A5


def code_of(body: str) -> CodeObject:
    """A wave that stores v2; v1 is four times the lane."""
    return assembled(f"{body}\n global_store_b32 v1, v2, s[4:5]", lds=4 * LANES)


def run(backend: EmulatorBackend, code: CodeObject, *, defined: bool) -> RunResult:
    empty = [Buffer(np.zeros(LANES, np.uint32), undefined=True) for _ in range(2)]
    return backend.run(Launch(code, "k", (1, 1, 1), (LANES, 1, 1), empty, defined=defined))


@pytest.mark.every_case
@pytest.mark.parametrize("name", SOURCES)
def test_both_engines_give_the_poison_and_no_undefined_bit(name: str) -> None:
    code, stored = code_of(SOURCES[name]), []
    for engine in (NUMPY, NATIVE):
        backend = EmulatorBackend(engine=make_engine(engine))
        found = run(backend, code, defined=True)
        assert found.undefined[0] is None
        assert found.undefined[1] is not None  # which nobody wrote
        assert found.undefined[1].all()
        assert found.buffers[0] is not None
        stored.append(found.buffers[0])
        after = run(backend, code, defined=False)  # on the same memories
        assert after.undefined[0] is not None
        assert after.undefined[0].any()
        again = run(backend, code, defined=True)
        assert again.undefined[0] is None
        assert again.buffers[0] is not None
        assert (again.buffers[0] == found.buffers[0]).all()
    assert (stored[0] == stored[1]).all()
    poison = IN_MEMORY if name == "LDS" else POISON
    if name == "some lanes of one":
        assert set(stored[0][:8].tolist()) == {poison}
        assert stored[0][8:16].tolist() == list(range(8, 16))
    elif name != "what decides":
        assert set(stored[0].tolist()) == {poison}
