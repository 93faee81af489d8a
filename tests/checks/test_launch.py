"""`layoutprobe.launch`: kernels on arrays from Python, beside numpy; and who stored what, beside formulas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike

import layoutprobe
from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Buffer
from layoutprobe.errors import ExecutionError, UsageError
from layoutprobe.inspector.launch import LaunchedKernel

SEEDS = Path(asset_dir("probes")) / "gemm" / "seeds"
COUNT = 150
AXPY = """
#include <hip/hip_runtime.h>
extern "C" __global__ void axpy(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[AT] = a * x[i] + y[i];
}
"""
WIDE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void wide(const unsigned short* a, unsigned short* b, const long long* c, double* d,
                                const int* maybe, long long add, double by) {
  int i = threadIdx.x + 8 * threadIdx.y;
  b[i] = a[i];
  d[i] = by * (double)(c[i] + add) + (maybe ? 1.0 : 0.0);
}
"""
RACY = """
#include <hip/hip_runtime.h>
extern "C" __global__ void racy(const int* x, int* y) {
  __shared__ int kept[64];
  kept[threadIdx.x] = x[threadIdx.x];
  BARRIER
  y[threadIdx.x] = kept[63 - threadIdx.x];
}
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.hip"
    path.write_text(text)
    return path


def numbers() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    x, y = random.standard_normal((2, COUNT)).astype(np.float32)
    return x, y


def axpy(folder: Path, at: str = "i", n: int = COUNT) -> LaunchedKernel:
    x, y = numbers()
    return layoutprobe.launch(written(folder, "axpy", AXPY.replace("AT", at)), [x, y, 2.5, n], 3, 64)


def test_arrays_hold_what_numpy_says(tmp_path: Path) -> None:
    run, (x, y) = axpy(tmp_path), numbers()
    assert run.arrays["y"].dtype == np.float32
    assert np.allclose(run.arrays["y"], 2.5 * x.astype(np.float64) + y, rtol=1e-6)
    assert not np.allclose(run.arrays["y"], 2.5 * x + np.roll(y, 1), rtol=1e-6), "a permutation is seen"
    assert np.array_equal(run.arrays["x"], x)
    assert not run.undefined
    assert run.result.evidence.kind == "emulated"


def test_arguments_by_name_and_of_every_kind(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    a = random.standard_normal((4, 8)).astype(ml_dtypes.bfloat16)
    c = random.integers(-(1 << 40), 1 << 40, 32)
    out = np.zeros(32)
    path = written(tmp_path, "wide", WIDE)
    given = {"a": a, "b": np.zeros_like(a), "c": c, "d": out, "maybe": None, "add": -(1 << 50), "by": 0.375}
    for maybe, more in ((None, 0.0), (np.arange(3, dtype=np.int32), 1.0)):
        run = layoutprobe.launch(path, given | {"maybe": maybe}, grid=(1,), block=(8, 4))
        assert run.arrays["b"].dtype == a.dtype
        assert np.array_equal(run.arrays["b"], a)
        assert np.array_equal(run.arrays["d"], 0.375 * (c - (1 << 50)).astype(np.float64) + more)
    assert out.max() == 0, "what was given is not changed"


def test_bits_go_through_as_they_are(tmp_path: Path) -> None:
    """NaNs keep their payload, as no number is made of an array's bits."""
    bits = np.array([0x7FC00001, 0xFFA12345, 0x80000000, 1], np.uint32)
    x = np.tile(bits, 16).view(np.float32)
    text = '#include <hip/hip_runtime.h>\nextern "C" __global__ void move(const int* x, int* y)'
    path = written(tmp_path, "move", text + "{ y[threadIdx.x] = x[threadIdx.x]; }")
    run = layoutprobe.launch(path, [x, np.zeros(64, np.int32)], 1, 64)
    assert np.array_equal(run.arrays["y"].view(np.uint32), x.view(np.uint32))


