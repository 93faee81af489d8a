"""What a matrix instruction of a kernel does with its slots, observed by executing that instruction.

Questions and solver are those of the interaction probe. Here the instruction runs alone, on registers
that the solver fills, so that a ready code object can be judged without a compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.instructions.probe import Variant
from layoutprobe.instructions.solving import interaction_by
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.semantics import execute
from layoutprobe.semantics.mai import broadcast
from layoutprobe.semantics.wmma import form_of
from layoutprobe.solver.bench import Execute
from layoutprobe.solver.interaction import Interaction

Words = NDArray[np.uint32]


def element_types(inst: Inst) -> tuple[str, str]:
    """Element types of A and of B: "f16", "bf16", "iu8", "fp8"..."""
    form = form_of(inst)
    return form.a, form.b


def interaction_of(inst: Inst, lanes: int) -> Interaction:
    """Which slots of A and B meet in which slot of D, in a wave of so many lanes.

    Modifiers that change signs or choose the half of D do not change that, and are left out: where D
    fills one half of its registers, each is one slot.

    Raises:
        UsageError: not a matrix instruction.
        ProbeError: a sparse one, or one whose blocks share operands; or it is no matrix product of the
            documented shape.
    """
    if Kind.MATRIX not in inst.kind:
        raise UsageError(f"{inst.name} is no matrix instruction")
    form = form_of(inst)
    if form.sparse:
        raise ProbeError(
            f"{inst.name} is not followed: its index operand decides which k an element of A has",
            hint="`layoutprobe layout` shows its layout",
        )
    if any(broadcast(form, inst.mods)):
        raise ProbeError(
            f"{inst.name} is not followed: cbsz, abid or blgp give blocks the operands of others"
        )
    return _solved(form, lanes)


@cache
def _solved(form: MatrixForm, lanes: int) -> Interaction:
    variant = Variant(form, "", lanes)
    return interaction_by(variant, executed_alone(variant)).by_register()


def executed_alone(variant: Variant) -> Execute:
    """What executes the instruction of a variant on registers, without a kernel."""
    return partial(_execute, variant)


def _execute(variant: Variant, fed: Mapping[str, Words]) -> Words:
    """D of one instruction; all uint32 [wave, vgpr, lane]."""
    form = variant.form
    names = ["a", "b", "index", "c"] if form.sparse else ["a", "b", "c", "old"]
    names += ["scale_a", "scale_b"] if form.scaled else []
    operands, at = {}, 0
    for name in names:
        count = fed[name].shape[1]
        operands[name] = Operand("v", at, count, 32 * count)
        at += count
    target = operands.pop("c" if form.sparse else "old")
    mods = form.chosen(variant.opsel)
    inst = Inst(0, 8, form.name, "VOP3P", (target,), tuple(operands.values()), mods)
    vgprs = execute(inst, np.concatenate([fed[name] for name in names], axis=1).transpose(1, 0, 2))
    found = vgprs[target.index : target.index + target.regs]
    return np.ascontiguousarray(found.transpose(1, 0, 2))


__all__ = ["element_types", "executed_alone", "interaction_of"]
