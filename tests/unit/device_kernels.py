"""Kernels as text, compiled against the project's own <hip/...> headers and run: for test_device_*.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.errors import ToolchainError
from layoutprobe.toolchain import headers
from layoutprobe.toolchain.compile import compile_hip

BACKEND = EmulatorBackend()
INCLUDES = """#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
"""
Array = NDArray[Any]
Same = Callable[[Array, Array], bool]
_TYPES = {
    "float16": "__half",
    "float32": "float",
    "float64": "double",
    "uint16": "unsigned short",
    "uint32": "unsigned",
    "int32": "int",
}


class Device:
    """Compiles and runs kernels named `k` from text."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "kernel.hip"

    def compile(self, text: str, includes: str = INCLUDES, folders: tuple[Path, ...] = ()) -> bytes:
        self.source.write_text(includes + text)
        return compile_hip(self.source, target=DEFAULT, include_dirs=folders).data

    def refusal(self, text: str, includes: str = INCLUDES) -> str:
        """What the user reads when the compiler refuses the text."""
        with pytest.raises(ToolchainError) as caught:
            self.compile(text, includes)
        return str(caught.value)

    def run(
        self,
        text: str,
        *args: Array | np.generic,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        dynamic_lds: int = 0,
        includes: str = INCLUDES,
    ) -> list[Array]:
        """The buffers after a run; every bit of them must be defined."""
        code = load(self.compile(text, includes))
        packed = [Buffer(a) if isinstance(a, np.ndarray) else a for a in args]
        result = BACKEND.run(Launch(code, "k", grid, block, packed, dynamic_lds))
        assert all(bits is None for bits in result.undefined)
        return [buffer for buffer in result.buffers if buffer is not None]

    def map(self, expressions: Sequence[str], out: Any, *inputs: Array) -> Array:
        """Each expression over x, y, z, elements of the inputs.

        Args:
            expressions: C++; compiled together, since most of the time goes to starting the compiler.
            out: dtype of the results.
            inputs: arrays of one length.

        Returns:
            The results, [expression, element].
        """
        count = inputs[0].size
        names = "xyz"[: len(inputs)]
        parameters = "".join(
            f"const {_TYPES[a.dtype.name]}* {n}s, " for n, a in zip(names, inputs, strict=True)
        )
        loads = "".join(f"const auto {n} = {n}s[i]; " for n in names)
        results = "".join(f"out[{row} * count + i] = {e};\n" for row, e in enumerate(expressions))
        text = f"""extern "C" __global__ void k({parameters}{_TYPES[np.dtype(out).name]}* out, int count) {{
          const int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < count) {{
            {loads}
            {results}
          }}
        }}"""
        buffer = np.zeros((len(expressions), count), out)
        grid = (-(-count // 256), 1, 1)
        return self.run(text, *inputs, buffer, np.int32(count), grid=grid, block=(256, 1, 1))[-1]

    def check(self, laws: Mapping[str, Array], *inputs: Array, same: Same | None = None) -> None:
        """Every expression gives its array, which also fixes the dtype; all of them have one dtype."""
        got = self.map(list(laws), next(iter(laws.values())).dtype, *inputs)
        for row, (expression, expected) in zip(got, laws.items(), strict=True):
            assert same(row, expected) if same else np.array_equal(row, expected, equal_nan=True), expression


def make_device(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    """These tests are about the project's own headers, also where ROCm is installed."""
    monkeypatch.setattr(headers, "rocm_include", lambda compiler: None)
    return Device(folder)


def floats(seed: int, count: int = 3000, spread: float = 4.0) -> NDArray[np.float32]:
    """Values of both signs over several decades, with the special ones."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(count) * 10.0 ** rng.uniform(-spread, spread, count)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5, np.inf, -np.inf]
    return np.concatenate([special, values]).astype(np.float32)


def ulps(got: Array, exact: NDArray[np.float64]) -> float:
    """Largest distance in units of the last place of f32."""
    rounded = exact.astype(np.float32)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    distance = np.abs(got[~same].astype(np.float64) - exact[~same]) / np.spacing(np.abs(rounded[~same]))
    return float(distance.max(initial=0.0))
