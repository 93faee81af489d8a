"""The kernels in probes/gemm/seeds: how each is built and launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT
from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.toolchain.compile import compile_hip

Grid = tuple[int, int, int]


def tiles(block_m: int, block_n: int) -> Callable[[int, int], Grid]:
    """A grid of one workgroup per block tile, tiles of one row of C side by side in x."""
    return lambda m, n: (-(-n // block_n), -(-m // block_m), 1)


def linear_tiles(block_m: int, block_n: int) -> Callable[[int, int], Grid]:
    """As many workgroups in a row."""
    return lambda m, n: (-(-n // block_n) * -(-m // block_m), 1, 1)


STANDARD_TILES = tiles(128, 64)


def adaptive_tiles(m: int, n: int) -> Grid:
    """The grid of the tile that the kernel selects for this C."""
    return tiles(128 if m > 128 and n > 64 else 64, 128 if m >= 512 and n >= 512 else 64)(m, n)


class GemmKernel(Struct, frozen=True):
    """One kernel of the seeds.

    Attributes:
        file: name of the source, and of the kernel behind "wmma_gemm_".
        grid: workgroups in x, y, z for C of M x N.
        defines: macro -> value.
        dynamic_lds: bytes of LDS that the launch asks for.
        buggy: computes (A with every 16 x 16 tile transposed in place) @ B.
    """

    file: str
    grid: Callable[[int, int], Grid] = STANDARD_TILES
    defines: Mapping[str, int] = field(default_factory=dict)
    dynamic_lds: int = 0
    buggy: bool = False

    BLOCK = (256, 1, 1)

    @property
    def symbol(self) -> str:
        """Name of the kernel."""
        return f"wmma_gemm_{self.file}"

    def build(self) -> CodeObject:
        """Its code object, compiled once."""
        return _build(self.file, tuple(self.defines.items()))


@cache
def _build(file: str, defines: tuple[tuple[str, int], ...]) -> CodeObject:
    source = asset_dir("probes") / "gemm" / "seeds" / f"{file}.hip"
    return load(compile_hip(source, target=DEFAULT, defines=dict(defines)).data)


CORRECT = {
    "standard": GemmKernel("standard"),
    "asmOpt": GemmKernel("asmOpt"),
    "native": GemmKernel("native"),
    "kunroll": GemmKernel("kunroll"),
    "quad": GemmKernel("quad", dynamic_lds=4 * (128 + 64) * 24 * 2),
    "highOcc": GemmKernel("highOcc", grid=tiles(64, 64)),
    "noPrefetch": GemmKernel("noPrefetch"),
    "zerocopy": GemmKernel("zerocopy"),
    "swizzled": GemmKernel("swizzled"),
    "xor_optimized": GemmKernel("xor_optimized"),
    "hilbert": GemmKernel("hilbert", grid=linear_tiles(128, 64)),
    "coop": GemmKernel("coop"),
    "adaptive": GemmKernel("adaptive", grid=adaptive_tiles),
}
BUGGY = {
    "asmOpt_column_load": GemmKernel("asmOpt", defines={"COLUMN_LOAD": 1}, buggy=True),
    "swizzled_column_load": GemmKernel("swizzled", defines={"COLUMN_LOAD": 1}, buggy=True),
}
KERNELS = CORRECT | BUGGY


def make_launch(
    kernel: GemmKernel,
    code: CodeObject,
    a: NDArray[np.float16],
    b: NDArray[np.float16],
    c: NDArray[np.float32],
    alpha: float,
    beta: float,
) -> Launch:
    """A launch of C = alpha*A@B + beta*C.

    Args:
        kernel, code: what to run, and its code object.
        a: f16 [M][K].
        b: f16 [K][N].
        c: f32, M x N or more rows, which must not matter. With beta 0, it counts as never set.
        alpha: factor of the product.
        beta: factor of C.
    """
    (m, k), n = a.shape, b.shape[1]
    args: list[Buffer | np.generic] = [
        *(Buffer(a), Buffer(b), Buffer(c, undefined=beta == 0)),
        *(np.int32(m), np.int32(n), np.int32(k), np.float32(alpha), np.float32(beta)),
    ]
    return Launch(code, kernel.symbol, kernel.grid(m, n), kernel.BLOCK, args, kernel.dynamic_lds)
