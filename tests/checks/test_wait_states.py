"""Wait states of RDNA: D as A or B of the next matrix instruction, on paths as they are executed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import launch, verdict
from scaffold import scaffolded

from layoutprobe.checks import wait_states
from layoutprobe.gate.build import build
from layoutprobe.gate.copies import has_assembly
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import CheckResult

CLEAR = tuple(f"v_mov_b32_e32 v{register}, 0" for register in range(10, 60))
GFX11 = ("v_wmma_f32_16x16x16_f16 v[20:27], v[28:35], v[40:47], v[20:27]",
         "v_wmma_f32_16x16x16_f16 v[48:55], {}, v[48:55]")  # fmt: skip
GFX12 = ("v_wmma_f32_16x16x16_f16 v[20:27], v[28:31], v[40:43], v[20:27]",
         "v_swmmac_f32_16x16x32_f16 v[48:55], {}")  # fmt: skip


def result_of(*body: str, target: str = "gfx1151", has_assembly: bool = True) -> CheckResult:
    code = scaffolded("\n".join(f"  {inst}" for inst in (*CLEAR, *body)), target=target)
    data = np.arange(256, dtype=np.uint32)
    given = launch(code, [data, np.zeros(256, np.uint32)])
    return verdict(wait_states.CHECK, given, has_assembly=has_assembly)


@pytest.mark.parametrize(
    ("operands", "between", "status"),
    [
        ("v[20:27], v[40:47]", "s_nop 0", "finding"),
        ("v[40:47], v[20:27]", "s_nop 0", "finding"),
        ("v[13:20], v[40:47]", "s_nop 0", "finding"),
        ("v[20:27], v[40:47]", "v_nop", "holds"),
        ("v[20:27], v[40:47]", "v_mov_b32_e32 v60, 0", "holds"),
        ("v[28:35], v[40:47]", "s_nop 0", "holds"),
    ],
)
def test_an_operand_right_from_the_instruction_before(operands: str, between: str, status: str) -> None:
    result = result_of(GFX11[0], between, GFX11[1].format(operands))
    assert result.status == status, result
    if status == "finding":
        finding = only(result)
        assert finding.rule is wait_states.RESULT
        assert "too early after v_wmma_f32_16x16x16_f16, which writes it" in finding.what
        assert finding.expected.startswith("1 wait state (v_nop, or other VALU instructions) between v_wmma")
        assert finding.hint.startswith("add v_nop before ")


@pytest.mark.parametrize(
    ("operands", "status"),
    [
        ("v[20:23], v[40:47], v60", "finding"),
        ("v[28:31], v[20:27], v60", "finding"),
        ("v[28:31], v[40:47], v20", "finding"),
        ("v[28:31], v[40:47], v60", "holds"),
    ],
)
def test_on_rdna4_the_index_too(operands: str, status: str) -> None:
    """clang 22 puts a v_nop between a WMMA and one that takes its D as A (asked for gfx1201)."""
    clear = "v_mov_b32_e32 v60, 0"
    result = result_of(clear, GFX12[0], GFX12[1].format(operands), target="gfx1201")
    assert result.status == status, result


def test_from_one_iteration_to_the_next() -> None:
    first, second = GFX11[0], GFX11[1].format("v[20:27], v[40:47]")
    loop = ("s_mov_b32 s8, 2", "loop:", second, "s_sub_u32 s8, s8, 1", first, "s_cmp_lg_u32 s8, 0")
    finding = only(result_of(*loop, "s_cbranch_scc1 loop"))
    assert finding.count == 1, "the second iteration of one wave"
    assert result_of(*loop, "v_nop", "s_cbranch_scc1 loop").status == "holds"


def test_too_few_that_the_compiler_left_are_a_reservation() -> None:
    """LLVM counts along one of several paths that meet; the author of plain HIP can do nothing about it."""
    body = GFX11[0], "s_nop 0", GFX11[1].format("v[20:27], v[40:47]")
    result = result_of(*body, has_assembly=False)
    assert (result.status, result.findings) == ("holds", ())
    (left,) = result.reserved
    assert left.startswith("clang itself left 0 of 1 wait state between v_wmma_f32_16x16x16_f16 at "), left
    assert result_of(GFX11[0], "v_nop", *body[2:], has_assembly=False).reserved == ()


@pytest.mark.parametrize(
    ("text", "header", "holds"),
    [
        ("// v_nop\n", "int none;\n", False),
        ('__device__ void wait() { asm volatile("v_nop"); }\n', "", True),
        ("", '__device__ void wait() { __asm__("v_nop"); }\n', True),
    ],
)
def test_whose_instructions_they_are_is_seen_in_the_own_sources(
    tmp_path: Path, text: str, header: str, holds: bool
) -> None:
    (tmp_path / "own.h").write_text(header)
    (tmp_path / "own.hip").write_text(
        f'#include <hip/hip_runtime.h>\n#include "own.h"\n{text}extern "C" __global__ void k() {{}}\n'
    )
    manifest = tmp_path / "layoutprobe.toml"
    manifest.write_text(
        '[[kernel]]\nname = "k"\nsource = "own.hip"\ngrid = [1]\nblock = [32]\nsizes = [{ N = 1 }]\n'
        'contract = { kind = "none" }\n'
    )
    (case,) = read_manifest(manifest).kernels
    assert has_assembly(case, build(case, "gfx1151").code.target) is holds
