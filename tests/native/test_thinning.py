"""Operands of a large launch: some workgroups are kept whole, scattered over the grid, on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_gemm.kernels import KERNELS, make_launch

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.choice import NAMES
from layoutprobe.engine.registry import make_engine
from layoutprobe.observe.matrix import OperandRecorder, Operands

SIZE = (512, 256, 16)
"""4 x 4 tiles."""


def _record(engine: str, limit: int) -> Operands:
    kernel, (m, n, k) = KERNELS["standard"], SIZE
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=shape).astype(np.float16) for shape in ((m, k), (k, n)))
    launch = make_launch(kernel, kernel.build(), a, b, np.zeros((m, n), np.float32), 1.0, 0.0)
    recorder = OperandRecorder(limit)
    EmulatorBackend(engine=make_engine(engine)).run(launch, [recorder])
    return recorder.record()


@pytest.mark.parametrize("engine", NAMES)
def test_some_workgroups_are_kept(engine: str) -> None:
    every = _record(engine, 1 << 30)
    size = sum(execution.size for execution in every.executions)
    some = _record(engine, size // 4)
    assert every.kept.all()
    groups = some.waves.group[some.kept]
    assert 1 < len(np.unique(groups, axis=0)) <= len(np.unique(every.waves.group, axis=0)) // 3
    assert some.kept[0]
    assert len(np.unique(groups[:, 0])) > 1
    assert len(np.unique(groups[:, 1])) > 1
    for group in np.unique(every.waves.group, axis=0):  # whole ones
        of = (some.waves.group == group).all(axis=1)
        assert some.kept[of].all() or not some.kept[of].any()
    wanted = {
        (e.inst.pc, int(w), int(t)): (e.a[:, n].tobytes(), e.b[:, n].tobytes())
        for e in every.executions
        for n, (w, t) in enumerate(zip(e.wave, e.turn, strict=True))
        if some.kept[w]
    }
    found = {
        (e.inst.pc, int(w), int(t)): (e.a[:, n].tobytes(), e.b[:, n].tobytes())
        for e in some.executions
        for n, (w, t) in enumerate(zip(e.wave, e.turn, strict=True))
    }
    assert found == wanted
