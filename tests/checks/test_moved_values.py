"""Kernels that move values between lanes, buffers of LDS and workgroups: each fault by its name, at its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import edited
from msgspec import Struct

from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

HEAD = """#include <hip/hip_runtime.h>
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float4v __attribute__((ext_vector_type(4)));
"""
LANES = (
    HEAD
    + """// Half of the wave loads the lower 8 k of its rows, the other half the upper ones; lanes 16 apart exchange.
extern "C" __global__ __launch_bounds__(32) void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N,
                                                      int K) {
  const int l = threadIdx.x, upper = l / 16, m0 = blockIdx.x * 16, n0 = blockIdx.y * 16;
  float8 acc = {};
  for (int k = 0; k < K; k += 16) {
    union { half16 h; int i[8]; } a, b;
    const int* pa = (const int*)(A + (m0 + l % 16) * K + k + upper * 8);
    const int* pb = (const int*)(B + (n0 + l % 16) * K + k + upper * 8);
    for (int j = 0; j < 4; ++j) {
      const int x = __builtin_amdgcn_ds_bpermute((l ^ 16) * 4, pa[j]);
      const int y = __builtin_amdgcn_permlanex16(pb[j], pb[j], 0x76543210, 0xfedcba98, false, false);
      a.i[j] = upper ? x : pa[j];
      a.i[j + 4] = upper ? pa[j] : x;
      b.i[j] = upper ? y : pb[j];
      b.i[j + 4] = upper ? pb[j] : y;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a.h, b.h, acc);
  }
  for (int v = 0; v < 8; ++v) C[(m0 + 2 * v + upper) * N + n0 + l % 16] = acc[v];
}
"""
)
BUFFERS = (
    HEAD
    + """// One wave; tiles of A and B go to two buffers of LDS in turns.
extern "C" __global__ __launch_bounds__(32) void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N,
                                                      int K) {
  __shared__ _Float16 tile[2][2][16][24];
  const int l = threadIdx.x, m0 = blockIdx.x * 16, n0 = blockIdx.y * 16;
  float8 acc = {};
  int read = 0;
  for (int e = 0; e < 8; ++e) {
    tile[0][0][l / 2][l % 2 * 8 + e] = A[(m0 + l / 2) * K + l % 2 * 8 + e];
    tile[0][1][l / 2][l % 2 * 8 + e] = B[(n0 + l / 2) * K + l % 2 * 8 + e];
  }
  for (int k = 0; k < K; k += 16) {
    __syncthreads();
    for (int e = 0; e < 8 && k + 16 < K; ++e) {
      tile[read ^ 1][0][l / 2][l % 2 * 8 + e] = A[(m0 + l / 2) * K + k + 16 + l % 2 * 8 + e];
      tile[read ^ 1][1][l / 2][l % 2 * 8 + e] = B[(n0 + l / 2) * K + k + 16 + l % 2 * 8 + e];
    }
    half16 a, b;
    for (int e = 0; e < 16; ++e) a[e] = tile[read][0][l % 16][e];
    for (int e = 0; e < 16; ++e) b[e] = tile[read][1][l % 16][e];
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
    read ^= 1;
  }
  for (int v = 0; v < 8; ++v) C[(m0 + 2 * v + l / 16) * N + n0 + l % 16] = acc[v];
}
"""
)
PARTS = (
    HEAD
    + """// Two workgroups share a tile of C, and the one that arrives last adds up what both have left.
extern "C" __global__ __launch_bounds__(32) void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N,
                                                      int K, float* parts, unsigned* arrived) {
  const int l = threadIdx.x, z = blockIdx.z, m0 = blockIdx.x * 16, n0 = blockIdx.y * 16;
  const int tile = blockIdx.x * gridDim.y + blockIdx.y;
  float8 acc = {};
  for (int k = z * 16; k < K; k += 32) {
    half16 a, b;
    for (int e = 0; e < 16; ++e) a[e] = A[(m0 + l % 16) * K + k + e];
    for (int e = 0; e < 16; ++e) b[e] = B[(n0 + l % 16) * K + k + e];
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  for (int v = 0; v < 8; ++v) parts[(tile * 2 + z) * 256 + v * 32 + l] = acc[v];
  __threadfence();
  unsigned before = 0;
  if (l == 0) before = atomicAdd(&arrived[tile], 1u);
  if (__shfl(before, 0) != 1) return;
  __threadfence();
  for (int v = 0; v < 8; ++v) {
    const float* of = parts + tile * 512 + v * 32 + l;
    C[(m0 + 2 * v + l / 16) * N + n0 + l % 16] = of[0] + of[256];
  }
}
"""
)
FP8 = (
    HEAD
    + """typedef unsigned char fp8;
extern "C" __global__ __launch_bounds__(64) void gemm(const fp8* A, const fp8* B, float* C, int M,
                                                      int N, int K) {
  const int l = threadIdx.x, m0 = blockIdx.x * 16, n0 = blockIdx.y * 16;
  float4v acc = {};
  for (int k = 0; k < K; k += 32) {
    const long a = *(const long*)(A + (m0 + l % 16) * K + k + l / 16 * 8);
    const long b = *(const long*)(B + (n0 + l % 16) * K + k + l / 16 * 8);
    acc = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, acc, 0, 0, 0);
  }
  for (int v = 0; v < 4; ++v) C[(m0 + l / 16 * 4 + v) * N + n0 + l % 16] = acc[v];
}
"""
)
DOT = (
    HEAD
    + """// One wave a row of A, times a vector; lanes add up by DPP.
