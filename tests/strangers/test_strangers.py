"""Kernels as strangers write them, with their host code: `init` drafts what they do, and `check` takes it."""

from __future__ import annotations

import runpy
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutprobe.cli.main import main
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.inputs import make_inputs
from layoutprobe.manifest.read import read_manifest

HERE = Path(__file__).resolve().parent
EXPECTED: dict[str, dict[str, Any]] = {
    "linear.hip": {
        "name": "linear_relu_kernel",
        "grid": ["(N + 15) / 16", "(M + 15) / 16", 1],
        "block": [32, 1, 1],
        "tile": {"M": 16, "N": 16, "K": 16},
        "contract": {"kind": "gemm", "bias": "bias", "activation": "relu"},
        "matrices": {"x": ("A", "row"), "w": ("B", "col"), "out": ("D", "row")},
    },
    "int8.hip": {
        "name": "w8a8_linear",
        "grid": ["(N + 15) / 16", "(M + 31) / 32", 1],
        "block": [64, 1, 1],
        "tile": {"M": 32, "N": 16, "K": 16},
        "multiple": {"K": 16},
        "contract": {"kind": "gemm", "scales": ["scale_x", "scale_w"]},
        "matrices": {"x": ("A", "row"), "w": ("B", "col"), "y": ("D", "row")},
    },
    "splitk.hip": {
        "name": "splitk_partial",
        "grid": ["(N + 15) / 16", "(M + 15) / 16", "splits"],
        "block": [32, 1, 1],
        "tile": {"splits": 2, "M": 16, "N": 16, "K": 16},
        "contract": {"kind": "gemm", "split_k": True},
        "matrices": {"A": ("A", "row"), "B": ("B", "row"), "workspace": ("D", "row")},
    },
    "transposed.hip": {
        "name": "gemm_gelu_residual_t",
        "grid": ["(N + 16 - 1) / 16", "(M + 16 - 1) / 16", 1],
        "block": [32, 1, 1],
        "tile": {"M": 16, "N": 16, "K": 16},
        "contract": {"kind": "gemm", "bias": "bias", "residual": "residual", "activation": "gelu_tanh"},
        "matrices": {"A": ("A", "row"), "B": ("B", "row"), "out": ("D", "col")},
    },
    "batched.hip": {
        "name": "batched_gemm",
        "grid": ["(N + 15) / 16", "(M + 15) / 16", "batch"],
        "block": [32, 1, 1],
        "tile": {"batch": 2, "M": 16, "N": 16, "K": 16},
        "contract": {"kind": "gemm", "alpha": 2.0},
        "matrices": {"A": ("A", "row"), "B": ("B", "row"), "C": ("D", "row")},
    },
    "pointer_batched.hip": {
        "name": "hgemm_batched",
        "grid": ["(N + 15) / 16", "(M + 15) / 16", "batch"],
        "block": [32, 1, 1],
        "tile": {"batch": 2, "M": 16, "N": 16, "K": 16},
        "contract": {"kind": "gemm", "alpha": 2.0},
        "matrices": {"Aarray": ("A", "row"), "Barray": ("B", "col"), "Carray": ("D", "row")},
        "pointers": ["Aarray", "Barray", "Carray"],
    },
    "module.cpp": {
        "name": "hgemm_double_buffer",
        "grid": ["N / 64", "M / 64", 1],
        "block": [256, 1, 1],
        "dynamic_lds": 8192,
        "tile": {"M": 64, "N": 64, "K": 16},
        "multiple": {"M": 64, "N": 64, "K": 16},
        "contract": {"kind": "gemm"},
        "matrices": {"pA": ("A", "row"), "pB": ("B", "col"), "pC": ("D", "row")},
    },
    "sgemm.cpp": {
        "name": "sgemm",
        "grid": ["(M + 15) / 16", "(N + 15) / 16", 1],
        "block": [16, 16, 1],
        "tile": {"M": 16, "N": 16, "K": 16},
        "contract": {"kind": "gemm", "alpha": 2.0, "beta": 0.5},
        "matrices": {"A": ("A", "row"), "B": ("B", "row"), "C": ("C", "row")},
    },
    "bf16/gemm.hip": {
        "name": "gemm_tn",
        "grid": ["(M + 32-1) / 32", "(N + 64-1) / 64", 1],
        "block": [128, 1, 1],
        "tile": {"M": 32, "N": 64, "K": 16},
        "contract": {"kind": "gemm"},
        "matrices": {"A": ("A", "row"), "B": ("B", "col"), "C": ("D", "row")},
    },
    "gemv.hip": {
        "name": "gemv_f16",
        "grid": ["(M + 2 - 1) / 2", 1, 1],
        "block": [256, 1, 1],
        "tile": {"M": 2, "K": 16},
        "multiple": {"K": 8},
        "contract": {"kind": "gemm"},
        "matrices": {"W": ("A", "row"), "x": ("B", "row"), "y": ("D", "row")},
    },
    "iterators.hip": {
        "name": "Kernel",
        "grid": ["(N + 63) / 64", "(M + 15) / 16", 1],
        "block": [128, 1, 1],
        "tile": {"M": 16, "N": 64, "K": 16},
        "contract": {"kind": "gemm", "beta": 1.0, "activation": "relu"},
        "matrices": {
            "ptr_A": ("A", "row"),
            "ptr_B": ("B", "row"),
            "ptr_C": ("C", "row"),
            "ptr_D": ("D", "row"),
        },
    },
    "ck_tile.hip": {
        "name": "kentry",
        "grid": ["(N + 63) / 64", "(M + 63) / 64", 1],
        "block": [128, 1, 1],
        "tile": {"M": 64, "N": 64, "K": 16},
        "contract": {"kind": "gemm", "bias": "bias_ptr", "activation": "silu"},
        "matrices": {"a_ptr": ("A", "row"), "b_ptr": ("B", "col"), "e_ptr": ("D", "row")},
    },
    "inline_asm.hip": {
        "name": "hgemm_asm",
        "grid": ["(N + 31) / 32", "(M + 31) / 32", 1],
        "block": [128, 1, 1],
        "tile": {"M": 32, "N": 32, "K": 16},
        "contract": {"kind": "gemm"},
        "matrices": {"A": ("A", "row"), "B": ("B", "row"), "D": ("D", "row")},
    },
    "macros.cu": {
        "name": "dgemm_nn",
        "grid": ["(M + 16 - 1) / 16", "(N + 16 - 1) / 16", 1],
        "block": [16, 16, 1],
        "tile": {"M": 16, "N": 16, "K": 16},
        "contract": {"kind": "gemm", "alpha": 2.0, "beta": 0.5},
        "matrices": {"A": ("A", "col"), "B": ("B", "col"), "C": ("C", "col")},
    },
    "w8a8_bias.hip": {
        "name": "smoothquant_linear",
        "grid": ["(N + 16 * 4 - 1) / (16 * 4)", "(M + 15) / 16", 1],
        "block": [128, 1, 1],
        "tile": {"M": 16, "N": 64, "K": 16},
        "multiple": {"K": 16},
        "contract": {"kind": "gemm", "scales": ["sx", "sw"], "bias": "bias"},
        "matrices": {"x": ("A", "row"), "w": ("B", "col"), "y": ("D", "row")},
    },
    "pitched.hip": {
        "name": "proj",
        "grid": ["(M + 15) / 16", "(N + 15) / 16", 1],
        "block": [32, 1, 1],
        "tile": {"M": 16, "N": 16, "K": 16},
        "contract": {"kind": "gemm"},
        "matrices": {"act": ("A", "row"), "wt": ("B", "col"), "out": ("D", "row")},
    },
    "mfma.hip": {
        "name": "gemm_mfma_32x32x8",
        "grid": ["(N + 31) / 32", "(M + 31) / 32", 1],
        "block": [64, 1, 1],
        "tile": {"M": 32, "N": 32, "K": 16},
        "contract": {"kind": "gemm"},
        "matrices": {"a": ("A", "row"), "b": ("B", "row"), "d": ("D", "row")},
    },
}
TARGETS = {"mfma.hip": "gfx942", "fp8_block.hip": "gfx1201"}
"""Of those that are not for the usual one."""
REFERENCES = {
    "attention.hip": "attention",
    "gptq.hip": "gptq",
    "fp8.hip": "w8a16",
    "grouped.hip": "qkv",
    "rope.hip": "rotary",
    "layernorm.hip": "layernorm",
    "softmax.cu": "softmax",
    "conv.hip": "conv",
    "transpose.hip": "transposed",
    "swiglu.hip": "swiglu",
    "add_norm.hip": "add_norm",
    "rms_norm.cu": "rms_norm",
    "topk.hip": "topk",
    "cross_entropy.cu": "cross_entropy",
    "decode.hip": "decode",
    "gqa.hip": "gqa_decode",
    "quantize.hip": "quantize",
    "awq.hip": "unpack_int4",
    "rows.hip": "softmax_rows",
    "fp8_block.hip": "fp8_block",
    "w4a16.hip": "w4a16",
    "mlp.hip": "gate_up",
    "gating.cu": "gating",
    "fmha.hip": "fmha",
    "paged.hip": "paged",
    "groupnorm.cu": "group_norm",
    "w4/gemm_w4.hip": "w4",
    "experts.hip": "experts",
    "moe_up.hip": "moe_up",
    "flat.hip": "flat",
}
"""What is no product, and the function of `references.py` that says so; drafts find it by themselves."""


