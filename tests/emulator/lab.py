"""Small kernels on the emulator: assembled for exact control, or compiled from HIP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray
from scaffold import loads, scaffolded

from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import ExecutionError
from layoutprobe.toolchain.compile import compile_hip

TARGET = "gfx1151"
KERNELS = Path(__file__).parent / "kernels"
CORPUS = Path(__file__).parents[1] / "oracle" / "corpus"
LANES = 32
Array = NDArray[Any]


class Build(Struct, frozen=True):
    """What sources are compiled for.

    Attributes:
        target: of the compiler.
        wave: lanes of a wave.
    """

    target: str = TARGET
    wave: int = LANES

    @property
    def flags(self) -> tuple[str, ...]:
        """That choose the size of waves, where there is a choice."""
        return ("-mwavefrontsize64",) if self.wave == 64 and self.target.startswith("gfx1") else ()


BUILDS = {
    "gfx1151": Build(),
    "gfx1151-wave64": Build(wave=64),
    "gfx1201": Build("gfx1201"),
    "gfx1201-wave64": Build("gfx1201", 64),
    "gfx942": Build("gfx942", 64),
    "gfx950": Build("gfx950", 64),
}
_current = [BUILDS["gfx1151"]]
"""What `compiled` builds for: the last one. The fixture `build` changes it for a test."""

EVERYWHERE = pytest.mark.parametrize(
    "build", ["gfx1151", "gfx1151-wave64", "gfx1201", "gfx942", "gfx950"], indirect=True
)
"""A test whose kernels run on every family, in waves of any size."""
WAVE32 = pytest.mark.parametrize("build", ["gfx1151", "gfx1201"], indirect=True)
"""The same for a test that counts waves of 32 lanes."""


@contextmanager
def building_for(build: Build) -> Iterator[None]:
    """Let `compiled` build for another target."""
    _current.append(build)
    try:
        yield
    finally:
        _current.pop()


def assembled(
    body: str,
    *,
    pointers: int = 2,
    lds: int = 0,
    scratch: int = 0,
    arguments: int | None = None,
    prologue: str | None = None,
    user_sgprs: int = 2,
) -> CodeObject:
    """`scaffolded` for RDNA3 in wave32, with four times the work-item id in v1, and the workgroup id in s2."""
    if prologue is None:
        prologue = loads(pointers, TARGET) + "\n  v_lshlrev_b32_e32 v1, 2, v0"
    return scaffolded(
        body,
        target=TARGET,
        pointers=pointers,
        arguments=arguments,
        lds=lds,
        scratch=scratch,
        vgprs=128,
        prologue=prologue,
        user_sgprs=user_sgprs,
    )


def compiled(name: str, *flags: str) -> CodeObject:
    """A source of this folder's kernels, or of the decoder's corpus as "corpus/NAME"."""
    build = _current[-1]
    return _compiled(name, build.target, *flags, *build.flags)


@cache
def _compiled(name: str, target: str, *flags: str) -> CodeObject:
    folder, _, stem = name.rpartition("/")
    path = (CORPUS if folder == "corpus" else KERNELS) / f"{stem}.hip"
    return load(compile_hip(path, target=target, flags=flags).data)


def launch(
    code: CodeObject,
    args: Sequence[Any],
    *,
    kernel: str = "k",
    grid: tuple[int, ...] = (1,),
    block: tuple[int, ...] = (LANES,),
    dynamic_lds: int = 0,
    budget: int = 1_000_000,
    engine: str | None = None,
) -> RunResult:
    """Run a kernel; plain arrays become buffers, extents may be shorter than three."""
    wrapped = [Buffer(a) if isinstance(a, np.ndarray) else a for a in args]
    return EmulatorBackend(budget, engine=make_engine(engine)).run(
        Launch(code, kernel, _extent(grid), _extent(block), wrapped, dynamic_lds)
    )


def _extent(given: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z, *_ = (*given, 1, 1)
    return x, y, z


def outputs(
    code: CodeObject, args: Sequence[Any], *, undefined_allowed: bool = False, **options: Any
) -> list[Array]:
    """The buffers after a run; unless it is allowed, a run must leave every one of them defined."""
    result = launch(code, args, **options)
    assert undefined_allowed or all(bits is None for bits in result.undefined)
    return [buffer for buffer in result.buffers if buffer is not None]


def undefined(result: RunResult, argument: int = 0) -> Array:
    """Undefined bits that a run left in a buffer; all zero where it left none."""
    bits, data = result.undefined[argument], result.buffers[argument]
    assert data is not None
    return np.zeros(data.shape, f"u{data.dtype.itemsize}") if bits is None else bits


def fresh(shape: int | tuple[int, ...], dtype: Any = np.uint32) -> Buffer:
    """Output memory that nobody has written yet."""
    return Buffer(np.zeros(shape, dtype), undefined=True)


def fault(run: Callable[[], object], what: str) -> ExecutionError:
    """The error that `run` must end in; `what` is a pattern for its first line."""
    with pytest.raises(ExecutionError, match=what) as caught:
        run()
    return caught.value


def words(seed: int, *shape: int) -> NDArray[np.uint32]:
    """Random dwords."""
    return np.random.default_rng(seed).integers(0, 1 << 32, shape, dtype=np.uint32)
