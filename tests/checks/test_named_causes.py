"""Faults that have a name: one kernel, one edit each, judged by the cause that comes first and its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import edited
from msgspec import Struct

from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

KERNEL = """\
#include <hip/hip_runtime.h>
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
__device__ inline float at(const TYPE_C* p, int i) {
  return p[i];
}
// Four waves, two by two tiles of C each pass; tiles of 32 x 32 are taken in turns.
extern "C" __global__ __launch_bounds__(128) void gemm(const _Float16* A, const _Float16* B, TYPE_C* C,
                                                       int M, int N, int K, float alpha, float beta) {
  const int z = blockIdx.z;
  A += z * M * K;
  B += z * K * N;
  C += z * M * N;
  const int wave = threadIdx.x / 32, lane = threadIdx.x % 32, l = lane % 16;
  for (int tile = blockIdx.x; tile < M / 32 * (N / 32); tile += gridDim.x) {
    const int i0 = tile / (N / 32) * 32 + wave / 2 * 16, j0 = tile % (N / 32) * 32 + wave % 2 * 16;
    float8 acc = {};
    for (int k = 0; k < K; k += 16) {
      half16 a, b;
      for (int e = 0; e < 16; ++e) a[e] = A[(i0 + l) * K + k + e];
      for (int e = 0; e < 16; ++e) b[e] = B[(k + e) * N + j0 + l];
      acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
    }
    for (int v = 0; v < 8; ++v) {
      const int row = i0 + 2 * v + lane / 16, col = j0 + l;
      if (row >= M || col >= N) continue;
      C[row * N + col] = alpha * acc[v] + beta * C[row * N + col];
    }
  }
}
"""
LOAD_A, LOAD_B, MULTIPLY, STORE = "a[e] = A[", "b[e] = B[", "acc = __builtin", "C[row * "


class Named(Struct, frozen=True):
    """A fault: its edit, the rule that must come first, words of it, and text of the line that it names."""

    edit: tuple[str, str]
    rule: str
    words: str
    at: str
    type_c: str = "float"
    grid: str = '"6"'
    padded: int = 0
    """Elements between batches of A."""
    never: str = ""
    """Words that would mislead."""
    also: tuple[str, str] = ("", "")
    """An edit that is no fault."""


NAMED = {
    "N for K": Named(
        ("(i0 + l) * K + k", "(i0 + l) * N + k"),
        "operand-provenance/leading-dimension",
        "rows of A are taken 64 (N) elements apart, and lie 96 (M or K) apart",
        LOAD_A,
    ),
    "K for N": Named(
        ("C[row * N + col] = alpha", "C[row * (K / 2) + col] = alpha"),
        "epilogue/leading-dimension",
        "rows of C are taken 48 elements apart, and lie 64 (N) apart",
        "] = alpha",
    ),
    "a bound of another extent": Named(
        ("b[e] = B[(k + e) * N + j0 + l]", "b[e] = j0 + l < 32 ? B[(k + e) * N + j0 + l] : (_Float16)0"),
        "operand-provenance/incomplete-sum",
        "B is zero wherever k",
        MULTIPLY,
        never="k never added",
    ),
    "wrong buffer": Named(
        ("= B[(k + e)", "= A[(k + e)"),
        "operand-provenance/other-matrix",
        "elements of another matrix",
        "b[e] = A[",
    ),
    "accumulator not reset": Named(
        ("", ""),
        "operand-provenance/accumulator-not-reset",
        "not reset from one tile of C to the next",
        MULTIPLY,
        grid='"2"',
    ),
    "accumulator not initialised": Named(
        ("acc = {};", "acc;"),
        "operand-provenance/accumulator-not-zero",
        "not zero at the first step",
        MULTIPLY,
    ),
    "threadIdx.x for the lane": Named(
        ("2 * v + lane / 16", "2 * v + threadIdx.x / 16"),
        "epilogue/thread-for-lane",
        "threadIdx.x stands where the lane",
        "] = alpha",
    ),
    "K loop": Named(
        ("k < K; k += 16", "k < K - 16; k += 16"),
        "operand-provenance/incomplete-sum",
        "k 80-95 never added",
        "for (int k = 0",
    ),
    "f16 stored to f32": Named(
        ("", ""),
        "epilogue/element-size",
        "elements of 2 bytes",
        "] = alpha",
        "_Float16",
    ),
    "alpha for both": Named(
        ("alpha * acc[v] + beta * C[row * N + col]", "alpha * (acc[v] + beta * C[row * N + col])"),
        "numerics/wrong-factor",
        "alpha is applied to beta * C as well",
        "] = alpha",
    ),
    "beta twice": Named(
        ("beta * C[row", "beta * beta * C[row"), "numerics/wrong-factor", "beta is applied twice", "] = alpha"
    ),
    "alpha over all, and again": Named(
        ("alpha * acc[v] + beta * C[row * N + col]", "alpha * (alpha * acc[v] + beta * C[row * N + col])"),
        "numerics/wrong-factor",
        "multiplied by alpha * alpha in place of alpha, and C is multiplied by alpha * beta in place of beta",
        "] = alpha",
    ),
    "magnitude of alpha": Named(
        ("= alpha * acc", "= __builtin_fabsf(alpha) * acc"),
        "numerics/wrong-factor",
        "A @ B is multiplied by |alpha| in place of alpha",
        "fabsf(alpha)",
    ),
    "beta forgotten where alpha is 0": Named(
        ("] = alpha * acc[v] + beta", "] = alpha == 0 ? 0.0f : alpha * acc[v] + beta"),
        "numerics/wrong-factor",
        "beta * C is missing where alpha is 0",
        "alpha == 0",
    ),
    "k in an order of its own": Named(
        ("B[(k + e) * N", "B[(k + e * 5 % 16) * N"),
        "operand-provenance/k-order",
        "B takes k in another order than its partner: 5 10 15 4 9 14 3 8 ... where that has 1 2 3 4 5 6 7 8 ...",
        LOAD_B,
    ),
    "negative elements lost": Named(
        ("a[e] = A[(i0 + l) * K + k + e];", "{ a[e] = A[(i0 + l) * K + k + e]; if (a[e] < 0) a[e] = 0; }"),
        "numerics/changed-operand",
        "values of A are changed on their way",
        "{ a[e] = A[",
    ),
    "sums in f16": Named(
        ("a, b, acc);", "a, b, acc); for (int v = 0; v < 8; ++v) acc[v] = (_Float16)acc[v];"),
        "numerics/rounded-sum",
        "values are converted to f16",
        MULTIPLY,
    ),
    "batches of B as those of A": Named(
        ("B += z * K * N;", "B += z * M * K;"),
        "operand-provenance/batch-stride",
        "batches of B are taken 9216",
        "B += z * M * K;",
    ),
    "batches of B as those of A, which have a gap": Named(
        ("A += z * M * K;\n  B += z * K * N;", "A += z * (M * K + 64); B += z * (M * K + 64);"),
        "operand-provenance/batch-stride",
        "batches of B are taken 9280 elements apart, as those of A, and lie 6144 (M*N or N*K) apart",
        "B += z * (M * K + 64)",
        padded=64,
    ),
    "the same through LDS": Named(
        ("B += z * K * N;", "B += z * M * K;"),
        "operand-provenance/batch-stride",
        "batches of B are taken 9216",
        "B += z * M * K;",
        also=(
            "for (int e = 0; e < 16; ++e) b[e] = B[(k + e) * N + j0 + l];",
            "__shared__ _Float16 tile[4][16][16];\n"
            "for (int e = 0; e < 16; ++e) tile[wave][e][l] = B[(k + e) * N + j0 + l];\n"
            "for (int e = 0; e < 16; ++e) b[e] = tile[wave][e][l];",
        ),
    ),
    "an index of a call to a helper that others call": Named(
        ("beta * C[row * N + col]", "beta * at(C, row * N + (col ^ 1))"),
        "numerics/misplaced-addend",
        "elements of C are added in wrong places",
        "(col ^ 1)",
        also=(
            "if (row >= M || col >= N) continue;",
            "if (row >= M || col >= N || at((TYPE_C*)A, 0) == 12345.5f) continue;",
        ),
    ),
    "always the first B": Named(
        ("B += z * K * N;", ""),
        "operand-provenance/batch-stride",
        "every batch takes B of batch 0: its pointer does not advance with the batch",
        LOAD_B,
    ),
    "batches of C as those of A": Named(
        ("C += z * M * N;", "C += z * M * K;"),
        "epilogue/batch-stride",
        "batches of C are taken 9216",
        "C += z * M * K;",
    ),
    "last row": Named(
        ("row >= M ||", "row >= M - 1 ||"), "epilogue/never-written", "the last row is left out", ""
    ),
    "too few tiles": Named(
        ("tile += gridDim.x", "tile += 1000"),
        "epilogue/never-written",
        "a workgroup stores 32 x 32 elements, and the launch has 4 x 1 x 2 workgroups where C has 3 x 2 tiles",
        "",
        grid='"4"',
    ),
    "only some waves store": Named(
        ("col >= N) continue", "col >= N || threadIdx.x >= 64) continue"),
        "epilogue/never-written",
        "2 of the 4 waves of a workgroup store elements of C",
        "",
        never="the launch has",
    ),
    "a tile for each wave, and a column of them too few": Named(
        (
            "const int i0 = tile / (N / 32) * 32 + wave / 2 * 16, j0 = tile % (N / 32) * 32 + wave % 2 * 16;",
            "const int t = tile * 4 + wave, few = N / 16 - 1, i0 = t / few * 16, j0 = t % few * 16;"
            "if (i0 >= M) break;",
        ),
        "epilogue/never-written",
        "columns 48-63",
        "",
        grid='"5"',
        never="the launch has",
    ),
}


def judged(folder: Path, source: str, fault: Named) -> KernelVerdict:
    (folder / "kernel.hip").write_text(source)
    gap = {"A": f', strides = ["M * K + {fault.padded}", "K", 1]'} if fault.padded else {}
    buffers = "".join(
        f'{{ name = "{n}", role = "{role}", dtype = "{t}", shape = {shape}{gap.get(n, "")}, matrix = "{n}" }},\n'
        for n, role, t, shape in (
            ("A", "in", "f16", '[2, "M", "K"]'),
            ("B", "in", "f16", '[2, "K", "N"]'),
            ("C", "inout", "f32", '[2, "M", "N"]'),
        )
    )
    scalars = "".join(
        f'{{ name = "{n}", role = "scalar", dtype = "{"i32" if n in "MNK" else "f32"}", value = "{n}" }},\n'
        for n in ("M", "N", "K", "alpha", "beta")
    )
    (folder / "layoutprobe.toml").write_text(
        f"""