def _drafted(folder: Path, source: Path) -> tuple[Path, dict[str, Any]]:
    manifest = folder / "layoutprobe.toml"
    target = TARGETS.get(source.name)
    assert main(["init", str(source), "-o", str(manifest), *(["--arch", target] if target else [])]) == 0
    return manifest, tomllib.loads(manifest.read_text())["kernel"][0]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_draft_is_what_the_kernel_does(tmp_path: Path, name: str) -> None:
    expected = dict(EXPECTED[name])
    _, kernel = _drafted(tmp_path, HERE / name)
    matrices = {a["name"]: (a["matrix"], a.get("order", "row")) for a in kernel["argument"] if "matrix" in a}
    assert matrices == expected.pop("matrices")
    assert [a["name"] for a in kernel["argument"] if a.get("pointers")] == expected.pop("pointers", [])
    keys = ("name", "grid", "block", "dynamic_lds", "tile", "multiple", "contract")
    assert {key: kernel[key] for key in keys if key in kernel} == expected


def test_a_number_of_batches_in_the_host_code_stands_for_all_of_them(tmp_path: Path) -> None:
    """Where it stayed a number, a hunt that tried another one found batches that nobody writes."""
    text = (HERE / "pointer_batched.hip").read_text()
    source = tmp_path / "gemm.hip"
    source.write_text(text.replace("(int)a.size()", "3"))
    _, kernel = _drafted(tmp_path, source)
    assert kernel["grid"][2] == "batch"


