"""The kernels of probes/gemm/cdna: correct, on both targets; what is wrong with edits of them, see campaign/."""

from __future__ import annotations

import pytest
from campaign.planting import kernels
from examples import WHOLE
from msgspec.structs import replace

from layoutprobe.checks.registry import CHECKS
from layoutprobe.codeobj.elf import load
from layoutprobe.gate.session import check_kernel
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.model import KernelCase
from layoutprobe.toolchain.compile import compile_hip

CASES = [
    (case, target)
    for case in kernels().values()
    if case.file.parent.name == "cdna"
    for target in (case.arches if WHOLE else case.arches[-1:])
]


def id_of(value: object) -> str:
    return value.name if isinstance(value, KernelCase) else str(value)


@pytest.mark.all_in_ci
@pytest.mark.few(1)
@pytest.mark.parametrize(("case", "target"), CASES, ids=id_of)
def test_correct_kernels_are_green(case: KernelCase, target: str) -> None:
    """At a desk only where matrices are ragged, in rows that are not aligned."""
    sizes = case.sizes if WHOLE else case.sizes[-1:]
    verdict = check_kernel(replace(case, sizes=sizes), target, CHECKS)
    assert not verdict.error
    assert verdict.findings == ()
    assert {result.status for result in verdict.results} == {"holds"}


MATRIX = {
    "f16-32x32": ("v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x16_f16"),
    "f16-16x16": ("v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x32_f16"),
    "bf16-32x32": ("v_mfma_f32_32x32x8_bf16", "v_mfma_f32_32x32x16_bf16"),
    "bf16-16x16": ("v_mfma_f32_16x16x16_bf16", "v_mfma_f32_16x16x32_bf16"),
    "fp8-fnuz": ("v_mfma_f32_32x32x16_fp8_fp8",),
    "fp8": ("v_mfma_f32_32x32x16_fp8_fp8",),
    "i8": ("v_mfma_i32_32x32x16_i8", "v_mfma_i32_32x32x32_i8"),
    "f64": ("v_mfma_f64_16x16x4_f64",) * 2,
    "acc": ("v_mfma_f32_32x32x8_f16",) * 2,
    "direct": ("v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x16_f16"),
    "tr16": ("v_mfma_f32_32x32x16_f16",),
    "tr8": ("v_mfma_f32_32x32x64_f8f6f4",),
    "pv": ("v_mfma_f32_32x32x64_f8f6f4",),
}
TRANSPOSING = {"tr16": "ds_read_b64_tr_b16", "tr8": "ds_read_b64_tr_b8", "pv": "ds_read_b64_tr_b8"}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MATRIX)
def test_they_are_what_their_names_say(name: str) -> None:
    """Each executes its matrix instruction; acc sums in AccVGPRs; direct loads to LDS, 4 and 16 bytes a
    lane; the others transpose nothing."""
    case = kernels()[name]
    for target, matrix in zip(case.arches, MATRIX[name], strict=True):
        code = load(compile_hip(case.file, target=target, defines=dict(case.defines)).data)
        (kernel,) = code.kernels.values()
        insts = list(load_instructions(code, kernel).values())
        found = [inst for inst in insts if Kind.MATRIX in inst.kind]
        assert {inst.name for inst in found} == {matrix}
        files = {operand.kind for inst in found for operand in (inst.dst[0], inst.src[2])}
        assert ("a" in files) == (name == "acc")
        to_lds = {inst.name for inst in insts if inst.to_lds}
        transposing = {inst.name for inst in insts if Kind.TRANSPOSE in inst.kind}
        assert transposing == ({TRANSPOSING[name]} if name in TRANSPOSING else set())
        wide = "dword" if target == "gfx942" else "dwordx4"
        assert to_lds == ({f"global_load_lds_{wide}"} if name == "direct" else set())
