"""The interaction probe of gfx942 and gfx950: the code object's own bytes, one matrix instruction a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from cdna.inverse import Instruction
from layoutprobe import instructions
from layoutprobe.arch import TARGETS, MatrixForm, registry
from layoutprobe.instructions.probe import Variant, build
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.isa.store import load_instructions


def variants(target: str) -> list[Variant]:
    forms = TARGETS[target].matrix.values()
    return [Variant(f, target, 64, o) for f in forms for o in ((0,) if f.scaled else f.opsels(64))]


@pytest.mark.few(1)
@pytest.mark.parametrize(("target", "count"), [("gfx942", 68), ("gfx950", 190)])
def test_the_probe_executes_the_instruction_named(target: str, count: int) -> None:
    """With its registers, its index set, and, where modifiers choose formats, those of A and of B."""
    code, _ = build(target, 64)
    found = variants(target)
    assert {variant.kernel for variant in found} == set(code.kernels)
    assert len(found) == count
    for variant in found:
        form, regs = variant.form, variant.form.vgprs(64)
        insts = load_instructions(code, code.kernel(variant.kernel)).values()
        matrix = [inst for inst in insts if Kind.MATRIX in inst.kind]
        assert [inst.name for inst in matrix] == [form.name]
        inst = matrix[0]
        decoded = matrix_form(inst)
        assert isinstance(decoded, MatrixForm)
        assert (decoded.spelling, decoded.a, decoded.b) == (form.spelling, form.a, form.b)
        assert form.choice.number(inst.mods) == variant.opsel
        last = 1 if form.sparse else regs["C"]
        scales = [1, 1] if form.scaled else []
        assert [operand.regs for operand in inst.src] == [regs["A"], regs["B"], last, *scales]
        assert inst.dst[0].regs == regs["D"]
        assert len(code.kernel(variant.kernel).explicit_args) == len(variant.inputs) + 1


@pytest.mark.few(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_nothing_is_read_too_early(target: str) -> None:
    """Around inline assembly no compiler waits: two states before, and 24 after, more than any form needs."""
    code, _ = build(target, 64)
    for name in code.kernels:
        insts = list(load_instructions(code, code.kernel(name)).values())
        at = next(n for n, inst in enumerate(insts) if Kind.MATRIX in inst.kind)
        nops = [(inst.name, inst.mods.get("simm16", 0)) for inst in insts]
        assert nops[at - 1] == ("s_nop", 1), name
        assert nops[at + 1 : at + 3] == [("s_nop", 15), ("s_nop", 7)], name


@pytest.mark.parametrize(
    ("target", "spelling", "opsel"),
    [
        ("gfx942", "v_mfma_f32_32x32x8_f16", 0),
        ("gfx942", "v_mfma_f32_4x4x4_16b_bf16", 0),
        ("gfx942", "v_mfma_f64_4x4x4_4b_f64", 0),
        ("gfx942", "v_mfma_f32_16x16x8_xf32", 0),
        ("gfx942", "v_mfma_f32_16x16x32_fp8_bf8", 0),
        ("gfx942", "v_smfmac_i32_16x16x64_i8", 1),
        ("gfx950", "v_mfma_f32_16x16x32_fp8_bf8", 0),
        ("gfx950", "v_mfma_f32_16x16x128_f8f6f4 cbsz:0 blgp:4", 0),
        ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4 cbsz:2 blgp:1", 0),
        ("gfx950", "v_smfmac_f32_16x16x128_fp8_bf8", 0),
    ],
)
def test_compiled_kernels_are_solved(
    target: str, spelling: str, opsel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probe's real code, executed and solved: the same cells as of the instruction alone."""
    known = replace(TARGETS[target], facts_only=False, emulated=True)
    monkeypatch.setitem(registry.ARCHES, target, known)
    solved = instructions.solve(spelling, target, opsel=opsel)
    assert (solved.wave, solved.evidence.kind, solved.instruction) == (64, "emulated", spelling)
    for name, layout in solved.operands.items():
        if not name.startswith("scale"):
            slots = (
                Instruction(spelling).index(opsel) if name == "index" else Instruction(spelling).operand(name)
            )
            assert np.array_equal(layout.row.reshape(64, -1), slots.row), name
            assert np.array_equal(layout.col.reshape(64, -1), slots.col), name
    assert ("scale A" in solved.operands) == ("scale" in spelling)