def test_a_reduction_is_launched_behind_what_it_reads_and_has_the_contract_of_both(tmp_path: Path) -> None:
    manifest, partial = _drafted(tmp_path, HERE / "splitk.hip")
    _, reduce = tomllib.loads(manifest.read_text())["kernel"]
    assert (reduce["after"], reduce["tile"]) == ([partial["name"]], partial["tile"])
    assert reduce["contract"] == {"kind": "gemm", "bias": "bias"}
    read, _, stored = reduce["argument"][:3]
    made = partial["argument"][2]
    assert [read[key] for key in ("name", "role", "shape")] == [made["name"], "in", made["shape"]]
    assert (stored["matrix"], stored["shape"]) == ("D", ["M", "N"])


def test_a_launch_that_is_not_there_is_the_block_of_the_kernel_and_as_many_workgroups_as_store(
    tmp_path: Path,
) -> None:
    """A wave for a row, eight of them in a workgroup. What is guessed is marked."""
    manifest, kernel = _drafted(tmp_path, HERE / "rows.hip")
    assert (kernel["grid"], kernel["block"]) == (["(rows + 7) / 8", 1, 1], [256, 1, 1])
    assert 'grid = ["(rows + 7) / 8", 1, 1]  # a guess, as no launch was found' in manifest.read_text()


