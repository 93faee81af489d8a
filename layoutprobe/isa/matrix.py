"""Which documented matrix instruction an `Inst` is."""

from __future__ import annotations

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.registry import matrix_forms
from layoutprobe.isa.inst import Inst


def matrix_form(inst: Inst) -> MatrixForm | None:
    """The form of that name, those modifiers, and so many registers of A and D, by which families differ.

    Of several the one that asks for most modifiers. None if no family has it.
    """
    regs = {"A": inst.src[0].regs, "D": inst.dst[0].regs}
    for form in sorted(matrix_forms(inst.name), key=lambda form: -len(form.select)):
        fits = any(regs.items() <= form.vgprs(wave).items() for wave in form.waves)
        if fits and form.selected(inst.mods):
            return form
    return None
