"""The interaction probe of gfx942 and gfx950: the code object's own bytes, one matrix instruction a kernel."""

from __future__ import annotations

import pytest

from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.instructions.probe import Variant, build
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.isa.store import load_instructions


def variants(target: str) -> list[Variant]:
    forms = TARGETS[target].matrix.values()
    return [Variant(f, target, 64, o) for f in forms for o in ((0,) if f.scaled else f.opsels(64))]


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
