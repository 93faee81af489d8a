"""Law: at every matrix instruction each slot of A and B holds the element that its partner requires.

m comes from where D is stored, k from the slot that is met, n from D again; what meets what is
observed of the instruction itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from layoutprobe.checks.base import Check
from layoutprobe.observe.origin import Target
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult
from layoutprobe.report.words import spans
from layoutprobe.solver.diagnose import UNEXPLAINED
from layoutprobe.solver.product import UNDEFINED, ZERO
from layoutprobe.trace.blame import Culprit, culprits
from layoutprobe.trace.causes import BEYOND
from layoutprobe.trace.copies import copies_every, copy_findings
from layoutprobe.trace.held import Group, place_of
from layoutprobe.trace.origins import chains_of, in_words
from layoutprobe.trace.places import where
from layoutprobe.trace.provenance import Analysis, Judged, NoProductError, analysis_of, wrong_counts
from layoutprobe.trace.subject import Subject

NAME = "operand-provenance"
LAW = (
    "at every matrix instruction, slots of A and B that meet hold A[m][k] and B[k][n] for the C[m][n] "
    "that the sum is stored to, and every k is added once"
)
EXPLAIN = """\
Every element of A and B gets a number of its own, which travels through the kernel as small integers,
one digit a run; so it is seen which element sits in which lane, VGPR and half when a matrix
instruction executes. A further run replaces every D by numbers of its slots and reads from C where
each is stored. Which slots meet is observed by executing the instruction. Then every product must be
A[m][k] * B[k][n], every k must be added to every stored element exactly once, and both half-waves must
hold A and B. Any order of k, rows or columns is right if all sides share it. Zeros are right where no
element exists (ragged edges). Split-K and several accumulators are followed through their sum.
It cannot follow operands that a kernel computes (dequantisation, a softmax between two products):
such instructions are named, and leave the check undecided. Evidence: emulated; which copy of A a card
reads where the two half-waves differ is unmeasured, so differing copies are a finding."""


def run(subject: Subject) -> CheckResult:
    """Apply the law to the coded runs."""
    try:
        analysis = analysis_of(subject)
    except NoProductError as reason:
        return CHECK.skipped(str(reason))
    findings = _with_origins(subject, _once(_operand_findings(subject, analysis)))
    if not findings:
        findings += copy_findings(subject, analysis, NAME)
    counts, doubts = _count_findings(subject, analysis)
    if not findings:
        findings += counts
    if findings:
        return CHECK.found(findings)
    doubts += _doubts(subject, analysis)
    if doubts:
        return CHECK.undecided("; ".join(doubts), metrics=_metrics(analysis))
    return CHECK.holds(_covered(analysis), metrics=_metrics(analysis))


def _operand_findings(subject: Subject, analysis: Analysis) -> Iterator[tuple[str, Finding, Target]]:
    for judged in analysis.judged:
        for culprit in culprits(judged, analysis.problem, copies_every(subject)):
            if culprit.matrix in "AB":
                finding = culprit_finding(subject, analysis, culprit, NAME)
                yield culprit.diagnosis.name, finding, _target(culprit)


def _once(found: Iterable[tuple[str, Finding, Target]]) -> list[tuple[Finding, Target]]:
    """One finding for each cause: instructions of one loop show the same one.

    Those of an operand that no cause is known for go with the ones that have a name.
    """
    causes: dict[tuple[object, str], tuple[Finding, Target]] = {}
    for name, finding, target in sorted(found, key=lambda one: one[0] == UNEXPLAINED):
        matrix = finding.where["matrix"]
        key = (matrix, name)
        if name == UNEXPLAINED:
            key = next((known for known in causes if known[0] == matrix), key)
        if key in causes:
            first, target = causes[key]
            finding = replace(first, count=first.count + finding.count)
        causes[key] = finding, target
    return list(causes.values())


def _with_origins(subject: Subject, found: Sequence[tuple[Finding, Target]]) -> list[Finding]:
    """Findings with the loads that their wrong values came from."""
    if not found:
        return []
    chains = chains_of(subject, [target for _, target in found])
    return [
        replace(finding, came_from=in_words(subject, chains[target])) if chains.get(target) else finding
        for finding, target in found
    ]


def _target(culprit: Culprit) -> Target:
    form = culprit.judged.group.form
    position, lane, vgpr, field = culprit.slot
    at = int(culprit.executions[position])
    operand = form.insts[int(form.pc[at])].src["AB".index(culprit.matrix)]
    bits = form.instruction.needed[culprit.matrix].field_bits
    half = field * bits // 16 if bits <= 16 else None
    return Target(int(form.wave[at]), int(form.turn[at]), operand.index + vgpr, lane, half)


def culprit_finding(subject: Subject, analysis: Analysis, culprit: Culprit, check: str) -> Finding:
    """A culprit in words, at its first wrong slot."""
    form = culprit.judged.group.form
    position, lane, vgpr, field = culprit.slot
    at = int(culprit.executions[position])
    inst = form.insts[int(form.pc[at])]
    waves = analysis.operands.waves
    matrix = letter(culprit.judged.group, culprit.matrix)
    operand = {"A": inst.src[0], "B": inst.src[1], "D": inst.dst[0]}[culprit.matrix]
    place = where(subject, inst, None) | place_of(waves, int(form.wave[at]))
    place |= {"matrix": matrix, "lane": lane, "VGPR": f"v{operand.index + vgpr}"}
    bits = form.instruction.needed[culprit.matrix].field_bits
    if bits < 32:
        place["half" if bits == 16 else "field"] = ("low", "high")[field] if bits == 16 else field
    what = culprit.diagnosis.what
    if culprit.judged.group.swapped and culprit.matrix in "AB":
        what += f" (the kernel feeds {matrix}, transposed, as the instruction's {culprit.matrix})"
    needed = _element(analysis, culprit.judged, culprit.matrix, *culprit.need)
    return Finding(
        check,
        what,
        place,
        expected=f"zero, as there is no {needed}" if culprit.diagnosis.name == BEYOND else needed,
        observed=_observed(analysis, culprit),
        hint=culprit.diagnosis.hint,
        count=culprit.count,
    )


def letter(group: Group, matrix: str) -> str:
    """Name of a matrix in the contract, from its role in the instruction."""
    if matrix == "D":
        return "C"
    return {"A": "B", "B": "A"}[matrix] if group.swapped else matrix


def _element(analysis: Analysis, judged: Judged, matrix: str, row: int, col: int) -> str:
    """An element by its coordinates in the instruction's roles."""
    problem, swapped = analysis.problem, judged.group.swapped
    name = letter(judged.group, matrix)
    if swapped:
        row, col = col, row
    batch = 0
    if name in "AC" and problem.batch > 1:
        batch, row = divmod(row, problem.m)
    if name in "BC" and problem.batch > 1:
        batch, col = divmod(col, problem.n)
    return f"{name}[{batch}][{row}][{col}]" if problem.batch > 1 else f"{name}[{row}][{col}]"


