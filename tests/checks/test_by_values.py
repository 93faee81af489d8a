"""Kernels without a matrix instruction: which element is multiplied, or where a sum goes, its outputs tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import FACTORS, KERNELS, RAGGED, SIZES, buffers, checked, edited
from msgspec import Struct

from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

SOURCE = (KERNELS / "gemm_naive.hip").read_text()
LOAD_A, LOAD_B, LOOP, STORE = "A[row * K + k]", "B[k * N + col]", "for (int k = 0; k < K", "= alpha * sum"
TILE_A, TILE_B, LDS = "(float)A[", "(float)B[", "sum += tile_a"


def verdict(folder: Path, source: str, defines: str, size: str) -> KernelVerdict:
    checked(
        folder,
        source,
        buffers() + SIZES + FACTORS,
        grid='["(N + 15) // 16", "(M + 15) // 16"]',
        block=16,
        sizes=(size,),
        contract='kind = "gemm", alpha = 2.0, beta = 0.5',
        defines=defines,
        checks=(),
    )
    manifest = folder / "layoutprobe.toml"
    manifest.write_text(manifest.read_text().replace("block = [16]", "block = [16, 16]"))
    (case,) = read_manifest(manifest).kernels
    return check_kernel(case, "gfx1151", CHECKS)


class Named(Struct, frozen=True):
    """A fault: its edit, the rule that comes first, words of it, and text of the line that it names."""

    edit: tuple[str, str]
    rule: str
    words: str
    at: str
    tiled: bool = False


PROVENANCE = "operand-provenance"
FAULTS = {
    "N for K": Named((LOAD_A, "A[row * N + k]"), f"{PROVENANCE}/leading-dimension", "rows of A", "A[row * N"),
    "K for N": Named((LOAD_B, "B[k * K + col]"), f"{PROVENANCE}/leading-dimension", "rows of B", "B[k * K"),
    "B the other way round": Named(
        (LOAD_B, "B[col * K + k]"), f"{PROVENANCE}/transposed", "as if its columns followed", "B[col * K"
    ),
    "a row too far": Named(
        (LOAD_A, "A[(row + 1) % M * K + k]"), f"{PROVENANCE}/line-order", "row of A is taken 1 too far", "A[(row"
    ),
    "first k": Named(("int k = 0; k < K", "int k = 1; k < K"), f"{PROVENANCE}/incomplete-sum", "k 0 never", "k = 1"),
    "last k": Named(("k < K; ++k", "k < K - 1; ++k"), f"{PROVENANCE}/incomplete-sum", "k 34 never", "k < K - 1"),
    "A for B": Named((LOAD_B, "A[k * K % (M * K) + col % K]"), f"{PROVENANCE}/other-matrix", "B is never", "A[k * K"),
    "C the other way round": Named(
        ("C[row * N + col] = alpha", "C[col * M + row] = alpha"), "epilogue/transposed", "C is stored", STORE
    ),
    "tile of B transposed": Named(
        ("tile_b[k][threadIdx.x]", "tile_b[threadIdx.x][k]"), f"{PROVENANCE}/transposed", "B is loaded", LDS, True
    ),
    "first rows only": Named(
        ("(float)A[row * K", "(float)A[threadIdx.y * K"), f"{PROVENANCE}/folded", "rows fold by 16", TILE_A, True
    ),
    "k of A masked": Named(
        ("A[row * K + ka]", "A[row * K + (ka & ~8)]"), f"{PROVENANCE}/folded", "columns fold by 8", TILE_A, True
    ),
    "a k of each tile": Named(
        ("k < 16; ++k", "k < 15; ++k"), f"{PROVENANCE}/incomplete-sum", "k 15, 31 never added", "", True
    ),
    "no barrier": Named(
        ("    __syncthreads();\n    for", "    for"), "races/read-after-write", "no barrier between", "", True
    ),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FAULTS)
def test_the_cause_comes_first_by_its_name_and_line(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    source = edited(SOURCE, [fault.edit])
    found = verdict(tmp_path, source, "TILED = 1" if fault.tiled else "", RAGGED)
    assert not found.error, found.error
    cause = found.findings[0]
    assert (cause.rule.id, fault.words in cause.what) == (fault.rule, True), cause
    if fault.at:
        lines = [number for number, text in enumerate(source.split("\n"), 1) if fault.at in text]
        assert cause.place.source is not None
        assert cause.place.source.line in lines, cause.place


@pytest.mark.few(1)
@pytest.mark.parametrize("defines", ["", "TILED = 1"])
def test_right_kernels_make_no_run_more(tmp_path: Path, defines: str) -> None:
    found = verdict(tmp_path, SOURCE, defines, RAGGED)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0)
    status = {result.check: result.status for result in found.results}
    assert status["operand-provenance"] == "skipped"


RING = """\
#include <hip/hip_runtime.h>
// Three tiles of LDS by turns: a step is multiplied while the one after the next is filled.
extern "C" __global__ void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K, float alpha,
                                float beta) {
  __shared__ float a[RING][16][16], b[RING][16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  const int steps = (K + 15) / 16;
  auto fill = [&](int s) {
    a[s % RING][y][x] = row < M && s * 16 + x < K ? (float)A[row * K + s * 16 + x] : 0.f;
    b[s % RING][y][x] = s * 16 + y < K && col < N ? (float)B[(s * 16 + y) * N + col] : 0.f;
  };
  fill(0);
  if (steps > 1) fill(1);
  float sum = 0;
  for (int s = 0; s < steps; ++s) {
    __syncthreads();
    if (s + 2 < steps) fill(s + 2);
    for (int i = 0; i < 16; ++i)
      sum += a[s % 3][y][i] *
             b[s % 3][i][x];
  }
  if (row < M && col < N) C[row * N + col] = alpha * sum + beta * C[row * N + col];
}
"""


@pytest.mark.parametrize("matrix", "ab")
def test_the_read_of_another_buffer_is_named_and_not_the_load_that_fills_it(
    tmp_path: Path, matrix: str
) -> None:
    """Every element is loaded and stored to LDS as it should be."""
    size = "M = 32, N = 48, K = 64"
    assert verdict(tmp_path, RING, "RING = 3", size).exit_code == 0
    source = edited(
        RING,
        [
            (
                f"{matrix}[s % 3][{'y' if matrix == 'a' else 'i'}]",
                f"{matrix}[s % 2][{'y' if matrix == 'a' else 'i'}]",
            )
        ],
    )
    cause = verdict(tmp_path, source, "RING = 3", size).findings[0]
    assert cause.rule.id == "operand-provenance/other-buffer", cause
    assert cause.place.matrix == matrix.upper()
    assert cause.place.source is not None
    assert "s % 2" in source.split("\n")[cause.place.source.line - 1], cause.place


SHARED = (KERNELS / "gemm_tiled.hip").read_text()
BATCHED = ("  auto stage", "  A += blockIdx.z * M * K;\n  C += blockIdx.z * M * N;\n  auto stage")


def of_shared_weights(folder: Path, *edits: tuple[str, str]) -> KernelVerdict:
    """A batch of A and C, and one B for all of them."""
    matrices = buffers().replace('shape = ["M"', 'shape = ["S", "M"')
    checked(
        folder,
        edited(SHARED, (BATCHED, *edits)),
        matrices + SIZES + FACTORS,
        grid='["(N + 31) // 32", "(M + 31) // 32", "S"]',
        block=128,
        sizes=("S = 3, M = 40, N = 57, K = 35",),
        contract='kind = "gemm", alpha = 2.0, beta = 0.5',
        checks=(),
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    return check_kernel(case, "gfx1151", CHECKS)


def test_weights_that_a_batch_shares(tmp_path: Path) -> None:
    """The commonest batch there is: what no slot shows, outputs do, of the swizzle as well."""
    right = of_shared_weights(tmp_path)
    assert not right.exit_code
    assert {one.check: one.status for one in right.results}["swizzle"] == "holds"


@pytest.mark.parametrize(
    "edit",
    [
        ("b_lds[buffer][(wave_n + lane % 16)", "b_lds[buffer][(wave_n + (lane ^ 1) % 16)"),
        ("A += blockIdx.z * M * K", "A += blockIdx.z * M * N"),
        ("lane % 16) * STRIDE + k];\n    acc", "lane % 16) * STRIDE + (k ^ 2)];\n    acc"),
    ],
)
def test_weights_that_a_batch_shares_and_a_fault(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert of_shared_weights(tmp_path, edit).exit_code == 1