def test_what_nobody_stored_is_undefined(tmp_path: Path) -> None:
    text = '#include <hip/hip_runtime.h>\nextern "C" __global__ void half(int* y)'
    path = written(tmp_path, "half", text + "{ if (threadIdx.x % 3) y[threadIdx.x] = 7; }")
    run = layoutprobe.launch(path, [Buffer(np.zeros(64, np.int32), undefined=True)], 1, 64)
    missing = np.arange(64) % 3 == 0
    assert np.array_equal(run.undefined["y"] != 0, missing)
    assert np.array_equal(run.arrays["y"][~missing], np.full(42, 7))
    assert np.array_equal(run.owners("y").wave, np.where(missing, -1, np.arange(64) // 32))


@pytest.mark.parametrize(("at", "place"), [("i", lambda i: i), ("n - 1 - i", lambda i: COUNT - 1 - i)])
def test_owners_are_who_stored(tmp_path: Path, at: str, place: Callable[[np.ndarray], np.ndarray]) -> None:
    owners = axpy(tmp_path, at).owners("y")
    item = place(np.arange(COUNT))  # its own inverse
    assert np.array_equal(owners.workgroup, np.stack([item // 64, 0 * item, 0 * item], axis=-1))
    assert np.array_equal(owners.wave, item % 64 // 32)
    assert np.array_equal(owners.lane, item % 32)


def test_owners_of_a_product_are_those_of_its_source() -> None:
    """asmOpt.hip: a workgroup makes 128 x 64 of C, wave w rows 32*(w/2)... and columns 32*(w%2)...; D has rows of
    both parities in the halves of a wave (RDNA3 ISA guide, 7.9)."""
    kernel = layoutprobe.inspect(SEEDS / "layoutprobe.toml", "asmOpt", size={"M": 200, "N": 137, "K": 32})
    owners = kernel.owners()
    row, col = np.indices((200, 137))
    assert owners.output == "C"
    assert np.array_equal(owners.workgroup[..., 0], col // 64)
    assert np.array_equal(owners.workgroup[..., 1], row // 128)
    assert np.array_equal(owners.wave, 2 * (row % 128 // 32) + col % 64 // 32)
    assert np.array_equal(owners.lane, 16 * (row % 2) + col % 16)
    assert (owners.register >= 0).all()
    stores = {
        site.pc for site in (one.place for one in kernel.recording().code) if "store" in site.instruction
    }
    assert set(owners.pc.ravel().tolist()) <= stores
    with pytest.raises(UsageError, match="no output 'A'"):
        kernel.owners("A")


def test_a_moment_of_a_launch_names_its_elements(tmp_path: Path) -> None:
    """Lane 4 of wave 1 adds x[36] and y[36]; the register that says so holds the sum in every lane."""
    moment = axpy(tmp_path).moment("store:0", wave=1)
    rows = moment.registers(f"v0-{moment.recording.vgprs - 1}", [4]).rows
    (sums,) = [str(row[0]) for row in rows if row[3] == "from x[36], y[36]"]
    x, y = numbers()
    held = moment.state.vgprs[int(sums[1:])].view(np.float32)
    assert np.allclose(held, (2.5 * x + y)[32:64], rtol=1e-5)
    way = moment.why(f"{sums}:4").rows
    loaded = {str(row[5]) for row in way if "loaded from" in str(row[5])}
    assert loaded == {"loaded from global x + 144, x[36]", "loaded from global y + 144, y[36]"}


@pytest.mark.parametrize(("barrier", "code"), [("__syncthreads();", 0), ("", 1)])
def test_laws_without_a_manifest(tmp_path: Path, barrier: str, code: int) -> None:
    run = layoutprobe.launch(
        written(tmp_path, "racy", RACY.replace("BARRIER", barrier)),
        [np.arange(64, dtype=np.int32), np.zeros(64, np.int32)],
        grid=1,
        block=64,
    )
    report = run.check("races", "memory")
    assert report.exit_code == code
    assert [found.rule.id for v in report.verdicts for found in v.findings] == [
        "races/read-after-write"
    ] * code


def test_a_fault_is_an_error_with_a_place(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError) as caught:
        axpy(tmp_path, n=COUNT + 1)
    assert "axpy.hip:5" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (lambda x, y: [x, y, 2.5], "the arguments are not the kernel's"),
        (lambda x, y: {"x": x, "y": y, "a": 1.0, "m": 3}, "the arguments are not the kernel's"),
        (lambda x, y: [x, y, 2.5, 1 << 40], "an integer of 4 bytes"),
        (lambda x, y: [x, y, np.float64(2.5), 3], "4 bytes"),
        (lambda x, y: [x, 3, 2.5, 3], "it is a pointer"),
        (lambda x, y: [x, y, y, 3], "by value"),
        (lambda x, y: [x, y.astype(complex), 2.5, 3], "an array of f16"),
        (lambda x, y: [x, y[:0], 2.5, 3], "at least one element"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, arguments: Callable[[np.ndarray, np.ndarray], list[object]], says: str
) -> None:
    path = written(tmp_path, "axpy", AXPY.replace("AT", "i"))
    with pytest.raises(UsageError) as caught:
        layoutprobe.launch(path, arguments(*numbers()), 3, 64)  # type: ignore[arg-type]
    assert says in str(caught.value)
    for grid in (0, (1, 1, 1, 1), ()):
        with pytest.raises(UsageError, match="no grid"):
            layoutprobe.launch(path, [*numbers(), 2.5, 3], grid, 64)


def test_a_structure_is_given_by_the_name_that_the_source_has(tmp_path: Path) -> None:
    """A code object names no structure that is passed by value; debug information does."""
    source = tmp_path / "scale.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\nstruct P { int n; float a; };\n"
        'extern "C" __global__ void scale(float* x, P p) {\n'
        "  if (threadIdx.x < p.n) x[threadIdx.x] *= p.a;\n}\n"
    )
    x = np.arange(8, dtype=np.float32)
    p = np.array([(4, 2.0)], dtype=[("n", "i4"), ("a", "f4")])[0]
    run = layoutprobe.launch(source, {"x": x, "p": p}, grid=1, block=8)
    assert run.arrays["x"].tolist() == [0, 2, 4, 6, 4, 5, 6, 7]


COPIED = """
#include <hip/hip_runtime.h>
extern "C" __global__ void copied(const unsigned char* x, unsigned char* y) {
  y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
}
"""


@pytest.mark.parametrize(
    "dtype",
    [
        *"bBhHiIqQefd",
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e4m3fnuz,
    ],
)
def test_arrays_of_each_type_come_back_as_they_were(tmp_path: Path, dtype: DTypeLike) -> None:
    """Floats that numpy has not lie in its integers: an array of uint32 is none of them."""
    x = np.arange(1, 33).astype(np.dtype(dtype))
    run = layoutprobe.launch(written(tmp_path, "copied", COPIED), [x, np.zeros_like(x)], x.nbytes // 32, 32)
    assert run.arrays["y"].dtype == x.dtype
    assert (run.arrays["y"].view(np.uint8) == x.view(np.uint8)).all()