def destination(analysis: Analysis, culprit: Culprit) -> int:
    """Flat element of the output that a culprit's slot of D is stored to, -1 for none."""
    position, lane, vgpr, field = culprit.slot
    chain = int(culprit.judged.factors.chain[int(culprit.executions[position])])
    _, lanes, _, fields = culprit.judged.group.form.instruction.needed["D"].row.shape
    return int(analysis.arrivals.element[chain, (vgpr * fields + field) * lanes + lane])


def _observed(analysis: Analysis, culprit: Culprit) -> str:
    position, lane, vgpr, field = culprit.slot
    at = int(culprit.executions[position])
    form = culprit.judged.group.form
    shape = form.instruction.needed[culprit.matrix].row.shape[1:]
    slot = int(np.ravel_multi_index((lane, vgpr, field), shape))
    if culprit.matrix == "D":
        flat = destination(analysis, culprit)
        if flat < 0:
            return "stored nowhere"
        index = np.unravel_index(flat, analysis.arrivals.slot.shape)
        return "stored to C" + "".join(f"[{int(i)}]" for i in index)
    number = int((form.a if culprit.matrix == "A" else form.b)[at, slot])
    if number >= 0:
        element = analysis.problem.coding.element(number)
        assert element is not None
        names = {analysis.problem.contract.a: "A", analysis.problem.contract.b: "B"}
        return names.get(element.buffer, element.buffer) + "".join(f"[{i}]" for i in element.index)
    return {ZERO: "zero", UNDEFINED: "bits that were never defined"}.get(number, "a value that is no element")