def test_leading_dimensions_that_the_caller_chooses_follow_from_how_matrices_lie(tmp_path: Path) -> None:
    source = tmp_path / "gemm.hip"
    source.write_text("""#include <hip/hip_runtime.h>
__global__ void sgemm_nt(int m, int n, int k, const float* A, int lda, const float* B, int ldb, float* C, int ldc) {
  int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  if (i >= m || j >= n) return;
  for (int p = 0; p < k; p++) sum += A[i * lda + p] * B[j * ldb + p];
  C[i + j * ldc] = sum;
}
void sgemm(int m, int n, int k, const float* A, int lda, const float* B, int ldb, float* C, int ldc) {
  sgemm_nt<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(m, n, k, A, lda, B, ldb, C, ldc);
}
""")
    _, kernel = _drafted(tmp_path, source)
    told = {one["name"]: (one.get("order"), one.get("ld", one.get("value"))) for one in kernel["argument"]}
    assert told == {
        "m": (None, "M"), "n": (None, "N"), "k": (None, "K"), "A": (None, "K + 8"), "lda": (None, "K + 8"),
        "B": ("col", "K + 8"), "ldb": (None, "K + 8"), "C": ("col", "M + 8"), "ldc": (None, "M + 8"),
    }  # fmt: skip


_BATCHED = """#include <hip/hip_runtime.h>
__global__ void __launch_bounds__(256) bgemm(int m, int n, int k, const float* A, int lda, long long batch_stride_a,
    const float* B, int ldb, long long batch_stride_b, float* C, int ldc, long long batch_stride_c) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x, z = blockIdx.z;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int p = 0; p < k; p++) sum += A[z * batch_stride_a + i * lda + p] * B[z * batch_stride_b + j * ldb + p];
  C[z * batch_stride_c + i * ldc + j] = sum;
}
"""
"""A batch of products with every distance told; its launch is in another file."""


@pytest.mark.parametrize("layers", ["", "dim3((n + 15) / 16, (m + 15) / 16, count)"])
def test_a_batch_has_an_extent_and_distances_that_hold_its_rows(tmp_path: Path, layers: str) -> None:
    """Without a launch, and with one. Distances of M * K let padded matrices overlap, and no batch was seen."""
    source = tmp_path / "bgemm.hip"
    told = "m, n, k, A, lda, batch_stride_a, B, ldb, batch_stride_b, C, ldc, batch_stride_c"
    given = _BATCHED[_BATCHED.index("(int m") + 1 : _BATCHED.index(") {")]
    call = f"bgemm<<<{layers}, dim3(16, 16)>>>({told})"
    host = f"void run({given}, int count) {{ {call}; }}" if layers else ""
    source.write_text(_BATCHED + host)
    _, kernel = _drafted(tmp_path, source)
    assert (kernel["grid"][2], kernel["tile"]["batch"]) == ("batch", 2)
    said = {one["name"]: one.get("value", one.get("shape")) for one in kernel["argument"]}
    assert [said[f"batch_stride_{letter}"] for letter in "abc"] == [
        "M * (K + 8)", "N * (K + 8)", "M * (N + 8)"
    ]  # fmt: skip
    assert said["B"] == ["batch", "K", "N"]


def test_a_grid_that_only_chance_gives_is_to_be_filled_in(tmp_path: Path) -> None:
    """Batches at distances without names of matrices."""
    source = tmp_path / "bgemm.hip"
    source.write_text(_BATCHED.replace("batch_stride", "jump"))
    manifest, _ = _drafted(tmp_path, source)
    (grid,) = [line for line in manifest.read_text().splitlines() if line.startswith("grid = ")]
    assert "batch" in grid or "FILL IN" in grid


def test_one_number_is_no_matrix_of_a_product(tmp_path: Path) -> None:
    """A flag made a gemm with an alpha of two thirds, and a scale is one of a formula."""
    source = tmp_path / "scaled.hip"
    source.write_text("""#include <hip/hip_runtime.h>
__global__ void doubled(const float* x, float* y, volatile int* flag, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (*flag > 100) return;
  if (i < n) y[i] = 2 * x[i];
}
__global__ void scaled(const float* x, float* y, const float* scale, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = *scale * x[i];
}
void run(const float* x, float* y, int* flag, const float* scale, int n) {
  doubled<<<(n + 63) / 64, 64>>>(x, y, flag, n);
  scaled<<<(n + 63) / 64, 64>>>(x, y, scale, n);
}
""")
    manifest, _ = _drafted(tmp_path, source)
    text = manifest.read_text().partition("[[kernel]]")[2]
    assert [one["contract"]["kind"] for one in tomllib.loads("[[kernel]]" + text)["kernel"]] == [
        "reference"
    ] * 2
    assert "FILL IN: flag is loaded" in text
    x, scale = np.arange(4.0), np.array([3.0])
    inputs = {"x": x, "scale": scale, "flag": np.array([3])}
    for name, factor in (("doubled", 2.0), ("scaled", 3.0)):
        result = _function(tmp_path, f"layoutprobe_references.py:{name}")(inputs, {"n": 4})
        assert (np.ravel(result["y"]) == factor * x).all()


