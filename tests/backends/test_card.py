"""Launches on a card: what goes there, what comes back, and what is given back when it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.card import run_on
from layoutprobe.capture.capture import Evidence
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ExecutionError, UsageError
from layoutprobe.extras.nvidia.backend import CudaBackend

EVIDENCE = Evidence("measured", "a fake card")
CODE = CodeObject("0" * 64, "sm_90", {}, (), image=b"code")


class FakeCard:
    """Memory is a table; the kernel is a function on it. Fails at the given step."""

    def __init__(self, kernel: Callable[..., None], fails_at: str = "") -> None:
        self.kernel = kernel
        self.fails_at = fails_at
        self.memory: dict[int, NDArray[np.uint8]] = {}
        self.modules: set[int] = set()
        self.launches = 0

    def step(self, name: str) -> None:
        if name == self.fails_at:
            raise ExecutionError(f"lost at {name}")

    def allocate(self, size: int) -> int:
        self.step("allocate" if self.memory else "the first allocation")
        pointer = 4096 * (1 + max(self.memory, default=0) // 4096)
        self.memory[pointer] = np.zeros(size, np.uint8)
        return pointer

    def free(self, pointer: int) -> None:
        del self.memory[pointer]

    def fill(self, pointer: int, byte: int, size: int) -> None:
        self.step("fill")
        self.memory[pointer][:size] = byte

    def upload(self, pointer: int, data: NDArray[Any]) -> None:
        self.step("upload")
        assert data.flags.c_contiguous
        self.memory[pointer][: data.nbytes] = data.reshape(-1).view(np.uint8)

    def download(self, data: NDArray[Any], pointer: int) -> None:
        self.step("download")
        data.reshape(-1).view(np.uint8)[:] = self.memory[pointer][: data.nbytes]

    def load(self, code: Any) -> int:
        self.step("load")
        assert code.image == b"code"
        self.modules.add(1)
        return 1

    def unload(self, module: int) -> None:
        self.modules.remove(module)

    def launch(self, module: int, launch: Launch, args: Sequence[Any]) -> None:
        self.step("launch")
        self.launches += 1
        self.kernel(*(self.memory[a] if isinstance(a, int) else a for a in args))


def scale(source: NDArray[np.uint8], factor: np.int32, target: NDArray[np.uint8]) -> None:
    """Writes all of the target but its third word, and half of its last."""
    words = source.view(np.uint32) * np.uint32(factor)
    out = target.view(np.uint32)
    out[:2], out[3:-1] = words[:2], words[3:-1]
    target.view(np.uint16)[-2] = words[-1] & 0xFFFF


def launch(source: NDArray[Any]) -> Launch:
    target = Buffer(np.zeros(source.size, np.float32), undefined=True)
    return Launch(CODE, "scale", (1, 1, 1), (32, 1, 1), [Buffer(source), np.int32(3), target])


SOURCE = np.arange(1, 13, dtype=np.uint32).reshape(3, 4)


def test_arguments_go_there_and_buffers_come_back() -> None:
    card = FakeCard(scale)
    result = run_on(card, launch(SOURCE), EVIDENCE)
    source, scalar, target = result.buffers
    assert source is not None
    assert np.array_equal(source, SOURCE)
    assert scalar is None
    assert target is not None
    assert target.dtype == np.float32
    written = np.delete(target.view(np.uint32), [2, 11])
    assert np.array_equal(written, np.delete(3 * SOURCE.ravel(), [2, 11]))
    assert result.evidence is EVIDENCE
    assert not card.memory
    assert not card.modules


def test_bits_that_were_never_written_show() -> None:
    result = run_on(FakeCard(scale), launch(SOURCE), EVIDENCE)
    expected = np.zeros(12, np.uint32)
    expected[2], expected[11] = 0xFFFFFFFF, 0xFFFF0000
    assert result.undefined[2] is not None
    assert np.array_equal(result.undefined[2], expected)
    assert result.undefined[0] is None


def test_where_some_bits_are_undefined_the_others_keep_what_they_have() -> None:
    """As padding of an output does."""
    bits = np.full(12, 0xFFFFFFFF, np.uint32)
    bits[1], bits[2] = 0, 0  # the kernel writes the first of these, and not the second
    target = Buffer(np.full(12, 1.0, np.float32), bits=bits)
    args: list[Buffer | np.generic] = [Buffer(SOURCE), np.int32(3), target]
    result = run_on(FakeCard(scale), Launch(CODE, "scale", (1, 1, 1), (32, 1, 1), args), EVIDENCE)
    left, undefined = result.buffers[2], result.undefined[2]
    assert left is not None
    assert undefined is not None
    assert left.view(np.uint32)[1] == 3 * SOURCE.ravel()[1]
    assert left[2] == 1.0
    assert np.flatnonzero(undefined).tolist() == [11]


def test_a_strided_array_is_sent_as_it_reads() -> None:
    strided = np.arange(24, dtype=np.uint32).reshape(3, 8)[:, ::2]
    source = run_on(FakeCard(scale), launch(strided), EVIDENCE).buffers[0]
    assert source is not None
    assert np.array_equal(source, strided)


def test_without_undefined_memory_one_launch_does() -> None:
    card = FakeCard(lambda source: None)
    run_on(card, Launch(CODE, "none", (1, 1, 1), (1, 1, 1), [Buffer(SOURCE)]), EVIDENCE)
    assert card.launches == 1


@pytest.mark.parametrize("step", ["allocate", "fill", "upload", "load", "launch", "download"])
def test_a_lost_card_leaves_nothing_allocated(step: str) -> None:
    card = FakeCard(scale, fails_at=step)
    with pytest.raises(ExecutionError, match=f"lost at {step}"):
        run_on(card, launch(SOURCE), EVIDENCE)
    assert not card.memory
    assert not card.modules


# CUDA: which code a card takes; NVIDIA's CUDA C++ programming guide, "Binary compatibility"


@pytest.mark.parametrize(
    ("here", "wanted", "runs"),
    [
        ("sm_90", "sm_90", True),
        ("sm_90", "sm_90a", True),
        ("sm_89", "sm_80", True),
        ("sm_80", "sm_89", False),
        ("sm_90", "sm_80", False),
        ("sm_89", "sm_86a", False),
        ("sm_100", "sm_90", False),
        ("sm_103", "sm_100", True),
        ("sm_90", "gfx1151", False),
    ],
)
def test_only_code_for_the_card_is_run(here: str, wanted: str, runs: bool) -> None:
    backend = CudaBackend()
    backend.__dict__["_target"] = here
    if runs:
        backend._check_target(wanted)
    else:
        with pytest.raises(UsageError, match="does not run the code") as caught:
            backend._check_target(wanted)
        assert wanted in str(caught.value)
        assert here in str(caught.value)


def test_without_nvidias_package_the_next_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    with pytest.raises(UsageError, match=r"layoutprobe\[cuda\]"):
        CudaBackend().run(launch(SOURCE))
