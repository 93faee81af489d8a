"""Operands by their values: elements that arrive as something else, and elements that only a zero keeps out.

Coded runs show where elements go. They say nothing of what becomes of a value that is no small integer, nor of
an element that is multiplied by zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.numbers import element_type
from layoutprobe.numbers.element import ElementType
from layoutprobe.numbers.told import apart
from layoutprobe.observe.load_path import FollowBack, LoadPaths, Step
from layoutprobe.observe.matrix import OperandRecorder
from layoutprobe.solver.product import NOWHERE
from layoutprobe.trace.analysis import Analysis, JudgedExecutions, analysis_of
from layoutprobe.trace.operands import Slot, held_bits
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.subject import Recorded, RunSpec, RunStoppedError, Subject, UndecidedError

Bits = NDArray[np.unsignedinteger]


class ChangedOperand(Struct, frozen=True):
    """Slots that hold other bits than the element that was moved there.

    Attributes:
        slot: the first one.
        given, held: values of the first one, in the matrix's type.
        how: what the changed ones have in common, "" for nothing.
        count: changed slots.
        of: slots that hold elements.
    """

    slot: Slot
    given: float
    held: float
    how: str
    count: int
    of: int


def changed_operand(subject: Subject, spec: RunSpec) -> ChangedOperand | None:
    """What a run's matrix instructions took for another value than memory held; None where nothing, where
    elements go astray, or where they are converted on purpose (memory and operand differ in width)."""
    analysis = _right(subject)
    if analysis is None:
        return None
    run = subject.run(RunSpec(spec.inputs, (OperandRecorder,), spec.alpha, spec.beta))
    for judged in analysis.judged:
        for matrix in "AB":
            found = _changed(subject, analysis, judged, matrix, run)
            if found is not None:
                return found
    return None


def _right(subject: Subject) -> Analysis | None:
    """The analysis, where every operand that can be followed is right."""
    try:
        analysis = analysis_of(subject)
    except (NoProductError, UndecidedError, RunStoppedError):
        return None
    return None if any(one.judgement.broken.any() for one in analysis.judged) else analysis


def _changed(
    subject: Subject, analysis: Analysis, judged: JudgedExecutions, matrix: str, run: Recorded
) -> ChangedOperand | None:
    done, contract = judged.executions, analysis.problem.contract
    name = contract.a if done.letter(matrix) == "A" else contract.b
    buffer, start = subject.binding.buffers[name], analysis.problem.coding.starts().get(name)
    bits = held_bits(run, done, matrix)
    if bits is None or start is None or bits.dtype.itemsize != buffer.itemsize:
        return None
    held = bits.view(buffer.element.storage)
    raw = np.ascontiguousarray(buffer.element.store(run.inputs[name])).ravel()
    number = (done.a if matrix == "A" else done.b).astype(np.int64) - start
    moved = (number >= 0) & (number < raw.size)
    given = raw[np.where(moved, number, 0)]
    differs = moved & (given.view(bits.dtype) != bits)
    if not differs.any():
        return None
    at, flat = (int(i) for i in np.argwhere(differs)[0])
    axes = done.instruction.needed[matrix].row.shape[1:]
    slot = Slot(done, matrix, at, *(int(i) for i in np.unravel_index(flat, axes)))
    kind = element_type(buffer.dtype)
    first, became = (float(kind.load(x[differs][:1]).item()) for x in (given, held))
    how = _narrower(kind, given[differs], held[differs])
    how = how or _how(given[differs].view(bits.dtype), bits[differs], first, became)
    return ChangedOperand(slot, first, became, how, int(differs.sum()), int(moved.sum()))


def _narrower(kind: ElementType, given: NDArray[Any], held: NDArray[Any]) -> str:
    """That the changed values are rounded to a narrower type; "" where that is not all."""
    wide = kind.load(given)
    for name in ("f32", "f16", "bf16") if kind.is_float else ():
        other = element_type(name)
        if other.bits < kind.bits and np.array_equal(other.load(other.store(wide)), kind.load(held)):
            return f"rounded to {name}"
    return ""


def _how(given: Bits, held: Bits, first: float, became: float) -> str:
    """What the changed values have in common."""
    if np.unique(given).size == 1 and np.unique(held).size == 1:
        return "every {} is taken as {}, and nothing else is changed".format(*apart(first, became))
    if ((given & ~held) == 0).all():
        return "bits are only added, never lost: something is or-ed into the register, as by a sign extension"
    if ((held & ~given) == 0).all():
        return "bits are only lost: a mask or a shift cuts them off"
    return ""


def idle_element(subject: Subject) -> tuple[Slot, bool] | None:
    """A slot that holds an element which meets nothing but zeros: on finite numbers it does not matter; and whether
    the element is of the slot's own line, left from another step."""
    analysis = _right(subject)
    for judged in analysis.judged if analysis else ():
        f, t = judged.factors, judged.targets
        need = t.row()[f.chain][..., None], t.col()[f.chain][..., None]
        there = (f.a_row >= 0) & (need[0] != NOWHERE), (f.b_col >= 0) & (need[1] != NOWHERE)
        own = f.a_row == need[0], f.b_col == need[1]
        for matrix, axis, slots in (
            ("A", 0, judged.executions.geometry.a),
            ("B", 1, judged.executions.geometry.b),
        ):
            mine, other = there[axis], there[1 - axis]
            idle = mine & ~other.any(axis=2, keepdims=True)
            if idle.any():
                at, *inside = (int(i) for i in np.argwhere(idle)[0])
                axes = judged.executions.instruction.needed[matrix].row.shape[1:]
                where = np.unravel_index(int(slots[tuple(inside)]), axes)
                slot = Slot(judged.executions, matrix, at, *(int(i) for i in where))
                return slot, bool(own[axis][at, *inside])
    return None


def path_of(subject: Subject, slot: Slot) -> tuple[Step, ...]:
    """The way back from a slot of an operand to the load of its value; () where it cannot be followed."""
    spec = RunSpec("integers", (FollowBack((slot.target,)),))
    return subject.run(spec, partial=True).record(LoadPaths).paths.get(slot.target, ())
