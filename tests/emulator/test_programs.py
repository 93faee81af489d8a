"""Whole programs of the corpus against numpy: reductions, normalisation, transposition, activations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator.lab import CORPUS, EVERYWHERE, Array, compiled, fresh, launch, outputs, words

from layoutprobe.codeobj.model import Kernel
from layoutprobe.errors import ExecutionError


def run(source: str, kernel: str, *args: Any, **options: Any) -> list[Array]:
    return outputs(compiled(f"corpus/{source}"), list(args), kernel=kernel, **options)


def normal(seed: int, *shape: int, scale: float = 1.0) -> Array:
    return np.random.default_rng(seed).normal(scale=scale, size=shape).astype(np.float32)


@EVERYWHERE
@pytest.mark.parametrize("cols", [32, 77, 300])
def test_softmax(cols: int) -> None:
    x = normal(1, 5, cols, scale=4)
    got = run("softmax", "softmax", x, fresh((5, cols), np.float32), np.int32(cols), grid=(5,))[1]
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.allclose(got, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-9)


@EVERYWHERE
@pytest.mark.parametrize("cols", [128, 500])
def test_layernorm(cols: int) -> None:
    x, gamma, beta = (
        normal(s, *shape).astype(np.float16) for s, shape in ((2, (3, cols)), (3, (cols,)), (4, (cols,)))
    )
    args = (x, gamma, beta, fresh((3, cols), np.float16), np.int32(cols), np.float32(1e-5))
    got = run("layernorm", "layernorm", *args, grid=(3,), block=(128,))[3]
    wide = x.astype(np.float64)
    mean, var = wide.mean(axis=1, keepdims=True), wide.var(axis=1, keepdims=True)
    wanted = (wide - mean) / np.sqrt(var + 1e-5) * gamma.astype(np.float64) + beta.astype(np.float64)
    assert np.allclose(got.astype(np.float64), wanted, rtol=2e-3, atol=2e-3)


@EVERYWHERE
def test_transpose_through_padded_lds() -> None:
    x = words(5, 3 * 64, 32).view(np.uint16).reshape(3 * 64, 64)
    got = run("transpose", "transpose_f16", x, fresh((64, 192), np.uint16), np.int32(64), grid=(1,), block=(64,),
              undefined_allowed=True)[1]  # fmt: skip
    assert np.array_equal(got.ravel()[: 64 * 64].reshape(64, 64), x[:64].T)


@EVERYWHERE
def test_transpose_through_swizzled_lds() -> None:
    x = words(6, 32, 32)
    got = run("transpose", "transpose_f32", x, fresh((32, 32)), np.int32(32), grid=(1,), block=(32,))[1]
    assert np.array_equal(got, x.T)


@EVERYWHERE
def test_scan_within_rows() -> None:
    x = words(7, 64)
    got = run("dpp", "dpp_scan_u32", x, fresh(64), block=(64,))[1]
    assert np.array_equal(got.reshape(4, 16), np.cumsum(x.reshape(4, 16), axis=1, dtype=np.uint32))


@pytest.mark.parametrize("build", ["gfx942", "gfx950"], indirect=True)
def test_scan_and_shifts_of_a_whole_wave() -> None:
    x = words(7, 64)
    assert np.array_equal(
        run("dpp", "dpp_scan_wave", x, fresh(64), block=(64,))[1], np.cumsum(x, dtype=np.uint32)
    )
    down, up, right, left = run("dpp", "dpp_shift_wave", x, fresh((4, 64)), block=(64,))[1]
    assert np.array_equal(down, [7, *x[:-1]])
    assert np.array_equal(up, [*x[1:], 9])
    assert np.array_equal(right, np.roll(x, 1))
    assert np.array_equal(left, np.roll(x, -1))


@EVERYWHERE
def test_reduction_within_rows() -> None:
    x = (np.random.default_rng(8).integers(-64, 64, 64) / 8).astype(np.float32)
    got = run("dpp", "dpp_reduce_f32", x, fresh(64, np.float32), block=(64,))[1]
    sums = x.reshape(4, 16).sum(axis=1, keepdims=True)
    assert np.array_equal(got.reshape(4, 16), np.repeat(sums * sums, 16, axis=1))


@EVERYWHERE
def test_histogram_of_bytes() -> None:
    x = words(9, 1000).view(np.uint8)[:3777]
    got = run(
        "lds_atomics", "histogram", x, np.zeros(256, np.uint32), np.int32(3777), grid=(2,), block=(256,)
    )[1]
    assert np.array_equal(got, 2 * np.bincount(x, minlength=256))


@EVERYWHERE
def test_activations() -> None:
    x = normal(10, 1000, scale=3)
    half = x.astype(np.float16)
    got = run("activations", "gelu", half, fresh(1000, np.float16), np.int32(1000), grid=(4,), block=(256,))[
        1
    ]
    wide = half.astype(np.float64)
    wanted = 0.5 * wide * (1 + np.tanh(0.7978845608 * (wide + 0.044715 * wide**3)))
    assert np.allclose(got.astype(np.float64), wanted, rtol=2e-3, atol=2e-3)
    got = run("activations", "silu", x, fresh(1000, np.float32), np.int32(1000), grid=(4,), block=(256,))[1]
    assert np.allclose(got, x / (1 + np.exp(-x.astype(np.float64))), rtol=1e-5)
    got = run(
        "activations", "quantise", x, fresh(1000, np.int8), np.float32(40), np.int32(1000), block=(256,)
    )[1]
    assert np.array_equal(got, np.clip(np.rint(x * np.float32(40)), -127, 127).astype(np.int8))


# Everything else at least runs.

REFUSED = {
    "offsets": "outside every allocation",  # reads before its pointer
    "flat_indirect": "outside every allocation",  # takes addresses from memory
    "flat_insert": "outside every allocation",
}


def small_arguments(kernel: Kernel) -> list[Any]:
    """Memory whose contents are small both as integers and as floats; scalars 3."""
    memory = (words(11, 1 << 15) & 0x3F803F7F).astype(np.uint32)
    return [
        memory.copy()
        if argument.kind == "global_buffer"
        else np.frombuffer((3).to_bytes(argument.size, "little"), f"V{argument.size}")[0]
        for argument in kernel.explicit_args
    ]


@pytest.mark.parametrize("source", sorted(path.stem for path in CORPUS.glob("*.hip")))
def test_every_kernel_of_the_corpus_runs_or_is_refused_in_words(source: str) -> None:
    code = compiled(f"corpus/{source}")
    for kernel in code.kernels.values():
        block = min(32 if kernel.name == "transpose_f32" else 64, kernel.max_workgroup_size)
        try:
            launch(code, small_arguments(kernel), kernel=kernel.name, block=(block,), dynamic_lds=1024)
            problem = ""
        except ExecutionError as error:
            problem = str(error)
        assert (kernel.name in REFUSED) == bool(problem), problem
        assert REFUSED.get(kernel.name, "") in problem
