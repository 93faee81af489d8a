"""Which documented matrix instruction an `Inst` is."""

from __future__ import annotations

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.registry import matrix_forms
from layoutprobe.isa.inst import Inst


def matrix_form(inst: Inst) -> MatrixForm | None:
    """The form of that name and with so many registers of A and D, by which families differ; None if
    no family has it."""
    regs = {"A": inst.src[0].regs, "D": inst.dst[0].regs}
    for form in matrix_forms(inst.name):
        if any(regs.items() <= form.vgprs(wave).items() for wave in form.waves):
            return form
    return None
