"""Instructions that are no rows and have a form written by hand (`c/*.c`): memory, matrices, lanes, control.

A template only says which function and with what in its record. What is not here numpy executes.
"""

from __future__ import annotations

from layoutprobe.engine.native.atomics import atomic_template
from layoutprobe.engine.native.indexed import indexed_template
from layoutprobe.engine.native.lanes import lanes_template
from layoutprobe.engine.native.matrix import matrix_template
from layoutprobe.engine.native.memory import memory_template
from layoutprobe.engine.native.template import ALL_LANES, Layout, Template
from layoutprobe.isa.indexing import SETS_MODE, picks_registers
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.semantics.wmma import form_of as matrix_form_of
from layoutprobe.semantics.wmma import replicated_16x16x16

_MATRICES = {("f16", "f32"): "F_wmma_f32_f16", ("bf16", "f32"): "F_wmma_f32_bf16"}
EXPANDING = frozenset(_MATRICES.values())
"""Forms that expand operands for those behind them: k2 and k3 say that one before has."""


def template_of(inst: Inst, layout: Layout) -> Template | None:
    """The template of an instruction, None where numpy executes it."""
    if inst.name in SETS_MODE or picks_registers(inst):
        return indexed_template(inst, layout)
    if Kind.MATRIX in inst.kind:
        return _matrix(inst, layout) or matrix_template(inst, layout)
    if inst.name == "s_barrier_signal":
        return Template("F_signal")
    if Kind.ATOMIC in inst.kind:
        return atomic_template(inst, layout)
    return memory_template(inst, layout) or lanes_template(inst, layout)


def _matrix(inst: Inst, layout: Layout) -> Template | None:
    form = matrix_form_of(inst)
    if layout.lanes != 32 or replicated_16x16x16(form) is None or (form.a, form.result) not in _MATRICES:
        return None
    if any(o.kind != "v" or o.neg or o.neg_hi or o.abs for o in inst.src) or inst.mods.get("opsel", 0):
        return None
    a, b, c = inst.src
    d = inst.dst[0]
    if any(o.regs < 8 for o in (*inst.src, d)):
        return None
    if c.index != d.index and set(c.registers()) & set(d.registers()):  # D is written before C is all read
        return None
    return Template(
        _MATRICES[form.a, form.result],
        tuple(layout.offset(o) for o in (*inst.src, d)),
        (),
        inst.src,
        ((d, ALL_LANES),),
        ((f"A of {form.a}", a), (f"B of {form.a}", b)),
    )


_BRANCHES = {"s_branch": "F_jump", **{f"s_cbranch_{n}": f"F_{n}" for n in ("scc0", "scc1", "vccz", "vccnz",
                                                                            "execz", "execnz")}}  # fmt: skip


def control_of(inst: Inst) -> str:
    """The form of a block's last instruction: a branch, a barrier or the end."""
    if Kind.END in inst.kind:
        return "F_end"
    if Kind.AWAIT in inst.kind:
        return "F_barrier" if Kind.ARRIVE in inst.kind else "F_await"
    return _BRANCHES[inst.name]
