"""Epilogues that make the same of many numbers: what comes out of them says little of what went in."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import CHECKS, SIZES, Edit, Results, checked, edited

from layoutprobe.checks import epilogue, numerics, operand_provenance

SOURCE = """\
#include <hip/hip_runtime.h>
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
extern "C" __global__ __launch_bounds__(32 * WAVES) void gemm(const _Float16* A, const _Float16* B, const float* bias,
                                                              OUT* D, int M, int N, int K) {
  __shared__ float part[WAVES][8][32];
  const int lane = threadIdx.x % 32, line = lane % 16, wave = threadIdx.x / 32;
  const int m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  float8 acc = {};
  for (int k = wave * 16; k < K; k += WAVES * 16) {
    half16 a, b;
    for (int i = 0; i < 16; ++i) a[i] = A[(m0 + line) * K + k + i], b[i] = B[(k + i) * N + n0 + line];
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  for (int v = 0; v < 8; ++v) part[wave][v][lane] = acc[v];
  __syncthreads();
  for (int v = wave; v < 8; v += WAVES) {
    float x = bias[n0 + line];
    for (int w = 0; w < WAVES; ++w) x += part[w][v][lane];
    x = ACTIVATE;
    D[(m0 + v * 2 + lane / 16) * N + n0 + line] = STORED;
  }
}
"""
ARGUMENTS = """
    { name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" },
    { name = "B", role = "in", dtype = "f16", shape = ["K", "N"], matrix = "B" },
    { name = "bias", role = "in", dtype = "f32", shape = ["N"] },
    { name = "D", role = "out", dtype = "DTYPE", shape = ["M", "N"], matrix = "D" },"""
ACTIVATIONS = {"sigmoid": "1 / (1 + __expf(-x))", "tanh": "tanhf(x)"}
STORED = {"f16": ("_Float16", "x"), "i8": ("signed char", "(int)rintf(fminf(fmaxf(x, -128), 127))")}


def flat(
    folder: Path, *edits: Edit, activation: str = "sigmoid", dtype: str = "f16", waves: int = 4
) -> Results:
    """The kernel, whose waves share the sum over k."""
    kind, stored = STORED[dtype]
    return checked(
        folder,
        edited(SOURCE.replace("ACTIVATE", ACTIVATIONS[activation]).replace("STORED", stored), edits),
        ARGUMENTS.replace("DTYPE", dtype) + SIZES,
        grid='["N / 16", "M / 16"]',
        block=32 * waves,
        sizes=("M = 32, N = 16, K = 160",),
        contract=f'kind = "gemm", bias = "bias", activation = "{activation}"',
        defines=f'WAVES = {waves}, OUT = "{kind}"',
        checks=CHECKS,
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("waves", [1, 3, 4])
@pytest.mark.parametrize(("activation", "dtype"), [("sigmoid", "f16"), ("tanh", "i8")])
def test_what_comes_out_the_same_is_no_evidence(
    tmp_path: Path, activation: str, dtype: str, waves: int
) -> None:
    """Of all large codes it makes one number, which is a code by chance."""
    results = flat(tmp_path, activation=activation, dtype=dtype, waves=waves)
    assert {name: result.status for name, result in results.items()} == dict.fromkeys(results, "holds")
    summed = [result.reason for result in results.values() if "accumulators are added up" in result.reason]
    assert len(summed) == (2 if waves > 1 else 0)


WRONG: dict[str, Edit] = {
    "another row": ("D[(m0 + v * 2 + lane / 16)", "D[((m0 + v * 2 + lane / 16) ^ 1)"),
    "another register of one part": ("x += part[w][v]", "x += part[w][w == 2 ? v ^ 1 : v]"),
    "a part left out": ("w = 0; w < WAVES", "w = 1; w < WAVES"),
    "one part in place of another": ("x += part[w]", "x += part[w == 3 ? 2 : w]"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_behind_it_is_not_said_to_hold(tmp_path: Path, name: str) -> None:
    results = flat(tmp_path, WRONG[name])
    assert results[numerics.NAME].status == "finding"
    assert results[epilogue.NAME].status != "holds"
    assert results[operand_provenance.NAME].status != "holds"