[[kernel]]
name = "gemm"
source = "kernel.hip"
grid = [{fault.grid}, 1, 2]
block = [128]
sizes = [{{ M = 96, N = 64, K = 96 }}]
defines = {{ TYPE_C = "{fault.type_c}" }}
contract = {{ kind = "gemm", alpha = 2.0, beta = 0.5 }}
argument = [{buffers}{scalars}]
"""
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    return check_kernel(case, "gfx1151", CHECKS)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMED)
def test_the_cause_comes_first_by_its_name_and_line(tmp_path: Path, name: str) -> None:
    fault = NAMED[name]
    source = edited(KERNEL, [edit for edit in (fault.edit, fault.also) if edit[0]])
    if name == "accumulator not reset":
        outside = ("  for (int tile", "  float8 acc = {};\n  for (int tile")
        source = edited(KERNEL, [("    float8 acc = {};\n", ""), outside])
    verdict = judged(tmp_path, source, fault)
    assert not verdict.error, verdict.error
    cause = verdict.findings[0]
    assert (cause.rule.id, fault.words in cause.what) == (fault.rule, True), f"{cause.rule.id}: {cause.what}"
    assert len(verdict.findings) == 1, verdict.findings
    assert not fault.never or fault.never not in cause.what + cause.hint, cause
    assert "[-" not in cause.expected + cause.observed, "elements of a matrix are counted from 0"
    if fault.at:
        lines = [number for number, text in enumerate(source.split("\n"), 1) if fault.at in text]
        assert cause.place.source is not None
        assert cause.place.source.line in lines, cause.place
    if "LDS" in " ".join((cause.what, cause.hint)):
        pytest.fail("the kernel has no LDS")


def test_the_kernel_itself_holds(tmp_path: Path) -> None:
    fault = NAMED["beta twice"]
    assert judged(tmp_path, KERNEL, fault).exit_code == 0
