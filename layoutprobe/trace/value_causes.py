"""Why the values of a product are wrong, where its operands and its stores are right by their codes."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.brief import brief
from layoutprobe.isa.kind import Kind
from layoutprobe.numbers.told import apart
from layoutprobe.observe.load_path import Step
from layoutprobe.place import Place
from layoutprobe.report.finding import Related
from layoutprobe.trace.added import misplaced
from layoutprobe.trace.analysis import analysis_of
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.executed import executed
from layoutprobe.trace.load_path import related
from layoutprobe.trace.operands import Slot
from layoutprobe.trace.places import slot_place, where
from layoutprobe.trace.products import looser
from layoutprobe.trace.subject import Subject
from layoutprobe.trace.values import changed_operand, idle_element, path_of

CHANGED = "changed-operand"
MISPLACED = "misplaced-addend"
ROUNDED = "rounded-sum"
NARROWED = {"f16": "f32", "bf16": "f32", "f32": "f64"}
"""Type that values are rounded to on their way -> the one in which they are added up."""


class ValueCause(Struct, frozen=True):
    """A cause of wrong values.

    Attributes:
        name: of the rule: CHANGED, MISPLACED or ROUNDED.
        says: one clause.
        place: what is to blame; None where that is not known.
        related: the way of the value to a matrix instruction.
    """

    name: str
    says: str
    place: Place | None = None
    related: tuple[Related, ...] = ()

    __repr__ = brief


def value_cause(subject: Subject, c: Comparison) -> ValueCause | None:
    """What is known to be wrong in a run whose values are wrong; None where nothing is."""
    return _changed(subject, c) or _misplaced(subject, c) or _rounded(subject, c)


def _changed(subject: Subject, c: Comparison) -> ValueCause | None:
    found = changed_operand(subject, c.spec)
    if found is None:
        return None
    letter = found.slot.executions.letter(found.slot.matrix)
    given, held = apart(found.given, found.held)
    says = f"values of {letter} are changed on their way: {given} arrives as {held}"
    says += f" ({found.how})" if found.how else ""
    place, way = _way_of(subject, found.slot)
    changing = (
        step.place for step in way if step.role == "computed by" and step.place.line not in ("", place.line)
    )
    place = replace(next(changing, place), matrix=letter)
    return ValueCause(CHANGED, f"{says}, in {found.count} of {found.of} slots", place, way)


def _way_of(subject: Subject, slot: Slot) -> tuple[Place, tuple[Related, ...]]:
    """The load that brought a slot's value into the kernel, and the way from there."""
    used = slot_place(subject, analysis_of(subject).operands.waves, slot)
    path = path_of(subject, slot)
    if not path:
        return used, ()
    steps = related(subject, path)
    way = (*reversed(steps), Related("used by", used))
    return replace(_first_load(path, steps, used), matrix=used.matrix), way


def _first_load(path: tuple[Step, ...], steps: tuple[Related, ...], used: Place) -> Place:
    loads = [to.place for step, to in zip(path, steps, strict=True) if Kind.LOAD in step.inst.kind]
    return loads[-1] if loads else used


def idle_operand(subject: Subject) -> tuple[str, Place, tuple[Related, ...]] | None:
    """An element that only zeros of its partner keep out of a sum: in words, with the load that brought it."""
    found = idle_element(subject)
    if found is None:
        return None
    slot, left = found
    letter = slot.executions.letter(slot.matrix)
    element = analysis_of(subject).problem.coding.element(slot.number)
    place, way = _way_of(subject, slot)
    stores = [step.place for step in way if step.role == "stored by"]
    if left and stores:  # a later store should have put a zero there
        place = replace(stores[-1], matrix=letter)
    return f"{letter} holds {element} where only zeros of its partner keep it out of the sum", place, way


def _misplaced(subject: Subject, c: Comparison) -> ValueCause | None:
    found = misplaced(subject, c.output)
    return None if found is None else ValueCause(MISPLACED, found.says, found.place)


def _rounded(subject: Subject, c: Comparison) -> ValueCause | None:
    """Sums that would be right if they were added up in a narrower type, and a conversion to it that ran."""
    for kind, wider in NARROWED.items():
        conversions = [
            inst
            for inst in executed(subject)
            if inst.name.startswith("v_cvt") and f"_{kind}_{wider}" in inst.name
        ]
        bound = looser(subject, c, kind)
        if not conversions or kind == c.dtype or bound is None:
            continue
        with np.errstate(invalid="ignore"):
            near = np.abs(c.observed - c.expected) <= bound
        if near[np.isfinite(c.expected)].all():
            says = f"off by what rounding to {kind} on the way explains: values are converted to {kind}"
            return ValueCause(ROUNDED, says, where(subject, conversions[0]))
    return None
