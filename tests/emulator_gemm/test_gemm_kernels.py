"""The kernels of the seeds, executed: the correct ones compute C, the buggy ones what their bug says."""

from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from emulator_gemm.kernels import BUGGY, CORRECT, KERNELS, GemmKernel, make_launch
from layoutprobe.arch import DEFAULT
from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.patterns.expression import evaluate, parse
from layoutprobe.toolchain.compile import compile_hip

BACKEND = EmulatorBackend()
SEEDS = asset_dir("probes") / "gemm" / "seeds"
PLAIN, SCALED = (1.0, 0.0), (0.5, 2.0)
"""alpha and beta."""
CASES = [
    ((128, 128, 64), PLAIN), ((128, 128, 64), SCALED), ((200, 136, 80), SCALED), ((512, 512, 64), PLAIN),
    ((33, 17, 5), PLAIN), ((33, 17, 5), SCALED), ((1, 1, 1), SCALED), ((64, 64, 16), PLAIN),
]  # fmt: skip
TILED = [((128, 128, 64), PLAIN), ((512, 512, 64), SCALED), ((64, 64, 16), PLAIN), ((272, 80, 48), SCALED)]
"""Sizes that are whole tiles of 16 x 16."""

Size = tuple[int, int, int]
"""M, N, K."""
Half = NDArray[np.float16]
Single = NDArray[np.float32]
Double = NDArray[np.float64]


def run(kernel: GemmKernel, a: Half, b: Half, c: Single, alpha: float = 1.0, beta: float = 0.0) -> Single:
    """What the kernel leaves in C; every bit of it must be defined."""
    result = BACKEND.run(make_launch(kernel, kernel.build(), a, b, c, alpha, beta))
    assert result.undefined[2] is None
    written = result.buffers[2]
    assert written is not None
    return written


def written_over(launch: Launch) -> Single:
    """What the launch leaves in C when C was set before, whatever beta is."""
    args = [Buffer(x.data) if isinstance(x, Buffer) else x for x in launch.args]
    written = BACKEND.run(replace(launch, args=args)).buffers[2]
    assert written is not None
    return written


def integers(m: int, n: int, k: int) -> tuple[Half, Half, Single]:
    """Small non-negative integers: every sum is exact in f32."""
    rng = np.random.default_rng([m, n, k])
    a, b = rng.integers(0, 8, (m, k)), rng.integers(0, 8, (k, n))
    return a.astype(np.float16), b.astype(np.float16), rng.integers(0, 8, (m, n)).astype(np.float32)


def product(a: Half, b: Half) -> Double:
    return a.astype(np.float64) @ b.astype(np.float64)


