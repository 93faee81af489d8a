"""The historical bug beside the card's own log: python benchmarks/seed_table.py [rows]

The development notes report, for seven sizes, how wrong `wmma_gemm_asmOpt` was on a card while each lane
held a column of A where the instruction reads a row. This runs the same kernel with the same bug
(probes/gemm/seeds/asmOpt.hip, COLUMN_LOAD) on the emulator, with normal inputs, and prints the same
figures beside the reported ones; and beside them those of numpy for A with every 16 x 16 tile transposed,
which is what the bug amounts to. docs/seed-table.md keeps a run. The largest sizes take minutes.

The notes do not say which sizes "rectangular" means, nor how errors were made relative: their figures
fit the largest error over the largest element of the reference.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT
from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.toolchain.compile import compile_hip

SEED = 1151
TILE = 16
BUDGET = 1 << 40


class Row(Struct, frozen=True):
    """A line of the notes' table.

    Attributes:
        name: as it stands there.
        m, n, k: the size; where the notes give none, one with the K that the figures ask for.
        error, relative, share: what the card showed: largest error, the same in percent of the
            largest element, percent of elements off by more than 1.0.
    """

    name: str
    m: int
    n: int
    k: int
    error: float
    relative: float
    share: float


ROWS = (
    Row("512 x 512 x 64", 512, 512, 64, 50.50, 117.08, 92.7),
    Row("512 x 512 x 128", 512, 512, 128, 75.77, 136.39, 94.8),
    Row("1024 x 1024 x 256", 1024, 1024, 256, 106.34, 124.56, 96.3),
    Row("2048 x 2048 x 512", 2048, 2048, 512, 162.62, 138.79, 97.4),
    Row("4096 x 4096 x 1024", 4096, 4096, 1024, 239.42, 136.39, 98.2),
    Row("rectangular, M > N", 2048, 1024, 512, 156.72, 136.05, 97.4),
    Row("rectangular, N > M", 1024, 2048, 512, 161.62, 145.95, 97.4),
)


class Errors(Struct, frozen=True):
    """How wrong a result is: see Row."""

    error: float
    relative: float
    share: float

    @classmethod
    def of(cls, result: NDArray[Any], right: NDArray[Any]) -> Errors:
        """The errors of a result."""
        off = np.abs(result.astype(np.float64) - right)
        return cls(
            float(off.max()), 100 * float(off.max() / np.abs(right).max()), 100 * float((off > 1).mean())
        )


def buggy_kernel() -> CodeObject:
    """The kernel with the bug."""
    source = asset_dir("probes") / "gemm" / "seeds" / "asmOpt.hip"
    return load(compile_hip(source, target=DEFAULT, defines={"COLUMN_LOAD": 1}).data)


def emulated(code: CodeObject, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """What the kernel computes for A @ B."""
    (m, k), n = a.shape, b.shape[1]
    c = Buffer(np.zeros((m, n), np.float32), undefined=True)
    sizes, factors = (np.int32(m), np.int32(n), np.int32(k)), (np.float32(1), np.float32(0))
    args: list[Buffer | np.generic] = [Buffer(a), Buffer(b), c, *sizes, *factors]
    grid = (-(-n // 64), -(-m // 128), 1)
    result = EmulatorBackend(BUDGET).run(Launch(code, "wmma_gemm_asmOpt", grid, (256, 1, 1), args))
    found = result.buffers[2]
    assert found is not None
    return found


def transposed_tiles(a: NDArray[Any]) -> NDArray[Any]:
    """A with every 16 x 16 tile transposed in place."""
    m, k = a.shape
    tiles = a.reshape(m // TILE, TILE, k // TILE, TILE)
    return np.asarray(tiles.transpose(0, 3, 2, 1).reshape(m, k))


def measured(rows: Sequence[Row]) -> Iterator[tuple[Row, Errors, bool, float]]:
    """Each row with its errors, whether C is what transposed tiles of A give, and the seconds it took."""
    code = buggy_kernel()
    for row in rows:
        rng = np.random.default_rng(SEED)
        a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((row.m, row.k), (row.k, row.n)))
        start = time.perf_counter()
        c = emulated(code, a, b)
        seconds = time.perf_counter() - start
        explained = transposed_tiles(a).astype(np.float64) @ b.astype(np.float64)
        same = bool(np.abs(c - explained).max() < 1e-5 * row.k)
        yield row, Errors.of(c, a.astype(np.float64) @ b.astype(np.float64)), same, seconds


def main() -> None:
    """Print the table as Markdown."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else len(ROWS)
    print("| size | off by more than 1.0 | | largest error | | relative to max abs C | | tiles transposed |")
    print("|---|---|---|---|---|---|---|---|")
    print("| | emulated | card | emulated | card | emulated | card | explains C |")
    for row, errors, same, seconds in measured(ROWS[:count]):
        print(
            f"| {row.name} | {errors.share:.1f} % | {row.share:.1f} % | {errors.error:.2f} | {row.error:.2f} | "
            f"{errors.relative:.1f} % | {row.relative:.1f} % | {'yes' if same else 'NO'} |",
            flush=True,
        )
        print(f"{row.name}: {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