def test_an_epsilon_that_the_caller_chooses_is_small_and_a_guess(tmp_path: Path) -> None:
    """With 1 the mean square of a row weighed little beside it. The reference has the same number."""
    manifest, _ = _drafted(tmp_path, HERE / "rms_norm.cu")
    assert "value = 1e-05  # a guess: callers choose it" in manifest.read_text()
    assert ", 1e-05)" in (tmp_path / "layoutprobe_references.py").read_text()


def test_what_lies_between_rows_is_their_length_and_a_guess(tmp_path: Path) -> None:
    """With any other number the rows would overlap in one launch, and the buffer be longer in the next."""
    source = tmp_path / "scale.hip"
    source.write_text("""#include <hip/hip_runtime.h>
__global__ void doubled(const float* x, float* y, int rows, int cols, int row_stride) {
  for (int i = threadIdx.x; i < cols; i += 64) y[blockIdx.x * row_stride + i] = 2 * x[blockIdx.x * row_stride + i];
}
void scale(const float* x, float* y, int rows, int cols, int row_stride) {
  doubled<<<rows, 64>>>(x, y, rows, cols, row_stride);
}
""")
    manifest, kernel = _drafted(tmp_path, source)
    assert [one["shape"] for one in kernel["argument"][:2]] == [["cols * rows"]] * 2
    assert 'value = "cols"  # a guess: rows lie behind each other' in manifest.read_text()


def test_distances_are_found_by_how_far_launches_reach_whatever_they_are_called(tmp_path: Path) -> None:
    """Of heads and rows: the first one told is the largest, and elements lie dense."""
    _, kernel = _drafted(tmp_path, HERE / "fmha.hip")
    told = {one["name"]: one.get("value", one.get("shape")) for one in kernel["argument"]}
    assert [told[f"{of}_jump"] for of in ("q_tok", "q_hd", "kv_tok", "kv_hd")] == ["H * 32", 32, "H * 32", 32]
    assert [told[name] for name in ("Qp", "Kp", "Vp", "Op")] == [["L", "H", 32]] * 4
    assert "where" not in kernel


def test_numbers_in_a_buffer_that_say_how_much_there_is_are_no_indices(tmp_path: Path) -> None:
    """As small as indices they left most of a cache untouched, and its pages without an extent."""
    _, kernel = _drafted(tmp_path, HERE / "paged.hip")
    told = {one["name"]: one for one in kernel["argument"]}
    assert told["context_lens"]["values"] == "max_context_len - i0 % 2"
    assert told["block_tables"]["values"] == "(i0 + 3) % 4"
    assert told["max_num_blocks_per_seq"]["value"] == "(max_context_len + 15) / 16"
    assert told["k_cache"]["shape"] == [4, 16, "num_kv_heads", 32]


def test_what_a_size_is_a_multiple_of_is_found_by_how_far_launches_reach(tmp_path: Path) -> None:
    """Another size, or a number that the source alone knows."""
    manifest, kernel = _drafted(tmp_path, HERE / "groupnorm.cu")
    assert kernel["where"] == ["C % groups == 0"]
    assert all(size["C"] % size["groups"] == 0 for size in kernel["sizes"])
    manifest.unlink()
    (tmp_path / "layoutprobe_references.py").unlink()
    _, kernel = _drafted(tmp_path, HERE / "w4" / "gemm_w4.hip")
    assert kernel["multiple"] == {"in_features": 64}