def transpose_tiles(a: Half) -> Half:
    """A with every 16 x 16 tile transposed in place."""
    m, k = a.shape
    return a.reshape(m // 16, 16, k // 16, 16).transpose(0, 3, 2, 1).reshape(m, k)


@pytest.mark.few(3)
@pytest.mark.parametrize(("size", "scalars"), CASES)
@pytest.mark.parametrize("name", CORRECT)
def test_correct_kernels_are_exact_on_integers(name: str, size: Size, scalars: tuple[float, float]) -> None:
    (a, b, c), (alpha, beta) = integers(*size), scalars
    expected = alpha * product(a, b) + beta * c
    assert np.array_equal(run(CORRECT[name], a, b, c, alpha, beta), expected)


@pytest.mark.few(2)
@pytest.mark.parametrize(("m", "n", "k"), [(200, 136, 80), (33, 17, 5), (96, 160, 256)])
@pytest.mark.parametrize("name", CORRECT)
def test_correct_kernels_are_close_on_normals(name: str, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng([1, m, n, k])
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = rng.standard_normal((m, n)).astype(np.float32)
    expected = 0.75 * product(a, b) - 1.5 * c
    # Each of the k additions may round once in f32, at the magnitude that the sum has reached by then.
    bound = 2.0**-23 * k * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + np.abs(c) + 1)
    assert (np.abs(run(CORRECT[name], a, b, c, 0.75, -1.5) - expected) <= bound).all()


@pytest.mark.parametrize(("size", "scalars"), TILED)
@pytest.mark.parametrize("name", BUGGY)
def test_column_load_transposes_every_tile_of_a(name: str, size: Size, scalars: tuple[float, float]) -> None:
    (a, b, c), (alpha, beta) = integers(*size), scalars
    transposed = transpose_tiles(a)
    assert not np.array_equal(product(transposed, b), product(a, b))
    assert np.array_equal(run(BUGGY[name], a, b, c, alpha, beta), alpha * product(transposed, b) + beta * c)


@pytest.mark.parametrize("name", BUGGY)
def test_column_load_prints_1240_as_the_board_did(name: str) -> None:
    row = np.arange(64)
    a = np.repeat((row % 16)[:, None], 16, axis=1).astype(np.float16)
    b = np.repeat(np.arange(16)[:, None], 64, axis=1).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    assert np.array_equal(run(BUGGY[name], a, b, c), np.full((64, 64), 1240.0))
    fixed = CORRECT[BUGGY[name].file]
    assert np.array_equal(run(fixed, a, b, c), np.repeat((120.0 * (row % 16))[:, None], 64, axis=1))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", KERNELS)
def test_beta_zero_does_not_read_c(name: str) -> None:
    """NaN * 0 is NaN, so a kernel that reads C all the same shows it."""
    a, b, c = integers(64, 64, 16)
    launch = make_launch(KERNELS[name], KERNELS[name].build(), a, b, np.full_like(c, np.nan), 1.0, 0.0)
    expected = product(transpose_tiles(a) if KERNELS[name].buggy else a, b)
    assert np.array_equal(written_over(launch), expected)


@pytest.mark.few(2)
@pytest.mark.parametrize("beta", [0.0, 2.0])
@pytest.mark.parametrize("name", CORRECT)
def test_nothing_is_written_behind_c(name: str, beta: float) -> None:
    """The last rows of tiles that stand out of C would fall into the rows behind it."""
    m, n, k = 70, 37, 24
    a, b, c = integers(m, n, k)
    behind = np.full((60, n), -7.0, np.float32)
    launch = make_launch(CORRECT[name], CORRECT[name].build(), a, b, np.vstack([c, behind]), 1.0, beta)
    written = written_over(launch)
    assert np.array_equal(written[:m], product(a, b) + beta * c)
    assert np.array_equal(written[m:], behind)


def test_every_source_is_in_the_table() -> None:
    assert {path.stem for path in SEEDS.glob("*.hip")} == {kernel.file for kernel in KERNELS.values()}
    assert len(CORRECT) == 13
    assert {kernel.file for kernel in BUGGY.values()} == {"asmOpt", "swizzled"}


@pytest.mark.parametrize("name", CORRECT)
def test_sources_state_how_they_are_launched(name: str) -> None:
    """The comment "// grid: X, Y  block: T  dynamic LDS: L" of each source is what the table launches."""
    kernel = CORRECT[name]
    text = (SEEDS / f"{kernel.file}.hip").read_text("utf-8")
    stated = re.search(r"^// grid: (.+?)  block: (\d+)(?:  dynamic LDS: (\d+))?$", text, re.MULTILINE)
    assert stated, text
    assert (int(stated[2]), int(stated[3] or 0)) == (kernel.BLOCK[0], kernel.dynamic_lds)
    helpers = dict(re.findall(r"^//   ([a-z]) = (.+)$", text, re.MULTILINE))
    for m, n in ((1, 1), (128, 128), (129, 64), (200, 136), (512, 512), (511, 513), (700, 2000)):
        values = {"M": np.array(m), "N": np.array(n)}
        for helper, expression in helpers.items():
            values[helper] = evaluate(parse(expression, tuple(values)), values)
        grid = [int(evaluate(parse(axis, tuple(values)), values)) for axis in stated[1].split(", ")]
        assert (*grid, 1, 1)[:3] == kernel.grid(m, n)


@pytest.fixture(scope="module")
def order_kernel(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    """Stores the tile of each workgroup."""
    source = tmp_path_factory.mktemp("order") / "order.hip"
    source.write_text(
        f'#include "{SEEDS / "hilbert.hip"}"\n'
        'extern "C" __global__ void order(int* out, int rows, int cols) {\n'
        "  const TileId tile = tile_of(blockIdx.x, rows, cols);\n"
        "  if (threadIdx.x == 0) out[2 * blockIdx.x] = tile.row, out[2 * blockIdx.x + 1] = tile.col;\n"
        "}\n"
    )
    return load(compile_hip(source, target=DEFAULT).data)


def hilbert_order(code: CodeObject, rows: int, cols: int) -> NDArray[np.int32]:
    """[id] -> (row, col) of the tile that the hilbert kernel gives to workgroup `id`."""
    out = Buffer(np.zeros((rows * cols, 2), np.int32), undefined=True)
    args: list[Buffer | np.generic] = [out, np.int32(rows), np.int32(cols)]
    result = BACKEND.run(Launch(code, "order", (rows * cols, 1, 1), (32, 1, 1), args))
    assert result.undefined[0] is None
    order = result.buffers[0]
    assert order is not None
    return order


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (8, 8), (4, 8), (5, 3), (2, 17), (13, 9)])
def test_hilbert_visits_every_tile_once_and_walks_in_the_core(
    order_kernel: CodeObject, rows: int, cols: int
) -> None:
    order = hilbert_order(order_kernel, rows, cols)
    everywhere = [(row, col) for row in range(rows) for col in range(cols)]
    assert sorted(map(tuple, order.tolist())) == everywhere
    side = 1 << (min(rows, cols).bit_length() - 1)
    core = order[: side * side]
    assert core.max(initial=0) < side
    assert (np.abs(np.diff(core, axis=0)).sum(axis=1) == 1).all()  # from a tile to its neighbour
