"""What `layoutprobe init` drafts: a manifest that reads, and that a kernel which ignores a factor fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.cli.main import main
from layoutprobe.drafting.draft import draft
from layoutprobe.errors import ToolchainError, UsageError
from layoutprobe.manifest.model import Gemm
from layoutprobe.manifest.read import read_manifest
from layoutprobe.manifest.sizes import sizes_of

KERNEL = """\
extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 1)))
void gemm({arguments}, int M, int N, int K) {{
  const int row = __builtin_amdgcn_workgroup_id_y(), col = __builtin_amdgcn_workgroup_id_x();
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += (float)A[row * K + k] * (float)B[k * N + col];
  {out}[row * N + col] = {value};
}}
"""
IN_PLACE = "const _Float16* A, const _Float16* B, float* C, float alpha, float beta"
SEPARATE = "const _Float16* A, const _Float16* B, const float* C, float* D, float alpha, float beta"


def drafted(folder: Path, arguments: str, out: str, value: str) -> str:
    source = folder / "k.hip"
    source.write_text(KERNEL.format(arguments=arguments, out=out, value=value), "utf-8")
    text, kernels = draft(source, folder=folder)
    assert [kernel.name for kernel in kernels] == ["gemm"]
    (folder / "layoutprobe.toml").write_text(text, "utf-8")
    return text


@pytest.mark.parametrize(
    ("arguments", "out", "value", "alpha", "beta", "addend"),
    [
        (IN_PLACE, "C", "alpha * sum + beta * C[row * N + col]", 2.0, 0.5, ("C", "inout")),
        (SEPARATE, "D", "alpha * sum + beta * C[row * N + col]", 2.0, 0.5, ("C", "in")),
        (IN_PLACE.replace(", float beta", ""), "C", "alpha * sum", 2.0, 0.0, ("C", "out")),
        (IN_PLACE.replace(", float alpha, float beta", ""), "C", "sum", 1.0, 0.0, ("C", "out")),
        # Nothing that beta could multiply: it stays zero, and the manifest can be read.
        (IN_PLACE.replace("* C", "* D"), "D", "alpha * sum", 2.0, 0.0, ("D", "out")),
    ],
)
def test_factors_are_neither_one_nor_zero(
    tmp_path: Path, arguments: str, out: str, value: str, alpha: float, beta: float, addend: tuple[str, str]
) -> None:
    drafted(tmp_path, arguments, out, value)
    (case,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
    assert isinstance(case.contract, Gemm)
    assert (case.contract.alpha, case.contract.beta) == (alpha, beta)
    assert addend in [(argument.name, argument.role) for argument in case.arguments]


def test_the_sizes_follow_from_the_tile(tmp_path: Path) -> None:
    """What they are is tested in test_sizes.py."""
    drafted(tmp_path, IN_PLACE, "C", "sum")
    (case,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
    assert case.tile == {"M": 16, "N": 16, "K": 16}
    assert case.sizes == sizes_of(case.tile, {})
    assert {"M": 16, "N": 16, "K": 16} in case.sizes
    assert {"M": 17, "N": 15, "K": 17} in case.sizes


def test_a_kernel_of_one_wave_makes_the_tile_of_one_matrix_instruction(tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_text(
        "#include <hip/hip_runtime.h>\n"
        'extern "C" __global__ void __launch_bounds__(32) gemm(const float* A, const float* B, float* C, int lda) {\n'
        "  C[threadIdx.x] = A[threadIdx.x] * B[lda];\n}\n",
        "utf-8",
    )
    text, _ = draft(tmp_path / "k.hip", folder=tmp_path)
    assert "tile = { M = 16, N = 16, K = 16 }" in text
    assert 'grid = ["(N + 15) / 16", "(M + 15) / 16"]' in text


@pytest.mark.parametrize(
    ("value", "code"),
    [("alpha * sum + beta * C[row * N + col]", 0), ("sum", 1), ("alpha * sum", 1)],
)
def test_a_kernel_that_ignores_a_factor_is_red(tmp_path: Path, value: str, code: int) -> None:
    text = drafted(tmp_path, IN_PLACE, "C", value)
    tile = "tile = { M = 16, N = 16, K = 16 }"
    assert tile in text
    small = text.replace(tile, "sizes = [{ M = 16, N = 16, K = 4 }, { M = 9, N = 7, K = 5 }]")
    small = small.replace('"(N + 15) / 16", "(M + 15) / 16"', '"N", "M"')
    (tmp_path / "layoutprobe.toml").write_text(small, "utf-8")
    assert main(["check", str(tmp_path / "layoutprobe.toml"), "--check", "numerics"]) == code


PLAIN_BITS = """\
typedef short bits __attribute__((ext_vector_type(16)));
typedef float sums __attribute__((ext_vector_type({sums})));
extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 64)))
void product(const short* A, const unsigned short* Bt, float* C, int m, int n_n, int K) {{
  sums d = {{}};
  d = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w{lanes}(*(const bits*)(A + m), *(const bits*)(Bt + K), d);
  *(sums*)(C + n_n) = d;
}}
"""


@pytest.mark.parametrize("lanes", [32, 64])
def test_what_instructions_and_names_say_is_in_the_draft(tmp_path: Path, lanes: int) -> None:
    """Bits are the floats that the matrix instructions take them for; a source for waves of 64 compiles."""
    source = tmp_path / "k.hip"
    source.write_text(PLAIN_BITS.format(lanes=lanes, sums=256 // lanes), "utf-8")
    text, _ = draft(source, folder=tmp_path)
    (tmp_path / "layoutprobe.toml").write_text(text, "utf-8")
    (case,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
    assert case.flags == (("-mwavefrontsize64",) if lanes == 64 else ())
    a, b, c, *sizes = case.arguments
    assert [(one.name, one.matrix, one.dtype) for one in (a, b, c)] == [
        ("A", "A", "bf16"),
        ("Bt", "B", "bf16"),
        ("C", "C", "f32"),
    ]
    assert (a.order, b.order) == ("row", "col")
    assert "i16 that the matrix instructions take for it" in text
    assert [getattr(one.value, "text", None) for one in sizes] == ["M", "N", "K"]


MFMA = """\
typedef float f4 __attribute__((ext_vector_type(4)));
extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void k(float* C) {
  f4 c = {};
  C[__builtin_amdgcn_workitem_id_x()] = __builtin_amdgcn_mfma_f32_4x4x1f32(C[0], C[1], c, 0, 0, 0)[0];
}
"""


def test_a_source_with_instructions_of_another_target_is_drafted_for_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.hip").write_text(MFMA, "utf-8")
    assert main(["init", "k.hip"]) == 0
    assert (
        'arch = ["gfx942"]  # it does not compile for gfx1151' in (tmp_path / "layoutprobe.toml").read_text()
    )
    assert "The source does not compile for gfx1151" in capsys.readouterr().err
    assert read_manifest(tmp_path / "layoutprobe.toml").kernels[0].arches == ("gfx942",)
    assert main(["init", "k.hip", "--force", "--arch", "gfx1151"]) == 2
    assert "needs target feature" in capsys.readouterr().err


def test_what_no_target_has_is_refused_with_the_option_that_names_one(tmp_path: Path) -> None:
    source = MFMA.replace("  f4 c = {};", "  f4 c = {};\n  __builtin_amdgcn_s_barrier_signal(-1);")
    (tmp_path / "k.hip").write_text(source, "utf-8")
    with pytest.raises(ToolchainError) as refused:
        draft(tmp_path / "k.hip", folder=tmp_path)
    assert "--arch" in (refused.value.hint or "")


@pytest.mark.parametrize("text", ["", "static int helper(int x) { return x; }\n"])
def test_a_source_without_a_kernel_is_told_what_one_is(text: str, tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_text(text, "utf-8")
    with pytest.raises(UsageError, match="has no kernel") as refused:
        draft(tmp_path / "k.hip", folder=tmp_path)
    assert "__global__" in (refused.value.hint or "")