def test_a_launch_with_events_is_one(tmp_path: Path) -> None:
    """As rocWMMA's samples have it: a function of ROCm's headers, and no macro."""
    source = tmp_path / "axpy.hip"
    source.write_text("""#include <hip/hip_ext.h>
template <int N, typename T> __global__ void axpy(const T* x, T* y, unsigned n) {
  const unsigned i = blockIdx.x * N + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
void run(const float* x, float* y, int n) {
  hipEvent_t start, stop;
  hipExtLaunchKernelGGL(axpy<64, float>, dim3((n + 63) / 64), dim3(64), 0, 0, start, stop, 0, x, y, n);
}
""")
    _, kernel = _drafted(tmp_path, source)
    assert (kernel["grid"], kernel["block"]) == (["(n + 63) / 64", 1, 1], [64, 1, 1])


def test_a_convolution_is_told_small_numbers(tmp_path: Path) -> None:
    """A padding of 32 leaves no output, and what the host computes of them stays as it is there."""
    source = tmp_path / "pool.hip"
    source.write_text("""#include <hip/hip_runtime.h>
__global__ void pooled(const float* x, float* y, int n, int height, int width, int ksize, int pad, int width_out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  const int h = i / width_out - pad, w = i % width_out - pad;
  float most = -INFINITY;
  for (int r = max(h, 0); r < min(h + ksize, height); ++r)
    for (int c = max(w, 0); c < min(w + ksize, width); ++c) most = fmaxf(most, x[r * width + c]);
  y[i] = most;
}
void pool(const float* x, float* y, int height, int width, int ksize, int pad) {
  int height_out = height + 2 * pad - ksize + 1, width_out = width + 2 * pad - ksize + 1;
  int n = height_out * width_out;
  pooled<<<(n + 63) / 64, 64>>>(x, y, n, height, width, ksize, pad, width_out);
}
""")
    _, kernel = _drafted(tmp_path, source)
    assert {(size["ksize"], size["pad"]) for size in kernel["sizes"]} == {(3, 1)}
    assert kernel["argument"][-1]["value"] == "width + 2 * pad - ksize + 1"


@pytest.mark.long
@pytest.mark.parametrize("name", EXPECTED)
def test_a_draft_without_a_correction_is_green(tmp_path: Path, name: str) -> None:
    manifest, _ = _drafted(tmp_path, HERE / name)
    assert "FILL IN" not in manifest.read_text().partition("[[kernel]]")[2]
    assert main(["check", str(manifest)]) == 0


@pytest.mark.few(2)
@pytest.mark.parametrize("name", REFERENCES)
def test_the_drafted_reference_is_what_the_kernel_does(tmp_path: Path, name: str) -> None:
    """Held against one that somebody wrote who read the kernel."""
    manifest, kernel = _drafted(tmp_path, HERE / name)
    assert "FILL IN" not in manifest.read_text().partition("[[kernel]]")[2]
    drafted = _function(tmp_path, kernel["contract"]["function"])
    written = _function(HERE, f"references.py:{REFERENCES[name]}")
    (case, *_) = read_manifest(manifest).kernels
    for sizes in case.sizes:
        made = make_inputs(bind(case, sizes), "normal", beta=0.0)
        inputs = {name: values for name, values in made.items() if values is not None}
        given, expected = drafted(inputs, dict(sizes)), written(inputs, dict(sizes))
        assert set(given) == set(expected)
        for output, values in expected.items():
            off = np.abs(np.asarray(given[output], np.float64).ravel() - np.asarray(values).ravel())
            assert off.max() <= 2e-3 * max(1.0, float(np.abs(values).max())), output


@pytest.mark.long
@pytest.mark.parametrize("name", REFERENCES)
def test_a_draft_of_what_is_no_product_is_green(tmp_path: Path, name: str) -> None:
    manifest, _ = _drafted(tmp_path, HERE / name)
    assert main(["check", str(manifest), "--allow-reference"]) == 0