def _count_findings(subject: Subject, analysis: Analysis) -> tuple[list[Finding], list[str]]:
    """Missing or doubled k; and what leaves them open."""
    chains, counted, from_other = wrong_counts(analysis)
    doubts = []
    if from_other.any() and (counted[from_other] == 0).any():
        doubts.append(
            "an accumulator holds values of another kind when its last matrix instructions begin: "
            "the kernel computes on it in between"
        )
    sure = ~from_other | (counted > 1).any(axis=1)
    if not sure.any():
        return [], doubts
    chain, times = int(chains[sure][0]), counted[sure][0]
    missing, doubled = np.flatnonzero(times == 0), np.flatnonzero(times > 1)
    parts = [f"k {spans(missing)} never added"] if missing.size else []
    parts += [f"k {spans(doubled)} added more than once"] if doubled.size else []
    link = next(link for link in reversed(analysis.arrivals.chains.links) if (link.chain == chain).any())
    wave = int(analysis.arrivals.chains.wave[chain])
    place = where(subject, link.inst, None) | place_of(analysis.arrivals.chains.waves, wave)
    if missing.size and doubled.size:
        hint = "is a buffer read again before the new tile is in it, or the wrong one of two?"
    else:
        hint = "check the bounds of the K loop, its tail, and what happens before the first step"
    finding = Finding(
        NAME,
        "the sum over k is not complete: " + ", ".join(parts),
        place | {"matrix": "A and B"},
        expected=f"every k from 0 to {analysis.problem.k - 1} once",
        observed=", ".join(parts),
        hint=hint,
        count=int(sure.sum()),
    )
    return [finding], doubts


def _doubts(subject: Subject, analysis: Analysis) -> list[str]:
    found = []
    for pc, why in analysis.lost.items():
        form_inst = subject.insts[pc]
        line = subject.line(pc)
        found.append(f"{form_inst.name} at {line or f'PC {pc:#x}'}: {why}")
    if analysis.foreign:
        found.append(
            f"{analysis.foreign} elements of C hold no accumulator's value as it was: the results are "
            "computed on, or several are added up, before they are stored"
        )
    if not any(judged.targets.stored.any() for judged in analysis.judged) and not found:
        found.append("no accumulator reaches C")
    return found


def _metrics(analysis: Analysis) -> dict[str, object]:
    executed = sum(judged.group.form.pc.size for judged in analysis.judged)
    sites = sum(np.unique(judged.group.form.pc).size for judged in analysis.judged)
    kept = analysis.operands.kept
    metrics: dict[str, object] = {
        "matrix instructions": f"{sites} sites, {executed} executions",
        "accumulators": analysis.arrivals.chains.wave.size,
    }
    if not kept.all():
        metrics["waves looked at"] = f"{int(kept.sum())} of {kept.size}"
    return metrics


def _covered(analysis: Analysis) -> str:
    executed = sum(judged.group.form.pc.size for judged in analysis.judged)
    text = f"{executed} executions of matrix instructions"
    if not analysis.operands.kept.all():
        text += f", in {int(analysis.operands.kept.sum())} of {analysis.operands.kept.size} waves"
    if any(judged.judgement.broken.any() for judged in analysis.judged):
        text += "; A and B are right by the documented layout, as what is wrong is where D goes: see epilogue"
    if any(judged.group.swapped for judged in analysis.judged):
        text += "; the kernel computes C transposed"
    if analysis.summed:
        text += "; several accumulators are added up"
    return text


CHECK = Check(NAME, LAW, EXPLAIN, run)