extern "C" __global__ __launch_bounds__(32) void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N,
                                                      int K) {
  float sum = 0;
  for (int k = threadIdx.x; k < K; k += 32) sum += (float)A[blockIdx.x * K + k] * (float)B[k];
  for (int far = 16; far > 0; far /= 2) sum += __shfl_xor(sum, far);
  if (threadIdx.x == 0) C[blockIdx.x] = sum;
}
"""
)
WORK = """
  { name = "parts", role = "inout", dtype = "f32", shape = ["M * N * 2"], initial = "undefined" },
  { name = "arrived", role = "inout", dtype = "u32", shape = ["M / 16 * (N / 16)"], initial = "zero" },"""


def verdict(
    folder: Path, source: str, *, dtype: str = "f16", c: str = "f32", grid: str = '["M / 16", "N / 16"]',
    size: str = "M = 32, N = 48, K = 96", more: str = "", block: int = 32, arch: str = "gfx1151", ld: str = "",
) -> KernelVerdict:  # fmt: skip
    (folder / "kernel.hip").write_text(source)
    (folder / "layoutprobe.toml").write_text(f"""
[[kernel]]
name = "gemm"
source = "kernel.hip"
grid = {grid}
block = {block}
sizes = [{{ {size} }}]
contract = {{ kind = "gemm" }}
argument = [
  {{ name = "A", role = "in", dtype = "{dtype}", shape = ["M", "K"], {ld}matrix = "A" }},
  {{ name = "B", role = "in", dtype = "{dtype}", shape = ["K", "N"], order = "col", matrix = "B" }},
  {{ name = "C", role = "out", dtype = "{c}", shape = ["M", "N"], matrix = "C" }},
  {{ name = "M", role = "scalar", dtype = "i32", value = "M" }},
  {{ name = "N", role = "scalar", dtype = "i32", value = "N" }},
  {{ name = "K", role = "scalar", dtype = "i32", value = "K" }},{more}
]
""")
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    return check_kernel(case, arch, CHECKS)


class Fault(Struct, frozen=True):
    """A fault: its edit, the rule that comes first, words of it, and text of the line that it names."""

    edit: tuple[str, str]
    rule: str
    words: str
    at: str


PERMUTED = "lanes pass A to each other by ds_bpermute"
OTHER_LANE, OTHER_BUFFER = "operand-provenance/other-lane", "operand-provenance/other-buffer"
OF_LANES = {
    "another lane": Fault(("(l ^ 16) * 4", "(l ^ 8) * 4"), OTHER_LANE, PERMUTED, "int x ="),
    "not in bytes": Fault(("(l ^ 16) * 4", "l ^ 16"), OTHER_LANE, PERMUTED, "int x ="),
    "selector": Fault(("0xfedcba98", "0x76543210"), OTHER_LANE, "by v_permlanex16", "int y ="),
    "own for other": Fault(("upper ? x : pa[j]", "upper ? pa[j] : x"), OTHER_LANE, "lanes pass A", "int x ="),
    "loaded k": Fault(
        ("B + (n0 + l % 16) * K + k + upper * 8", "B + (n0 + l % 16) * K + k"),
        "operand-provenance/folded", "rows fold by 8", "pb[j]",
    ),
}  # fmt: skip
OF_BUFFERS = {
    "never changes": Fault(("    read ^= 1;\n", ""), OTHER_BUFFER, "are stored to LDS, and not", "tile[read]"),
    "size of an element": Fault(("C[(m0", "((float*)C)[(m0"), "epilogue/element-size", "of 4 bytes", "float*)C"),
}  # fmt: skip
OF_PARTS = {
    "another counter": Fault(
        ("&arrived[tile]", "&arrived[blockIdx.x]"), "races/global-handover", "no signal between", "of[0]"
    ),
    "parts overlap": Fault(
        ("(tile * 2 + z) * 256", "(tile * 2 + z) * 128"), "races/global-handover", "no signal between", "of[0]"
    ),
    "a part left out": Fault(
        ("of[0] + of[256]", "of[256]"), "operand-provenance/incomplete-sum", "sums are never added", "C[(m0"
    ),
    "one part for the other": Fault(
        ("of[0] + of[256]", "of[0] + of[0]"), "operand-provenance/incomplete-sum", "are added twice", "C[(m0"
    ),
}  # fmt: skip


def caused(verdict: KernelVerdict, source: str, fault: Fault) -> None:
    assert not verdict.error, verdict.error
    assert len(verdict.findings) == 1, verdict.findings
    (cause,) = verdict.findings
    assert (cause.rule.id, fault.words in cause.what) == (fault.rule, True), cause
    lines = [number for number, text in enumerate(source.split("\n"), 1) if fault.at in text]
    assert cause.place.source is not None
    assert cause.place.source.line in lines, cause.place


def right(found: KernelVerdict) -> None:
    assert (found.error, found.findings, found.exit_code) == ("", (), 0)


def test_right_kernels_are_green(tmp_path: Path) -> None:
    right(verdict(tmp_path, LANES))
    right(verdict(tmp_path, BUFFERS))
    right(verdict(tmp_path, PARTS, more=WORK, grid='["M / 16", "N / 16", 2]'))


@pytest.mark.parametrize("name", OF_LANES)
def test_values_that_lanes_pass_to_each_other(tmp_path: Path, name: str) -> None:
    source = edited(LANES, [OF_LANES[name].edit])
    caused(verdict(tmp_path, source), source, OF_LANES[name])


@pytest.mark.parametrize("name", OF_BUFFERS)
def test_buffers_that_are_taken_in_turns(tmp_path: Path, name: str) -> None:
    source = edited(BUFFERS, [OF_BUFFERS[name].edit])
    element = "f16" if name == "size of an element" else "f32"
    caused(verdict(tmp_path, source, c=element), source, OF_BUFFERS[name])


@pytest.mark.parametrize("name", OF_PARTS)
def test_partial_sums_that_workgroups_leave_for_each_other(tmp_path: Path, name: str) -> None:
    """What is wrong with operands and elements of C follows from the race: sums are of other tiles."""
    source = edited(PARTS, [OF_PARTS[name].edit])
    caused(verdict(tmp_path, source, more=WORK, grid='["M / 16", "N / 16", 2]'), source, OF_PARTS[name])


PADDED = (("(m0 + l % 16) * K", "(m0 + l % 16) * (K + 8)"),)


def test_a_leading_dimension_with_padding_has_its_name(tmp_path: Path) -> None:
    """Rows that are taken too near to each other run into padding, which is no element."""
    right(verdict(tmp_path, edited(LANES, PADDED), ld='ld = "K + 8", '))
    source = edited(LANES, [("(m0 + l % 16) * K", "(m0 + l % 16) * (K + 4)")])
    words = "rows of A are taken 100 elements apart, and lie 104 (ld of A) apart"
    fault = Fault(("", ""), "operand-provenance/leading-dimension", words, "pa[j]")
    caused(verdict(tmp_path, source, ld='ld = "K + 8", '), source, fault)


GROUPS = (
    HEAD
    + """// The instruction's half-waves take 8 k each, here in order, which is not AMD's: both operands share it.
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
extern "C" __global__ __launch_bounds__(32) void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N,
                                                      int K) {
  const int l = threadIdx.x % 16, upper = threadIdx.x / 16, m0 = blockIdx.x * 16, n0 = blockIdx.y * 16;
  float8 acc = {};
  for (int k = 0; k < K; k += 16) {
    const half8 a = *(const half8*)(A + (m0 + l) * K + k + upper * 8);
    const half8 b = *(const half8*)(B + (n0 + l) * K + k + upper * 8);
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, acc);
  }
  for (int v = 0; v < 8; ++v) C[(m0 + v + upper * 8) * N + n0 + l] = acc[v];
}
"""
)


def test_of_two_orders_of_k_the_one_that_grows_is_believed(tmp_path: Path) -> None:
    right(verdict(tmp_path, GROUPS, arch="gfx1201"))
    source = edited(
        GROUPS, [("(B + (n0 + l) * K + k + upper * 8)", "(B + (n0 + l) * K + k + (1 - upper) * 8)")]
    )
    fault = Fault(("", ""), "operand-provenance/k-exchanged", "groups of 8 k are exchanged", "half8 b =")
    caused(verdict(tmp_path, source, arch="gfx1201"), source, fault)


def test_no_words_about_lds_where_there_is_none(tmp_path: Path) -> None:
    source = edited(LANES, [("(m0 + l % 16) * K", "min(m0 + l % 16, M - 2) * K")])
    found = verdict(tmp_path, source)
    assert found.findings
    assert not any("LDS" in finding.what for finding in found.findings), found.findings


def test_a_kernel_that_multiplies_another_float_of_8_bits_is_wrong(tmp_path: Path) -> None:
    right(verdict(tmp_path, FP8, dtype="fp8_fnuz", arch="gfx942", block=64))
    (found,) = verdict(tmp_path, FP8, dtype="bf8_fnuz", arch="gfx942", block=64).findings
    assert "A is bf8_fnuz in the manifest, and the kernel takes its bits for fp8_fnuz" in found.what


def test_all_k_of_a_product_with_a_vector_are_asked_for(tmp_path: Path) -> None:
    """C has one column, so that one run tells of one k."""
    grid, size = '["M"]', "M = 4, N = 1, K = 70"
    right(verdict(tmp_path, DOT, grid=grid, size=size))
    (found,) = verdict(tmp_path, edited(DOT, [("k += 32", "k += 64")]), grid=grid, size=size).findings
    assert "k 32-63 never added" in found.what
    (found,) = verdict(tmp_path, edited(DOT, [("far = 16", "far = 8")]), grid=grid, size=size).findings
    assert "k 16-31, 48-63 never added" in found.what