def test_what_no_formula_fits_is_a_function_to_fill_in(tmp_path: Path) -> None:
    """Scattered by indices: the one correction is the function, whose frame is there."""
    manifest, kernel = _drafted(tmp_path, HERE / "moe.hip")
    marked = [
        line for line in manifest.read_text().partition("[[kernel]]")[2].splitlines() if "FILL IN" in line
    ]
    assert [line.partition("#")[2] for line in marked] == [" FILL IN, there: c"]
    told = {one["name"]: one.get("values", one.get("value")) for one in kernel["argument"]}
    # Two pairs that are one and the same are stored twice, and a bound below all of them cuts off.
    assert (told["sorted_pairs"], told["expert_ids"]) == ("i0 ^ 1", "(i0 + 3) % 4")
    assert told["num_pairs"] == "num_blocks * 16"
    text = (tmp_path / "layoutprobe_references.py").read_text()
    assert all(
        f'inputs["{name}"]' in text for name in ("a", "w", "topk_weights", "sorted_pairs", "expert_ids")
    )
    drafted = _function(tmp_path, kernel["contract"]["function"])
    with pytest.raises(NotImplementedError, match="FILL IN: c"):
        drafted({}, {})


def test_references_that_are_there_are_not_overwritten(tmp_path: Path) -> None:
    written = tmp_path / "layoutprobe_references.py"
    written.write_text("# mine")
    command = ["init", str(HERE / "transpose.hip"), "-o", str(tmp_path / "layoutprobe.toml")]
    assert main(command) == 2
    assert (written.read_text(), (tmp_path / "layoutprobe.toml").exists()) == ("# mine", False)
    assert main([*command, "--force"]) == 0
    assert "def transposeNoBankConflicts(" in written.read_text()


def _function(folder: Path, named: str) -> Callable[[Any, Any], Any]:
    file, _, function = named.partition(":")
    return runpy.run_path(str(folder / file))[function]


def test_members_of_a_structure_are_arguments_where_they_lie(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found wrong as other arguments are: a stride of another matrix, and a member where there is none."""
    manifest, kernel = _drafted(tmp_path, HERE / "batched.hip")
    offsets = {one["name"]: one["at"] for one in kernel["argument"]}
    assert offsets == {
        "A": 0, "B": 8, "C": 16, "M": 24, "N": 28, "K": 32, "strideA": 40, "strideB": 48, "strideC": 56, "alpha": 64
    }  # fmt: skip
    text = manifest.read_text()
    tile = "tile = { batch = 2, M = 16, N = 16, K = 16 }"
    text = text.replace(tile, "sizes = [{ batch = 2, M = 16, N = 24, K = 32 }]")
    check = ["check", str(manifest), "--check", "numerics"]
    manifest.write_text(text)
    assert main(check) == 0
    manifest.write_text(text.replace('value = "M * K"', 'value = "M * N"'))
    assert main(check) == 1
    manifest.write_text(text.replace("at = 64 ", "at = 70 "))
    assert main(check) == 2
    assert "argument alpha is no member" in " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize(
    ("right", "wrong", "contract"),
    [
        # The data says what a kernel does, not what it should do: a bias by the row is a bias by the row.
        ("bias[c], 0.f", "bias[row], 0.f", {"kind": "gemm", "bias": "bias", "activation": "relu"}),
        # No product at all, and no formula: nothing is claimed.
        (
            "acc[i] + bias[c]",
            "acc[i] * acc[i] + bias[c]",
            {"kind": "reference", "function": "layoutprobe_references.py:linear_relu_kernel"},
        ),
    ],
)
def test_the_contract_is_that_of_the_data(
    tmp_path: Path, right: str, wrong: str, contract: dict[str, Any]
) -> None:
    text = (HERE / "linear.hip").read_text()
    assert right in text
    (tmp_path / "k.hip").write_text(text.replace(right, wrong))
    _, kernel = _drafted(tmp_path, tmp_path / "k.hip")
    assert kernel["contract"] == contract
    (shape,) = [one["shape"] for one in kernel["argument"] if one["name"] == "bias"]
    assert shape == (["M", 1] if "row" in wrong else ["N"])


def test_there_are_twenty() -> None:
    """Of which all compile as they are, and need no correction, or that of the contract alone."""
    kinds = (".hip", ".cpp", ".cu")
    sources = {p.relative_to(HERE).as_posix() for p in HERE.rglob("*") if p.suffix in kinds}
    assert sources == {*EXPECTED, *REFERENCES, "moe.hip"}
    assert len(sources) >= 20
