"""What the compiler made of the probes, read from its own assembly."""

from __future__ import annotations

import re

import pytest
from examples import probe_names, probe_target

from layoutprobe.arch import DEFAULT, find
from layoutprobe.layouts.swizzle import SCHEMES, Scheme
from layoutprobe.probing.run import build
from layoutprobe.probing.spec import load_spec
from layoutprobe.toolchain.compile import compile_hip

WMMA = re.compile(
    r"v_wmma_f32_16x16x16_f16 v\[(\d+):(\d+)\], v\[(\d+):(\d+)\], v\[(\d+):(\d+)\], v\[(\d+):(\d+)\]"
)


def instructions(name: str, scheme: int | None = None) -> list[str]:
    """Instruction lines of a probe's kernel, labels included."""
    spec = load_spec(name).sized(find(DEFAULT).probed_form("f16"))
    defines = {} if scheme is None else {"LDS_SCHEME": scheme}
    compiled = compile_hip(spec.source, target=DEFAULT, defines=defines, include_dirs=(spec.include,))
    body = compiled.assembly.split(f"\n{spec.kernel}:", 1)[1].split("s_endpgm", 1)[0]
    lines = (line.split(";")[0].strip() for line in body.splitlines())
    return [line for line in lines if line and (line[0] != "." or line.startswith(".LBB"))]


@pytest.mark.parametrize("name", probe_names())
def test_specs_agree_with_the_code_object(name: str) -> None:
    """`build` compares arguments, workgroup size and wave size with the compiler's metadata."""
    target = probe_target(name)
    spec = load_spec(name).sized(find(target).probed_form("f16"))
    code, toolchain = build(spec, arch=target)
    kernel = code.kernel(spec.kernel)
    assert code.target == target
    assert toolchain["code_object"] == code.digest
    assert kernel.vgpr_spills == kernel.sgpr_spills == kernel.descriptor.private_segment_size == 0


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_the_registers_dumped_are_those_that_feed_the_instruction(scheme: Scheme) -> None:
    code = instructions("operand", scheme.device_define)
    used = [WMMA.match(line) for line in code if line.startswith("v_wmma")]
    assert len(used) == 1
    assert used[0] is not None
    d, a, b = (int(used[0][group]) for group in (1, 3, 5))
    after = code[next(i for i, line in enumerate(code) if line.startswith("v_wmma")) + 1 :]
    stored = [int(m[1]) for line in after if (m := re.match(r"global_store_b32 v\d+, v(\d+), s", line))]
    assert stored == [base + v for base in (a, b, d) for v in range(8)]
    # In between nothing but stores and hints: no copy, no reload.
    assert {line.split()[0] for line in after} <= {"global_store_b32", "s_clause", "s_delay_alu", "s_nop"}


@pytest.mark.parametrize("name", ["operand", "epilogue", "interaction"])
def test_probes_execute_one_real_matrix_instruction(name: str) -> None:
    assert sum(line.startswith("v_wmma_f32_16x16x16_f16") for line in instructions(name)) == 1


def test_every_lds_access_of_a_fragment_is_a_vector() -> None:
    for scheme in SCHEMES.values():
        loads = [line for line in instructions("operand", scheme.device_define) if line.startswith("ds_load")]
        assert [line.split()[0] for line in loads] == ["ds_load_b128"] * 4


def test_the_inner_loop_of_the_gemm_is_lean() -> None:
    """Its interior loop is what the emulator's speed is measured on."""
    code = instructions("gemm/standard")
    loops = []
    for i, line in enumerate(code):
        target = re.match(r"s_cbranch_\w+ (\.LBB\S+)", line)
        if target and f"{target[1]}:" in code[:i]:
            loops.append(code[code.index(f"{target[1]}:") : i + 1])
    interior = min((loop for loop in loops if any("v_wmma" in line for line in loop)), key=len)
    assert sum(line.startswith("v_wmma") for line in interior) == 8
    assert len(interior) < 110
    assert not any("exec" in line for line in interior), "no per-lane branches"
    assert sum(line.startswith("global_load_b") for line in interior) == 3
