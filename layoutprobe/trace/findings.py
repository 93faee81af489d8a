"""Wrong operands and accumulators in words, each at its first wrong slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from layoutprobe.layouts.explain import explain
from layoutprobe.observe.load_path import Step
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.solver import copies
from layoutprobe.solver.diagnose import BEYOND, LINE_ORDER, OTHER_LANE, UNEXPLAINED
from layoutprobe.solver.hypotheses import COPY
from layoutprobe.solver.product import UNDEFINED, ZERO
from layoutprobe.trace.analysis import Analysis
from layoutprobe.trace.blame import Blame
from layoutprobe.trace.copies import DifferingCopy
from layoutprobe.trace.culprits import Culprit
from layoutprobe.trace.load_path import load_paths, related
from layoutprobe.trace.operands import Slot
from layoutprobe.trace.partings import partings
from layoutprobe.trace.places import slot_place
from layoutprobe.trace.problem import Problem
from layoutprobe.trace.subject import Subject

_OF_FRAGMENTS = (
    *("transposed", "halves-swapped", "k-exchanged", "k-order", "thread-for-lane", "group-shift"),
    *(COPY, LINE_ORDER, OTHER_LANE, UNEXPLAINED),
)
"""Diagnoses about which lane and register an element belongs in."""


def operand_finding(
    subject: Subject, analysis: Analysis, culprit: Culprit, found: Blame, rules: Mapping[str, Rule]
) -> Finding:
    """A wrong operand, at the access that is to blame; related is the way of the value to the instruction.

    Args:
        subject, analysis, culprit: what is wrong.
        found: what is to blame for it.
        rules: by the name of the diagnosis.
    """
    slot, what = culprit.slot, found.diagnosis.what
    matrix = slot.executions.letter(slot.matrix)
    if slot.executions.swapped:
        what += f" (the kernel feeds {matrix}, transposed, as the instruction's {slot.matrix})"
    needed = needed_element(analysis.problem, culprit)
    used = slot_place(subject, analysis.operands.waves, slot)
    way = _way(subject, found.path, used)
    place = used if found.at is None else replace(way[-2 - found.at].place, matrix=matrix)
    return Finding(
        rules[found.diagnosis.name],
        what,
        place,
        expected=f"zero, as there is no {needed}" if found.diagnosis.name == BEYOND else needed,
        observed=_held(analysis.problem, slot),
        hint=found.diagnosis.hint + (_law(slot) if found.diagnosis.name in _OF_FRAGMENTS else ""),
        count=culprit.count,
        related=way,
        blocks=partings(subject).get(matrix, ""),
    )


def accumulator_finding(
    subject: Subject, analysis: Analysis, culprit: Culprit, rules: Mapping[str, Rule]
) -> Finding:
    """An accumulator that is stored elsewhere than it belongs, at its matrix instruction; `rules`: by the name
    of the diagnosis."""
    needed = needed_element(analysis.problem, culprit)
    return Finding(
        rules[culprit.diagnosis.name],
        of_output(culprit.diagnosis.what, analysis.problem.contract.d),
        slot_place(subject, analysis.operands.waves, culprit.slot),
        expected=f"no store, as there is no {needed}" if culprit.diagnosis.name == BEYOND else needed,
        observed=_stored_to(analysis, culprit),
        hint=culprit.diagnosis.hint + _law(culprit.slot),
        count=culprit.count,
    )


def of_output(what: str, name: str) -> str:
    """What a diagnosis says of C, of the output by its own name: the solver knows letters alone."""
    return what.replace(" of C", f" of {name}")


def _law(slot: Slot) -> str:
    """ "; v_wmma_f32_16x16x16_f16 has D[2*vgpr + lane / 16][lane % 16]": the right index, as the instruction showed
    it when it was executed alone; "" without a closed form, and where the kernel exchanges A and B."""
    done = slot.executions
    form = "" if done.swapped else explain(done.instruction.needed[slot.matrix]).partition(" where ")[0]
    return f"; {slot.inst.name} {'has' if slot.matrix in 'CD' else 'needs'} {form}" if form else ""


def copy_finding(subject: Subject, analysis: Analysis, copy: DifferingCopy, rule: Rule) -> Finding:
    """Copies that differ, with the loads that the wrong one came from."""
    slot, other = copy.slot, copy.other
    matrix = slot.executions.letter(slot.matrix)
    what, hint = copies.in_words(matrix, slot.lane, other.lane, subject.copies_every)
    found = Finding(
        rule,
        what,
        slot_place(subject, analysis.operands.waves, slot),
        expected=f"{_copied(analysis.problem, other)}, as in lane {other.lane}",
        observed=_copied(analysis.problem, slot),
        hint=hint,
        count=copy.count,
    )
    path = load_paths(subject).get(slot.target, ())
    way = _way(subject, path, found.place)
    load = next((step.place for step in reversed(way) if step.role == "loaded by"), found.place)
    return replace(found, place=replace(load, matrix=found.place.matrix), related=way)


def _way(subject: Subject, path: Sequence[Step], used: Place) -> tuple[Related, ...]:
    """The way of a value, from where it came into the kernel to the matrix instruction; () where unknown."""
    return (*reversed(related(subject, path)), Related("used by", used)) if path else ()


def needed_element(problem: Problem, culprit: Culprit) -> str:
    """The element that a culprit's slot needs."""
    executions = culprit.slot.executions
    name, (row, col) = executions.letter(culprit.slot.matrix), culprit.need
    if executions.swapped:
        row, col = col, row
    lead = np.unravel_index(culprit.batch, problem.lead) if problem.batch > 1 else ()
    return element_name(problem, name, (*map(int, lead), row, col))


def element_name(problem: Problem, letter: str, index: Sequence[int]) -> str:
    """ "B[1][0][8]": an element by the contract's letter, of the output by its own name; leading axes of a single
    product are left out."""
    single = problem.batch == 1 and not (letter == "C" and problem.contract.split_k)
    return (problem.contract.d if letter == "C" else letter) + "".join(
        f"[{i}]" for i in (index[-2:] if single else index)
    )


def destination(analysis: Analysis, culprit: Culprit) -> int:
    """Flat element of the output that a culprit's slot of D is stored to, -1 for none."""
    slot = culprit.slot
    _, lanes, _, fields = slot.executions.instruction.needed["D"].row.shape
    return int(
        analysis.arrivals.element[culprit.chain, (slot.vgpr * fields + slot.field) * lanes + slot.lane]
    )


def _stored_to(analysis: Analysis, culprit: Culprit) -> str:
    flat = destination(analysis, culprit)
    if flat < 0:
        return "stored nowhere"
    index = np.unravel_index(flat, analysis.arrivals.slot.shape)
    return "stored to " + element_name(analysis.problem, "C", [int(i) for i in index])


def _held(problem: Problem, slot: Slot) -> str:
    """What a slot of A or B held, by the contract's names."""
    number = slot.number
    if number < 0:
        nothing = {ZERO: "zero", UNDEFINED: "bits that were never defined"}
        return nothing.get(number, "a value that is no element")
    element = problem.coding.element(number)
    assert element is not None
    names = {problem.contract.a: "A", problem.contract.b: "B"}
    return element_name(problem, names.get(element.buffer, element.buffer), element.index)


def _copied(problem: Problem, slot: Slot) -> str:
    """What a copy held, by the names of the buffers."""
    number = slot.number
    if number >= 0:
        return str(problem.coding.element(number))
    return {ZERO: "zero", UNDEFINED: "bits that were never defined"}.get(number, "no element")
