"""Launches that are one: the captures are those of as many launches, and the kernel runs less often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import layoutprobe
from layoutprobe import arch, instructions
from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.backends.recorded import Recorder
from layoutprobe.backends.source import Live
from layoutprobe.backends.stacking import parted, stacked
from layoutprobe.capture.capture import Capture
from layoutprobe.instructions import Prober, Variant
from layoutprobe.machine.observer import Observer

FORMS = [
    ("gfx1151", "v_wmma_f32_16x16x16_f16", 32),
    ("gfx1151", "v_wmma_f16_16x16x16_f16", 64),
    ("gfx1200", "v_swmmac_f32_16x16x32_f16", 32),
    ("gfx942", "v_mfma_f32_16x16x16_f16", 64),
]


class Counted(EmulatorBackend):
    """Keeps the workgroups of every launch."""

    def __init__(self) -> None:
        super().__init__()
        self.grids: list[int] = []

    def run(self, launch: Launch, observers: Sequence[Observer] = ()) -> RunResult:
        self.grids.append(launch.grid[0])
        return super().run(launch, observers)


def captures_of(form: tuple[str, str, int], recorded: bool) -> tuple[list[Capture], list[int]]:
    """Captures of all executions that solve an instruction, and the workgroups of each launch."""
    target, name, wave = form
    backend = Counted()
    prober = Prober(
        Variant(arch.matrix_form(target, name), target, wave),
        Recorder(Live(backend)) if recorded else backend,
    )
    instructions.result_of(prober)
    return prober.captures, backend.grids


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form[0]}-{form[1]}-{form[2]}")
def test_captures_are_those_of_single_launches(form: tuple[str, str, int]) -> None:
    """A recorder asks one by one: what is recorded can be replayed, however it is asked for later."""
    together, few = captures_of(form, recorded=False)
    singly, many = captures_of(form, recorded=True)
    assert sum(few) == sum(many)
    assert len(few) < len(many) == len(singly) == len(together)
    for one, other in zip(together, singly, strict=True):
        assert one.parameters == other.parameters
        assert one.evidence == other.evidence
        for given, expected in ((one.inputs, other.inputs), (one.outputs, other.outputs)):
            assert list(given) == list(expected)
            assert all(np.array_equal(given[name], expected[name]) for name in given)


def test_a_dump_launches_five_times() -> None:
    """The operand probe twice, the epilogue probe; hot sets with all that needs no answer, and partners."""
    backend = Counted()
    layoutprobe.dump(matrix="A", lds="xor", backend=backend)
    assert len(backend.grids) == 5


def test_what_a_kernel_left_undefined_goes_to_its_launch() -> None:
    """Of two launches the second has undefined bits; the first is said to have none."""
    launches = [
        Launch(None, "k", (n, 1, 1), (32, 1, 1), [Buffer(np.full((n, 4), n, np.uint32))])  # type: ignore[arg-type]
        for n in (2, 3)
    ]
    joint = stacked(launches)
    assert joint.grid == (5, 1, 1)
    (argument,) = joint.args
    assert isinstance(argument, Buffer)
    assert argument.data[:, 0].tolist() == [2, 2, 3, 3, 3]
    mask = np.zeros((5, 4), np.uint32)
    mask[4, 1] = 7
    first, second = parted(RunResult((argument.data,), (mask,), EmulatorBackend().evidence), launches)
    assert first.undefined == (None,)
    assert second.undefined[0] is not None
    assert second.undefined[0].tolist() == mask[2:].tolist()
    assert [result.buffers[0].shape[0] for result in (first, second) if result.buffers[0] is not None] == [
        2,
        3,
    ]
