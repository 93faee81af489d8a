"""A whole GEMM through LDS and the matrix instruction, on RDNA4 and in wave64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator.lab import fresh, outputs

from layoutprobe.codeobj.elf import load
from layoutprobe.toolchain.compile import compile_hip

SOURCE = Path(__file__).parent / "kernels" / "gemm.hip"


@pytest.mark.parametrize(
    ("target", "wave_size"), [("gfx1200", 32), ("gfx1200", 64), ("gfx1201", 32), ("gfx1151", 64)]
)
def test_gemm(target: str, wave_size: int) -> None:
    flags = ("-mwavefrontsize64",) if wave_size == 64 else ()
    defines = {"WAVE64": 1} if wave_size == 64 else {}
    code = load(compile_hip(SOURCE, target=target, flags=flags, defines=defines).data)
    assert code.kernel().wavefront_size == wave_size
    m, n, k = 48, 192, 80
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 9, (m, k)).astype(np.float16), rng.integers(0, 9, (k, n)).astype(np.float16)
    args = [a, b, fresh((m, n), np.float32), np.uint32(m), np.uint32(n), np.uint32(k)]
    got = outputs(code, args, kernel="gemm", grid=(n // 64, m // 16), block=(4 * wave_size,))[2]
    assert np.array_equal(got, a.astype(np.float32) @ b.astype(np.float32))
