"""The engine by default: numpy begins, C takes over what pays, and nobody waits for a compiler."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from emulator_gemm.kernels import KERNELS, make_launch

from layoutprobe.backends.base import Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine import automatic
from layoutprobe.engine.automatic import AutomaticEngine
from layoutprobe.engine.base import Engine
from layoutprobe.engine.native import bound, hosts, library
from layoutprobe.engine.native.interpreter import Interpreter
from layoutprobe.toolchain import cache

SMALL, LARGE = (64, 64, 16), (512, 256, 16)
"""Of a kernel whose workgroups of eight waves make 128 x 128 elements."""


@pytest.fixture
def in_c(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Waves of each batch that C has run."""
    counts: list[int] = []
    run = Interpreter.run

    def counted(self: Interpreter) -> None:
        counts.append(self.count)
        run(self)

    monkeypatch.setattr(Interpreter, "run", counted)
    return counts


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing of the native engine is in the cache, nor in this process."""
    for remembered in (library._loaded, bound._runtime):
        remembered.cache_clear()
    monkeypatch.setattr(library, "_jobs", {})
    monkeypatch.setattr(library, "_addresses", {})
    launch(SMALL)  # the kernel itself is compiled before
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    yield
    for remembered in (library._loaded, bound._runtime):
        remembered.cache_clear()


def launch(size: tuple[int, int, int]) -> tuple[Launch, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """A GEMM on small integers, and what is right."""
    m, n, k = size
    rng = np.random.default_rng(m)
    a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((m, k), (k, n)))
    c = rng.integers(-4, 5, (m, n)).astype(np.float32)
    right = a.astype(float) @ b.astype(float) + 2.0 * c
    kernel = KERNELS["standard"]
    return make_launch(kernel, kernel.build(), a, b, c, 1.0, 2.0), right


def holds(engine: Engine, size: tuple[int, int, int]) -> bool:
    given, right = launch(size)
    found = [buffer for buffer in EmulatorBackend(engine=engine).run(given).buffers if buffer is not None]
    return any(buffer.shape == right.shape and bool((buffer == right).all()) for buffer in found)


def test_a_small_launch_is_numpys_and_a_large_one_is_c(in_c: list[int]) -> None:
    engine = AutomaticEngine()
    engine._with_c()._wait = True  # type: ignore[attr-defined]
    assert holds(engine, SMALL)
    assert not in_c
    assert holds(engine, LARGE)
    assert sum(in_c) >= automatic.WAVES


def test_a_kernel_that_goes_on_becomes_c(in_c: list[int]) -> None:
    engine = AutomaticEngine()
    engine._with_c()._wait = True  # type: ignore[attr-defined]
    runs = 0
    while not in_c:
        assert holds(engine, SMALL)
        runs += 1
        assert runs < automatic.ISSUED
    assert runs > 2
    assert sum(engine._issued.values()) >= automatic.ISSUED


@pytest.mark.long
def test_a_cold_cache_is_filled_while_numpy_goes_on(
    cold: None, in_c: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go, begun = threading.Event(), threading.Event()
    compile_ = library._compile

    def later(*words: object) -> bytes:
        begun.set()
        assert may_go.wait(200)
        return compile_(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(library, "_compile", later)
    engine = AutomaticEngine()
    for _ in range(2):
        assert holds(engine, LARGE)
    assert begun.wait(200)
    assert not in_c
    may_go.set()
    for _ in range(2):  # the runtime, and then the kernel's forms
        for job in list(library._jobs.values()):
            job.result(200)
        assert holds(engine, LARGE)
    assert in_c
    assert len(library._jobs) == 2


def test_without_a_compiler_numpy_goes_on(
    cold: None, in_c: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> Path:
        raise hosts.UnavailableError("no compiler")

    monkeypatch.setattr(library, "_compiler", fails)
    engine = AutomaticEngine()
    for _ in range(2):
        assert holds(engine, LARGE)
    assert not in_c


def test_a_compiler_that_fails_is_asked_once(
    cold: None, in_c: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fails(*words: object) -> bytes:
        asked.append(words)
        raise hosts.UnavailableError("it cannot be compiled")

    monkeypatch.setattr(library, "_compile", fails)
    engine = AutomaticEngine()
    for _ in range(3):
        assert holds(engine, LARGE)
        for job in list(library._jobs.values()):
            job.exception(200)
    assert not in_c
    assert len(asked) == 1
